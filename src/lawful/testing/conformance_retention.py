"""What a journal promises of retention: pruning keeps what it must, copies keep their lineage, deleting forgets."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lawful.core.clock import FixedClock
from lawful.core.errors import ValidationError
from lawful.journal.port import Journal
from lawful.journal.records import Checkpoint, PutCheckpoint
from lawful.testing.conformance_kit import (
    START,
    Ids,
    Suite,
    answer,
    checkpoint,
    chunks,
    digest,
    events,
    fold,
    grow,
    later,
    operation,
    put,
    send,
    writes,
)


def steps(journal: Journal, thread: str = "t", ns: str = "") -> list[int]:
    """The steps in sight, oldest first."""
    return [row.step for row in journal.history(thread, ns)][::-1]


class RetentionPromises(Suite):
    """Prune, copy, delete."""

    def test_prune_keeps_the_newest_and_what_they_need(self, journal: Journal) -> None:
        rows = grow(journal, "t", 10, every=4)
        assert journal.prune("t", keep_last=2) == 8
        assert steps(journal) == [8, 9]
        assert fold(journal.chain("t")) == b"".join(b"<%d>" % n for n in range(10))
        assert journal.chain("t", "", rows[4].id) is None
        assert list(journal.children("t", "", rows[7].id)) == [rows[8]]
        assert journal.prune("t", keep_last=2) == 0
        assert journal.prune("t") == 1
        assert steps(journal) == [9]
        assert list(journal.children("t", "", rows[7].id)) == []
        assert list(journal.children("t", "", rows[8].id)) == [rows[9]]
        assert fold(journal.chain("t")) == b"".join(b"<%d>" % n for n in range(10))

    def test_prune_by_step_and_by_age(self, journal: Journal, clock: FixedClock) -> None:
        grow(journal, "t", 11)
        assert journal.prune("t", keep_every=5) == 8
        assert steps(journal) == [0, 5, 10]
        assert fold(journal.chain("t", "", journal.history("t")[1].id)) == b"<0><1><2><3><4><5>"
        grow(journal, "u", 11)
        clock.advance(10)
        assert journal.prune("u", older_than=3) == 7
        assert steps(journal, "u") == [7, 8, 9, 10]
        assert journal.prune("u", keep_last=1, keep_every=4, older_than=0) == 2
        assert steps(journal, "u") == [8, 10]

    def test_prune_takes_every_namespace_and_thread(self, journal: Journal) -> None:
        grow(journal, "t", 3)
        grow(journal, "t", 3, ns="sub")
        grow(journal, "u", 3)
        grow(journal.scoped("other"), "t", 3)
        assert journal.prune() == 6
        assert steps(journal) == steps(journal, "t", "sub") == steps(journal, "u") == [2]
        assert steps(journal.scoped("other")) == [0, 1, 2]
        assert journal.prune("no such thread") == 0

    def test_prune_sweeps_chunks_that_nobody_refers_to(self, journal: Journal) -> None:
        ids = Ids()
        first, second, third = ids(), ids(), ids()
        rows = [
            checkpoint(first, snapshot=b"s", refs=(digest(1), digest(2))),
            checkpoint(second, first, snapshot=b"s", refs=(digest(2), digest(3))),
            checkpoint(third, second, delta=b"d", refs=(digest(4),)),
        ]
        send(
            journal,
            "t",
            chunks(1, 2, 3, 4, 5, 6),
            *(PutCheckpoint(row) for row in rows),
            writes(third, "x", refs=(digest(5),)),
        )
        journal.prune("t")
        assert set(journal.chunks("t", map(digest, range(1, 7)))) == {digest(2), digest(3), digest(4), digest(5)}
        chain = journal.chain("t")
        assert chain is not None
        assert chain.tip == rows[2]
        assert [w.task for w in chain.writes] == ["x"]

    def test_prune_leaves_a_paused_thread_as_it_is(self, journal: Journal) -> None:
        rows = grow(journal, "t", 5)
        send(journal, "t", writes(rows[-1].id, "task"), answer(rows[-1].id, "q"), writes(rows[1].id, "old"))
        before = journal.chain("t")
        journal.prune("t")
        after = journal.chain("t")
        assert before is not None
        assert after is not None
        assert (after.tip, after.writes, after.answers) == (before.tip, before.writes, before.answers)
        put(journal, "t", checkpoint(later(rows[-1].id), rows[-1].id, delta=b"<5>"), expect=rows[-1].id)
        assert fold(journal.chain("t")) == b"<0><1><2><3><4><5>"

    @pytest.mark.parametrize("asked", [{"keep_last": 0}, {"keep_last": -1}, {"keep_every": 0}, {"older_than": -1.0}])
    def test_wrong_retention_is_refused(self, journal: Journal, asked: dict[str, int]) -> None:
        grow(journal, "t", 3)
        with pytest.raises(ValidationError):
            journal.prune("t", **asked)
        assert steps(journal) == [0, 1, 2]

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
    @given(
        tree=st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=14),
        prunes=st.lists(st.tuples(st.integers(1, 4), st.none() | st.integers(1, 4)), min_size=1, max_size=3),
    )
    def test_what_stays_in_sight_rebuilds_to_the_same(
        self, tree: list[tuple[int, bool]], prunes: list[tuple[int, int | None]]
    ) -> None:
        journal = self.make_journal(FixedClock(START))
        try:
            rows, states = _plant(journal, tree)
            shown = {row.id for row in rows}
            for keep_last, keep_every in prunes:
                count = journal.prune("t", keep_last=keep_last, keep_every=keep_every)
                left = {row.id for row in journal.history("t")}
                assert count == len(shown) - len(left)
                assert left <= shown
                assert {row.id for row in rows[-keep_last:]} & shown <= left
                if keep_every is not None:
                    assert {row.id for row in rows if row.step % keep_every == 0} & shown <= left
                for id in left:
                    assert fold(journal.chain("t", "", id)) == states[id]
                    assert {row.id for row in journal.children("t", "", id)} == {
                        row.id for row in rows if row.parent == id and row.id in left
                    }
                shown = left
        finally:
            journal.close()

    def test_a_copy_keeps_lineage_and_goes_its_own_way(self, journal: Journal) -> None:
        rows = grow(journal, "t", 4)
        grow(journal, "t", 2, ns="sub")
        send(journal, "t", chunks(1), writes(rows[-1].id, "task", refs=(digest(1),)), answer(rows[-1].id, "q"))
        journal.copy_thread("t", "copy")
        journal.copy_thread("copy", "second")
        assert journal.chain("copy") == journal.chain("t")
        assert list(journal.history("second")) == rows[::-1]
        assert list(journal.namespaces("copy")) == ["", "sub"]
        assert [(i.thread, i.lineage) for i in journal.threads()] == [("copy", "t"), ("second", "t"), ("t", "t")]
        put(journal, "copy", checkpoint(later(rows[-1].id), rows[-1].id, delta=b"<copy>"))
        journal.delete_thread("t")
        assert fold(journal.chain("copy")) == b"<0><1><2><3><copy>"
        assert list(journal.history("second")) == rows[::-1]
        assert dict(journal.chunks("second", [digest(1)])) == {digest(1): b"chunk 1"}

    def test_a_copy_needs_a_source_and_an_empty_target(self, journal: Journal) -> None:
        grow(journal, "t", 2)
        grow(journal, "u", 1)
        for source, target in (("t", "u"), ("none", "new"), ("t", "t"), ("t", "")):
            with pytest.raises(ValidationError):
                journal.copy_thread(source, target)
        assert [info.thread for info in journal.threads()] == ["t", "u"]
        assert journal.scoped("other").info("t") is None

    def test_a_copy_of_a_pruned_thread_rebuilds(self, journal: Journal) -> None:
        grow(journal, "t", 6)
        journal.prune("t")
        journal.copy_thread("t", "copy")
        assert steps(journal, "copy") == [5]
        chain = journal.chain("copy")
        assert fold(chain) == b"<0><1><2><3><4><5>"
        assert chain is not None
        assert {row.head for row in chain.rows} == {b"head"}  # rebuilding may read the heads on its way

    def test_records_of_effects_outlive_their_thread(self, journal: Journal) -> None:
        """What was done to the world, or may have been, is not forgotten with the conversation."""
        op, told = operation("o", 2, thread="t"), events("o", 1, 2)
        journal.transact(lambda tx: tx.append(op, told))
        grow(journal, "t", 4)
        assert journal.prune("t") == 3
        journal.delete_thread("t")
        found = journal.read(lambda tx: (tx.operation("o"), tuple(tx.events("o")), list(tx.operations(thread="t"))))
        assert found == (op, tuple(told), [op])

    def test_deleting_forgets_one_thread(self, journal: Journal) -> None:
        rows = grow(journal, "t", 3)
        send(journal, "t", chunks(1), writes(rows[-1].id, "task"), answer(rows[-1].id, "q"))
        kept = grow(journal, "u", 2)
        grow(journal.scoped("other"), "t", 1)
        journal.delete_thread("t")
        journal.delete_thread("never was")
        assert journal.chain("t") is None
        assert list(journal.history("t")) == []
        assert list(journal.namespaces("t")) == []
        assert dict(journal.chunks("t", [digest(1)])) == {}
        assert [info.thread for info in journal.threads()] == ["u"]
        assert list(journal.history("u")) == kept[::-1]
        assert steps(journal.scoped("other")) == [0]
        again = grow(journal, "t", 1)
        chain = journal.chain("t")
        assert chain is not None
        assert (list(chain.rows), chain.writes, chain.answers) == (again, (), ())


def _plant(journal: Journal, tree: list[tuple[int, bool]]) -> tuple[list[Checkpoint], dict[str, bytes]]:
    """A tree of checkpoints: each made from one of the last four, with a snapshot or without."""
    ids, rows, states = Ids(), list[Checkpoint](), dict[str, bytes]()
    for n, (back, whole) in enumerate(tree):
        parent = rows[max(0, len(rows) - 1 - back)] if rows else None
        delta = b"<%d>" % n
        state = (states[parent.id] if parent else b"") + delta
        row = checkpoint(
            ids(),
            parent.id if parent else None,
            step=parent.step + 1 if parent else 0,
            delta=delta,
            snapshot=state if whole else None,
        )
        put(journal, "t", row)
        rows.append(row)
        states[row.id] = state
    return rows, states
