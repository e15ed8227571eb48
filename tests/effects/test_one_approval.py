"""One approval record, whether a run or the ledger's inbox asked for it, on every store; and who may give it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest

from lawful.core.errors import EffectDenied
from lawful.core.questions import Principal
from lawful.effects import Ledger, Natural, Policy, RequireApproval, effect
from lawful.effects import events as ev
from lawful.graph import START, StateGraph
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from support.pg import missing, shared

pytestmark = pytest.mark.integration

ANN, EVE = Principal("ann", ("finance",)), Principal("eve", ("sales",))
NO_SERVER = missing()
POSTGRES = pytest.param(
    "postgres", marks=[pytest.mark.postgres, pytest.mark.skipif(bool(NO_SERVER), reason=NO_SERVER or "runs")]
)


class State(TypedDict, total=False):
    out: str


@pytest.fixture(params=["memory", "sqlite", POSTGRES])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Journal]]:
    """Opens the journal, as another process would."""
    memory = MemoryJournal()
    schema = shared().schema() if request.param == "postgres" else ""
    made: list[Any] = []

    def journal() -> Any:
        match request.param:
            case "memory":
                return memory
            case "sqlite":
                made.append(SQLiteJournal(tmp_path / "j.db"))
            case _:
                made.append(shared().journal(schema))
        return made[-1]

    yield journal
    for each in made:
        each.close()


class Shop:
    """Refunds that somebody of finance has to approve."""

    def __init__(self) -> None:
        self.sent: list[str] = []

        @effect("charge", capability=Natural(), policy=Policy("refunds", (RequireApproval("finance"),)))
        def refund(charge: str) -> str:
            self.sent.append(charge)
            return f"refunded {charge}"

        self.refund = refund

    def graph(self, journal: Journal) -> Any:
        def pay(state: State) -> State:
            return {"out": self.refund("c1")}

        return StateGraph(State).add_node(pay).add_edge(START, "pay").compile(journal)

    def inbox(self, journal: Journal) -> Ledger:
        return Ledger(journal, effects=[self.refund])


def grants(ledger: Ledger) -> list[tuple[str, bool]]:
    return [
        (event.approval.approver.id, event.approval.granted)
        for event in ledger.events("refund:c1")
        if isinstance(event, ev.ApprovalGranted)
    ]


def test_what_a_run_asks_is_in_the_inbox_and_answered_there(opened: Callable[[], Journal]) -> None:
    shop = Shop()
    graph = shop.graph(opened())
    graph.run_sync({}, thread="t")
    inbox = shop.inbox(opened())
    assert inbox.questions(role="sales") == ()
    [asked] = inbox.questions(role="finance")
    assert [each.id for each in inbox.questions()] == [asked.id]
    with pytest.raises(EffectDenied, match="has not the role 'finance'"):
        inbox.answer(asked, True, by=EVE)
    inbox.answer(asked, True, by=ANN)
    assert inbox.questions() == ()
    assert shop.sent == []
    assert graph.run_sync(None, thread="t").state == {"out": "refunded c1"}
    assert (shop.sent, grants(inbox)) == (["c1"], [("ann", True)])


def test_what_is_answered_in_the_run_is_no_question_of_the_inbox(opened: Callable[[], Journal]) -> None:
    shop = Shop()
    graph = shop.graph(opened())
    [asked] = graph.run_sync({}, thread="t").questions
    assert graph.resume_sync("t", asked.answer(True), by=ANN).state == {"out": "refunded c1"}
    inbox = shop.inbox(opened())
    assert inbox.questions() == ()
    assert (shop.sent, grants(inbox)) == (["c1"], [("ann", True)])


def test_a_run_that_is_answered_after_the_inbox_takes_the_first_answer(opened: Callable[[], Journal]) -> None:
    """Two people with two windows: the effect happens once, and under the approval that came first."""
    shop = Shop()
    graph = shop.graph(opened())
    [late] = graph.run_sync({}, thread="t").questions
    inbox = shop.inbox(opened())
    [asked] = inbox.questions(role="finance")
    inbox.answer(asked, True, by=ANN)
    done = graph.resume_sync("t", late.answer(True), by=Principal("bob", ("finance",)))
    assert done.state == {"out": "refunded c1"}
    assert (shop.sent, grants(inbox)) == (["c1"], [("ann", True)])


def test_a_no_from_the_inbox_ends_it_for_the_run_too(opened: Callable[[], Journal]) -> None:
    shop = Shop()
    graph = shop.graph(opened())
    [late] = graph.run_sync({}, thread="t").questions
    inbox = shop.inbox(opened())
    [asked] = inbox.questions(role="finance")
    inbox.answer(asked, False, by=ANN)
    ended = graph.resume_sync("t", late.answer(True), by=Principal("bob", ("finance",)))
    assert isinstance(ended.error, EffectDenied), ended
    assert (shop.sent, grants(inbox)) == ([], [("ann", False)])
