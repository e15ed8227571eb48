"""Rules of the lifecycle callbacks: who hears of a pause and of going on, with what, and what a failing handler does."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from lawful.graph import START, Command, GraphCallbackHandler, StateGraph, interrupt
from lawful.graph.callbacks import GraphInterruptEvent, GraphResumeEvent
from lawful.journal.port import Journal
from support.graphs import Drive, on
from support.pausing import Log, chain, checkpoint_id

pytestmark = pytest.mark.unit


def a(state: Log) -> Log:
    return {"log": ["a"]}


def ask(state: Log) -> Log:
    return {"log": [interrupt("who?")]}


class Notes(GraphCallbackHandler):
    """Keeps what it hears; fails on going on, if it is told to."""

    def __init__(self, *, fails: bool = False, raise_error: bool = False) -> None:
        self.heard: list[Any] = []
        self.fails = fails
        self.raise_error = raise_error

    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        self.heard.append(event)

    def on_resume(self, event: GraphResumeEvent) -> None:
        self.heard.append(event)
        if self.fails:
            raise ValueError("no pen")


class AsyncNotes(Notes):
    """The same, with async methods."""

    async def on_interrupt(self, event: GraphInterruptEvent) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().on_interrupt(event)

    async def on_resume(self, event: GraphResumeEvent) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().on_resume(event)


def with_notes(thread: str, *handlers: Any) -> Any:
    return on(thread, callbacks=list(handlers))


def test_a_pause_and_going_on_are_told(drive: Drive, journal: Journal, strict: bool) -> None:
    """With the checkpoint that the run stands on and the questions; a run that starts anew tells nothing.

    Rules: 210
    """
    notes, graph = Notes(), chain(drive, a, ask, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, with_notes("t", notes))
    head = drive.get_state(graph, on("t"))
    (paused,) = notes.heard
    assert isinstance(paused, GraphInterruptEvent)
    assert (paused.status, paused.checkpoint_ns, paused.checkpoint_id) == ("pending", (), checkpoint_id(head))
    assert paused.interrupts == head.interrupts
    drive.invoke(graph, Command(resume="ada"), with_notes("t", notes))
    resumed = notes.heard[1]
    assert isinstance(resumed, GraphResumeEvent)
    assert (resumed.status, resumed.checkpoint_ns, resumed.checkpoint_id) == ("pending", (), checkpoint_id(head))
    assert len(notes.heard) == 2
    assert resumed.run_id != paused.run_id


def test_streams_tell_them_too(drive: Drive, journal: Journal) -> None:
    """Rules: 210"""
    notes, graph = Notes(), chain(drive, ask, checkpointer=journal)
    drive.stream(graph, {"log": []}, with_notes("t", notes))
    drive.stream(graph, Command(resume="ada"), with_notes("t", notes))
    assert [type(event) for event in notes.heard] == [GraphInterruptEvent, GraphResumeEvent]


@pytest.mark.parametrize(("where", "node"), [("interrupt_before", "ask"), ("interrupt_after", "a")])
def test_a_breakpoint_says_which_kind_it_is(drive: Drive, journal: Journal, where: str, node: str) -> None:
    """Rules: 210"""
    notes, graph = Notes(), chain(drive, a, ask, checkpointer=journal)
    stop: dict[str, Any] = {where: [node]}
    drive.invoke(graph, {"log": []}, with_notes("t", notes), **stop)
    (paused,) = notes.heard
    assert (paused.status, paused.interrupts) == (where, ())


def test_an_inner_graph_tells_that_it_goes_on_and_the_root_that_it_paused(drive: Drive, journal: Journal) -> None:
    """Rules: 210"""
    notes = Notes()
    outer: Any = StateGraph(Log)
    graph = outer.add_node("hold", chain(drive, ask)).add_edge(START, "hold").compile(checkpointer=journal)
    drive.invoke(graph, {"log": []}, with_notes("t", notes))
    assert [(type(e), e.checkpoint_ns) for e in notes.heard] == [(GraphInterruptEvent, ())]
    notes.heard.clear()
    drive.invoke(graph, Command(resume="ada"), with_notes("t", notes))
    assert [type(event) for event in notes.heard] == [GraphResumeEvent, GraphResumeEvent]
    outer_space, inner_space = (event.checkpoint_ns for event in notes.heard)
    assert outer_space == ()
    assert [part.partition(":")[0] for part in inner_space] == ["hold"]


def test_a_failing_handler_is_logged(drive: Drive, journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    """And the run goes on.

    Rules: 210
    """
    graph = chain(drive, ask, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    with caplog.at_level(logging.WARNING, logger="lawful.events"):
        result = drive.invoke(graph, Command(resume="ada"), with_notes("t", Notes(fails=True)))
    assert result == {"log": ["ada"]}
    assert any("no pen" in record.getMessage() for record in caplog.records)


def test_a_handler_may_fail_the_run(drive: Drive, journal: Journal) -> None:
    """If its ``raise_error`` says so; the thread can be used at once.

    Rules: 210
    """
    graph = chain(drive, ask, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    with pytest.raises(ValueError, match="no pen"):
        drive.invoke(graph, Command(resume="ada"), with_notes("t", Notes(fails=True, raise_error=True)))
    assert drive.invoke(graph, Command(resume="eve"), on("t"), busy="reject") == {"log": ["eve"]}


def test_async_handlers(drive: Drive, journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    """Awaited by an async run; a sync one says that it cannot.

    Rules: 210
    """
    notes, graph = AsyncNotes(), chain(drive, ask, checkpointer=journal)
    with caplog.at_level(logging.WARNING, logger="lawful.events"):
        drive.invoke(graph, {"log": []}, with_notes("t", notes))
    if drive.name == "async":
        assert [type(event) for event in notes.heard] == [GraphInterruptEvent]
    else:
        assert notes.heard == []
        assert any("ainvoke" in record.getMessage() for record in caplog.records)


def test_a_manager_of_handlers_and_half_a_handler_will_do(drive: Drive, journal: Journal) -> None:
    """What has ``handlers``, as other libraries' managers have; a handler need not have both methods.

    Rules: 210
    """
    heard: list[Any] = []

    class Half:
        def on_resume(self, event: Any) -> None:
            heard.append(event)

    class Manager:
        handlers = (Half(),)

    graph = chain(drive, ask, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t", callbacks=Manager()))
    drive.invoke(graph, Command(resume="ada"), on("t", callbacks=Manager()))
    assert [type(event) for event in heard] == [GraphResumeEvent]
