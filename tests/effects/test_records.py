"""What the record lets be said afterwards: decisions taken again, forged or old evidence, operations that were blocked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, TypedDict

import pytest
from msgspec.structs import replace

from lawful.core.clock import FixedClock
from lawful.core.questions import Principal
from lawful.effects import AwaitingEvidence, Ledger, Policy, RequireApproval, RequireEvidence, Succeeded
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.evidence import Evidence, genuine, signed
from lawful.effects.moves import matter_of
from lawful.effects.policy import Authorized, authorize
from lawful.effects.transitions import step
from lawful.graph import START, StateGraph
from lawful.journal.memory import MemoryJournal
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.provider import FakeCommand, FakeProvider
from support.effects import Forge, Publish, PullRequest, evidence

pytestmark = pytest.mark.unit

ACME = PullRequest("acme")
OP = "publish:acme@abc"
RULES = Policy("p", (RequireEvidence("tests"), RequireApproval()))


def test_a_decision_taken_again_from_the_record_is_the_one_that_was_taken() -> None:
    """Rows: S2-002"""
    ledger = Ledger(MemoryJournal(), policy=RULES)
    intent = Publish(Forge()).plan(ACME)
    ledger.plan(intent)
    ledger.add_evidence(OP, evidence())
    ledger.answer(ledger.questions()[0], True, by=Principal("ann"))
    assert isinstance(ledger.execute_sync(intent), Succeeded)
    state: st.State = st.Unplanned()
    bases: list[tuple[str, str]] = []
    for event in ledger.events(OP):
        if isinstance(event, ev.Claimed):
            assert not isinstance(state, st.Unplanned)
            again = authorize(RULES, matter_of(state.facts, RULES, event.at))
            assert isinstance(again, Authorized)
            bases.append((event.basis, again.basis))
        state = step(state, event).unwrap()
    [(recorded, decided)] = bases
    assert recorded == decided


KEY = b"the key of the build server"


@pytest.mark.parametrize(
    "wrong",
    [
        evidence("e", "tests"),
        signed(evidence("e", "tests"), b"another key"),
        replace(signed(evidence("e", "tests", verdict=False), KEY), verdict=True),
        replace(signed(evidence("e", "tests"), KEY), issued_at=500_000.0),
    ],
    ids=["unsigned", "another key", "turned round", "made younger"],
)
def test_forged_evidence_does_not_count_though_it_says_yes(wrong: Evidence) -> None:
    """Rows: S2-007"""
    ledger = Ledger(MemoryJournal(), policy=Policy("p", (RequireEvidence("tests", key=KEY),)))
    intent = Publish(Forge()).plan(ACME)
    ledger.plan(intent)
    ledger.add_evidence(OP, wrong)
    assert isinstance(ledger.execute_sync(intent), AwaitingEvidence)
    assert "right key" in str(ledger.explain(OP).findings)
    ledger.add_evidence(OP, signed(evidence("e2", "tests"), KEY))
    assert isinstance(ledger.execute_sync(intent), Succeeded)


def test_old_evidence_and_that_of_others_does_not_count() -> None:
    """Rows: S2-007"""
    clock = FixedClock()
    rules = Policy("p", (RequireEvidence("tests", issuers=("ci",), max_age=60.0),))
    ledger = Ledger(MemoryJournal(clock=clock), clock=clock, policy=rules)
    intent = Publish(Forge()).plan(ACME)
    ledger.plan(intent)
    ledger.add_evidence(OP, replace(evidence("e1"), issuer="the model", issued_at=clock.now()))
    ledger.add_evidence(OP, replace(evidence("e2"), issued_at=clock.now() - 60.0))
    assert isinstance(ledger.execute_sync(intent), AwaitingEvidence)
    told = str(ledger.explain(OP).findings)
    assert "whose word does not count" in told
    assert "older than 60 s" in told
    ledger.add_evidence(OP, replace(evidence("e3"), issued_at=clock.now() - 59.9))
    assert isinstance(ledger.execute_sync(intent), Succeeded)


def test_a_policy_is_another_one_when_it_demands_more_of_its_evidence() -> None:
    plain = Policy("p", (RequireEvidence("tests"),))
    others = [
        Policy("p", (RequireEvidence("tests", issuers=("ci",)),)),
        Policy("p", (RequireEvidence("tests", max_age=5.0),)),
        Policy("p", (RequireEvidence("tests", key=KEY),)),
        Policy("p", (RequireEvidence("tests", key=b"x"),)),
    ]
    assert len({rules.hash for rules in (plain, *others)}) == 5
    assert genuine(signed(evidence(), KEY), KEY)


def test_every_operation_is_in_the_record_blocked_and_failed_ones_too() -> None:
    """Rows: S4-056"""
    journal = MemoryJournal()
    ledger = Ledger(journal)
    publish = Publish(Forge(script=["refuse", "ok"]))
    for repo in ("elsewhere", "acme", "acme-2"):
        ledger.execute_sync(publish.plan(PullRequest(repo)))
    ledger.freeze("*", by=Principal("ann"), reason="x")
    ledger.execute_sync(publish.plan(PullRequest("acme-3")))
    rows = journal.read(lambda tx: {row.op_id: row.state for row in tx.operations()})
    assert rows == {
        "publish:elsewhere@abc": "Cancelled",
        "publish:acme@abc": "Failed",
        "publish:acme-2@abc": "Succeeded",
        "publish:acme-3@abc": "Planned",
    }


def test_a_keyed_effect_costs_two_durable_commits_and_a_recorded_one_none_more(tmp_path: Path) -> None:
    """Ledger: L14"""
    journal: Any = SQLiteJournal(tmp_path / "j.db")
    inner, durable = journal.transact, list[bool]()

    def transact(work: Any, *, durable_: bool = True, **more: Any) -> Any:
        durable.append(more.get("durable", durable_))
        return inner(work, **more)

    journal.transact = transact
    pay = FakeProvider(keyed=60.0).effect("pay")
    ledger = Ledger(journal)
    assert isinstance(ledger.execute_sync(pay.plan(FakeCommand("a"))), Succeeded)
    assert durable == [True, True]
    assert isinstance(ledger.execute_sync(pay.plan(FakeCommand("a"))), Succeeded)
    assert len(durable) == 3
    journal.close()


class Counted(TypedDict):
    n: int


def paid_for(path: Path, node: Any) -> tuple[int, list[int]]:
    """Transactions of effects in a run of one node, and the rows of their tables."""
    journal: Any = SQLiteJournal(path)
    inner, made = journal.transact, list[Any]()

    def transact(work: Any, **more: Any) -> Any:
        made.append(work)
        return inner(work, **more)

    journal.transact = transact
    builder: Any = StateGraph(Counted)
    builder.add_node("node", node).add_edge(START, "node").compile(checkpointer=journal).invoke({"n": 0}, thread="t")
    journal.close()
    with closing(sqlite3.connect(path)) as con:
        tables = ("operation", "event", "mark")
        return len(made), [con.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]


def test_a_run_without_effects_pays_no_commit_and_no_row_for_them(tmp_path: Path) -> None:
    """Ledger: L14"""
    pay = FakeProvider(keyed=60.0).effect("pay")

    def without(state: Counted) -> Counted:
        return {"n": 1}

    def paying(state: Counted) -> Counted:
        return {"n": len(pay.sync(FakeCommand("a")))}

    assert paid_for(tmp_path / "without.db", without) == (0, [0, 0, 0])
    commits, rows = paid_for(tmp_path / "with.db", paying)
    assert (commits, rows[0]) == (2, 1)
