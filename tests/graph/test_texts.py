"""The few error texts that users of LangGraph match on, kept word for word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from lawful.graph import START, Command, Overwrite, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from support.graphs import Drive, concat, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    xs: Annotated[list[str], concat]
    one: str


def returning(value: Any) -> Any:
    def node(state: State) -> Any:
        return interrupt("q", name="q") if value == "ask" else value

    return node


def graph(drive: Drive, *returns: Any, journal: Any = None, route: Any = ...) -> Any:
    """Nodes in the first step that return the given values; with ``route`` a conditional edge after the first."""
    builder: Any = StateGraph(State)
    for number, value in enumerate(returns):
        builder.add_node(f"node{number}", returning(value)).add_edge(START, f"node{number}")
    if route is not ...:
        builder.add_conditional_edges("node0", lambda state: route)  # pyright: ignore[reportUnknownLambdaType]
    return builder.compile(checkpointer=journal)


def paused_twice(drive: Drive) -> Any:
    told = graph(drive, "ask", "ask", journal=MemoryJournal())
    drive.invoke(told, {"xs": []}, on("t"))
    return told


TEXTS: dict[str, Callable[[Drive], Any]] = {
    r"^At key 'one': Can receive only one value per step": lambda d: d.invoke(
        graph(d, {"one": "a"}, {"one": "b"}), {"xs": []}
    ),
    r"Can receive only one Overwrite value per super-step\.": lambda d: d.invoke(
        graph(d, {"xs": Overwrite(["a"])}, {"xs": Overwrite(["b"])}), {"xs": []}
    ),
    r"^Expected dict, got ": lambda d: d.invoke(graph(d, "text"), {"xs": []}),
    r"Branch did not return a valid destination": lambda d: d.invoke(graph(d, None, route=None), {"xs": []}),
    r"There is no parent graph": lambda d: d.invoke(graph(d, None), Command(graph=Command.PARENT, update={})),
    r"No checkpointer set": lambda d: d.get_state(graph(d, None), on("t")),
    r"thread_id": lambda d: d.invoke(graph(d, None, journal=MemoryJournal()), {"xs": []}),
    r"^Received no input for ": lambda d: d.invoke(graph(d, None, journal=MemoryJournal()), None, on("t")),
    r"When there are multiple pending interrupts, you must specify the interrupt id when resuming\.": lambda d: (
        d.invoke(paused_twice(d), Command(resume="x"), on("t"))
    ),
    r"Cannot use Command\(resume=\.\.\.\) without checkpointer": lambda d: d.invoke(
        graph(d, None), Command(resume="x")
    ),
    r"Invalid checkpointer provided": lambda d: graph(d, None, journal=7),
    r"Recursion limit of 1 reached without hitting a stop condition": lambda d: d.invoke(
        graph(d, Command(goto="node0")), {"xs": []}, on(limit=1)
    ),
}


@pytest.mark.parametrize("text,call", TEXTS.items(), ids=[text[:40] for text in TEXTS])
def test_the_text_is_kept(drive: Drive, text: str, call: Callable[[Drive], Any]) -> None:
    """By regular expression, as users' own tests and handlers do.

    Rules: 221
    """
    with pytest.raises(Exception, match=text):
        call(drive)
