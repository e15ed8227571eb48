"""The role that runs graphs may add to what happened, and neither rewrite nor delete it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypedDict

import pytest

from lawful.core.errors import StoreError
from lawful.effects import Natural, effect
from lawful.graph import START, StateGraph, interrupt
from lawful.journal.port import Journal
from lawful.testing.conformance_kit import Ids, checkpoint, events, grow, operation, put
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]


class State(TypedDict, total=False):
    said: str
    sent: str


@pytest.fixture
def role(pg: PgServer, schema: str) -> Iterator[str]:
    from lawful.stores.postgres import grants

    pg.run("DROP ROLE IF EXISTS runner", "CREATE ROLE runner LOGIN", grants("runner", schema=schema))
    yield "runner"
    pg.run("DROP OWNED BY runner", "DROP ROLE runner")


@pytest.fixture
def running(pg: PgServer, schema: str, role: str) -> Iterator[Journal]:
    journal = pg.journal(schema, url=pg.url(role))
    yield journal
    journal.close()


def flow(journal: Journal) -> Any:
    """A question, then an effect."""

    @effect("line", capability=Natural(), tool="write_line")
    def write_line(line: str) -> str:
        return f"wrote {line}"

    def ask(state: State) -> State:
        return {"said": interrupt("go on?")}

    def act(state: State) -> State:
        return {"sent": write_line(state.get("said", ""))}

    graph = StateGraph(State).add_node("ask", ask).add_node("act", act).add_edge(START, "ask").add_edge("ask", "act")
    return graph.compile(checkpointer=journal)


def test_it_runs_graphs_with_questions_and_effects(pg: PgServer, schema: str, running: Journal) -> None:
    """Rows: S0-123, S1-046."""
    graph = flow(running)
    paused = graph.run_sync({}, thread="t")
    done = graph.resume_sync("t", paused.questions[0].answer("yes"))
    assert done.state["sent"] == "wrote yes"
    states = [op.state for op in running.read(lambda tx: list(tx.operations()))]
    assert len(states) == 1
    assert pg.run(f"SELECT count(*) FROM {schema}.event")[0][0] >= 3


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {}.event SET blob=''",
        "DELETE FROM {}.event",
        "TRUNCATE {}.event",
        "UPDATE {}.checkpoint SET delta=''",
        "DELETE FROM {}.checkpoint",
        "DELETE FROM {}.operation",
        "DELETE FROM {}.answer",
        "UPDATE {}.answer SET blob=''",
        "UPDATE {}.chunk SET body=''",
        "DELETE FROM {}.thread",
        "DELETE FROM {}.lease",
        "UPDATE {}.meta SET value='9'",
        "INSERT INTO {}.meta VALUES ('x', 'y')",
        "DROP TABLE {}.event",
        "ALTER TABLE {}.event DISABLE TRIGGER ALL",
        "CREATE TABLE {}.mine(n integer)",
    ],
)
def test_it_cannot_rewrite_what_happened(
    pg: PgServer, schema: str, running: Journal, role: str, statement: str
) -> None:
    """Rows: S0-123."""
    import psycopg

    running.transact(lambda tx: tx.append(operation("a"), events("a")))
    grow(running, "t", 2)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        pg.run(statement.format(schema), user=role)


@pytest.mark.parametrize("statement", ["UPDATE {}.event SET seq=seq", "DELETE FROM {}.event", "TRUNCATE {}.event"])
def test_the_owner_cannot_rewrite_events_by_mistake(pg: PgServer, schema: str, statement: str) -> None:
    import psycopg

    journal = pg.journal(schema)
    journal.transact(lambda tx: tx.append(operation("a"), events("a")))
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="never"):
        pg.run(statement.format(schema))
    assert len(journal.read(lambda tx: tx.events("a"))) == 1
    journal.close()


def test_retention_is_a_right_of_its_own(pg: PgServer, schema: str, running: Journal, role: str) -> None:
    from lawful.stores.postgres import grants

    rows = grow(running, "t", 5)
    running.transact(lambda tx: tx.append(operation("a", thread="t"), events("a")))
    for call in (lambda: running.prune("t"), lambda: running.delete_thread("t")):
        with pytest.raises(StoreError, match=r"postgres\.md"):
            call()
    assert list(running.history("t")) == rows[::-1]
    pg.run(grants(role, schema=schema, retention=True))
    running.copy_thread("t", "copy")
    assert running.prune("t") == 4
    running.delete_thread("t")
    assert [info.thread for info in running.threads()] == ["copy"]
    assert len(running.read(lambda tx: tx.events("a"))) == 1


def test_a_role_without_grants_is_told_so(pg: PgServer, schema: str) -> None:
    pg.run("DROP ROLE IF EXISTS stranger", "CREATE ROLE stranger LOGIN")
    with pytest.raises(StoreError, match="grants"):
        pg.journal(schema, url=pg.url("stranger"))


def test_a_role_with_a_name_of_any_kind_gets_its_grants(pg: PgServer, schema: str) -> None:
    from lawful.stores.postgres import grants

    name = 'odd "name; DROP TABLE x; --'
    quoted = '"' + name.replace('"', '""') + '"'
    pg.run(f"DROP ROLE IF EXISTS {quoted}", f"CREATE ROLE {quoted} LOGIN", grants(name, schema=schema))
    found = pg.run(
        f"SELECT has_table_privilege('{quoted[1:-1].replace(chr(34) * 2, chr(34))}', '{schema}.event', 'INSERT')"
    )
    assert found == [(True,)]
    pg.run(f"DROP OWNED BY {quoted}", f"DROP ROLE {quoted}")


def test_a_refused_write_leaves_the_journal_in_working_order(pg: PgServer, schema: str, running: Journal) -> None:
    grow(running, "t", 1)
    with pytest.raises(StoreError):
        running.delete_thread("t")
    put(running, "u", checkpoint(Ids()()))
    assert [info.thread for info in running.threads()] == ["t", "u"]
