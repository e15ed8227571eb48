"""The tests that every long-term store must pass, third parties' too.

In a test module of your own::

    from lawful.testing.conformance_store import StoreConformance

    class TestMyStore(StoreConformance):
        def make_store(self, clock, ttl):
            return MyStore(new_empty_database(), clock=clock, ttl=ttl)

pytest then runs every promise of `lawful.stores.store_port` against it. ``make_store`` is called many times, each time
for a store with nothing in it; ``clock`` is what times and expiry must go by. A store that takes an index has a second
function, ``make_indexed(self, clock, ttl, index)``; without it the tests of the index are skipped.
"""

from __future__ import annotations

import sys

import pytest

# Before they are imported, so that a failing assert shows its values.
_PARTS = [f"lawful.testing.conformance_store_{part}" for part in ("items", "times", "index")]
pytest.register_assert_rewrite(*(part for part in _PARTS if part not in sys.modules))

from lawful.testing.conformance_store_index import IndexPromises  # noqa: E402
from lawful.testing.conformance_store_items import ItemPromises, NamespacePromises, SearchPromises  # noqa: E402
from lawful.testing.conformance_store_times import BatchPromises, TimePromises  # noqa: E402

__all__ = ["StoreConformance"]


class StoreConformance(ItemPromises, NamespacePromises, SearchPromises, IndexPromises, TimePromises, BatchPromises):
    """Subclass it as ``Test…`` and give it ``make_store(clock, ttl)``, and ``make_indexed`` if it takes an index."""
