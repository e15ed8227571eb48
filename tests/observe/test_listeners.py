"""Log lines, costs, metrics and the alert for unknown outcomes: what each tells of a run, and what it leaves out."""

from __future__ import annotations

import json
import logging
from decimal import Decimal
from typing import Any, TypedDict

import pytest

from lawful import START, Agent, MemoryJournal, RetryPolicy, StateGraph, effect, tool
from lawful.core import events as ev
from lawful.core.events import Usage
from lawful.core.messages import Message, ToolCall
from lawful.core.secret import Secret
from lawful.models.fake import Scripted
from lawful.models.prices import Price
from lawful.observe import Costs, JsonLog, Spent
from lawful.observe.alerts import overdue

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    said: str


def agent() -> Agent[str]:
    @tool
    def peek(what: str) -> str:
        """Look."""
        return f"found {what}"

    call = Message("assistant", (ToolCall(id="p", name="peek", args={"what": "the-argument"}),))
    return Agent(Scripted(call, "the-answer", chunks=3), tools=[peek])


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [json.loads(record.getMessage()) for record in caplog.records]


def test_each_event_is_a_line_of_json(caplog: pytest.LogCaptureFixture) -> None:
    """With the ids of the events, the newest last. Rows: S0-183, S0-187."""
    caplog.set_level(logging.INFO, "lawful.run")
    heard: list[ev.Event] = []
    agent().invoke("the-question", on_event=[JsonLog(clock=lambda: 0.5), heard.append])
    told = lines(caplog)
    pieces = ("llm_chunk", "llm_reasoning", "tool_arguments")
    expected = [(one["run_id"], one["seq"], one["event"]) for one in map(ev.event_json, heard)]
    assert [(one["run_id"], one["seq"], one["event"]) for one in told] == [e for e in expected if e[2] not in pieces]
    assert {one["time"] for one in told} == {"1970-01-01T00:00:00.500+00:00"}
    assert all("\n" not in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("content", [False, True])
def test_what_was_said_is_told_only_if_it_is_asked_for(content: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Rows: S0-187."""
    caplog.set_level(logging.INFO, "lawful.run")
    key = Secret("found the-argument")
    agent().invoke("the-question", on_event=JsonLog(content=content))
    text = caplog.text
    assert ("the-question" in text) is content
    assert key.reveal() not in text
    if content:
        assert "".join(one.get("text", "") for one in lines(caplog) if one["event"] == "llm_chunk") == "the-answer"


def test_failures_are_warnings_and_an_unknown_outcome_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    """Rows: S0-187."""
    caplog.set_level(logging.INFO, "lawful.run")
    log = JsonLog()
    for event, level in (
        (ev.NodeFailed("a", "s", "ConnectionError", "no line"), "WARNING"),
        (ev.NodeFailed("a", "s", "interrupt"), "INFO"),
        (ev.EffectMoved("o", "t", "Unknown"), "ERROR"),
        (ev.EffectMoved("o", "t", "Succeeded"), "INFO"),
        (ev.RetryScheduled("a", 1, 0.5), "WARNING"),
    ):
        caplog.clear()
        log(event)
        assert caplog.records[0].levelname == level
        assert "no line" not in caplog.text


def _model_calls(costs: Costs, *calls: tuple[str, str, Usage | None]) -> None:
    costs(ev.RunStarted("g", "t", run_id="r"))
    for n, (run, model, usage) in enumerate(calls):
        if run != "r":
            costs(ev.RunStarted("inner", run_id=run, parent_run_id="r"))
        costs(ev.LLMStarted(model, f"m{n}", run_id=run))
        costs(ev.LLMEnded(f"m{n}", usage, run_id=run) if usage else ev.LLMFailed(f"m{n}", "network", run_id=run))


def test_a_run_costs_what_its_calls_and_its_nested_runs_cost() -> None:
    costs = Costs({"openai:gpt-x": Price(prompt=1.0, completion=2.0, cached=0.1)})
    _model_calls(
        costs,
        ("r", "openai:gpt-x", Usage(prompt=1_000_000, completion=500_000, cached=500_000)),
        ("r.1", "openai:gpt-x", Usage(prompt=0, completion=1_000_000)),
        ("r.1", "ollama:tiny", Usage(prompt=10, completion=10)),
    )
    assert costs.of("r") == Spent(Usage(1_000_010, 1_500_010, 500_000), Decimal("3.55"), 3, 0)
    assert costs.of("r.1").money == Decimal(2)
    assert costs.of_thread("t") == costs.of("r") == costs.total
    assert costs.of("nobody") == Spent()


def test_what_has_no_price_is_counted_as_such() -> None:
    costs = Costs({"openai:gpt-x": Price(1.0, 2.0)})
    _model_calls(costs, ("r", "nobody:knows", Usage(5, 5)), ("r", "openai:gpt-x", None))
    assert costs.of("r") == Spent(Usage(5, 5), Decimal(0), 2, 2)


def test_runs_that_look_alike_are_not_mixed() -> None:
    costs = Costs()
    for run in ("r", "r1", "r.1"):
        costs(ev.RunStarted("g", run_id=run))
        costs(ev.LLMStarted("ollama:x", "m", run_id=run))
        costs(ev.LLMEnded("m", Usage(1, 1), run_id=run))
    assert costs.of("r").calls == 2
    assert costs.of("r1").calls == 1


async def test_metrics_of_a_run() -> None:
    """Counts and durations by name, and not a word of what was said."""
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    from lawful.observe import Metrics

    reader = InMemoryMetricReader()
    measured = Metrics(MeterProvider([reader]))
    tries: list[int] = []

    @effect("order", tool="ship")
    async def ship(order: str) -> str:
        """Ship."""
        return "shipped"

    async def work(state: State) -> State:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("the-reason")
        await ship("o-1")
        return {"said": (await agent().ainvoke("the-question")).text}

    graph: Any = StateGraph(State, name="desk")
    graph.add_node("work", work, retry_policy=RetryPolicy(max_attempts=2, initial_interval=0.0, jitter=False))
    await graph.add_edge(START, "work").compile(MemoryJournal()).ainvoke({}, thread="t", on_event=measured)
    found = points(reader)
    assert found["lawful.retries", "work"] == 1
    assert found["lawful.runs", "desk"] == 1
    assert found["lawful.effects", "ship"] >= 2
    assert found["gen_ai.client.operation.duration", "chat"] == 2
    assert found["gen_ai.client.operation.duration", "execute_tool"] == 1
    told = repr(found)
    assert "the-" not in told


def points(reader: Any) -> dict[tuple[str, str], float]:
    """Sums and counts by the metric's name and the first of what it is told of."""
    out: dict[tuple[str, str], float] = {}
    data = reader.get_metrics_data()
    for metric in [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics]:
        for point in metric.data.data_points:
            label = str(next(iter(point.attributes.values()), ""))
            value = point.count if hasattr(point, "count") else point.value
            out[metric.name, label] = out.get((metric.name, label), 0) + value
    return out


async def test_operations_that_are_unknown_for_long_are_told() -> None:
    """Not the young ones; each by its tool; none left once it is settled."""
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    from lawful.observe import watch_unknown

    journal = MemoryJournal()

    @effect("order", tool="ship")
    async def ship(order: str) -> str:
        """Ship."""
        raise ConnectionError("no reply")

    async def work(state: State) -> State:
        await ship("o-1")
        return {}

    graph = StateGraph(State).add_node(work).add_edge(START, "work").compile(journal)
    await graph.run({}, thread="t")
    assert overdue(journal, minutes=10) == []
    [row] = overdue(journal, minutes=0)
    assert (row.tool, row.state) == ("ship", "Unknown")
    reader, alerts = InMemoryMetricReader(), list[str]()
    provider = MeterProvider([reader])
    watch_unknown(journal, minutes=0, provider=provider, on_alert=lambda rows: alerts.extend(r.op_id for r in rows))
    assert points(reader) == {("lawful.operations.unknown", "ship"): 1}
    assert alerts == [row.op_id]
    calm = InMemoryMetricReader()
    watch_unknown(journal, minutes=10, provider=MeterProvider([calm]))
    assert points(calm) == {("lawful.operations.unknown", ""): 0}
