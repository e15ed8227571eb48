"""Nobody knows whether the mail went out: the run waits, a person decides, and the run goes on."""

from __future__ import annotations

from typing import TypedDict

from lawful import START, Done, MemoryJournal, Paused, Principal, StateGraph, effect
from lawful.effects import Happened


class State(TypedDict, total=False):
    receipt: str


@effect("number")
def send(number: str, text: str) -> str:
    raise ConnectionError("the reply was lost")


def mail(state: State) -> State:
    return {"receipt": send("17", "hello")}


graph = StateGraph(State).add_node(mail).add_edge(START, "mail").compile(checkpointer=MemoryJournal())
match graph.run_sync({}, thread="t1"):
    case Paused((question,)):
        print(question.kind, question.details["next_step"])
        # "reconcile" | Happened(receipt) | DidNotHappen(retry=True | False) | GiveUp()
        match graph.resume_sync("t1", question.answer(Happened("seen in the outbox")), by=Principal("ada")):
            case Done(state):
                print(state)
            case other:
                print(other)
    case other:
        print(other)

# prints: effect_recovery resolve
# prints: {'receipt': 'seen in the outbox'}
