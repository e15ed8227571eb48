"""`Tracing`: OpenTelemetry spans made of a run's events, each with its parent, none of them ever made the current one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from lawful.core import events as ev
from lawful.core.context import current_task
from lawful.core.event_rules import Key, bracket
from lawful.core.lazy import late
from lawful.core.secret import redact
from lawful.effects.states import TERMINAL
from lawful.observe import names as n
from lawful.observe.where import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry import trace
else:
    trace = late("opentelemetry.trace", extra="otel")

Attributes: TypeAlias = dict[str, Any]
_SETTLED: Final = frozenset(kind.__name__ for kind in TERMINAL)
_WRONG: Final = frozenset({"Unknown", "Failed", "Conflicted"})
_NO_FAULT: Final = frozenset({"interrupt", "drained", "cancelled"})
"""Ends of attempts that are nobody's error."""
LONGEST: Final = 8000
"""Characters of content that a span keeps."""
UNSAID: Final = "(not kept: Tracing(content=True) keeps messages of errors)"
"""What stands for the message of an error, which may tell of what was said."""


class Open(Struct):
    """A span that has begun."""

    span: Any
    run: str
    began: int
    """Nanoseconds since 1970."""
    text: str = ""
    """Content that has come in pieces, where content is captured."""
    claims: int = 0
    """Of an effect: how often it was claimed."""
    wrong: bool = False


class Tracing:
    """A listener that makes spans: give it to a run as ``on_event=`` or among ``config["listeners"]``.

    A run is a span (``invoke_workflow``, or ``invoke_agent`` for graphs named in ``agents``), in it each attempt of a node,
    in that model calls, tools, effects, parts and nested runs. Start and end are those of the events; no span is made
    current, so no token is left in a context wherever the work goes on. What began ends with its run, in whatever way.

    Args:
        provider: The SDK's TracerProvider; the global one if not given.
        content: Whether texts, arguments, results and the messages of errors are kept too. They are not by default: an
            error is then its kind, with `UNSAID` for a message.
        redact: What every text goes through beside the library's own redaction.
        parent: A context in which root runs lie; the one that is current when a run begins, if not given.
    """

    def __init__(
        self,
        provider: Any = None,
        *,
        content: bool = False,
        redact: Callable[[str], str] = str,
        agents: Collection[str] = (),
        parent: Any = None,
    ) -> None:
        found = provider if provider is not None else trace.get_tracer_provider()
        self._tracer = found.get_tracer("lawful", late("lawful").__version__)
        self._content = content
        self._redact = redact
        self._agents = frozenset(agents)
        self._parent = parent
        self._lock = threading.Lock()
        self._open: dict[Key, Open] = {}
        self._announced: dict[Key, tuple[ev.ToolStarted, str]] = {}
        """Tool calls that a model spoke of and that have not begun: how they were told, and their arguments."""

    def __call__(self, event: ev.Event) -> None:
        """Take one event. Called in the thread where it arose."""
        now = time.time_ns()
        with self._lock:
            self._take(event, now)

    def span_of(self, event: ev.Event) -> tuple[str, str] | None:
        """Trace id and span id, in hex, of the innermost open span around an event; for the lines of a log."""
        with self._lock:
            key = bracket(event)
            for one in ([key] if key is not None else []) + around(self._open, event):
                held = self._open.get(one)
                if held is not None:
                    context = held.span.get_span_context()
                    return f"{context.trace_id:032x}", f"{context.span_id:016x}"
        return None

    @property
    def open(self) -> int:
        """How many spans have begun and not ended."""
        return len(self._open)

    def _take(self, event: ev.Event, now: int) -> None:
        key = bracket(event)
        if key is not None and key[0] == "tool":
            self._tool(event, key, now)
        elif isinstance(event, ev.Started):
            assert key is not None
            self._begin(event, key, self._named(event), self._about(event), now)
        elif isinstance(event, ev.Ended):
            assert key is not None
            self._end(event, key, now)
        else:
            self._moment(event, now)

    # Beginning

    def _named(self, event: ev.Started) -> str:
        match event:
            case ev.RunStarted():
                kind = n.INVOKE_AGENT if event.graph in self._agents else n.INVOKE_WORKFLOW
                return f"{kind} {event.graph}".rstrip()
            case ev.NodeStarted():
                return f"node {event.node}"
            case ev.TaskStarted():
                return event.name
            case ev.LLMStarted():
                return f"{n.CHAT} {n.provider_and_model(event.model)[1]}"
            case ev.ToolStarted():
                return f"{n.EXECUTE_TOOL} {event.tool}"

    def _about(self, event: ev.Started) -> Attributes:
        match event:
            case ev.RunStarted():
                agent = event.graph in self._agents
                told: Attributes = {n.OPERATION: n.INVOKE_AGENT if agent else n.INVOKE_WORKFLOW}
                told[n.AGENT if agent else n.WORKFLOW] = event.graph
                return {**told, n.CONVERSATION: event.thread, n.THREAD: event.thread} if event.thread else told
            case ev.NodeStarted():
                return {n.NODE: event.node, n.STEP: event.step, n.ATTEMPT: event.attempt}
            case ev.TaskStarted():
                return {n.NODE: event.name}
            case ev.LLMStarted():
                provider, model = n.provider_and_model(event.model)
                return {n.OPERATION: n.CHAT, n.PROVIDER: provider, n.REQUEST_MODEL: model}
            case ev.ToolStarted():
                return {
                    n.OPERATION: n.EXECUTE_TOOL,
                    n.TOOL: event.tool,
                    n.TOOL_CALL: event.span,
                    n.TOOL_TYPE: "function",
                }

    def _begin(self, event: ev.Event, key: Key, name: str, about: Attributes, now: int) -> Open:
        inside = self._around(event, now)
        context = trace.set_span_in_context(inside.span) if inside is not None else self._parent
        kind = trace.SpanKind.CLIENT if key[0] == "llm" else trace.SpanKind.INTERNAL
        facts = {**about, n.RUN: event.run_id, n.SEQ: event.seq}
        span = self._tracer.start_span(self._text(name), context, kind, self._plain(facts), start_time=now)
        held = self._open[key] = Open(span, event.run_id, now)
        return held

    def _around(self, event: ev.Event, now: int) -> Open | None:
        """The span that ``event`` lies in. A tool that is at work and has none yet is given one, from its node's start."""
        for key in around({**self._open, **self._announced}, event):
            if key not in self._open and key[0] == "tool":
                self._run_tool(event, key, now)
            if key in self._open:
                return self._open[key]
        return None

    # Tools, of which a model may speak long before they run

    def _tool(self, event: ev.Event, key: Key, now: int) -> None:
        match event:
            case ev.ToolStarted():
                self._announced[key] = event, ""
            case ev.ToolArguments():
                told = self._announced.get(key)
                if told is not None and self._content:
                    self._announced[key] = told[0], (told[1] + event.text)[:LONGEST]
            case ev.ToolCalled():
                slot = current_task.get()
                if slot is not None and any(kind == "tool" for kind, _ in slot.inside):
                    self._run_tool(event, key, now)  # told by the tool's own run, not by the model that asks for it
            case _:
                self._run_tool(event, key, now)
                assert isinstance(event, ev.Ended)
                self._end(event, key, now)

    def _run_tool(self, event: ev.Event, key: Key, now: int) -> None:
        """Begin a tool's span, if it has not begun."""
        if key in self._open:
            return
        told = self._announced.pop(key, None)
        started, arguments = told if told is not None else (ev.ToolStarted("", key[2], run_id=key[1]), "")
        node = next((self._open[one] for one in around(self._open, event) if one[0] in ("node", "task")), None)
        since = node.began if node is not None and not isinstance(event, ev.ToolCalled) else now
        held = self._begin(started, key, self._named(started), self._about(started), since)
        if arguments:
            held.span.set_attribute(n.ARGUMENTS, self._text(arguments))

    # Ending

    def _end(self, event: ev.Ended, key: Key, now: int) -> None:
        held = self._open.pop(key, None)
        self._announced.pop(key, None)
        if held is None:
            return
        match event:
            case ev.RunFinished():
                held.span.set_attribute(n.OUTCOME, event.outcome)
            case ev.LLMEnded():
                self._usage(held, event.usage)
            case ev.ToolEnded():
                if self._content:
                    held.span.set_attribute(n.RESULT, self._json(event.output))
            case ev.RunFailed() | ev.NodeFailed() | ev.TaskFailed() | ev.LLMFailed() | ev.ToolFailed():
                self._failed(held, event.code, event.message, now)
            case ev.NodeEnded() | ev.TaskEnded():
                pass
        if key[0] == "run":
            self._end_within(key[1], now)
        held.span.end(now)

    def _end_within(self, run: str, now: int) -> None:
        """What is left open in a run that is over; its effects of which no more was heard, above all."""
        for key in [key for key in self._open if key[1] == run or key[1].startswith(f"{run}.")]:
            self._open.pop(key).span.end(now)
        for key in [key for key in self._announced if key[1] == run]:
            del self._announced[key]

    def _failed(self, held: Open, code: str, message: str, now: int) -> None:
        held.span.set_attribute(n.ERROR, code)
        if code in _NO_FAULT:
            return
        text = self._text(message) if self._content else UNSAID
        held.span.add_event("exception", {"exception.type": code, "exception.message": text}, now)
        held.span.set_status(trace.Status(trace.StatusCode.ERROR, (self._content and text) or code))

    def _usage(self, held: Open, usage: ev.Usage | None) -> None:
        if usage is not None:
            held.span.set_attributes({
                n.INPUT_TOKENS: usage.prompt,
                n.OUTPUT_TOKENS: usage.completion,
                n.CACHE_READ: usage.cached,
                n.CACHE_WRITE: usage.cache_written,
            })  # fmt: skip
        if held.text:
            said = [{"role": "assistant", "parts": [{"type": "text", "content": held.text}]}]
            held.span.set_attribute(n.OUTPUT, self._json(said))

    # What happens at one moment

    def _moment(self, event: ev.Event, now: int) -> None:
        match event:
            case ev.LLMChunk():
                held = self._open.get(("llm", event.run_id, event.span))
                if held is not None and self._content:
                    held.text = (held.text + event.text)[:LONGEST]
            case ev.EffectMoved():
                self._moved(event, now)
            case ev.EffectLooked():
                self._effect(event, now).span.add_event("looked up", {n.SAW: event.saw}, now)
            case ev.RetryScheduled():
                self._note(event, "retry", {n.NODE: event.node, n.ATTEMPT: event.attempt, "delay": event.delay}, now)
            case ev.Interrupted():
                self._note(event, "question", {n.NODE: event.node, "question": event.question}, now)
            case ev.SignalSwallowed() | ev.JoinSkipped() | ev.LeaseLost():
                told = {
                    k: str(v) for k, v in msgspec.structs.asdict(event).items() if k not in ("seq", "parent_run_id")
                }
                self._note(event, type(event).__name__, told, now)
            case _:
                pass

    def _effect(self, event: ev.EffectMoved | ev.EffectLooked, now: int) -> Open:
        """An effect's span: from the first that this run tells of it, its plan and claim, to the state that settles it."""
        key: Key = ("effect", event.run_id, event.op_id)
        held = self._open.get(key)
        if held is None:
            about = {n.EFFECT: event.tool, n.OP_ID: event.op_id}
            held = self._begin(event, key, f"effect {event.tool}", about, now)
        return held

    def _moved(self, event: ev.EffectMoved, now: int) -> None:
        held = self._effect(event, now)
        held.span.set_attribute(n.STATE, event.state)
        if event.state == "InFlight":
            held.claims += 1
            held.span.set_attribute(n.CLAIMS, held.claims)
            held.span.add_event(event.state, {n.ATTEMPT: held.claims}, now)
        else:
            held.span.add_event(event.state, timestamp=now)
        if event.state in _WRONG:
            held.wrong = True
            held.span.set_status(trace.Status(trace.StatusCode.ERROR, event.state))
        elif event.state == "Succeeded" and held.wrong:
            held.span.set_status(trace.Status(trace.StatusCode.OK))
        if event.state in _SETTLED:
            self._open.pop(("effect", event.run_id, event.op_id)).span.end(now)

    def _note(self, event: ev.Event, name: str, told: Attributes, now: int) -> None:
        held = self._open.get(("run", event.run_id, ""))
        if held is not None:
            held.span.add_event(name, self._plain(told), now)

    # Texts

    def _text(self, text: str) -> str:
        return self._redact(redact(text[:LONGEST]))

    def _json(self, value: Any) -> str:
        return self._text(msgspec.json.encode(value, enc_hook=repr).decode())

    def _plain(self, told: Attributes) -> Attributes:
        return {key: self._text(value) if isinstance(value, str) else value for key, value in told.items()}
