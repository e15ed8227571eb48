"""The program on the README's first screen: a graph that asks a person, and its answer."""

from __future__ import annotations

from typing import TypedDict

from lawful import START, SQLiteJournal, StateGraph, interrupt


class Order(TypedDict):
    item: str
    approved: bool


def approve(order: Order) -> dict[str, bool]:
    return {"approved": interrupt(f"Buy {order['item']}?")}


shop = StateGraph(Order).add_node(approve).add_edge(START, "approve").compile(checkpointer=SQLiteJournal("shop.db"))
shop.run_sync({"item": "tea"}, thread="order-1")  # pauses: this process may end here, for days
[question] = shop.questions("order-1")
shop.resume_sync("order-1", question.answer(True))
print(question.value, shop.get_state("order-1").values)

# prints: Buy tea? {'item': 'tea', 'approved': True}
