"""What changed code would do on a recorded thread, told before it does it."""

from __future__ import annotations

from typing import TypedDict

from lawful import START, MemoryJournal, StateGraph, effect
from lawful.effects import Policy, RequireApproval


class State(TypedDict, total=False):
    receipt: str


@effect("number")
def send(number: str, text: str) -> str:
    return f"sent {number}"


@effect("order", policy=Policy("money", (RequireApproval("lead"),)))
def refund(order: str, cents: int) -> str:
    return f"refunded {order}"


def mail(state: State) -> State:
    return {"receipt": send("17", "sorry")}


def mail_and_refund(state: State) -> State:
    return {"receipt": f"{send('17', 'sorry')}, {refund('A-17', 900)}"}


journal = MemoryJournal()
StateGraph(State).add_node("mail", mail).add_edge(START, "mail").compile(journal).invoke({}, thread="t1")

changed = StateGraph(State).add_node("mail", mail_and_refund).add_edge(START, "mail").compile(journal)
for call in changed.replay_recorded("t1", mode="dry_run").intents:
    print(call.kind, call.op_id, call.args, call.needs, call.stands)

# prints: effect refund:A-17 {'order': 'A-17', 'cents': 900} ('approval:lead',) Unplanned
