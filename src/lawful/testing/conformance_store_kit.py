"""What the conformance tests of stores are made of: a clock and a store for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lawful.core.clock import Clock, FixedClock
from lawful.stores.store_port import Store
from lawful.stores.store_records import IndexConfig, TTLConfig
from lawful.testing.conformance_kit import START


class StoreSuite:
    """The base of the test classes: one store for each test, made by `make_store`."""

    def make_store(self, clock: Clock, ttl: TTLConfig | None) -> Store:
        """A new, empty store of scope "local" that goes by ``clock``."""
        raise NotImplementedError("a conformance suite needs make_store(clock, ttl)")

    def make_indexed(self, clock: Clock, ttl: TTLConfig | None, index: IndexConfig) -> Store:
        """As `make_store`, with a vector index; a store without one leaves this out."""
        pytest.skip("no make_indexed(clock, ttl, index): this store takes no index")

    @pytest.fixture
    def clock(self) -> FixedClock:
        return FixedClock(START)

    @pytest.fixture
    def store(self, clock: FixedClock) -> Iterator[Store]:
        with self.make_store(clock, None) as made:
            yield made
