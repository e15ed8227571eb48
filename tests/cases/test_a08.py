"""Case A08: a node whose body stands in a handler for every ordinary exception asks inside it; the run pauses all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lawful.graph import START, Command, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, on
from support.pausing import Calls, Log, asked, chain, values

pytestmark = pytest.mark.unit


def test_the_handler_is_not_entered(drive: Drive, journal: Journal, strict: bool) -> None:
    """Neither at the pause nor after the answer; the node returns as if the handler were not there.

    Cases: A08. Rules: 121. Rows: S0-104
    """
    calls = Calls()

    def careful(state: Log) -> Log:
        try:
            calls("body")
            return {"log": [interrupt("who?")]}
        except Exception:
            calls("handler")
            return {"log": ["fallback"]}

    graph = chain(drive, careful, strict=strict, checkpointer=journal)
    paused = drive.invoke(graph, {"log": ["in"]}, on("t"))
    assert [question.value for question in asked(paused)] == ["who?"]
    assert values(paused) == {"log": ["in"]}
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["in", "ada"]}
    assert (calls.of("body"), calls.of("handler")) == (2, 0)


def test_the_handler_still_catches_what_it_is_for(drive: Drive, journal: Journal) -> None:
    """An ordinary exception after the answer is the handler's.

    Cases: A08
    """

    def careful(state: Log) -> Log:
        try:
            answer = interrupt("who?")
            raise ValueError(f"{answer} is not known")
        except Exception as error:
            return {"log": [str(error)]}

    graph = chain(drive, careful, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    assert drive.invoke(graph, Command(resume="eve"), on("t")) == {"log": ["eve is not known"]}


def guarded(body: Callable[[Log], Any], calls: Calls) -> Callable[[Log], Any]:
    """A wrapper as teams write it around all their nodes."""

    def node(state: Log) -> Any:
        try:
            return body(state)
        except Exception:
            calls("handler")
            return {"log": ["fallback"]}
        finally:
            calls("finally")

    return node


@pytest.mark.parametrize("depth", [1, 3])
def test_wrappers_around_a_node_do_not_eat_its_pause(drive: Drive, journal: Journal, strict: bool, depth: int) -> None:
    """Their finally blocks run at the pause and at the end, their handlers never.

    Cases: A08. Rules: 121. Rows: S0-104
    """
    calls = Calls()

    def ask(state: Log) -> Any:
        return {"log": [interrupt("who?")]}

    body: Callable[[Log], Any] = ask
    for _ in range(depth):
        body = guarded(body, calls)
    graph = chain(drive, body, strict=strict, checkpointer=journal)
    assert [question.value for question in asked(drive.invoke(graph, {"log": []}, on("t")))] == ["who?"]
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["ada"]}
    assert (calls.of("handler"), calls.of("finally")) == (0, 2 * depth)


def test_a_handler_around_a_subgraph_does_not_eat_its_pause(drive: Drive, journal: Journal, strict: bool) -> None:
    """The inner graph's pause passes through the code that called it.

    Cases: A08. Rules: 129. Rows: S1-H08
    """
    calls = Calls()

    def ask(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    inner = chain(drive, ask, strict=strict)
    if drive.name == "async":

        async def hold_async(state: Log) -> Log:
            try:
                return {"log": (await inner.ainvoke({"log": []}))["log"]}
            except Exception:
                calls("handler")
                return {"log": ["fallback"]}

        hold: Any = hold_async
    else:

        def hold_sync(state: Log) -> Log:
            try:
                return {"log": inner.invoke({"log": []})["log"]}
            except Exception:
                calls("handler")
                return {"log": ["fallback"]}

        hold = hold_sync
    builder: Any = StateGraph(Log, strict=strict)
    graph = builder.add_node("hold", hold).add_edge(START, "hold").compile(checkpointer=journal)
    assert [question.value for question in asked(drive.invoke(graph, {"log": []}, on("t")))] == ["who?"]
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["ada"]}
    assert calls.of("handler") == 0
