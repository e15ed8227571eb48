"""The spans of a run with a retry and an effect, as an exporter gets them."""

from typing import Any, TypedDict

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lawful import START, MemoryJournal, RetryPolicy, StateGraph, effect
from lawful.observe import Tracing, part


class Order(TypedDict, total=False):
    id: str
    told: str


@effect("order")
def ship(order: str) -> str:
    """Ship an order."""
    return f"{order} is on its way"


tries: list[int] = []


def work(order: Order) -> Order:
    tries.append(1)
    if len(tries) == 1:
        raise ConnectionError("the line is down")
    with part("weigh"):
        pass
    return {"told": ship(order.get("id", ""))}


kept = InMemorySpanExporter()  # in production: a BatchSpanProcessor around OTLPSpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(kept))

graph: Any = StateGraph(Order, name="shop").add_edge(START, "work")
graph.add_node("work", work, retry_policy=RetryPolicy(initial_interval=0.0, jitter=False))
graph.compile(checkpointer=MemoryJournal()).invoke({"id": "o-1"}, thread="o-1", on_event=Tracing(provider))

spans = kept.get_finished_spans()
names = {span.context.span_id: span.name for span in spans if span.context}
for span in sorted(spans, key=lambda one: one.start_time or 0):
    print(names.get(span.parent.span_id if span.parent else 0, "-"), "/", span.name, span.status.status_code.name)
# prints: - / invoke_workflow shop UNSET
# prints: invoke_workflow shop / node work ERROR
# prints: invoke_workflow shop / node work UNSET
# prints: node work / weigh UNSET
# prints: node work / effect ship UNSET
