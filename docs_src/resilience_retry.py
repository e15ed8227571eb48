"""A call that fails for a moment is made again; the runtime tells which attempt it is."""

from __future__ import annotations

from typing import TypedDict

from lawful import START, RetryPolicy, Runtime, StateGraph


class Quote(TypedDict, total=False):
    price: int


def ask(quote: Quote, runtime: Runtime[None]) -> Quote:
    print("attempt", runtime.execution_info.node_attempt)
    if runtime.attempt < 3:
        raise ConnectionError("no reply")
    return {"price": 12}


patient = RetryPolicy(initial_interval=0.01, max_attempts=3, retry_on=ConnectionError)
graph = StateGraph(Quote).add_node(ask, retry_policy=patient).add_edge(START, "ask").compile()
print(graph.invoke({}))

# prints: attempt 1
# prints: attempt 2
# prints: attempt 3
# prints: {'price': 12}
