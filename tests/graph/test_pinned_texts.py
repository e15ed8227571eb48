"""Texts of errors that programs written for LangGraph match on, kept word for word."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.reducers import append
from lawful.graph import START, Command, Overwrite, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal

pytestmark = pytest.mark.unit

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    plain: str
    items: Annotated[list[str], append]


def _nothing(_: Any) -> None:
    return None


def _gives(value: Any) -> Callable[[Any], Any]:
    def give(_: Any) -> Any:
        return value

    return give


def _ask(_: Any) -> Any:
    return {"items": [interrupt("?")]}


def _two(returned: Any) -> Any:
    """A graph whose two parallel nodes return this."""
    graph: Any = StateGraph(State)
    for name in ("a", "b"):
        graph.add_node(name, _gives(returned)).add_edge(START, name)
    return graph.compile(checkpointer=MemoryJournal())


def _one(node: Callable[[Any], Any], checkpointer: Any = None) -> Any:
    graph: Any = StateGraph(State)
    return graph.add_node("node", node).add_edge(START, "node").compile(checkpointer=checkpointer)


def _routed(target: Any) -> Any:
    graph: Any = StateGraph(State)
    graph.add_node("node", _nothing).add_edge(START, "node").add_conditional_edges("node", _gives(target))
    return graph.compile()


def _two_questions() -> None:
    made: Any = StateGraph(State)
    for name in ("a", "b"):
        made.add_node(name, _ask).add_edge(START, name)
    compiled = made.compile(checkpointer=MemoryJournal())
    compiled.invoke({}, CONFIG)
    compiled.invoke(Command(resume="yes"), CONFIG)


def _ambiguous() -> None:
    graph = _two({"items": ["x"]})
    graph.invoke({}, CONFIG)
    graph.update_state(CONFIG, {"plain": "x"})


TEXTS: dict[str, Callable[[], Any]] = {
    "At key 'plain'": lambda: _two({"plain": "x"}).invoke({}, CONFIG),
    "Can receive only one Overwrite value per super-step.": lambda: _two({"items": Overwrite([])}).invoke({}, CONFIG),
    "Expected dict, got": lambda: _one(_gives(3)).invoke({"plain": "x"}),
    "Branch did not return a valid destination": lambda: _routed(None).invoke({"plain": "x"}),
    "Received no input for": lambda: _one(_nothing, MemoryJournal()).invoke(None, CONFIG),
    "When there are multiple pending interrupts, you must specify the interrupt id when resuming.": _two_questions,
    "Cannot use Command(resume=...) without checkpointer": lambda: _one(_nothing).invoke(Command(resume="x")),
    "No checkpointer set": lambda: _one(_nothing).get_state(CONFIG),
    "Invalid checkpointer provided": lambda: _one(_nothing, "sqlite"),
    "There is no parent graph": lambda: _one(_nothing).invoke(Command(graph=Command.PARENT)),
    "Ambiguous update, specify as_node": _ambiguous,
    "thread_id": lambda: _one(_nothing, MemoryJournal()).invoke({"plain": "x"}),
}


@pytest.mark.parametrize("text", TEXTS)
def test_an_error_text_that_programs_match_on_is_kept(text: str) -> None:
    """Rules: 221."""
    with pytest.raises(Exception, match=re.escape(text)):
        TEXTS[text]()
