"""What tests of error handlers share: a state with a log, nodes that fail, a graph of one such node and the next."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from lawful.graph import START, NodeError, StateGraph
from support.graphs import Drive, concat
from support.pausing import Calls

HANDLER = "__error_handler__work"
DEFAULT = "__default_error_handler__"


class State(TypedDict, total=False):
    """A log that grows, and a number."""

    log: Annotated[list[str], concat]
    n: int


def failing(name: str, error: BaseException, calls: Calls | None = None) -> Any:
    def body(state: State) -> State:
        if calls is not None:
            calls(name)
        raise error

    body.__name__ = name
    return body


def adding(text: str) -> Any:
    def body(state: State) -> State:
        return {"log": [text]}

    body.__name__ = text
    return body


def noting(state: State, error: NodeError) -> State:
    return {"log": [f"{error.node}: {error.error}"]}


def graph_of(drive: Drive, work: Any, handler: Any, *, strict: bool = True, compiled: Any = None, **node: Any) -> Any:
    builder: Any = StateGraph(State, strict=strict)
    builder.add_node("work", drive.node(work), error_handler=handler, **node).add_edge(START, "work")
    builder.add_node("next", drive.node(adding("next"))).add_edge("work", "next")
    return builder.compile(**(compiled or {}))
