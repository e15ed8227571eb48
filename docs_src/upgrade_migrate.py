"""A paused thread goes on under code in which its node, its key and a value have changed."""

from __future__ import annotations

from typing import TypedDict

from lawful import START, Command, MemoryJournal, StateGraph, interrupt
from lawful.graph import ConvertKey, RenameKey, RenameNode


class Old(TypedDict, total=False):
    euros: int
    note: str


def ask(order: Old) -> Old:
    return {"note": interrupt(f"pay {order.get('euros')} euros?")}


class New(TypedDict, total=False):
    euros: str
    remark: str


def approve(order: New) -> New:
    return {"remark": interrupt(f"pay {order.get('euros')} euros?")}


journal = MemoryJournal()
old = StateGraph(Old, strict=False, name="orders").add_node("ask", ask).add_edge(START, "ask").compile(journal)
old.invoke({"euros": 7}, thread="t")

builder = StateGraph(New, strict=False, name="orders").add_node("approve", approve).add_edge(START, "approve")
for verdict in builder.compile(journal).check_upgrade():
    print(verdict.thread, [finding.text for finding in verdict.findings])

builder.migrate(RenameNode("ask", "approve"), RenameKey("note", "remark"), ConvertKey("euros", lambda n: f"{n}.00"))
new = builder.compile(journal)
print([verdict.resumable for verdict in new.check_upgrade()])
print(new.invoke(Command(resume="yes"), thread="t"))

# prints: t ["waits at 'ask', which the graph no longer has. Valid: 'approve'. (RenameNode says what it is now)"]
# prints: [True]
# prints: {'euros': '7.00', 'remark': 'yes'}
