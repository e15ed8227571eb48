"""When retries are used up, the node's handler takes over in the same step: it may write, and say where to go on."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from lawful import START, Command, NodeError, StateGraph, append


class Order(TypedDict, total=False):
    log: Annotated[list[str], append]


def charge(order: Order) -> Order:
    raise ConnectionError("card service is down")


def later(order: Order, error: NodeError) -> Command[Literal["queue"]]:
    return Command(update={"log": [f"{error.node}: {error.error}"]}, goto="queue")


def ship(order: Order) -> Order:
    return {"log": ["shipped"]}


def queue(order: Order) -> Order:
    return {"log": ["put off"]}


builder = StateGraph(Order).add_node(charge, error_handler=later).add_node(ship).add_node(queue)
graph = builder.add_edge(START, "charge").add_edge("charge", "ship").compile()
for update in graph.stream({}):
    print(update)

# prints: {'__error_handler__charge': {'log': ['charge: card service is down']}}
# prints: {'queue': {'log': ['put off']}}
