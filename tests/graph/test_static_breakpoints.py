"""Rules of fixed breakpoints: interrupt_before and interrupt_after, at compile and per call."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.graph import END, START, Command, Paused, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, JournalBox, on
from support.pausing import Calls, Log, asked, chain, steps

pytestmark = pytest.mark.unit


class Trail:
    """Three nodes in a row that count their calls and log their names."""

    def __init__(self, drive: Drive, journal: Journal | None, strict: bool = True, **options: Any) -> None:
        self.calls = Calls()
        self.graph = chain(drive, *(self.node(name) for name in "abc"), strict=strict, checkpointer=journal, **options)

    def node(self, name: str) -> Any:
        def body(state: Log) -> Log:
            self.calls(name)
            return {"log": [name]}

        body.__name__ = body.__qualname__ = name
        return body

    @property
    def ran(self) -> str:
        return "".join(name * self.calls.of(name) for name in "abc")


def test_a_breakpoint_before_a_node_keeps_it_from_being_entered(drive: Drive, journal: Journal, strict: bool) -> None:
    """The plain state is returned, with no question in it; the node is next.

    Rules: 123. Rows: S0-100, S1-H01
    """
    trail = Trail(drive, journal, strict, interrupt_before=["b"])
    result = drive.invoke(trail.graph, {"log": []}, on("t"))
    assert result == {"log": ["a"]}
    assert trail.ran == "a"
    head = drive.get_state(trail.graph, on("t"))
    assert (head.next, head.interrupts) == (("b",), ())
    assert drive.invoke(trail.graph, None, on("t")) == {"log": ["a", "b", "c"]}
    assert trail.ran == "abc"


def test_a_breakpoint_after_a_node_lets_it_finish(drive: Drive, journal: Journal, strict: bool) -> None:
    """Its writes are in the state, its successor is next.

    Rules: 123. Rows: S1-H01
    """
    trail = Trail(drive, journal, strict, interrupt_after=["b"])
    assert drive.invoke(trail.graph, {"log": []}, on("t")) == {"log": ["a", "b"]}
    assert drive.get_state(trail.graph, on("t")).next == ("c",)
    assert drive.invoke(trail.graph, None, on("t")) == {"log": ["a", "b", "c"]}
    assert trail.ran == "abc"


def test_the_stream_tells_of_a_breakpoint_without_a_question(drive: Drive, journal: Journal, strict: bool) -> None:
    """``{"__interrupt__": ()}`` in updates, nothing in values.

    Rules: 123
    """
    trail = Trail(drive, journal, strict, interrupt_before=["b"])
    events = drive.stream(trail.graph, {"log": []}, on("t"), stream_mode=["updates", "values"])
    assert events == [
        ("values", {"log": []}),
        ("updates", {"a": {"log": ["a"]}}),
        ("values", {"log": ["a"]}),
        ("updates", {"__interrupt__": ()}),
    ]


def test_a_breakpoint_at_the_entry_pauses_before_anything_ran(drive: Drive, journal: Journal, strict: bool) -> None:
    """The input is in the state already.

    Rules: 123, 124. Rows: S0-100
    """
    trail = Trail(drive, journal, strict, interrupt_before=["a"])
    assert drive.invoke(trail.graph, {"log": ["in"]}, on("t")) == {"log": ["in"]}
    assert trail.ran == ""
    assert drive.get_state(trail.graph, on("t")).next == ("a",)
    assert drive.invoke(trail.graph, None, on("t")) == {"log": ["in", "a", "b", "c"]}


def test_one_visit_of_a_node_pauses_once(drive: Drive, journal: Journal, strict: bool) -> None:
    """Going on marks everything as seen: the same breakpoint does not fire again for the same step.

    Rules: 124. Rows: S0-102, S1-H01
    """
    trail = Trail(drive, journal, strict, interrupt_before="*")
    seen: list[str] = []
    drive.invoke(trail.graph, {"log": []}, on("t"))
    while waiting := drive.get_state(trail.graph, on("t")).next:
        seen += waiting
        assert len(seen) < 10
        drive.invoke(trail.graph, None, on("t"))
    assert seen == ["a", "b", "c"]
    assert trail.ran == "abc"


def test_a_failed_node_behind_a_breakpoint_does_not_pause_again(drive: Drive, journal: Journal, strict: bool) -> None:
    """The breakpoint was passed; the retry of the step is the same visit.

    Rules: 124, 92. Rows: S0-102
    """
    calls = Calls()

    def first(state: Log) -> Log:
        return {"log": ["first"]}

    def flaky(state: Log) -> Log:
        if calls("flaky") == 1:
            raise ValueError("once")
        return {"log": ["flaky"]}

    graph = chain(drive, first, flaky, strict=strict, checkpointer=journal, interrupt_before=["flaky"])
    drive.invoke(graph, {"log": []}, on("t"))
    with pytest.raises(ValueError, match="once"):
        drive.invoke(graph, None, on("t"))
    assert drive.invoke(graph, None, on("t")) == {"log": ["first", "flaky"]}


def test_a_node_that_wrote_nothing_still_lets_the_next_step_pause(drive: Drive, journal: Journal, strict: bool) -> None:
    """Its trigger is a change too.

    Rules: 124
    """

    def first(state: Log) -> Log:
        return {"log": ["first"]}

    def idle(state: Log) -> None:
        return None

    def last(state: Log) -> Log:
        return {"log": ["last"]}

    graph = chain(drive, first, idle, last, strict=strict, checkpointer=journal, interrupt_after="*")
    seen = [drive.invoke(graph, {"log": []}, on("t"))["log"]]
    waits = [drive.get_state(graph, on("t")).next]
    while waits[-1] and len(waits) < 10:
        seen.append(drive.invoke(graph, None, on("t"))["log"])
        waits.append(drive.get_state(graph, on("t")).next)
    assert waits == [("idle",), ("last",), ()]
    assert seen == [["first"], ["first"], ["first", "last"]]


def test_a_loop_pauses_on_every_visit(drive: Drive, journal: Journal, strict: bool) -> None:
    """A breakpoint is of the visit, not of the node.

    Rules: 124. Rows: S1-H01
    """

    def turn(state: Log) -> Log:
        return {"n": state.get("n", 0) + 1}

    def more(state: Log) -> str:
        return "turn" if state.get("n", 0) < 3 else END

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("turn", drive.node(turn)).add_edge(START, "turn").add_conditional_edges(
        "turn", more, ["turn", END]
    )
    graph = builder.compile(checkpointer=journal, interrupt_before=["turn"])
    drive.invoke(graph, {"log": []}, on("t"))
    seen = [drive.invoke(graph, None, on("t")).get("n") for _ in range(3)]
    assert seen == [1, 2, 3]
    assert drive.get_state(graph, on("t")).next == ()


def test_the_star_leaves_out_hidden_nodes(drive: Drive, journal: Journal, strict: bool) -> None:
    """The processing of the input is a hidden step and pauses nobody.

    Rules: 125
    """
    trail = Trail(drive, journal, strict)
    drive.invoke(trail.graph, {"log": []}, on("t"), interrupt_before="*")
    assert drive.get_state(trail.graph, on("t")).next == ("a",)
    after = Trail(drive, journal, strict)
    drive.invoke(after.graph, {"log": []}, on("after"), interrupt_after="*")
    assert after.ran == "a"


def test_breakpoints_of_the_call_replace_the_compiled_ones(drive: Drive, journal: Journal, strict: bool) -> None:
    """An empty list takes them away.

    Rules: 126
    """
    trail = Trail(drive, journal, strict, interrupt_before=["b"])
    assert drive.invoke(trail.graph, {"log": []}, on("c"), interrupt_before=["c"]) == {"log": ["a", "b"]}
    assert drive.invoke(trail.graph, {"log": []}, on("none"), interrupt_before=[]) == {"log": ["a", "b", "c"]}
    events = drive.stream(trail.graph, {"log": []}, on("stream"), interrupt_before=[], interrupt_after=["a"])
    assert events == [{"a": {"log": ["a"]}}, {"__interrupt__": ()}]
    assert drive.get_state(trail.graph, on("stream")).next == ("b",)


def test_an_unknown_breakpoint_of_a_call_is_refused(drive: Drive, journal: Journal, strict: bool) -> None:
    """As at compile: a breakpoint that can never fire is a mistake; the nearest name is given, nothing ran.

    Rules: 126, 3
    """
    trail = Trail(drive, journal, strict)
    with pytest.raises(ValueError, match="nope"):
        drive.invoke(trail.graph, {"log": []}, on("t"), interrupt_before=["nope"])
    assert trail.ran == ""


def test_an_answer_passes_a_breakpoint(drive: Drive, journal: Journal, strict: bool) -> None:
    """``Command(resume=x)`` goes on past it and is there for the question behind it.

    Rules: 132
    """

    def first(state: Log) -> Log:
        return {"log": ["first"]}

    def ask(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    graph = chain(drive, first, ask, strict=strict, checkpointer=journal, interrupt_before=["ask"])
    assert drive.invoke(graph, {"log": []}, on("t")) == {"log": ["first"]}
    result = drive.invoke(graph, Command(resume="ada"), on("t"))
    assert result == {"log": ["first", "ada"]}


def test_a_breakpoint_and_a_question_of_one_node_are_two_pauses(drive: Drive, journal: Journal, strict: bool) -> None:
    """First the fixed one, then the node's own; after the answer neither fires again.

    Rules: 123, 124, 111
    """

    def first(state: Log) -> Log:
        return {"log": ["first"]}

    def ask(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    graph = chain(drive, first, ask, strict=strict, checkpointer=journal, interrupt_before=["ask"])
    assert not asked(drive.invoke(graph, {"log": []}, on("t")))
    assert [question.value for question in asked(drive.invoke(graph, None, on("t")))] == ["who?"]
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["first", "ada"]}


def test_the_state_at_a_breakpoint_can_be_edited(drive: Drive, journal: Journal, strict: bool) -> None:
    """The node behind it sees the edited state; unedited, the run ends as one that was not interrupted.

    Rules: 127. Rows: S0-102, S1-H05
    """
    trail = Trail(drive, journal, strict, interrupt_before=["b"])
    drive.invoke(trail.graph, {"log": []}, on("edited"))
    drive.update_state(trail.graph, on("edited"), {"log": ["edit"]})
    assert drive.get_state(trail.graph, on("edited")).next == ("b",)
    assert drive.invoke(trail.graph, None, on("edited"), interrupt_before=[]) == {"log": ["a", "edit", "b", "c"]}
    drive.invoke(trail.graph, {"log": []}, on("same"))
    uninterrupted = drive.invoke(trail.graph, {"log": []}, on("other"), interrupt_before=[])
    assert drive.invoke(trail.graph, None, on("same")) == uninterrupted


def test_a_breakpoint_outlives_its_process(drive: Drive, box: JournalBox) -> None:
    """Another opening of the store goes on behind it.

    Rules: 124. Rows: S0-103, S1-H07
    """
    first = Trail(drive, box.open(), interrupt_before=["b"])
    drive.invoke(first.graph, {"log": []}, on("t"))
    second = Trail(drive, box.open(), interrupt_before=["b"])
    assert drive.invoke(second.graph, None, on("t")) == {"log": ["a", "b", "c"]}
    assert (first.ran, second.ran) == ("a", "bc")


def test_a_pause_writes_no_checkpoint_of_its_own(drive: Drive, journal: Journal, strict: bool) -> None:
    """History is the same with a breakpoint as without.

    Rules: 73, 123
    """
    paused = Trail(drive, journal, strict, interrupt_before=["b"])
    drive.invoke(paused.graph, {"log": []}, on("paused"))
    drive.invoke(paused.graph, None, on("paused"))
    straight = Trail(drive, journal, strict)
    drive.invoke(straight.graph, {"log": []}, on("straight"))
    assert steps(drive, paused.graph, on("paused")) == steps(drive, straight.graph, on("straight"))


def test_parallel_nodes_wait_together(drive: Drive, journal: Journal, strict: bool) -> None:
    """A breakpoint before one of a step's nodes holds the whole step.

    Rules: 123. Rows: S0-100
    """
    calls = Calls()

    def node(name: str) -> Any:
        def body(state: Log) -> Log:
            calls(name)
            return {"log": [name]}

        body.__name__ = body.__qualname__ = name
        return drive.node(body)

    builder: Any = StateGraph(Log, strict=strict)
    for name in ("one", "two"):
        builder.add_node(name, node(name)).add_edge(START, name)
    graph = builder.compile(checkpointer=journal, interrupt_before=["two"])
    drive.invoke(graph, {"log": []}, on("t"))
    assert (calls.of("one"), calls.of("two")) == (0, 0)
    assert drive.invoke(graph, None, on("t")) == {"log": ["one", "two"]}


def test_the_typed_run_pauses_without_questions(drive: Drive, journal: Journal) -> None:
    """`Paused` with an empty tuple; running on finishes.

    Rules: 123. Rows: S0-101
    """
    trail = Trail(drive, journal, interrupt_before=["b"])
    paused = drive.run(trail.graph, {"log": []}, on("t"))
    assert isinstance(paused, Paused)
    assert (tuple(paused.questions), paused.state) == ((), {"log": ["a"]})
    assert drive.run(trail.graph, None, on("t")).state == {"log": ["a", "b", "c"]}
