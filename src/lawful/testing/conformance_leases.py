"""What a journal promises of leases: one holder, fences that grow, requests to stop."""

from __future__ import annotations

import threading
import time

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import InvalidThreadId, LeaseLost, ValidationError
from lawful.journal.port import Journal
from lawful.journal.records import Batch, Busy, Lease, PutCheckpoint
from lawful.testing.conformance_kit import START, Ids, Suite, at_once, checkpoint, later, put


def held(journal: Journal, thread: str = "t", owner: str = "p/1", ttl: float = 30) -> Lease:
    """The lease, which must be free."""
    got = journal.acquire(thread, owner, ttl)
    assert isinstance(got, Lease)
    return got


class LeasePromises(Suite):
    """Who may write to a thread."""

    def test_one_holder_at_a_time(self, journal: Journal) -> None:
        lease = held(journal)
        assert lease == Lease("t", "p/1", lease.fence, START + 30)
        assert journal.acquire("t", "p/2", 30) == Busy("p/1", START + 30)
        assert held(journal, "u").fence >= 1
        assert journal.scoped("other").acquire("t", "p/2", 30) != Busy("p/1", START + 30)
        journal.release(lease)
        assert held(journal, owner="p/2").fence > lease.fence

    def test_an_expired_lease_is_taken_over(self, journal: Journal, clock: FixedClock) -> None:
        old = held(journal)
        clock.advance(29)
        assert isinstance(journal.acquire("t", "p/2", 30), Busy)
        clock.advance(1)
        new = held(journal, owner="p/2")
        assert new.fence > old.fence
        with pytest.raises(LeaseLost):
            journal.renew(old, 30)
        journal.release(old)
        assert journal.acquire("t", "p/3", 30) == Busy("p/2", new.expires)

    def test_renewing_prolongs(self, journal: Journal, clock: FixedClock) -> None:
        lease = held(journal)
        clock.advance(20)
        renewed = journal.renew(lease, 30)
        assert renewed.fence == lease.fence
        assert renewed.expires == START + 50
        clock.advance(29)
        assert isinstance(journal.acquire("t", "p/2", 30), Busy)

    def test_a_commit_needs_its_fence(self, journal: Journal, clock: FixedClock) -> None:
        ids = Ids()
        old = held(journal, ttl=1)
        put(journal, "t", checkpoint(ids()), lease=old)
        clock.advance(2)
        put(journal, "t", checkpoint(ids()), lease=old)  # expired, but nobody has taken the thread over
        new = held(journal, owner="p/2")
        with pytest.raises(LeaseLost):
            put(journal, "t", checkpoint(ids()), lease=old)
        put(journal, "t", checkpoint(ids()), lease=new)
        journal.release(new)
        with pytest.raises(LeaseLost):
            put(journal, "t", checkpoint(ids()), lease=new)
        assert len(journal.history("t")) == 3

    def test_a_commit_can_release(self, journal: Journal) -> None:
        ids = Ids()
        lease = held(journal)
        journal.commit(Batch("t", (PutCheckpoint(checkpoint(ids())),), lease=lease, release=True))
        other = held(journal, owner="p/2")
        with pytest.raises(LeaseLost):
            journal.commit(Batch("t", (), lease=lease, release=True))
        journal.commit(Batch("t", (), lease=other, release=True))
        held(journal, owner="p/3")

    def test_a_refused_commit_releases_nothing(self, journal: Journal) -> None:
        lease, row = held(journal), checkpoint(Ids()())
        put(journal, "t", row, lease=lease)
        with pytest.raises(Exception, match=row.id):
            journal.commit(Batch("t", (PutCheckpoint(row),), lease=lease, release=True))
        assert isinstance(journal.acquire("t", "p/2", 30), Busy)

    def test_wrong_leases_are_refused(self, journal: Journal) -> None:
        lease = held(journal)
        with pytest.raises(ValidationError):
            put(journal, "u", checkpoint(Ids()()), lease=lease)
        with pytest.raises(ValidationError):
            journal.commit(Batch("t", (), release=True))
        with pytest.raises(InvalidThreadId):
            journal.acquire("", "p/1", 30)

    def test_a_holder_can_be_asked_to_stop(self, journal: Journal, clock: FixedClock) -> None:
        assert journal.cancel("t") is False
        lease = held(journal)
        assert journal.cancelled(lease) is False
        assert journal.scoped("other").cancel("t") is False
        assert journal.cancelled(lease) is False
        assert journal.cancel("t") is True
        assert journal.cancelled(lease) is True
        journal.release(lease)
        new = held(journal, owner="p/2")
        assert journal.cancelled(new) is False
        assert journal.cancelled(lease) is True
        clock.advance(31)
        assert journal.cancel("t") is False

    def test_fences_outlive_the_thread(self, journal: Journal) -> None:
        lease = held(journal)
        put(journal, "t", checkpoint(Ids()()), lease=lease)
        journal.release(lease)
        journal.delete_thread("t")
        assert held(journal, owner="p/2").fence > lease.fence

    def test_waiting_ends_when_the_lease_is_free(self, journal: Journal) -> None:
        journal.wait("t", 5)
        lease = held(journal)
        begun = time.monotonic()
        journal.wait("t", 0.05)
        assert time.monotonic() - begun < 4
        free = threading.Timer(0.1, journal.release, (lease,))
        free.start()
        begun = time.monotonic()
        while isinstance(journal.acquire("t", "p/2", 30), Busy):
            journal.wait("t", 10)
        assert time.monotonic() - begun < 5
        free.join()

    def test_of_racing_runs_one_holds(self, journal: Journal) -> None:
        results = at_once(8, lambda n: journal.acquire("t", f"p/{n}", 30))
        holders = [lease for lease in results if isinstance(lease, Lease)]
        assert len(holders) == 1
        assert sum(busy == Busy(holders[0].owner, holders[0].expires) for busy in results) == 7

    def test_a_counter_under_the_lease_misses_nothing(self, journal: Journal) -> None:
        def work(n: int) -> int:
            taken = 0
            while taken < 5:
                got = journal.acquire("t", f"p/{n}", 30)
                if isinstance(got, Busy):
                    journal.wait("t", 5)
                    continue
                chain = journal.chain("t")
                tip = chain.tip if chain else None
                row = checkpoint(later(tip.id if tip else None), step=tip.step + 1 if tip else 0)
                journal.commit(Batch("t", (PutCheckpoint(row, tip.id if tip else None),), lease=got, release=True))
                taken += 1
            return taken

        assert at_once(4, work) == [5] * 4
        assert [row.step for row in journal.history("t")] == list(range(19, -1, -1))
