"""How a run ends is one of three, and a match over them needs no default."""

from __future__ import annotations

from typing import TypedDict, assert_never, assert_type

from lawful.core.questions import Question
from lawful.graph import START, Done, Failed, Paused, StateGraph


class Order(TypedDict, total=False):
    item: str


def buy(order: Order) -> Order:
    return {"item": order.get("item", "tea")}


def end() -> str:
    graph = StateGraph(Order).add_node(buy).add_edge(START, "buy").compile()
    result = graph.run_sync({"item": "tea"})
    match result:
        case Done(state):
            return str(state)
        case Paused(questions):
            assert_type(questions[0], Question)
            return "asks"
        case Failed(error):
            return error.code
        case _:
            assert_never(result)
