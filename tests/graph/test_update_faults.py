"""Updates from outside: one that is refused leaves the history readable, one that is taken loses nothing already done."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.core.errors import InvalidUpdateError
from lawful.graph import START, Command, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, on
from support.pausing import Log

pytestmark = pytest.mark.unit


def one_then_routed(journal: Journal) -> Any:
    """A node, and a router that asks where to go once ``n`` is 7."""

    def one(state: Log) -> Log:
        return {"log": ["one"]}

    def two(state: Log) -> Log:
        return {"log": ["two"]}

    def route(state: Log) -> str:
        return interrupt("where?") if state.get("n") == 7 else "two"

    builder = StateGraph(Log).add_node(one).add_node(two).add_edge(START, "one")
    return builder.add_conditional_edges("one", route, {"two": "two"}).compile(journal)


@pytest.mark.parametrize("values", [Command(graph=Command.PARENT, update={"n": 5}), {"n": 7}], ids=["parent", "asks"])
def test_an_update_that_asks_or_commands_a_parent_is_refused_and_leaves_no_trace(
    values: Any, drive: Drive, journal: Journal
) -> None:
    """Nothing stands above or waits for an answer there. Rules: 145, 60."""
    graph = one_then_routed(journal)
    drive.invoke(graph, {}, on("t"))
    before = drive.get_state_history(graph, on("t"))
    with pytest.raises(InvalidUpdateError, match="one"):
        drive.update_state(graph, on("t"), values, as_node="one")
    assert drive.get_state_history(graph, on("t")) == before
    assert drive.get_state(graph, on("t")).values == {"log": ["one", "two"]}


def test_an_update_as_one_task_keeps_what_its_finished_siblings_wrote(drive: Drive, journal: Journal) -> None:
    """Rules: 78, 90, 145."""

    def quick(state: Log) -> Log:
        return {"log": ["quick"]}

    def slow(state: Log) -> Log:
        return {"log": [str(interrupt("?"))]}

    builder = StateGraph(Log).add_node(quick).add_node(slow).add_edge(START, "quick").add_edge(START, "slow")
    graph: Any = builder.compile(journal)
    drive.invoke(graph, {}, on("t"))
    assert drive.get_state(graph, on("t")).values["log"] == ["quick"]
    drive.update_state(graph, on("t"), {"log": ["told"]}, as_node="slow")
    assert drive.get_state(graph, on("t")).values["log"] == ["quick", "told"]


def test_an_update_of_a_fresh_thread_stands_for_its_input(drive: Drive, journal: Journal) -> None:
    """Rules: 146, 149."""
    graph = one_then_routed(journal)
    drive.update_state(graph, on("t"), {"word": "given"})
    assert drive.get_state(graph, on("t")).next == ("one",)
    assert drive.invoke(graph, None, on("t")) == {"log": ["one", "two"], "word": "given"}


def test_an_update_of_a_fresh_thread_may_stand_for_a_node(drive: Drive, journal: Journal) -> None:
    """Its edges are followed. Rules: 145, 149."""
    graph = one_then_routed(journal)
    drive.update_state(graph, on("t"), {"word": "given"}, as_node="one")
    head = drive.get_state(graph, on("t"))
    assert (head.values["word"], head.next) == ("given", ("two",))


def test_as_node_is_a_name(drive: Drive, journal: Journal) -> None:
    """Rules: 145."""
    graph = one_then_routed(journal)
    drive.invoke(graph, {}, on("t"))
    with pytest.raises(InvalidUpdateError, match="as_node"):
        drive.update_state(graph, on("t"), {"n": 1}, as_node=5)
