"""Spans of runs: their parents, their ends, what they tell and what they leave out."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Awaitable, Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any, TypedDict

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from lawful import START, Agent, MemoryJournal, RetryPolicy, StateGraph, effect, tool
from lawful.core.messages import Message, ToolCall
from lawful.core.secret import Secret
from lawful.models.fake import Scripted
from lawful.observe import Tracing, part

pytestmark = pytest.mark.integration


class Traced:
    """A tracing whose spans are kept in memory."""

    def __init__(self, **more: Any) -> None:
        self.kept = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.kept))
        self.tracing = Tracing(provider, **more)

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self.kept.get_finished_spans()

    def one(self, name: str) -> ReadableSpan:
        [found] = [span for span in self.spans if span.name == name]
        return found

    def tree(self) -> dict[str, list[str]]:
        """The names of the spans in each span, by its name."""
        return tree(self.spans)


def tree(spans: Sequence[ReadableSpan]) -> dict[str, list[str]]:
    names = {_id(span.context): span.name for span in spans}
    out: dict[str, list[str]] = {}
    for span in sorted(spans, key=lambda one: one.start_time or 0):
        out.setdefault(names[_id(span.parent)] if span.parent else "", []).append(span.name)
    return out


def _id(context: Any) -> int:
    return context.span_id


class State(TypedDict, total=False):
    asked: str
    said: str


def worker(journal: Any, hold: Callable[[str], Awaitable[None]] | None = None) -> tuple[Any, list[str]]:
    """A graph whose node fails once and then asks an agent, which calls a tool and performs an effect.

    ``hold`` is awaited in both, told which it is.
    """
    shipped: list[str] = []
    tries: list[int] = []

    @tool
    async def weather(city: str) -> str:
        """The weather."""
        with part("look out"):
            if hold is not None:
                await hold("weather")
            return f"sun in {city}"

    @effect("order", tool="ship")
    async def ship(order: str) -> str:
        """Ship it."""
        if hold is not None:
            await hold("ship")
        shipped.append(order)
        return f"{order} is on its way"

    model = Scripted(
        Message("assistant", (ToolCall(id="w", name="weather", args={"city": "Lyon"}),)),
        Message("assistant", (ToolCall(id="s", name="ship", args={"order": "o-1"}),)),
        "Done.",
        chunks=3,
    )
    agent = Agent(model, tools=[weather, ship], name="helper")

    async def work(state: State) -> State:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("the line is down")
        return {"said": (await agent.ainvoke(state.get("asked", ""))).text}

    graph: Any = StateGraph(State, name="desk")
    graph.add_node("work", work, retry_policy=RetryPolicy(max_attempts=2, initial_interval=0.0, jitter=False))
    return graph.add_edge(START, "work").compile(checkpointer=journal), shipped


TREE = {
    "": ["invoke_workflow desk"],
    "invoke_workflow desk": ["node work", "node work"],
    "node work": ["invoke_agent helper"],
    "invoke_agent helper": ["node model", "node tool", "node model", "node tool", "node model"],
    "node model": ["chat script"] * 3,
    "node tool": ["execute_tool weather", "execute_tool ship"],
    "execute_tool weather": ["look out"],
    "execute_tool ship": ["effect ship"],
}


async def test_a_run_with_a_tool_a_retry_and_an_effect() -> None:
    """Each span lies in what began it, and each ends. Rows: S0-182, S0-183."""
    traced = Traced(agents=["helper"])
    graph, shipped = worker(MemoryJournal())
    heard: list[Any] = []
    done = await graph.ainvoke({"asked": "?"}, thread="t", on_event=[traced.tracing, heard.append])
    assert (done["said"], shipped) == ("Done.", ["o-1"])
    assert traced.tree() == TREE
    assert traced.tracing.open == 0
    assert len({span.context.trace_id for span in traced.spans if span.context}) == 1
    first, second = [span for span in traced.spans if span.name == "node work"]
    assert (first.status.status_code, second.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)
    assert first.attributes is not None
    assert (first.attributes["lawful.attempt"], first.attributes["error.type"]) == (1, "ConnectionError")
    assert [event.name for event in traced.one("invoke_workflow desk").events] == ["retry"]
    effect_span = traced.one("effect ship")
    assert effect_span.attributes is not None
    assert effect_span.attributes["lawful.effect.state"] == "Succeeded"
    begun = {(event.run_id, event.seq) for event in heard}
    for span in traced.spans:
        assert span.attributes is not None
        assert (span.attributes["lawful.run.id"], span.attributes["lawful.event.seq"]) in begun
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.start_time <= span.end_time


def test_the_same_in_sync_code() -> None:
    """Rows: S0-182."""
    traced = Traced()

    def work(state: State) -> State:
        with part("outer"), part("inner"):
            pass
        with pytest.raises(ValueError, match="bad"), part("broken"):
            raise ValueError("bad")
        return {"said": "x"}

    graph = StateGraph(State, name="g").add_node(work).add_edge(START, "work").compile()
    graph.invoke({"asked": "?"}, on_event=traced.tracing)
    assert traced.tree() == {
        "": ["invoke_workflow g"],
        "invoke_workflow g": ["node work"],
        "node work": ["outer", "broken"],
        "outer": ["inner"],
    }
    assert traced.one("broken").status.status_code is StatusCode.ERROR
    with part("nobody listens"):
        pass


async def test_parallel_nodes_keep_what_is_theirs() -> None:
    traced = Traced()

    def node(name: str) -> Any:
        async def run(state: State) -> State:
            for n in range(3):
                with part(f"{name}{n}"):
                    await asyncio.sleep(0.002)
            return {}

        return run

    graph: Any = StateGraph(State, name="g")
    for name in "abc":
        graph.add_node(name, node(name)).add_edge(START, name)
    await graph.compile().ainvoke({"asked": "?"}, on_event=traced.tracing)
    assert {name: traced.tree()[f"node {name}"] for name in "abc"} == {
        name: [f"{name}{n}" for n in range(3)] for name in "abc"
    }


async def test_a_cancelled_run_ends_every_span() -> None:
    """Twice: what the first left behind would show in the second."""
    traced = Traced()
    started = asyncio.Event()

    async def slow(state: State) -> State:
        with part("waiting"):
            started.set()
            await asyncio.sleep(60)
        return {}

    graph = StateGraph(State, name="g").add_node(slow).add_edge(START, "slow").compile()
    for _ in range(2):
        traced.kept.clear()
        started.clear()
        running = asyncio.create_task(graph.ainvoke({"asked": "?"}, on_event=traced.tracing))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert traced.tracing.open == 0
        assert traced.tree() == {
            "": ["invoke_workflow g"],
            "invoke_workflow g": ["node slow"],
            "node slow": ["waiting"],
        }
        assert all(span.end_time is not None for span in traced.spans)


@pytest.mark.parametrize("where", ["weather", "ship"])
async def test_an_agents_run_cancelled_in_a_tool_or_an_effect_ends_every_span(where: str) -> None:
    """Twice, with the same listener; the tree is the whole one as far as the run came. Rows: S0-182."""
    traced = Traced(agents=["helper"])
    waiting = asyncio.Event()

    async def hold(at: str) -> None:
        if at == where:
            waiting.set()
            await asyncio.sleep(60)

    calls = ["execute_tool weather", "execute_tool ship"][: 1 if where == "weather" else 2]
    for thread in ("one", "two"):
        traced.kept.clear()
        waiting.clear()
        graph, shipped = worker(MemoryJournal(), hold)
        running = asyncio.create_task(graph.ainvoke({"asked": "?"}, thread=thread, on_event=traced.tracing))
        await waiting.wait()
        begun = traced.tracing.open
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (shipped, traced.tracing.open) == ([], 0)
        assert begun == 6
        found = traced.tree()
        assert (found["node tool"], found["node work"]) == (calls, ["invoke_agent helper"])
        assert found["execute_tool weather"] == ["look out"]
        assert found.get("execute_tool ship", []) == ["effect ship"] * (len(calls) - 1)
        assert all(span.end_time is not None for span in traced.spans)
        assert len({span.context.trace_id for span in traced.spans if span.context}) == 1


async def test_what_spans_tell_has_the_names_of_the_conventions() -> None:
    """Those of OpenTelemetry for generative AI, on the spans that they belong to. Rows: S0-182."""
    known = import_module("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    traced = Traced(agents=["helper"], content=True)
    graph, _ = worker(MemoryJournal())
    await graph.ainvoke({"asked": "?"}, thread="t", on_event=traced.tracing)
    named = {value for key, value in vars(known).items() if key.startswith("GEN_AI_")}
    used = {key for span in traced.spans for key in span.attributes or {} if key.startswith("gen_ai.")}
    if "gen_ai.workflow.name" in named:  # the oldest conventions that we run beside do not list all of them
        assert used <= named

    def told(name: str) -> dict[str, Any]:
        found = next(span for span in traced.spans if span.name == name)
        return {key: value for key, value in (found.attributes or {}).items() if key.startswith("gen_ai.")}

    workflow = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "desk"}
    assert told("invoke_workflow desk") == {**workflow, "gen_ai.conversation.id": "t"}
    agent = told("invoke_agent helper")
    assert (agent["gen_ai.operation.name"], agent["gen_ai.agent.name"]) == ("invoke_agent", "helper")
    asked = told("chat script")
    assert (asked["gen_ai.operation.name"], asked["gen_ai.request.model"]) == ("chat", "script")
    assert asked["gen_ai.usage.input_tokens"] >= 0
    assert asked["gen_ai.usage.output_tokens"] >= 0
    ran = told("execute_tool weather")
    assert ran.pop("gen_ai.tool.call.arguments") == '{"city":"Lyon"}'
    assert "sun in Lyon" in ran.pop("gen_ai.tool.call.result")
    assert ran == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.id": "w",
        "gen_ai.tool.type": "function",
    }
    model = next(span for span in traced.spans if span.name == "chat script")
    assert model.kind is trace.SpanKind.CLIENT


async def test_a_stream_that_is_left_ends_every_span_and_leaves_no_context() -> None:
    """No token crosses a yield: the reader's own span stays the current one throughout."""
    traced = Traced()

    async def node(state: State) -> State:
        with part("p"):
            await asyncio.sleep(0)
        return {"said": "x"}

    graph: Any = StateGraph(State, name="g").add_node("a", node).add_node("b", node)
    graph = graph.add_edge(START, "a").add_edge("a", "b").compile()
    own = TracerProvider().get_tracer("reader")
    with own.start_as_current_span("reading") as mine:
        before = otel_context.get_current()
        async with graph.astream_events({"asked": "?"}, on_event=traced.tracing) as events:
            async for _ in events:
                assert trace.get_current_span() is mine
                break
        assert otel_context.get_current() == before
    assert traced.tracing.open == 0
    root = traced.one("invoke_workflow g")
    assert root.parent is not None
    assert root.parent.span_id == mine.get_span_context().span_id


async def test_content_is_left_out_unless_it_is_asked_for() -> None:
    """And secrets are taken out even then."""
    key = Secret("a-very-secret-text")

    @tool
    def peek(what: str) -> str:
        """Look."""
        return f"{what} {key.reveal()}"

    def agent() -> Any:
        call = Message("assistant", (ToolCall(id="p", name="peek", args={"what": "the-argument"}),))
        return Agent(Scripted(call, "the-answer", chunks=4), tools=[peek])

    def everything(traced: Traced) -> str:
        return repr([(span.name, dict(span.attributes or {}), span.events) for span in traced.spans])

    def gone(text: str) -> str:
        return text.replace("the-answer", "[gone]")

    shut, full = Traced(), Traced(content=True, redact=gone)
    for traced in (shut, full):
        await agent().ainvoke("the-question", on_event=traced.tracing)
    for text in ("the-argument", "the-answer", "the-question", "a-very-secret-text"):
        assert text not in everything(shut)
    told = everything(full)
    assert "the-argument" in told
    assert "[gone]" in told
    assert "the-answer" not in told
    assert "a-very-secret-text" not in told
    assert "***" in told


class Endpoint(BaseHTTPRequestHandler):
    """An OTLP/HTTP endpoint that keeps what it is sent."""

    got: list[Any] = []  # noqa: RUF012 - of the subclass that a test makes

    def do_POST(self) -> None:
        service: Any = import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        assert self.path == "/v1/traces"
        request = service.ExportTraceServiceRequest()
        request.ParseFromString(body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.got.extend(scope.spans)
        answer: bytes = service.ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        pass


async def test_an_endpoint_receives_the_spans_with_their_parents() -> None:
    """Over OTLP/HTTP, as the official exporter sends them."""
    exporter: Any = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    got: list[Any] = []
    handler = type("Handler", (Endpoint,), {"got": got})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        provider = TracerProvider()
        url = f"http://127.0.0.1:{server.server_address[1]}/v1/traces"
        provider.add_span_processor(BatchSpanProcessor(exporter.OTLPSpanExporter(endpoint=url)))
        graph, _ = worker(MemoryJournal())
        await graph.ainvoke({"asked": "?"}, thread="t", on_event=Tracing(provider, agents=["helper"]))
        await asyncio.to_thread(provider.shutdown)
    finally:
        server.shutdown()
        server.server_close()
    names = {span.span_id: span.name for span in got}
    found: dict[str, list[str]] = {}
    for span in sorted(got, key=lambda one: one.start_time_unix_nano):
        found.setdefault(names.get(span.parent_span_id, ""), []).append(span.name)
        assert span.end_time_unix_nano >= span.start_time_unix_nano > 0
    assert found == TREE
