"""What observability leaves out, whichever event says it, and from when it counts."""

from __future__ import annotations

import json
from typing import Any, TypedDict, get_args

import msgspec
import pytest

from lawful import START, MemoryJournal, StateGraph
from lawful.core import events as ev
from lawful.journal.records import Operation
from lawful.observe import JsonLog
from lawful.observe.alerts import overdue

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    said: str


SAID = "what somebody said"
CONTENT: list[ev.Event] = [
    ev.LLMChunk("s", SAID),
    ev.LLMReasoning("s", SAID),
    ev.ToolArguments("s", SAID),
    ev.ToolEnded("s", {"told": SAID}),
    ev.StateUpdated({"key": SAID}),
    ev.Custom([SAID], "node"),
    ev.RunFailed("tool", SAID),
    ev.NodeFailed("n", "s", "tool", SAID),
    ev.TaskFailed("n", "s", "tool", SAID),
    ev.LLMFailed("s", "llm", SAID),
    ev.ToolFailed("s", "tool", SAID),
]
FACTS = {
    *("run_id", "parent_run_id", "seq", "graph", "thread", "outcome", "questions", "node", "span", "step", "attempt"),
    *(
        "name",
        "model",
        "usage",
        "tool",
        "code",
        "checkpoint",
        "ns",
        "question",
        "op_id",
        "state",
        "saw",
        "mode",
        "signal",
    ),
    *("join", "missing", "waited", "delay"),
}
"""Names, numbers and ids: nothing of these is what was said."""


@pytest.mark.parametrize("event", CONTENT, ids=lambda event: type(event).__name__)
def test_a_line_of_the_log_has_content_only_if_it_is_asked_for(event: ev.Event) -> None:
    """Rows: S0-187."""
    assert SAID not in JsonLog().line(event)
    assert SAID in JsonLog(content=True).line(event)


def test_a_new_field_of_an_event_is_either_a_fact_or_content() -> None:
    """Whoever adds one has to say which: the log tells facts to everybody."""
    kinds: list[type[Any]] = [kind for part in get_args(ev.Event) for kind in (get_args(part) or (part,))]
    assert len(kinds) > 25
    told = {type(event): json.loads(JsonLog(content=True).line(event)) for event in CONTENT}
    for kind in kinds:
        fields = {field.name for field in msgspec.structs.fields(kind)} - FACTS
        line = told.get(kind, {})
        assert fields == {name for name in fields if SAID in json.dumps(line.get(name, ""))}, kind


class Books:
    """Stands for a journal with these operations, at a time of 1,000 seconds."""

    def __init__(self, *rows: Operation) -> None:
        self.rows = rows

    def read(self, work: Any) -> Any:
        return work(self)

    def now(self) -> float:
        return 1000.0

    def operations(self, **_: Any) -> list[Operation]:
        return list(self.rows)


def test_an_outcome_is_as_old_as_its_claim() -> None:
    """Looking it up in vain, minutes ago, makes it no younger; what was never claimed is as old as its last change."""
    old = Operation("o", "t", "Unknown", 5, claimed_at=100.0, updated=990.0)
    young = Operation("y", "t", "Unknown", 5, claimed_at=900.0, updated=990.0)
    bare = Operation("b", "t", "Unknown", 5, updated=100.0)
    journal: Any = Books(old, young, bare)
    assert [row.op_id for row in overdue(journal, minutes=10)] == ["o", "b"]
    assert [row.op_id for row in overdue(journal, minutes=1)] == ["o", "y", "b"]
    assert overdue(journal, minutes=60) == []


def test_what_failed_is_measured_with_its_kind_of_error() -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    from lawful.observe import Metrics

    reader = InMemoryMetricReader()

    def work(state: State) -> State:
        raise ValueError(SAID)

    graph = StateGraph(State, name="desk").add_node(work).add_edge(START, "work").compile(checkpointer=MemoryJournal())
    with pytest.raises(ValueError, match=SAID):
        graph.invoke({}, thread="t", on_event=Metrics(MeterProvider([reader])))
    data: Any = reader.get_metrics_data()
    found = {
        (metric.name, point.attributes.get("error.type"))
        for scope in data.resource_metrics[0].scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    }
    assert {("lawful.runs", "ValueError"), ("lawful.node.duration", "ValueError")} <= found
    assert SAID not in repr(data)
