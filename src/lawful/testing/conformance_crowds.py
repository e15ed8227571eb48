"""What a journal promises where many write at once: an order for each thread, one winner, and nobody held up."""

from __future__ import annotations

import threading

from lawful.core.errors import AlreadyAnswered, HeadMoved
from lawful.journal.port import Journal
from lawful.journal.records import Batch, PutCheckpoint
from lawful.testing.conformance_kit import Ids, Suite, answer, at_once, checkpoint, fold, grow, put, send


class CrowdPromises(Suite):
    """Batches that wait for each other, and threads that do not."""

    def test_submitted_batches_keep_their_order(self, journal: Journal) -> None:
        ids, told, ended = Ids(), list[tuple[int, BaseException | None]](), threading.Event()
        rows = [checkpoint(ids(), step=n) for n in range(30)]

        def done(n: int, error: BaseException | None) -> None:
            told.append((n, error))
            if len(told) == 31:
                ended.set()

        for n, row in enumerate(rows):
            expect = rows[n - 1].id if n else None
            journal.submit(Batch("t", (PutCheckpoint(row, expect),)), lambda e, n=n: done(n, e))
        journal.submit(Batch("t", (PutCheckpoint(rows[3], None),)), lambda e: done(30, e))
        assert ended.wait(20)
        assert sorted(n for n, _ in told) == list(range(31))
        assert {n for n, error in told if error is not None} == {30}
        assert isinstance(dict(told)[30], HeadMoved)
        assert [row.step for row in journal.history("t")] == list(range(29, -1, -1))

    def test_a_commit_sees_what_was_submitted_before_it(self, journal: Journal) -> None:
        ids = Ids()
        first, second = checkpoint(ids()), checkpoint(ids())
        errors: list[BaseException | None] = []
        journal.submit(Batch("t", (PutCheckpoint(first, None),)), errors.append)
        put(journal, "t", second, expect=first.id)
        assert list(journal.history("t")) == [second, first]

    def test_of_racing_writers_one_wins(self, journal: Journal) -> None:
        ids = Ids()
        rows = [checkpoint(ids()) for _ in range(8)]
        results = at_once(8, lambda n: put(journal, "t", rows[n], expect=None))
        assert sum(result is None for result in results) == 1
        assert all(result is None or isinstance(result, HeadMoved) for result in results)
        assert len(journal.history("t")) == 1

    def test_threads_write_side_by_side(self, journal: Journal) -> None:
        def work(n: int) -> bool:
            rows = grow(journal, f"t{n}", 15, every=4)
            return list(journal.history(f"t{n}")) == rows[::-1] and fold(journal.chain(f"t{n}")).endswith(b"<14>")

        assert at_once(6, work) == [True] * 6
        assert len(journal.threads()) == 6

    def test_of_racing_answers_one_is_taken(self, journal: Journal) -> None:
        (row,) = grow(journal, "t", 1)
        results = at_once(6, lambda n: send(journal, "t", answer(row.id, "q", b"%d" % n)))
        assert sum(result is None for result in results) == 1
        assert all(result is None or isinstance(result, AlreadyAnswered) for result in results)
