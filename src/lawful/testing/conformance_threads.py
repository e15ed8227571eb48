"""What a journal promises of threads: checkpoints, task writes, answers, chunks, history."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lawful.core.clock import FixedClock
from lawful.core.errors import (
    AlreadyAnswered,
    Failure,
    HeadMoved,
    InvalidThreadId,
    StoreError,
    ValidationError,
)
from lawful.journal.port import Journal
from lawful.journal.records import (
    ANY_HEAD,
    Checkpoint,
    DropWrites,
    PutCheckpoint,
    PutChunks,
    TaskWrites,
)
from lawful.testing.conformance_kit import (
    START,
    Ids,
    Suite,
    answer,
    checkpoint,
    chunks,
    digest,
    fold,
    grow,
    later,
    put,
    send,
    writes,
)

_HOSTILE_KEYS = ("", "a b", "a'", 'a"', "a;--", "a.b", "1a", "a\x00", "$", "a) OR 1=1 --", "é", "a\n")
_NOT_SCALARS: tuple[Any, ...] = ([], {}, b"", float("nan"), float("inf"), 1 << 70, object())
_TEXT = st.text(max_size=12)
_SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
_NASTY = st.sampled_from(
    ["a", "a/b", "a%", "a_", "A", "a*", "a.b", "a:b", "a|b", "á", "a ", " a", "ab", "'", '"', ";--", "😀"]
)


class ThreadPromises(Suite):
    """Batches, chains and history."""

    def test_an_empty_journal_has_nothing(self, journal: Journal) -> None:
        id = Ids()()
        assert journal.chain("t") is None
        assert journal.chain("t", "", id) is None
        assert list(journal.history("t")) == []
        assert list(journal.children("t", "", id)) == []
        assert list(journal.namespaces("t")) == []
        assert list(journal.threads()) == []
        assert journal.info("t") is None
        assert dict(journal.chunks("t", [digest(1)])) == {}

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
    @given(
        blobs=st.tuples(st.binary(max_size=40), st.binary(max_size=40), st.none() | st.binary(max_size=40)),
        step=st.integers(-1, 2**40),
        at=st.floats(0, 4e9),
        weight=st.integers(0, 2**40),
        metadata=st.dictionaries(_TEXT, _SCALARS | _TEXT, max_size=4),
        ns=_TEXT,
    )
    def test_a_checkpoint_comes_back_as_it_was(
        self,
        blobs: tuple[bytes, bytes, bytes | None],
        step: int,
        at: float,
        weight: int,
        metadata: dict[str, Any],
        ns: str,
    ) -> None:
        journal = self.make_journal(FixedClock(START))
        head, delta, snapshot = blobs
        row = Checkpoint(ns, Ids()(), None, step, "update", at, head, delta, snapshot, weight, (digest(7),), metadata)
        try:
            try:
                send(journal, "t", chunks(7), PutCheckpoint(row))
            except ValidationError:
                assert "\x00" in ns or any("\x00" in str(part) for pair in metadata.items() for part in pair)
                assert journal.info("t") is None
                return
            chain = journal.chain("t", ns)
            assert chain is not None
            assert chain.rows == (row,)
            assert dict(chain.chunks) == {digest(7): b"chunk 7"}
            assert list(journal.history("t", ns)) == [row]
        finally:
            journal.close()

    def test_a_chain_goes_back_to_the_nearest_snapshot(self, journal: Journal) -> None:
        rows = grow(journal, "t", 12, every=5)
        for n, row in enumerate(rows):
            chain = journal.chain("t", "", row.id)
            assert chain is not None
            assert chain.tip == row
            assert list(chain.rows) == rows[n - n % 5 : n + 1]
            assert fold(chain) == b"".join(b"<%d>" % k for k in range(n + 1))
        assert journal.chain("t") == journal.chain("t", "", rows[-1].id)

    def test_a_chain_without_snapshots_goes_back_to_the_first(self, journal: Journal) -> None:
        ids = Ids()
        a, b = checkpoint(first := ids(), delta=b"a"), checkpoint(ids(), first, delta=b"b")
        put(journal, "t", a, b)
        assert fold(journal.chain("t")) == b"ab"

    def test_a_long_chain_and_many_chunks_are_read_whole(self, journal: Journal) -> None:
        ids, rows = Ids(), list[Checkpoint]()
        for n in range(1100):
            rows.append(checkpoint(ids(), rows[-1].id if rows else None, delta=b"d", refs=(digest(n),)))
        send(journal, "t", chunks(*range(1100)), *(PutCheckpoint(row) for row in rows))
        chain = journal.chain("t")
        assert chain is not None
        assert len(chain.rows) == len(chain.chunks) == 1100
        assert len(journal.chunks("t", [digest(n) for n in range(2000)])) == 1100

    def test_forks_follow_their_parents(self, journal: Journal) -> None:
        rows = grow(journal, "t", 4)
        fork = checkpoint(later(rows[-1].id), rows[1].id, step=2, source="fork", delta=b"<fork>")
        put(journal, "t", fork)
        assert fold(journal.chain("t")) == b"<0><1><fork>"
        assert fold(journal.chain("t", "", rows[3].id)) == b"<0><1><2><3>"
        assert list(journal.children("t", "", rows[1].id)) == [rows[2], fork]
        assert list(journal.children("t", "", rows[2].id)) == [rows[3]]
        assert list(journal.children("t", "", rows[3].id)) == []
        assert list(journal.history("t")) == [fork, *reversed(rows)]

    def test_what_is_expected_must_be_the_newest(self, journal: Journal) -> None:
        ids = Ids()
        a, b, c = checkpoint(ids()), checkpoint(ids()), checkpoint(ids())
        with pytest.raises(HeadMoved):
            put(journal, "t", a, expect=b.id)
        put(journal, "t", a, expect=None)
        with pytest.raises(HeadMoved) as caught:
            put(journal, "t", b, expect=None)
        assert a.id in str(caught.value)
        put(journal, "t", b, expect=a.id)
        with pytest.raises(HeadMoved):
            put(journal, "t", c, expect=a.id)
        put(journal, "t", c, expect=ANY_HEAD)
        assert list(journal.history("t")) == [c, b, a]

    def test_ids_only_grow(self, journal: Journal) -> None:
        ids = Ids()
        early, late = checkpoint(ids()), checkpoint(ids())
        put(journal, "t", late)
        for row in (early, late):
            with pytest.raises(HeadMoved):
                put(journal, "t", row)
        put(journal, "t", msg := checkpoint(early.id, ns="other"))
        assert list(journal.history("t", "other")) == [msg]
        assert list(journal.history("t")) == [late]

    def test_a_delta_needs_its_parent(self, journal: Journal) -> None:
        ids = Ids()
        missing, row = ids(), ids()
        with pytest.raises(HeadMoved):
            put(journal, "t", checkpoint(row, missing, delta=b"d"))
        assert journal.info("t") is None
        put(journal, "t", checkpoint(row, missing, snapshot=b"all"))
        assert fold(journal.chain("t")) == b"all"

    def test_a_refused_batch_leaves_nothing(self, journal: Journal) -> None:
        rows = grow(journal, "t", 2)
        tip = rows[-1].id
        send(journal, "t", answer(tip, "q1"))
        before = (journal.chain("t"), list(journal.history("t")), list(journal.namespaces("t")))
        late = later(tip)
        good = (chunks(9), writes(tip, "task"), PutCheckpoint(checkpoint(late, ns="sub")), answer(tip, "q2"))
        for bad in (answer(tip, "q1"), PutCheckpoint(checkpoint(late), None), writes(tip, "x", refs=(digest(5),))):
            with pytest.raises(Failure):
                send(journal, "t", *good, bad)
            assert (journal.chain("t"), list(journal.history("t")), list(journal.namespaces("t"))) == before
            assert dict(journal.chunks("t", [digest(9)])) == {}
        send(journal, "t", *good)
        assert list(journal.namespaces("t")) == ["", "sub"]

    def test_writes_replace_and_are_dropped(self, journal: Journal) -> None:
        first, second = grow(journal, "t", 2)
        send(journal, "t", writes(second.id, "b", b"1"), writes(second.id, "a", b"2"))
        send(journal, "t", writes(second.id, "b", b"3"), writes(first.id, "old", b"4"))
        chain = journal.chain("t")
        assert chain is not None
        assert [(w.task, w.blob) for w in chain.writes] == [("b", b"3"), ("a", b"2")]
        assert chain.writes[0] == TaskWrites("", second.id, "b", "done", b"3")
        older = journal.chain("t", "", first.id)
        assert older is not None
        assert [w.task for w in older.writes] == ["old"]
        send(journal, "t", DropWrites("", second.id))
        assert (chain := journal.chain("t")) is not None
        assert chain.writes == ()

    def test_an_answer_is_taken_once(self, journal: Journal) -> None:
        first, second = grow(journal, "t", 2)
        send(journal, "t", answer(second.id, "q", b"yes"))
        with pytest.raises(AlreadyAnswered) as caught:
            send(journal, "t", answer(second.id, "q", b"no"))
        assert caught.value.details["question"] == "q"
        send(journal, "t", answer(first.id, "q", b"again"), answer(second.id, "q", b"sub", ns="sub"))
        with pytest.raises(AlreadyAnswered):
            send(journal, "t", answer(second.id, "twice"), answer(second.id, "twice"))
        chain = journal.chain("t")
        assert chain is not None
        assert [(a.question, a.blob, a.by, a.at) for a in chain.answers] == [("q", b"yes", "ann", START)]

    def test_chunks_are_kept_once_and_must_be_there(self, journal: Journal) -> None:
        row = checkpoint(Ids()(), snapshot=b"s", refs=(digest(1), digest(2), digest(1)))
        with pytest.raises(StoreError) as caught:
            send(journal, "t", chunks(1), PutCheckpoint(row))
        assert digest(2).hex() in str(caught.value)
        assert journal.info("t") is None
        send(journal, "t", chunks(1, 2, 3), PutCheckpoint(row))
        send(journal, "t", PutChunks({digest(1): b"other"}))
        assert dict(journal.chunks("t", [digest(1), digest(4)])) == {digest(1): b"chunk 1"}
        chain = journal.chain("t")
        assert chain is not None
        assert dict(chain.chunks) == {digest(1): b"chunk 1", digest(2): b"chunk 2"}
        assert dict(journal.chunks("u", [digest(1)])) == {}
        with pytest.raises(ValidationError):
            send(journal, "t", PutChunks({b"short": b"x"}))

    def test_history_pages_and_filters(self, journal: Journal) -> None:
        rows = grow(journal, "t", 6)
        late = checkpoint(later(rows[-1].id), rows[-1].id, step=2, source="update", metadata={"n": True, "who": "ann"})
        put(journal, "t", late)
        newest = [late, *reversed(rows)]
        assert list(journal.history("t")) == newest
        assert list(journal.history("t", limit=2)) == newest[:2]
        assert list(journal.history("t", limit=0)) == []
        assert list(journal.history("t", before=rows[3].id, limit=2)) == [rows[2], rows[1]]
        assert list(journal.history("t", before=rows[0].id)) == []
        assert list(journal.history("t", filter={"n": 1})) == [rows[1]]
        assert list(journal.history("t", filter={"n": True})) == [late]
        assert list(journal.history("t", filter={"step": 2})) == [late, rows[2]]
        assert list(journal.history("t", filter={"step": 2, "source": "loop"})) == [rows[2]]
        assert list(journal.history("t", filter={"source": "loop"}, before=rows[4].id, limit=1)) == [rows[3]]
        assert list(journal.history("t", filter={"who": None})) == []
        assert list(journal.history("t", filter={"n": "1' OR '1'='1"})) == []

    @pytest.mark.parametrize("key", _HOSTILE_KEYS)
    def test_hostile_filter_keys_are_refused(self, journal: Journal, key: str) -> None:
        rows = grow(journal, "t", 2)
        with pytest.raises(ValidationError):
            journal.history("t", filter={key: 1})
        assert list(journal.history("t")) == rows[::-1]

    def test_wrong_questions_are_refused(self, journal: Journal) -> None:
        for value in _NOT_SCALARS:
            with pytest.raises(ValidationError):
                journal.history("t", filter={"n": value})
        with pytest.raises(ValidationError):
            journal.history("t", before="yesterday")
        with pytest.raises(ValidationError):
            journal.history("t", limit=-1)
        with pytest.raises(ValidationError):
            journal.threads(limit=-1)
        assert journal.chain("t", "", "no such id") is None

    def test_wrong_records_are_refused(self, journal: Journal) -> None:
        good = Ids()()
        for row in (
            checkpoint("1"),
            checkpoint(good.upper().replace("0", "A")),
            checkpoint(good, "1"),
            checkpoint(good, source="guess"),  # pyright: ignore[reportArgumentType]
            checkpoint(good, ns="a\x00b"),
            checkpoint(good, ns="\ud800"),
            checkpoint(good, refs=(b"x",)),
            *(checkpoint(good, metadata={"k": value}) for value in _NOT_SCALARS),
        ):
            with pytest.raises(ValidationError):
                put(journal, "t", row)
        for thread in ("", "a\nb", "a\x00", "\ud800", "x" * 256):
            with pytest.raises(InvalidThreadId):
                put(journal, thread, checkpoint(good))
        assert list(journal.threads()) == []

    def test_listings(self, journal: Journal, clock: FixedClock) -> None:
        put(journal, "b", checkpoint(Ids()(), at=START + 5, metadata={"_graph": "flow"}))
        clock.advance(1)
        grow(journal, "a", 3, ns="sub")
        put(journal, "c", checkpoint(Ids()()))
        infos = journal.threads()
        assert [info.thread for info in infos] == ["a", "b", "c"]
        assert [info.lineage for info in infos] == ["a", "b", "c"]
        assert [info.graph for info in infos] == ["", "flow", ""]
        assert infos[1].created == START
        assert infos[1].updated == START + 5
        assert infos[0].updated == START + 2
        assert [info.thread for info in journal.threads(limit=1, after="a")] == ["b"]
        assert list(journal.threads(after="c")) == []
        assert journal.info("b") == infos[1]
        assert list(journal.namespaces("a")) == ["sub"]

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
    @given(st.lists(st.tuples(_NASTY, _NASTY, _NASTY), min_size=1, max_size=6, unique=True))
    def test_names_never_meet(self, places: list[tuple[str, str, str]]) -> None:
        journal = self.make_journal(FixedClock(START))
        try:
            for n, (scope, thread, ns) in enumerate(places):
                send(
                    journal.scoped(scope),
                    thread,
                    PutChunks({digest(1): b"%d" % n}),
                    PutCheckpoint(checkpoint(Ids()(), ns=ns, snapshot=b"%d" % n)),
                )
            for n, (scope, thread, ns) in enumerate(places):
                handle = journal.scoped(scope)
                assert handle.scope == scope
                assert [row.snapshot for row in handle.history(thread, ns)] == [b"%d" % n]
                assert handle.namespaces(thread) == sorted({c for a, b, c in places if (a, b) == (scope, thread)})
                assert [info.thread for info in handle.threads()] == sorted({b for a, b, _ in places if a == scope})
            assert journal.scoped("elsewhere").chain(places[0][1], places[0][2]) is None
            assert list(journal.scoped("elsewhere").threads()) == []
        finally:
            journal.close()

    def test_a_closed_journal_says_so(self, clock: FixedClock) -> None:
        journal = self.make_journal(clock)
        row = checkpoint(Ids()())
        put(journal, "t", row)
        journal.close()
        for call in (
            lambda: put(journal, "t", checkpoint(later(row.id))),
            lambda: journal.chain("t"),
            lambda: journal.acquire("t", "a/b", 1),
            lambda: journal.read(lambda tx: tx.now()),
        ):
            with pytest.raises(StoreError):
                call()
