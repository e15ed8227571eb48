"""Metrics of runs, and the alert for outcomes that nobody has known for too long."""

from typing import TypedDict

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from lawful import START, MemoryJournal, StateGraph, effect
from lawful.observe import Metrics, watch_unknown


class Order(TypedDict, total=False):
    id: str


@effect("order")
def ship(order: str) -> str:
    """Ship an order; the reply is lost."""
    raise ConnectionError("no reply")


def work(order: Order) -> Order:
    ship(order.get("id", ""))
    return {}


journal = MemoryJournal()
reader = InMemoryMetricReader()  # in production: a PeriodicExportingMetricReader around OTLPMetricExporter()
provider = MeterProvider([reader])
watch_unknown(journal, minutes=0, provider=provider)  # in production: 10 minutes, say

graph = StateGraph(Order, name="shop").add_node(work).add_edge(START, "work").compile(checkpointer=journal)
graph.run_sync({"id": "o-1"}, thread="o-1", on_event=Metrics(provider))

data = reader.get_metrics_data()
assert data is not None
for metric in (m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics):
    for point in metric.data.data_points:
        if metric.name in ("lawful.runs", "lawful.operations.unknown"):
            print(metric.name, dict(point.attributes or {}), getattr(point, "value", None))
# prints: lawful.runs {'gen_ai.workflow.name': 'shop', 'lawful.outcome': 'interrupt'} 1
# prints: lawful.operations.unknown {'lawful.effect.tool': 'ship'} 1
