"""A match over a run's end that forgets the pause is refused."""

from __future__ import annotations

from typing import TypedDict, assert_never

from lawful.graph import START, Done, Failed, StateGraph


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
        case Failed(error):
            return error.code
        case _:
            assert_never(result)  # expect: is not assignable to type "Never"


StateGraph(Order, no_such_option=True)  # expect: No parameter named "no_such_option"
