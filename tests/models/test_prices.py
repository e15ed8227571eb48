"""What an answer costs: one's own prices first, nothing for models of this machine, then the price list."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lawful.core.messages import assistant
from lawful.models import Price, Reply, Usage, cost

pytestmark = pytest.mark.unit

USED = Usage(1_000_000, 500_000, cached=400_000)


def _reply(provider: str, model: str) -> Reply:
    return Reply(assistant("x"), provider, model, USED)


def test_ones_own_price_comes_first() -> None:
    prices = {"openai:mine": Price(2.0, 8.0, cached=0.5), "other": Price(1.0, 1.0)}
    assert cost(_reply("openai", "mine"), prices) == Decimal("1.2") + Decimal("0.2") + Decimal("4")
    assert cost(_reply("anyone", "other"), prices) == Decimal("1.5")


def test_a_model_of_this_machine_costs_nothing() -> None:
    assert cost(_reply("ollama", "qwen3")) == 0


def test_the_price_list_is_asked_and_an_unknown_model_has_no_price() -> None:
    pytest.importorskip("genai_prices")
    found = cost(_reply("openai", "gpt-4o"))
    assert found is not None
    # 600,000 fresh, 400,000 cached and 500,000 written tokens cost more than the written ones alone.
    assert found > Decimal("5")
    assert cost(_reply("openai", "no-such-model-at-all")) is None


def test_usage_adds_up() -> None:
    """Rows: S0-056."""
    assert Usage(1, 2, 3, 4, 5) + Usage(10, 20, 30, 40, 50) == Usage(11, 22, 33, 44, 55)
    assert Usage(1, 2).total == 3
