"""Durability, updates, time travel and upgrades on PostgreSQL, as on the journals that every change is tested with."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.errors import ResumeRefused
from lawful.graph import START, Command, RenameNode, StateGraph, StateUpdate, interrupt
from support.graphs import Drive, concat, driving, on
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]


class Log(TypedDict, total=False):
    log: Annotated[list[str], concat]


def first(state: Any) -> Any:
    return {"log": ["first"]}


def ask(state: Any) -> Any:
    return {"log": [str(interrupt("who?"))]}


def last(state: Any) -> Any:
    return {"log": ["last"]}


def nested(journal: Any, name: str = "ask", *migrations: Any) -> Any:
    """A graph that holds one which keeps its state, and asks."""
    inner: Any = StateGraph(Log, name="inner").add_sequence([("first", first), (name, ask)]).add_edge(START, "first")
    made = inner.migrate(*migrations).compile(checkpointer=True)
    builder: Any = StateGraph(Log, name="outer").add_node("hold", made).add_node("last", last)
    return builder.add_edge(START, "hold").add_edge("hold", "last").compile(checkpointer=journal)


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_thread_travels_as_on_other_journals(pg: PgServer, kind: str, durability: str) -> None:
    """Rules: 105, 106, 109, 150, 154, 160, 161. Rows: S1-P12, S1-S07."""
    with driving(kind) as drive, closing(pg.journal()) as journal:
        _travel(drive, nested(journal), durability)


def _travel(drive: Drive, graph: Any, durability: str) -> None:
    drive.invoke(graph, {"log": []}, on("t"), durability=durability)
    whole = drive.invoke(graph, Command(resume="ada"), on("t"), durability=durability)
    assert whole["log"] == ["first", "ada", "last"]
    history = drive.get_state_history(graph, on("t"))
    assert len(history) == (2 if durability == "exit" else 4)
    point = next(entry for entry in history if entry.next == ("hold",))
    inside = next(e for e in drive.get_state_history(graph, on("t", ns="hold")) if e.next == ("ask",))
    for at in (point.config, inside.config):
        drive.invoke(graph, None, at, durability=durability)
        assert drive.invoke(graph, Command(resume="bob"), on("t"), durability=durability)["log"] == [
            "first",
            "bob",
            "last",
        ]
    assert drive.get_state_history(graph, on("t"))[-len(history) :] == history
    supersteps = [[StateUpdate({"log": ["in"]}, "__input__")], [StateUpdate({"log": ["in"]}, "__start__")]]
    graph.bulk_update_state(on("made"), supersteps)
    assert drive.get_state(graph, on("made")).next == ("hold",)
    assert drive.invoke(graph, None, graph.fork(point, into="u"))["__interrupt__"]


def test_an_upgrade_is_told_and_refused_alike(pg: PgServer) -> None:
    """Rows: S1-S07."""
    with closing(pg.journal()) as journal:
        _upgraded(journal)


def _upgraded(journal: Any) -> None:
    nested(journal).invoke({"log": []}, thread="t")
    (verdict,) = nested(journal, "who").check_upgrade()
    assert [finding.name for finding in verdict.findings] == ["ask"]
    with pytest.raises(ResumeRefused, match="'ask'"):
        nested(journal, "who").invoke(Command(resume="ada"), thread="t")
    moved = nested(journal, "who", RenameNode("ask", "who"))
    assert moved.check_upgrade()[0].resumable
    assert moved.invoke(Command(resume="ada"), thread="t")["log"] == ["first", "ada", "last"]
