"""What an answer cost, by the price list of the package ``genai-prices`` (extra ``prices``) or by prices of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from msgspec import Struct

from lawful.core.errors import ConfigurationError
from lawful.core.events import Usage
from lawful.core.lazy import late
from lawful.models.values import Reply

_MILLION: Final = Decimal(1_000_000)
FREE: Final = frozenset({"ollama", "demo", "scripted", "fake", "local", "cassette"})
"""Providers that send no bill."""


class Price(Struct, frozen=True):
    """Dollars for a million tokens."""

    prompt: float
    completion: float
    cached: float | None = None
    """Of the prompt, what was read from the cache; None: as the rest of it."""

    def of(self, usage: Usage) -> Decimal:
        """Dollars for that many tokens."""
        cheap = Decimal(str(self.prompt if self.cached is None else self.cached))
        full = usage.prompt - usage.cached
        spent = (
            full * Decimal(str(self.prompt)) + usage.cached * cheap + usage.completion * Decimal(str(self.completion))
        )
        return spent / _MILLION


def cost(reply: Reply, prices: Mapping[str, Price] | None = None) -> Decimal | None:
    """Dollars that the answer cost; None, if nobody knows.

    ``prices`` are one's own, by "provider:model" or by the model's name alone, and come first; models of this machine cost
    nothing; for the rest the price list is asked.

    Raises: ConfigurationError, which names the package, if the price list is needed and missing.
    """
    return cost_of(reply.provider, reply.model, reply.usage, prices)


def cost_of(provider: str, model: str, usage: Usage, prices: Mapping[str, Price] | None = None) -> Decimal | None:
    """As `cost`, of what is known of an answer."""
    own = prices or {}
    found = own.get(f"{provider}:{model}") or own.get(model)
    if found is not None:
        return found.of(usage)
    if provider in FREE:
        return Decimal(0)
    try:
        lists = late("genai_prices", extra="prices")
    except ConfigurationError:
        if prices is not None:
            return None
        raise
    counted = lists.Usage(
        input_tokens=usage.prompt,
        output_tokens=usage.completion,
        cache_read_tokens=usage.cached or None,
        cache_write_tokens=usage.cache_written or None,
    )
    try:
        return lists.calc_price(counted, model_ref=model, provider_id=provider).total_price
    except LookupError:
        return None
