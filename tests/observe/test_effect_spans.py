"""Spans of effects: from the claim to the end, with each attempt and look-up in them, whoever settles the outcome."""

from __future__ import annotations

import time
from typing import Any, TypedDict

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from lawful import START, MemoryJournal, StateGraph, effect
from lawful.core.events import EffectLooked, EffectMoved
from lawful.graph import Done, Paused
from lawful.observe import Tracing
from lawful.observe.spans import UNSAID
from support.effects import STRONG, Forge, Publish, PullRequest

pytestmark = pytest.mark.integration


class State(TypedDict, total=False):
    repo: str
    address: str


class Watched(Forge):
    """Notes when it was called and when it was looked at."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.called: list[int] = []
        self.looked: list[int] = []

    def create(self, name: str) -> str:
        self.called.append(time.time_ns())
        return super().create(name)

    def find(self, name: str) -> Any:
        self.looked.append(time.time_ns())
        return super().find(name)


def graph(publish: Publish) -> Any:
    async def work(state: State) -> State:
        return {"address": await publish(PullRequest(state.get("repo", "")))}

    return StateGraph(State, name="g").add_node(work).add_edge(START, "work").compile(checkpointer=MemoryJournal())


def traced() -> tuple[Tracing, InMemorySpanExporter]:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    return Tracing(provider), kept


def effects(kept: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in kept.get_finished_spans() if span.name == "effect publish"]


def times(span: ReadableSpan) -> tuple[int, int]:
    assert span.start_time is not None
    assert span.end_time is not None
    return span.start_time, span.end_time


def told(span: ReadableSpan) -> list[tuple[str, Any]]:
    """The span's events: their names, and the number of the attempt or what was seen."""
    return [(one.name, next(iter((one.attributes or {}).values()), None)) for one in span.events]


async def test_the_span_of_an_effect_lasts_from_its_claim_to_its_end() -> None:
    """Rows: S0-182."""
    forge = Watched()
    tracing, kept = traced()
    await graph(Publish(forge)).run({"repo": "acme"}, on_event=tracing, thread="t")
    [span] = effects(kept)
    started, ended = times(span)
    [called] = forge.called
    assert started <= called <= ended
    moments = {event.name: event.timestamp for event in span.events}
    assert started <= moments["InFlight"] <= called <= moments["Succeeded"] <= ended
    assert span.status.status_code is StatusCode.UNSET


async def test_each_attempt_and_look_up_is_told_where_it_was_made() -> None:
    forge = Watched(script=["drop"])
    tracing, kept = traced()
    heard: list[Any] = []
    await graph(Publish(forge)).run({"repo": "acme"}, on_event=[tracing, heard.append], thread="t")
    [span] = effects(kept)
    assert told(span) == [
        ("Planned", None),
        ("Permitted", None),
        ("InFlight", 1),
        ("Unknown", None),
        ("looked up", "not found"),
        ("Granted", None),
        ("InFlight", 2),
        ("Succeeded", None),
    ]
    assert span.attributes is not None
    assert (span.attributes["lawful.effect.claims"], span.attributes["lawful.effect.state"]) == (2, "Succeeded")
    assert span.status.status_code is StatusCode.OK
    [looked] = forge.looked
    first, second = [event.timestamp for event in span.events if event.name == "InFlight"]
    [unknown] = [event.timestamp for event in span.events if event.name == "Unknown"]
    assert first <= forge.called[0] <= unknown <= looked <= second <= forge.called[1]
    assert [type(event) for event in heard if isinstance(event, (EffectMoved, EffectLooked))].count(EffectLooked) == 1


async def test_what_a_run_settles_before_it_begins_is_told_in_it() -> None:
    """An outcome that the run before left unknown: looked up at the start of the next, and in that one's trace."""
    forge = Watched(script=["lose"], sight=["none"])
    built = graph(Publish(forge, STRONG))
    tracing, kept = traced()
    assert isinstance(await built.run({"repo": "acme"}, on_event=tracing, thread="t"), Paused)
    [first] = effects(kept)
    assert told(first)[-2:] == [("Unknown", None), ("looked up", "not found")]
    assert first.status.status_code is StatusCode.ERROR
    assert tracing.open == 0
    kept.clear()
    assert isinstance(await built.run(None, on_event=tracing, thread="t"), Done)
    [second] = effects(kept)
    [run] = [span for span in kept.get_finished_spans() if span.name == "invoke_workflow g"]
    assert told(second) == [("looked up", "found"), ("Succeeded", None)]
    assert second.parent is not None
    assert run.context is not None
    assert second.parent.span_id == run.context.span_id


async def test_why_a_look_up_failed_is_not_told() -> None:
    """Reasons are a provider's words."""
    forge = Watched(script=["lose"], sight=["down", "down", "down"])
    tracing, kept = traced()
    await graph(Publish(forge, STRONG)).run({"repo": "acme"}, on_event=tracing, thread="t")
    [span] = effects(kept)
    assert ("looked up", "unavailable") in told(span)
    assert "503" not in repr(told(span))


def test_in_sync_code() -> None:
    during: list[int] = []
    tracing, kept = traced()

    @effect("order", tool="publish")
    def publish(order: str) -> str:
        """Publish it."""
        during.append(tracing.open)
        return order

    def work(state: State) -> State:
        return {"address": publish(state.get("repo", ""))}

    built = StateGraph(State, name="g").add_node(work).add_edge(START, "work").compile(checkpointer=MemoryJournal())
    built.invoke({"repo": "acme"}, thread="t", on_event=tracing)
    assert during == [3]
    assert len(effects(kept)) == 1
    assert tracing.open == 0


@pytest.mark.parametrize("content", [False, True])
def test_messages_of_errors_are_content(content: bool) -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))

    def work(state: State) -> State:
        raise ValueError(f"cannot read {state.get('repo')}")

    built = StateGraph(State, name="g").add_node(work).add_edge(START, "work").compile()
    with pytest.raises(ValueError, match="the-private-text"):
        built.invoke({"repo": "the-private-text"}, on_event=Tracing(provider, content=content))
    spans = kept.get_finished_spans()
    assert len(spans) == 2
    for span in spans:
        assert span.status.status_code is StatusCode.ERROR
        [wrong] = [dict(event.attributes or {}) for event in span.events]
        assert wrong["exception.type"] == "ValueError"
        assert ("the-private-text" in f"{wrong} {span.status.description}") is content
        assert (wrong["exception.message"] == UNSAID) is not content
        assert content or span.status.description == "ValueError"
