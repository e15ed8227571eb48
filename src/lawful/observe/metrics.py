"""`Metrics`: OpenTelemetry metrics of runs, counted and measured from their events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from lawful.core import events as ev
from lawful.core.event_rules import Key, bracket
from lawful.core.lazy import late
from lawful.observe import names as n

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opentelemetry import metrics
else:
    metrics = late("opentelemetry.metrics", extra="otel")


class Metrics:
    """A listener that measures: give it to runs as ``on_event=``.

    Durations are in seconds. Model calls and tokens have OpenTelemetry's names for generative AI; runs (by outcome), nodes,
    retries and the states of effects have names that begin with "lawful.". No text of a run gets into a label.
    """

    def __init__(self, provider: Any = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        meter = (provider if provider is not None else metrics.get_meter_provider()).get_meter("lawful")
        self._clock = clock
        self._lock = threading.Lock()
        self._since: dict[Key, tuple[float, dict[str, str]]] = {}
        self._duration = meter.create_histogram(n.DURATION, "s", "Model calls and tools")
        self._nodes = meter.create_histogram(n.NODE_DURATION, "s", "Attempts of nodes")
        self._tokens = meter.create_histogram(n.TOKENS, "{token}", "Tokens of model calls")
        self._runs = meter.create_counter(n.RUNS, "{run}", "Runs that ended, by outcome")
        self._retries = meter.create_counter(n.RETRIES, "{retry}", "Attempts that will be made again")
        self._effects = meter.create_counter(n.EFFECTS, "{operation}", "States that operations went into")

    def __call__(self, event: ev.Event) -> None:
        """Take one event."""
        with self._lock:
            if isinstance(event, ev.Started):
                self._begin(event)
            elif isinstance(event, ev.Ended):
                self._end(event)
            elif isinstance(event, ev.RetryScheduled):
                self._retries.add(1, {n.NODE: event.node})
            elif isinstance(event, ev.EffectMoved):
                self._effects.add(1, {n.EFFECT: event.tool, n.STATE: event.state})

    def _begin(self, event: ev.Started) -> None:
        key = bracket(event)
        assert key is not None
        match event:
            case ev.RunStarted():
                about = {n.WORKFLOW: event.graph}
            case ev.NodeStarted():
                about = {n.NODE: event.node}
            case ev.TaskStarted():
                about = {n.NODE: event.name}
            case ev.LLMStarted():
                provider, model = n.provider_and_model(event.model)
                about = {n.OPERATION: n.CHAT, n.PROVIDER: provider, n.REQUEST_MODEL: model}
            case ev.ToolStarted():
                about = {n.OPERATION: n.EXECUTE_TOOL, n.TOOL: event.tool}
        self._since[key] = self._clock(), about

    def _end(self, event: ev.Ended) -> None:
        key = bracket(event)
        assert key is not None
        begun = self._since.pop(key, None)
        if begun is None:
            return
        since, about = begun
        wrong = {n.ERROR: event.code} if isinstance(event, _FAILED) else {}
        took = self._clock() - since
        match event:
            case ev.RunFinished():
                self._runs.add(1, {**about, n.OUTCOME: event.outcome})
            case ev.RunFailed():
                self._runs.add(1, {**about, n.OUTCOME: "failed", **wrong})
            case ev.NodeEnded() | ev.NodeFailed() | ev.TaskEnded() | ev.TaskFailed():
                self._nodes.record(took, {**about, **wrong})
            case ev.LLMEnded():
                self._duration.record(took, about)
                if event.usage is not None:
                    self._tokens.record(event.usage.prompt, {**about, n.TOKEN_TYPE: "input"})
                    self._tokens.record(event.usage.completion, {**about, n.TOKEN_TYPE: "output"})
            case ev.LLMFailed() | ev.ToolEnded() | ev.ToolFailed():
                self._duration.record(took, {**about, **wrong})


_FAILED = (ev.RunFailed, ev.NodeFailed, ev.TaskFailed, ev.LLMFailed, ev.ToolFailed)
