"""`Costs`: tokens and money of each run, its nested runs included, counted from events while they go."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from lawful.core import events as ev
from lawful.core.errors import ConfigurationError
from lawful.core.event_rules import Key
from lawful.core.events import Usage
from lawful.models.prices import Price, cost_of
from lawful.observe.names import provider_and_model

KEPT = 10_000
"""Runs that are remembered; of more the oldest are forgotten."""


class Spent(Struct, frozen=True):
    """What a run has spent."""

    usage: Usage = Usage()
    money: Decimal = Decimal(0)
    """Dollars, of the calls whose price is known."""
    calls: int = 0
    """Calls of models, failed ones included."""
    unpriced: int = 0
    """Calls whose price nobody knows, or that told no usage: if there are any, ``money`` is a lower bound."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.usage + other.usage,
            self.money + other.money,
            self.calls + other.calls,
            self.unpriced + other.unpriced,
        )


class Costs:
    """A listener that counts: give it to runs as ``on_event=``, and ask it by run id, by thread, or in all.

    ``prices`` are dollars by "provider:model" or model; for others the list of the extra ``prices`` is asked, if it is
    installed.
    """

    def __init__(self, prices: Mapping[str, Price] | None = None) -> None:
        self._prices = dict(prices or {})
        self._lock = threading.Lock()
        self._models: dict[Key, str] = {}
        self._runs: dict[str, Spent] = {}
        self._threads: dict[str, str | None] = {}
        self._total = Spent()

    @property
    def total(self) -> Spent:
        """Everything that was heard of."""
        return self._total

    def of(self, run_id: str) -> Spent:
        """A run and all runs in it; nothing, for a run that was not heard of."""
        with self._lock:
            inside = [spent for run, spent in self._runs.items() if run == run_id or run.startswith(f"{run_id}.")]
        return sum(inside, Spent())

    def of_thread(self, thread: str) -> Spent:
        """All runs on a thread, and all runs in them."""
        return sum((self.of(run) for run, named in list(self._threads.items()) if named == thread), Spent())

    def __call__(self, event: ev.Event) -> None:
        """Take one event."""
        with self._lock:
            match event:
                case ev.RunStarted():
                    self._threads[event.run_id] = event.thread
                    self._runs.setdefault(event.run_id, Spent())
                    self._forget()
                case ev.LLMStarted():
                    self._models["llm", event.run_id, event.span] = event.model
                case ev.LLMEnded():
                    self._count(event.run_id, event.span, event.usage)
                case ev.LLMFailed():
                    self._count(event.run_id, event.span, None)
                case _:
                    pass

    def _count(self, run: str, span: str, usage: Usage | None) -> None:
        model = self._models.pop(("llm", run, span), "")
        money = self._money(model, usage) if usage is not None else None
        spent = Spent(usage or Usage(), money or Decimal(0), 1, int(money is None))
        self._runs[run] = self._runs.get(run, Spent()) + spent
        self._total += spent

    def _money(self, named: str, usage: Usage) -> Decimal | None:
        provider, model = provider_and_model(named)
        try:
            return cost_of(provider, model, usage, self._prices)
        except ConfigurationError:
            return None

    def _forget(self) -> None:
        while len(self._runs) > KEPT:
            oldest = next(iter(self._runs))
            del self._runs[oldest]
            self._threads.pop(oldest, None)
