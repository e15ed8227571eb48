"""Events: a closed union, every start with one end, ids from the driver only, and each under its AG-UI name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from lawful.core import events as ev
from lawful.core.agui import agui, agui_name
from lawful.core.errors import ParsingError
from lawful.core.event_rules import disordered, unpaired
from lawful.core.events import Event, event_from_json, event_json, stamp
from lawful.core.messages import assistant

pytestmark = [pytest.mark.unit, pytest.mark.property]

AGUI_NAMES = {
    "RUN_STARTED",
    "RUN_FINISHED",
    "RUN_ERROR",
    "STEP_STARTED",
    "STEP_FINISHED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "TEXT_MESSAGE_CHUNK",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_CHUNK",
    "TOOL_CALL_RESULT",
    "STATE_SNAPSHOT",
    "STATE_DELTA",
    "MESSAGES_SNAPSHOT",
    "ACTIVITY_SNAPSHOT",
    "ACTIVITY_DELTA",
    "RAW",
    "CUSTOM",
    "REASONING_START",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "REASONING_MESSAGE_CHUNK",
    "REASONING_END",
    "REASONING_ENCRYPTED_VALUE",
    "SUBAGENT_STARTED",
    "SUBAGENT_FINISHED",
    "SUBAGENT_ERROR",
}
"""All event names of AG-UI 1.0."""

EXAMPLES: list[Event] = [
    ev.RunStarted("g", "t"),
    ev.RunFinished("t", "interrupt", ("q1", "q2")),
    ev.RunFailed("tool", "no"),
    ev.NodeStarted("n", "s1", 3, 2),
    ev.NodeEnded("n", "s1"),
    ev.NodeFailed("n", "s1", "tool", "no"),
    ev.TaskStarted("f", "s2"),
    ev.TaskEnded("f", "s2"),
    ev.TaskFailed("f", "s2", "tool"),
    ev.LLMStarted("m", "s3"),
    ev.LLMChunk("s3", "hel"),
    ev.LLMReasoning("s3", "hm"),
    ev.LLMEnded("s3", ev.Usage(3, 4)),
    ev.LLMFailed("s3", "llm"),
    ev.ToolStarted("add", "s4"),
    ev.ToolArguments("s4", '{"a"'),
    ev.ToolCalled("s4"),
    ev.ToolEnded("s4", {"n": 1}),
    ev.ToolFailed("s4", "tool", "no"),
    ev.Checkpointed("c1", "ns", 4),
    ev.Interrupted("n", "q1"),
    ev.EffectMoved("op", "pay", "claimed"),
    ev.EffectLooked("op", "pay", "NotFound"),
    ev.StateUpdated({"a": [1]}),
    ev.Custom({"p": 1}, "n", "progress"),
    ev.SignalSwallowed("n", "GraphInterrupt"),
    ev.JoinSkipped("j", ("a", "b")),
    ev.LeaseTaken("t", 1.5),
    ev.LeaseLost("t"),
    ev.RetryScheduled("n", 1, 0.5),
]


def kinds() -> set[type[Any]]:
    found: set[type[Any]] = set()
    for part in get_args(Event):
        found.add(part)
    return found


def test_the_examples_are_the_whole_union() -> None:
    """Rows: S0-050."""
    assert {type(event) for event in EXAMPLES} == kinds()
    assert {kind for kind in ev.Base.__subclasses__()} == kinds()


def test_each_kind_has_a_name_of_its_own() -> None:
    names = [event_json(event)["event"] for event in EXAMPLES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_json_round_trip(event: Event) -> None:
    """Rows: S0-050."""
    stamped = stamp(event, "run", 7, "parent")
    told = event_json(stamped)
    assert event_from_json(told) == stamped
    assert event_from_json(json.loads(json.dumps(told))) == stamped
    assert (told["run_id"], told["seq"], told["parent_run_id"]) == ("run", 7, "parent")


@pytest.mark.parametrize("told", [{}, {"event": "nope"}, {"event": "llm_chunk", "span": 3, "text": "x"}, [], "x"])
def test_what_is_no_event_is_a_parsing_error(told: object) -> None:
    with pytest.raises(ParsingError, match="no event"):
        event_from_json(told)


def test_a_stamp_changes_only_the_ids() -> None:
    event = ev.SignalSwallowed("n")
    stamped = stamp(event, "r", 3)
    assert (event.run_id, event.seq) == ("", 0)
    assert (stamped.node, stamped.run_id, stamped.seq, stamped.parent_run_id) == ("n", "r", 3, None)


# Brackets


def of_run(run: str, *events: Event) -> list[Event]:
    return [stamp(event, run, at + 1) for at, event in enumerate(events)]


Make = Callable[[str], Event]

BRACKETS: list[tuple[Make, list[Make]]] = [
    (partial(ev.NodeStarted, "n"), [partial(ev.NodeEnded, "n"), lambda s: ev.NodeFailed("n", s, "tool")]),
    (partial(ev.TaskStarted, "f"), [partial(ev.TaskEnded, "f"), lambda s: ev.TaskFailed("f", s, "tool")]),
    (partial(ev.LLMStarted, "m"), [ev.LLMEnded, lambda s: ev.LLMFailed(s, "llm")]),
    (partial(ev.ToolStarted, "t"), [ev.ToolEnded, lambda s: ev.ToolFailed(s, "tool")]),
]


@st.composite
def balanced(draw: st.DrawFn) -> list[Event]:
    """A run whose brackets open and close in any overlapping order, each closed once by an end or an error."""
    pending: list[tuple[int, str, bool]] = []
    events: list[Event] = [ev.RunStarted()]
    for number in range(draw(st.integers(0, 6))):
        kind = draw(st.integers(0, 3))
        events.append(BRACKETS[kind][0](f"s{number}"))
        pending.append((kind, f"s{number}", draw(st.booleans())))
        while pending and draw(st.booleans()):
            events.append(close(pending.pop(draw(st.integers(0, len(pending) - 1)))))
        events.append(ev.Custom(number))
    events += [close(one) for one in pending]
    events.append(draw(st.sampled_from([ev.RunFinished(), ev.RunFailed("tool", "x")])))
    return of_run("r", *events)


def close(one: tuple[int, str, bool]) -> Event:
    kind, span, failed = one
    return BRACKETS[kind][1][failed](span)


@given(balanced())
def test_a_balanced_run_is_paired(events: list[Event]) -> None:
    assert unpaired(events) == []
    assert disordered(events) == []


@given(balanced(), st.data())
def test_whatever_end_is_lost_its_start_is_named(events: list[Event], data: st.DataObject) -> None:
    ends = [at for at, event in enumerate(events) if isinstance(event, ev.Ended)]
    at = data.draw(st.sampled_from(ends))
    wrong = unpaired([*events[:at], *events[at + 1 :]])
    assert [one.why for one in wrong] == ["never ended"]
    lost = wrong[0].event
    assert isinstance(lost, ev.Started)
    assert getattr(lost, "span", "run") == getattr(events[at], "span", "run")


@given(balanced(), st.data())
def test_a_doubled_end_and_a_lost_start_are_seen(events: list[Event], data: st.DataObject) -> None:
    end = data.draw(st.sampled_from([event for event in events if isinstance(event, ev.Ended)]))
    assert [one.why for one in unpaired([*events, end])] == ["ended twice"]
    starts = [at for at, event in enumerate(events) if isinstance(event, ev.Started)]
    at = data.draw(st.sampled_from(starts))
    assert {one.why for one in unpaired([*events[:at], *events[at + 1 :]])} == {"never started"}
    assert "started twice" in {one.why for one in unpaired([*events[: at + 1], events[at], *events[at + 1 :]])}


def test_a_chunk_outside_its_call_breaks_the_rule() -> None:
    early = of_run("r", ev.LLMChunk("m", "x"), ev.LLMStarted("gpt", "m"), ev.LLMEnded("m"))
    assert [one.why for one in unpaired(early)] == ["never started"]
    late = of_run("r", ev.ToolStarted("t", "c"), ev.ToolEnded("c"), ev.ToolArguments("c", "x"))
    assert [one.why for one in unpaired(late)] == ["after the end"]


def test_equal_spans_of_two_runs_are_two_brackets() -> None:
    one = of_run("r1", ev.NodeStarted("n", "s"))
    two = of_run("r2", ev.NodeStarted("n", "s"), ev.NodeEnded("n", "s"))
    assert [(broken.event.run_id, broken.why) for broken in unpaired([*one, *two])] == [("r1", "never ended")]


def test_a_seq_that_does_not_grow_is_seen() -> None:
    """Rows: S0-051."""
    events: list[Event] = [stamp(ev.Custom(n), "r", seq) for n, seq in enumerate([1, 2, 2, 5, 4])]
    assert [event.seq for event in disordered(events)] == [2, 4]


# AG-UI


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("parent", [None, "p"])
def test_every_event_has_one_agui_name(event: Event, parent: str | None) -> None:
    told = agui(stamp(event, "r", 9, parent))
    assert told["type"] in AGUI_NAMES
    assert told["metadata"]["event"] == event_json(event)["event"]
    assert told["metadata"]["seq"] == 9
    assert json.loads(json.dumps(told)) == told
    if parent is None:
        assert told["type"] == agui_name(type(event))
        assert "subagentRunId" not in told
    else:
        assert told["subagentRunId"] == "r"


def test_what_agui_does_not_know_is_custom_under_our_name() -> None:
    told = agui(stamp(ev.JoinSkipped("j", ("a",)), "r", 1))
    assert told["type"] == "CUSTOM"
    assert told["name"] == "lawful.join_skipped"
    assert told["value"] == {"join": "j", "missing": ["a"]}


def test_a_run_and_a_run_inside_it() -> None:
    root = agui(stamp(ev.RunStarted("g", "t"), "r", 1))
    assert (root["type"], root["threadId"], root["runId"]) == ("RUN_STARTED", "t", "r")
    inner = agui(stamp(ev.RunStarted("sub"), "r2", 2, "r"))
    assert (inner["type"], inner["subagentRunId"], inner["name"]) == ("SUBAGENT_STARTED", "r2", "sub")
    paused = agui(stamp(ev.RunFinished("t", "interrupt", ("q",)), "r", 3))
    assert paused["outcome"] == {"type": "interrupt", "interrupts": [{"id": "q", "reason": "interrupt"}]}


def test_brackets_close_on_the_other_side_too() -> None:
    """AG-UI pairs a step, message or tool call by name and id; an error closes it like an end."""
    opened = agui(ev.NodeStarted("n", "s"))
    for closing in (ev.NodeEnded("n", "s"), ev.NodeFailed("n", "s", "tool", "no")):
        assert agui(closing)["stepName"] == opened["stepName"]
    assert agui(ev.NodeStarted("n", "s"))["stepName"] != agui(ev.NodeStarted("n", "other"))["stepName"]
    assert agui(ev.NodeFailed("n", "s", "tool", "no"))["metadata"]["code"] == "tool"
    failed = agui(ev.ToolFailed("c", "tool", "no"))
    assert (failed["type"], failed["toolCallId"], failed["content"]) == ("TOOL_CALL_RESULT", "c", "no")


class Pin(BaseModel):
    """A value of a program's own class."""

    x: int


@dataclass
class Point:
    """Another."""

    pin: Pin


@pytest.mark.parametrize(
    "event",
    [
        ev.StateUpdated({"at": Point(Pin(x=1)), "said": assistant("hi"), "seen": {1}, 2: "two"}),  # pyright: ignore[reportArgumentType]
        ev.Custom([Point(Pin(x=1)), assistant("hi")]),
        ev.ToolEnded("s", {"at": Point(Pin(x=1))}),
    ],
)
def test_values_of_a_programs_own_classes_become_json(event: Event) -> None:
    """In both forms: dataclasses, models and messages are dicts. Rows: S0-050."""
    told, shown = json.loads(json.dumps([event_json(event), agui(event)]))
    inner = json.loads(shown["content"]) if "content" in shown else shown.get("snapshot", shown.get("value"))
    said = {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}
    match event:
        case ev.StateUpdated():
            assert told["values"] == inner == {"at": {"pin": {"x": 1}}, "said": said, "seen": [1], "2": "two"}
        case ev.Custom():
            assert told["value"] == inner == [{"pin": {"x": 1}}, said]
        case _:
            assert told["output"] == inner == {"at": {"pin": {"x": 1}}}


def test_a_value_without_a_json_form_is_refused() -> None:
    """By both, naming its class. Rows: S0-050."""
    for form in (event_json, agui):
        with pytest.raises(TypeError, match="object"):
            form(ev.Custom(object()))
