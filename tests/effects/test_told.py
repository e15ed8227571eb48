"""What an effect that nobody can look up means is said: by explain, once by the build, and by the ledger."""

from __future__ import annotations

import logging
from typing import TypedDict

import pytest

from lawful.effects import Keyed, Ledger, Lookup, Natural, Opaque, effect
from lawful.effects.capability import Compensatable, Fence, Promise, Repeatable, capability_of
from lawful.effects.words import in_words
from lawful.graph import START, StateGraph
from lawful.journal.memory import MemoryJournal

pytestmark = pytest.mark.unit


class State(TypedDict):
    n: int


@effect("n", tool="told.mail")
def mail(n: int) -> str:
    return "sent"


@effect("n", tool="told.put", capability=Natural())
def put(n: int) -> str:
    return "put"


def node(state: State) -> State:
    mail(state["n"])
    put(state["n"])
    return {"n": 1}


def test_explain_and_the_build_say_it_once(caplog: pytest.LogCaptureFixture) -> None:
    graph = StateGraph(State).add_node(node).add_edge(START, "node")
    with caplog.at_level(logging.WARNING, "lawful.graph"):
        first, _ = graph.compile(MemoryJournal()), graph.compile()
    said = [record.getMessage() for record in caplog.records]
    assert [text for text in said if "told." in text] == [
        "Effect told.mail is opaque: nobody can look it up, so after a crash in the wrong moment you will be asked what"
        " became of it"
    ]
    told = first.explain()
    assert "  told.put: done twice is done once\n" in told
    assert told.count("you will be asked") == 1


def test_the_ledger_says_it_of_an_operation() -> None:
    ledger = Ledger(MemoryJournal())
    for each, says in ((mail, "you will be asked"), (put, "done twice is done once")):
        intent = each.plan(1)
        ledger.plan(intent)
        assert says in ledger.explain(intent.op_id).promised


@pytest.mark.parametrize(
    ("promise", "says"),
    [
        (Keyed(3600, 60), "remembered for 3600 s"),
        (Lookup("strong"), "looked up after a crash (strong)"),
        (Fence(), "can be barred"),
        (Compensatable("refund"), "undone by refund"),
        (Repeatable(), "may be repeated"),
        (Opaque("assume_happened"), "taken for granted that it happened"),
        (Opaque("assume_not"), "taken for granted that it did not happen"),
    ],
)
def test_every_promise_has_words(promise: Promise, says: str) -> None:
    assert says in in_words(capability_of(promise))
