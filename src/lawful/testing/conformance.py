"""The tests that every journal must pass, third parties' too.

In a test module of your own::

    from lawful.testing.conformance import JournalConformance

    class TestMyJournal(JournalConformance):
        def make_journal(self, clock):
            return MyJournal(new_empty_database(), clock=clock)

pytest then runs every promise of `lawful.journal.port` against it. ``make_journal`` is called many times, each time for a
journal with nothing in it; ``clock`` is what leases and effect records must go by, so that time can be made to pass.
"""

from __future__ import annotations

import sys

import pytest

# Before they are imported, so that a failing assert shows its values.
_PARTS = [f"lawful.testing.conformance_{part}" for part in ("threads", "crowds", "leases", "retention", "effects")]
pytest.register_assert_rewrite(*(part for part in _PARTS if part not in sys.modules))

from lawful.testing.conformance_crowds import CrowdPromises  # noqa: E402
from lawful.testing.conformance_effects import EffectPromises  # noqa: E402
from lawful.testing.conformance_leases import LeasePromises  # noqa: E402
from lawful.testing.conformance_retention import RetentionPromises  # noqa: E402
from lawful.testing.conformance_threads import ThreadPromises  # noqa: E402

__all__ = ["JournalConformance"]


class JournalConformance(ThreadPromises, CrowdPromises, LeasePromises, RetentionPromises, EffectPromises):
    """Subclass it as ``Test…`` and give it ``make_journal(clock)``."""
