"""Error handlers and what interrupts them: crashes, questions, unknown outcomes, failing siblings."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lawful.core.context import here
from lawful.core.errors import LeaseLost, NetworkError
from lawful.core.signals import OutcomeUnknown, latch
from lawful.graph import START, Command, NodeError, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, JournalBox, on
from support.handlers import HANDLER, State, adding, failing, graph_of, noting
from support.pausing import Calls, asked

pytestmark = pytest.mark.unit


def test_after_a_crash_the_handler_runs_again_and_not_the_node(drive: Drive, box: JournalBox, strict: bool) -> None:
    """Its error was stored before it started; of an exception that is not ours the text is left.

    Rules: 195
    """
    calls, errors = Calls(), list[BaseException]()

    def handle(state: State, error: NodeError) -> State:
        errors.append(error.error)
        if calls("handler") == 1:
            raise SystemExit("the process ends here")
        return {"log": [f"{error.node}: {error.error}"]}

    def build() -> Any:
        work = failing("work", ValueError("boom"), calls)
        return graph_of(drive, work, handle, strict=strict, compiled={"checkpointer": box.open()})

    with pytest.raises(SystemExit):
        drive.invoke(build(), {"log": ["in"]}, on("t"))
    again = build()
    head = drive.get_state(again, on("t"))
    assert head.next == (HANDLER,)
    assert (head.tasks[0].name, head.tasks[0].error) == ("work", "ValueError('boom')")
    assert drive.invoke(again, None, on("t")) == {"log": ["in", "work: boom"]}
    assert (calls.of("work"), calls.of("handler")) == (1, 2)
    assert isinstance(errors[0], ValueError)
    assert isinstance(errors[1], Exception)
    assert str(errors[1]) == "boom"


def test_an_error_of_ours_is_rebuilt_after_a_crash(drive: Drive, box: JournalBox) -> None:
    """Rules: 195"""
    errors: list[BaseException] = []

    def handle(state: State, error: NodeError) -> State:
        errors.append(error.error)
        if len(errors) == 1:
            raise SystemExit
        return {}

    wrong = NetworkError("down", details={"host": "h"})
    graph = graph_of(drive, failing("work", wrong), handle, compiled={"checkpointer": box.open()})
    with pytest.raises(SystemExit):
        drive.invoke(graph, {"log": []}, on("t"))
    drive.invoke(graph, None, on("t"))
    assert errors[1] == wrong


def test_several_handlers_after_a_crash(drive: Drive, box: JournalBox, strict: bool) -> None:
    """The one that had finished does not run again, and no node does; the order of writes is what it would have been.

    Rules: 195, 90
    """
    calls = Calls()

    def handle(state: State, error: NodeError) -> State:
        if error.node == "b" and calls("b's handler") == 1:
            while not calls.of("a's handler"):
                pass
            raise SystemExit
        if error.node == "a":
            calls("a's handler")
        return {"log": [error.node]}

    def build() -> Any:
        builder: Any = StateGraph(State, strict=strict).set_node_defaults(error_handler=handle)
        for name in ("a", "b"):
            builder.add_node(name, drive.node(failing(name, ValueError(name), calls))).add_edge(START, name)
        builder.add_node("c", drive.node(adding("c"))).add_edge(START, "c")
        return builder.compile(checkpointer=box.open())

    with pytest.raises(SystemExit):
        drive.invoke(build(), {"log": []}, on("t"))
    assert drive.invoke(build(), None, on("t"))["log"] == ["a", "b", "c"]
    assert (calls.of("a"), calls.of("b"), calls.of("b's handler")) == (1, 1, 2)
    assert drive.get_state(build(), on("t")).values["log"] == ["a", "b", "c"]


def test_a_handler_may_ask(drive: Drive, box: JournalBox, strict: bool) -> None:
    """The answer reaches it in another process; the failed node has not run again.

    Rules: 192, 195. Rows: S0-104
    """
    calls = Calls()

    def handle(state: State, error: NodeError) -> State:
        return {"log": [interrupt(f"what now, {error.error}?")]}

    def build() -> Any:
        work = failing("work", ValueError("boom"), calls)
        return graph_of(drive, work, drive.node(handle), strict=strict, compiled={"checkpointer": box.open()})

    result = drive.invoke(build(), {"log": []}, on("t"))
    assert [q.value for q in asked(result)] == ["what now, boom?"]
    head = drive.get_state(build(), on("t"))
    assert (head.next, [q.value for q in head.interrupts]) == ((HANDLER,), ["what now, boom?"])
    assert drive.invoke(build(), Command(resume="skip it"), on("t")) == {"log": ["skip it"]}
    assert calls.of("work") == 1


def test_a_command_beside_a_handler_that_waits(drive: Drive, box: JournalBox, strict: bool) -> None:
    """An update and a goto that come with the answer leave the handler where it was.

    Rules: 195
    """

    def handle(state: State, error: NodeError) -> State:
        return {"log": [interrupt("what now?")]}

    graph = graph_of(
        drive, failing("work", ValueError("boom")), handle, strict=strict, compiled={"checkpointer": box.open()}
    )
    drive.invoke(graph, {"log": []}, on("t"))
    out = drive.invoke(graph, Command(resume="mend", update={"n": 1}, goto="next"), on("t"))
    assert (out["n"], sorted(out["log"])) == (1, ["mend", "next"])


def test_questions_reach_no_handler(drive: Drive, journal: Journal, strict: bool) -> None:
    """Rules: 192, 186. Rows: S0-104"""
    calls = Calls()

    def ask(state: State) -> State:
        return {"log": [interrupt("who?")]}

    def handle(state: State, error: NodeError) -> State:
        calls("handler")
        return {}

    graph = graph_of(drive, ask, handle, strict=strict, compiled={"checkpointer": journal})
    assert [q.value for q in asked(drive.invoke(graph, {"log": []}, on("t")))] == ["who?"]
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["ada", "next"]}
    assert calls.of("handler") == 0


def test_an_unknown_outcome_reaches_no_handler(drive: Drive, journal: Journal, strict: bool) -> None:
    """It pauses the run: only the ledger may say what is next.

    Rules: 192
    """
    calls = Calls()

    def send(state: State) -> State:
        signal = OutcomeUnknown("op", "mail", "no reply")
        latch(here("send"), signal)
        raise signal

    def handle(state: State, error: NodeError) -> State:
        calls("handler")
        return {}

    graph = graph_of(drive, send, handle, strict=strict, compiled={"checkpointer": journal})
    (question,) = asked(drive.invoke(graph, {"log": []}, on("t")))
    assert question.kind == "effect_recovery"
    assert calls.of("handler") == 0


def test_the_end_of_a_run_reaches_no_handler(drive: Drive, journal: Journal) -> None:
    """A lost lease is no failure of the node; neither is SystemExit.

    Rules: 192
    """
    for thread, error in (("lease", LeaseLost("gone")), ("exit", SystemExit(3))):
        graph = graph_of(drive, failing("work", error), noting, compiled={"checkpointer": journal})
        with pytest.raises(type(error)):
            drive.invoke(graph, {"log": []}, on(thread))


def test_a_siblings_failure_stops_a_handler(journal: Journal, strict: bool) -> None:
    """And on resume it is still the handler that runs.

    Rules: 192, 195
    """
    calls = Calls()

    async def handle(state: State, error: NodeError) -> State:
        if calls("handler") == 1:
            await asyncio.sleep(5)
        return {"log": ["handled"]}

    async def late(state: State) -> State:
        await asyncio.sleep(0.05)
        if calls("late") == 1:
            raise KeyError("late")
        return {"log": ["late"]}

    builder: Any = StateGraph(State, strict=strict)
    builder.add_node("work", failing("work", ValueError("boom"), calls), error_handler=handle).add_node("late", late)
    graph = builder.add_edge(START, "work").add_edge(START, "late").compile(checkpointer=journal)

    async def both() -> Any:
        with pytest.raises(KeyError):
            await graph.ainvoke({"log": []}, on("t"))
        return await graph.ainvoke(None, on("t"))

    assert sorted(asyncio.run(both())["log"]) == ["handled", "late"]
    assert (calls.of("work"), calls.of("handler")) == (1, 2)
