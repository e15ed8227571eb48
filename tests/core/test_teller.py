"""The one place that events go through: numbers, pairs whatever is told to it, scopes; and the port that work in nodes uses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core import events as ev
from lawful.core.agui import agui
from lawful.core.chunks import MessageChunk, ToolCallChunk
from lawful.core.context import Run, Slot, current_task
from lawful.core.event_rules import disordered, unpaired
from lawful.core.events import Event
from lawful.core.messages import Image, Reasoning, Text, assistant
from lawful.core.teller import Teller
from lawful.core.telling import model_call, room, say, tell, tool_call

pytestmark = [pytest.mark.unit, pytest.mark.property]

SPANS = st.sampled_from(["x", "y"])
STARTS = st.one_of(
    st.builds(ev.NodeStarted, st.just("n"), SPANS),
    st.builds(ev.TaskStarted, st.just("t"), SPANS),
    st.builds(ev.LLMStarted, st.just("m"), SPANS),
    st.builds(ev.ToolStarted, st.just("t"), SPANS),
    st.just(ev.RunStarted()),
)
OTHERS = st.one_of(
    st.builds(ev.NodeEnded, st.just("n"), SPANS),
    st.builds(ev.NodeFailed, st.just("n"), SPANS, st.just("c")),
    st.builds(ev.TaskEnded, st.just("t"), SPANS),
    st.builds(ev.LLMChunk, SPANS, st.just("text")),
    st.builds(ev.LLMEnded, SPANS),
    st.builds(ev.LLMFailed, SPANS, st.just("c")),
    st.builds(ev.ToolArguments, SPANS, st.just("{")),
    st.builds(ev.ToolCalled, SPANS),
    st.builds(ev.ToolEnded, SPANS),
    st.builds(ev.ToolFailed, SPANS, st.just("c")),
    st.builds(ev.Custom, st.just(1)),
    st.just(ev.RunFinished()),
    st.just(ev.RunFailed("c", "m")),
)


def runs() -> list[Run]:
    """A root run, one in it, one in that."""
    root = Run(run_id="r")
    inner = Run(run_id="r.1", parent=root)
    return [root, inner, Run(run_id="r.1.7", parent=inner)]


@given(told=st.lists(st.tuples(st.integers(0, 2), st.one_of(STARTS, OTHERS)), max_size=60))
def test_whatever_is_told_comes_out_paired_and_in_order(told: list[tuple[int, Event]]) -> None:
    """Ends without starts, starts twice, what comes after the end: left out, closed, or told under another span.

    Rows: S0-052, S0-051
    """
    teller, heard, all_runs = Teller(), list[Event](), runs()
    teller.attach(heard.append, all_runs[0])
    begun: set[Any] = set()
    for place, event in [(0, ev.RunStarted()), *told, (0, ev.RunFinished())]:
        run = all_runs[place]
        if isinstance(event, ev.RunStarted | ev.NodeStarted):
            key = (type(event), run.run_id, getattr(event, "span", ""))
            if key in begun:
                continue  # a driver names no two runs, and no two attempts of a run, alike
            begun.add(key)
        teller.tell(run, event)
    assert unpaired(heard) == []
    assert disordered(heard) == []
    over = [type(event) for event in heard if isinstance(event, ev.RunFinished | ev.RunFailed) and event.run_id == "r"]
    assert len(over) == 1
    assert isinstance(heard[-1], over[0])


def test_a_call_that_begins_again_has_a_span_of_its_own() -> None:
    """A retried tool bears its call's old id; what is told of the second run bears another.

    Rows: S0-052
    """
    teller, heard, (root, *_) = Teller(), list[Event](), runs()
    teller.attach(heard.append, root)
    teller.tell(root, ev.RunStarted())
    for _ in range(2):
        teller.tell(root, ev.ToolStarted("t", "call"))
        teller.tell(root, ev.ToolCalled("call"))
        teller.tell(root, ev.ToolCalled("call"))
        teller.tell(root, ev.ToolEnded("call", 1))
    spans: Any = [getattr(event, "span", "") for event in heard[1:]]
    assert spans == ["call"] * 3 + ["call#2"] * 3
    assert unpaired([*heard, ev.RunFinished(run_id="r")]) == []


def test_listeners_hear_their_run_and_those_in_it() -> None:
    """Attached twice, told once; after the run's end, no more."""
    teller, outer, inner, (root, child, leaf) = Teller(), list[Event](), list[Event](), runs()
    hear_outer, hear_inner = outer.append, inner.append
    teller.attach(hear_outer, root)
    teller.attach(hear_outer, root)
    teller.attach(hear_inner, child)
    for run in (root, child, leaf):
        teller.tell(run, ev.RunStarted())
    teller.tell(child, ev.RunFinished())
    teller.tell(child, ev.RunStarted())
    assert [e.run_id for e in outer] == ["r", "r.1", "r.1.7", "r.1.7", "r.1", "r.1"]
    assert [e.run_id for e in inner] == ["r.1", "r.1.7", "r.1.7", "r.1"]
    assert [e.parent_run_id for e in outer[:3]] == [None, "r", "r.1"]


def test_a_listener_with_raise_error_fails_the_teller() -> None:
    class Strict:
        raise_error = True

        def __call__(self, event: Event) -> None:
            raise RuntimeError("no")

    teller, (root, *_) = Teller(), runs()
    teller.attach(Strict(), root)
    with pytest.raises(RuntimeError, match="no"):
        teller.tell(root, ev.RunStarted())


# The port


async def test_outside_a_run_and_unheard_nothing_happens() -> None:
    """Every form of it can be used anywhere."""
    tell(ev.Custom(1))
    say(assistant("x"))
    await room()
    for slot in (None, Slot(Run(run_id="r"), "n", "n", 1)):
        token = current_task.set(slot)
        with model_call("m") as call, tool_call("t", "c") as run:
            assert not call.heard
            call.text("x")
            call.reasoning("x")
            call.block(Text("x"))
            call.tool("c", name="t", args="{}")
            call.called("c")
            await call.room()
            run.end(1)
            call.end(assistant("x"))
        current_task.reset(token)


class Heard:
    """A run that somebody listens to, and a slot in it that is the running attempt."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.run = Run(run_id="r")
        self.run.teller = Teller()
        self.run.teller.attach(self.events.append, self.run)
        self.run.teller.tell(self.run, ev.RunStarted())
        self.slot = Slot(self.run, "n", "n", 1)

    def __enter__(self) -> Heard:
        self.token = current_task.set(self.slot)
        return self

    def __exit__(self, *_: object) -> None:
        current_task.reset(self.token)

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events[1:]]


def test_a_model_call_ends_once_whatever_happens() -> None:
    """By its end, by the block's, by an error, by a cancellation.

    Rows: S0-052
    """
    with Heard() as heard:
        with model_call("m") as call:
            call.end(usage=ev.Usage(1, 2))
        with pytest.raises(ValueError, match="no"), model_call("m"):
            raise ValueError("no")
        with pytest.raises(KeyboardInterrupt), model_call("m"):
            raise KeyboardInterrupt
        with model_call("m", id="given") as call:
            call.usage = ev.Usage(3)
    assert heard.kinds == ["LLMStarted", "LLMEnded", *["LLMStarted", "LLMFailed"] * 2, "LLMStarted", "LLMEnded"]
    assert (heard.events[2], heard.events[-1]) == (
        ev.LLMEnded(call_of(heard.events[1]), ev.Usage(1, 2), run_id="r", seq=3),
        ev.LLMEnded("given", ev.Usage(3), run_id="r", seq=9),
    )


def call_of(event: Any) -> str:
    return event.span


def test_an_answer_that_was_not_streamed_is_told_as_one_chunk() -> None:
    """So that events hold the whole text in any case.

    Rows: S0-050
    """
    with Heard() as heard, model_call("m") as call:
        call.end(assistant("whole"))
    assert [event.text for event in heard.events if isinstance(event, ev.LLMChunk)] == ["whole"]


def test_a_tool_ends_as_it_says_or_as_its_block_does() -> None:
    """Rows: S0-052"""
    with Heard() as heard:
        with tool_call("t", "1") as run:
            run.end({"a": 1})
        with tool_call("t", "2") as run:
            run.failed("refused", "not now")
        with pytest.raises(ValueError, match="no"), tool_call("t", "3"):
            raise ValueError("no")
        with tool_call("t", "4"):
            pass
    ends = [event for event in heard.events if isinstance(event, ev.ToolEnded | ev.ToolFailed)]
    assert [(type(e).__name__, e.span) for e in ends] == [
        ("ToolEnded", "1"),
        ("ToolFailed", "2"),
        ("ToolFailed", "3"),
        ("ToolEnded", "4"),
    ]
    assert unpaired([*heard.events, ev.RunFinished(run_id="r")]) == []


def test_what_a_node_tells_is_a_whole_conversation_in_ag_ui() -> None:
    """Starts and ends of message and call, one of each.

    Rows: S0-050
    """
    with Heard() as heard:
        with model_call("m", id="msg") as call:
            call.text("look")
            call.tool("c", name="search", args="{}")
            call.called("c")
        with tool_call("search", "c") as run:
            run.end("found")
    assert [agui(event)["type"] for event in heard.events[1:]] == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_RESULT",
    ]


# Chunks


def test_chunks_of_a_message_are_joined() -> None:
    """Text to text, thought to thought, other blocks and pieces of calls in order."""
    picture = Image(url="https://example.org/a.png")
    pieces = [
        MessageChunk("m", (Reasoning(reasoning="h"),)),
        MessageChunk("m", (Reasoning(reasoning="m"),)),
        MessageChunk("m", (Text("a"),)),
        MessageChunk("m", (), (ToolCallChunk("{", "c", "t"),)),
        MessageChunk("m", (Text("b"), picture, Text("c")), last=True),
        MessageChunk("m", (), (ToolCallChunk("}", "c"),)),
    ]
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece
    assert whole.content == (Reasoning(reasoning="hm"), Text("ab"), picture, Text("c"))
    assert (whole.text, whole.reasoning, whole.last) == ("abc", "hm", True)
    assert "".join(piece.args for piece in whole.tool_call_chunks) == "{}"


@given(texts=st.lists(st.text(max_size=3), min_size=1, max_size=8), cut=st.integers(0, 8))
def test_joining_chunks_is_associative(texts: list[str], cut: int) -> None:
    """Any grouping gives the same piece, so that a reader may fold as it likes."""
    pieces = [MessageChunk("m", (Text(text),)) for text in texts]
    at = min(cut, len(pieces) - 1)

    def fold(some: list[MessageChunk]) -> MessageChunk:
        first, *rest = some
        for piece in rest:
            first = first + piece
        return first

    halves = fold(pieces) if at == 0 else fold(pieces[:at]) + fold(pieces[at:])
    assert halves == fold(pieces)
    assert halves.text == "".join(texts)
