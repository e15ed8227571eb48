"""What a journal promises of effect records: events in order, compare-and-set, all of a transaction or nothing."""

from __future__ import annotations

from typing import NoReturn

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import HeadMoved, StoreError, ValidationError
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import EffectEvent, Operation
from lawful.testing.conformance_kit import START, Suite, at_once, events, grow, operation


def add(journal: Journal, op: Operation, first: int = 1) -> None:
    """Append events ``first``..``op.version`` and set the operation."""
    journal.transact(lambda tx: tx.append(op, events(op.op_id, first, op.version)), durable=False)


class EffectPromises(Suite):
    """Operations, events, marks."""

    def test_events_and_operation_come_back(self, journal: Journal) -> None:
        op = operation(
            "o1",
            2,
            state="claimed",
            lineage="l",
            thread="t",
            key="k",
            args_hash="h",
            claimed_at=START,
            lease_until=START + 1,
            labels={"n": 1, "s": "x", "none": None, "f": 0.5, "b": True},
            updated=START,
        )
        journal.transact(lambda tx: tx.append(op, events("o1", 1, 2)))
        assert journal.read(lambda tx: tx.operation("o1")) == op
        assert list(journal.read(lambda tx: tx.events("o1"))) == list(events("o1", 1, 2))
        assert journal.read(lambda tx: tx.operation("o2")) is None
        assert list(journal.read(lambda tx: tx.events("o2"))) == []

    def test_events_follow_the_stored_version(self, journal: Journal) -> None:
        with pytest.raises(HeadMoved):
            add(journal, operation("o", 2), first=2)
        add(journal, operation("o", 2))
        for first, last in ((1, 1), (2, 3), (4, 4)):
            with pytest.raises(HeadMoved):
                add(journal, operation("o", last), first=first)
        add(journal, operation("o", 4, state="done"), first=3)
        found = journal.read(lambda tx: (tx.operation("o"), tx.events("o")))
        assert found[0] == operation("o", 4, state="done")
        assert [event.seq for event in found[1]] == [1, 2, 3, 4]

    def test_what_does_not_fit_together_is_refused(self, journal: Journal) -> None:
        for op, told in (
            (operation("o", 3), events("o", 1, 2)),
            (operation("o", 1), ()),
            (operation("o", 1), events("other")),
            (operation("o", 2), [*events("o"), *events("o", 3)]),
            (operation("o", labels={"k": [1]}), events("o")),
            (operation("o\x00"), events("o\x00")),
        ):
            with pytest.raises(ValidationError):
                journal.transact(lambda tx, op=op, told=told: tx.append(op, told))
        assert list(journal.read(lambda tx: tx.operations())) == []

    def test_a_transaction_is_all_or_nothing(self, journal: Journal) -> None:
        class Stop(Exception):
            pass

        def work(tx: EffectTx) -> NoReturn:
            tx.append(operation("a"), events("a"))
            tx.append(operation("a", 2), events("a", 2))
            tx.set_mark("m", b"1")
            assert tx.operation("a") == operation("a", 2)
            assert len(tx.events("a")) == 2
            assert tx.mark("m") == b"1"
            assert [op.op_id for op in tx.operations()] == ["a"]
            raise Stop

        with pytest.raises(Stop):
            journal.transact(work)
        assert journal.read(lambda tx: (tx.operation("a"), len(tx.events("a")), tx.mark("m"))) == (None, 0, None)
        add(journal, operation("a"))

    def test_a_refused_append_inside_a_transaction_that_goes_on(self, journal: Journal) -> None:
        def work(tx: EffectTx) -> None:
            with pytest.raises(HeadMoved):
                tx.append(operation("a", 5), events("a", 5))
            tx.append(operation("b"), events("b"))

        journal.transact(work)
        assert [op.op_id for op in journal.read(lambda tx: list(tx.operations()))] == ["b"]

    def test_operations_are_found_oldest_first(self, journal: Journal) -> None:
        made = [
            operation("c", tool="mail", state="planned", thread="t"),
            operation("a", tool="mail", state="claimed", thread="u", claimed_at=START, labels={"who": "ann", "n": 1}),
            operation(
                "b", tool="git", state="claimed", thread="t", claimed_at=START + 5, labels={"who": "ann", "n": True}
            ),
            operation("d", tool="git", state="done", thread="t", claimed_at=START + 9),
        ]
        for op in made:
            add(journal, op)
        add(journal, operation("c", 2, tool="mail", thread="t"), first=2)

        def ids(**asked: object) -> str:
            found = journal.read(lambda tx: list(tx.operations(**asked)))  # pyright: ignore[reportArgumentType]
            return "".join(op.op_id for op in found)

        assert ids() == "cabd"
        assert ids(states=["claimed", "done"]) == "abd"
        assert ids(states=()) == "cabd"
        assert ids(tool="git") == "bd"
        assert ids(thread="t") == "cbd"
        assert ids(labels={"who": "ann"}) == "ab"
        assert ids(labels={"n": 1}) == "a"
        assert ids(labels={"n": True}) == "b"
        assert ids(since=START + 5) == "bd"
        assert ids(since=START, tool="mail") == "a"
        assert ids(limit=2) == "ca"
        assert ids(limit=0) == ""
        assert ids(states=["claimed"], labels={"who": "bob"}) == ""
        assert ids(tool="git' OR '1'='1") == ""

    def test_marks_are_set_and_forgotten(self, journal: Journal) -> None:
        journal.transact(lambda tx: tx.set_mark("freeze", b"\x00all"))
        journal.transact(lambda tx: tx.set_mark("freeze", b""))
        assert journal.read(lambda tx: tx.mark("freeze")) == b""
        journal.transact(lambda tx: tx.set_mark("freeze", None))
        assert journal.read(lambda tx: tx.mark("freeze")) is None

    def test_reading_does_not_write(self, journal: Journal) -> None:
        with pytest.raises(StoreError):
            journal.read(lambda tx: tx.append(operation("a"), events("a")))
        with pytest.raises(StoreError):
            journal.read(lambda tx: tx.set_mark("m", b"1"))
        assert journal.read(lambda tx: (tx.operation("a"), tx.mark("m"))) == (None, None)

    def test_the_journal_is_not_called_from_inside(self, journal: Journal) -> None:
        with pytest.raises(StoreError):
            journal.transact(lambda tx: journal.transact(lambda inner: inner.now()))
        with pytest.raises(StoreError):
            journal.transact(lambda tx: grow(journal, "t", 1))
        assert journal.info("t") is None
        add(journal, operation("a"))

    def test_the_clock_is_the_stores(self, journal: Journal, clock: FixedClock) -> None:
        assert journal.transact(lambda tx: tx.now()) == START
        clock.advance(7)
        assert journal.read(lambda tx: tx.now()) == START + 7

    def test_scopes_are_apart(self, journal: Journal) -> None:
        other = journal.scoped("other")
        add(journal, operation("a"))
        journal.transact(lambda tx: tx.set_mark("m", b"1"))
        assert other.read(lambda tx: (tx.operation("a"), len(tx.events("a")), tx.mark("m"))) == (None, 0, None)
        assert list(other.read(lambda tx: list(tx.operations()))) == []
        add(other, operation("a", 2))
        assert len(journal.read(lambda tx: tx.events("a"))) == 1

    def test_effects_stay_when_their_thread_goes(self, journal: Journal) -> None:
        grow(journal, "t", 2)
        add(journal, operation("a", thread="t"))
        journal.delete_thread("t")
        journal.prune()
        assert journal.read(lambda tx: tx.operation("a")) == operation("a", thread="t")

    def test_of_racing_claims_one_wins(self, journal: Journal) -> None:
        add(journal, operation("a"))

        def claim(n: int) -> bool:
            def work(tx: EffectTx) -> bool:
                found = tx.operation("a")
                assert found is not None
                if found.state != "planned":
                    return False
                event = EffectEvent("a", found.version + 1, "claimed", tx.now(), b"%d" % n, b"d" * 32)
                tx.append(operation("a", found.version + 1, state="claimed"), [event])
                return True

            return journal.transact(work)

        assert sorted(map(str, at_once(8, claim))) == ["False"] * 7 + ["True"]
        assert len(journal.read(lambda tx: tx.events("a"))) == 2

    def test_a_counter_misses_nothing(self, journal: Journal) -> None:
        def work(n: int) -> None:
            def count(tx: EffectTx) -> None:
                tx.set_mark("n", b"%d" % (int(tx.mark("n") or b"0") + 1))

            for _ in range(10):
                journal.transact(count, durable=False)

        assert at_once(4, work) == [None] * 4
        assert journal.read(lambda tx: tx.mark("n")) == b"40"
