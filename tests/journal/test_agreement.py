"""Whatever is done, in whatever order: the journal in SQLite answers as the reference in memory does."""

from __future__ import annotations

import pytest

from lawful.core.clock import Clock
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.journal.records import Batch, PutCheckpoint
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing import check_journal
from lawful.testing.agreement import POOL, Step, compare
from lawful.testing.conformance_kit import START, checkpoint

pytestmark = pytest.mark.property


def test_both_journals_say_the_same() -> None:
    """Rows: S0-120, S1-K05."""
    check_journal(lambda clock: SQLiteJournal(":memory:", clock=clock))


class Forgetful(MemoryJournal):
    """Forgets a checkpoint whose step is 2."""

    def commit(self, batch: Batch) -> None:
        kept = [r for r in batch.records if getattr(getattr(r, "checkpoint", None), "step", 0) != 2]
        super().commit(Batch(batch.thread, tuple(kept), batch.lease, release=batch.release))


def test_a_journal_that_forgets_is_found() -> None:
    def make(clock: Clock) -> Journal:
        return Forgetful(clock=clock)

    put = PutCheckpoint(checkpoint(POOL[0], None, step=2, at=START))
    with pytest.raises(AssertionError, match="something else can be read"):
        compare(make, [Step("commit", lambda journal: journal.commit(Batch("t", (put,))))])
