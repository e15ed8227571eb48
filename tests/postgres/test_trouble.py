"""Connections that are lost, a server that restarts or is full, locks that are held: told, never half-written, gone on from."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from lawful.core.errors import CorruptRecord, HeadMoved, LeaseLost, StoreError, StoreFull, StoreLocked
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import Batch, Checkpoint, Lease, PutCheckpoint
from lawful.testing.conformance_kit import Ids, at_once, checkpoint, events, fold, grow, later, operation, put
from support.pg import PgServer, Wire, held, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]


COMMIT = b"COMMIT\x00"
"""The statement by itself, which "READ COMMITTED" is not."""


@pytest.fixture
def wire(pg: PgServer) -> Iterator[Wire]:
    made = Wire(pg)
    yield made
    made.close()


@pytest.fixture
def journal(pg: PgServer, schema: str, wire: Wire) -> Iterator[Journal]:
    made = pg.journal(schema, url=wire.url, writers=1, readers=1)
    yield made
    made.close()


@pytest.fixture
def straight(pg: PgServer, schema: str) -> Iterator[Journal]:
    """The same tables, past the wire."""
    made = pg.journal(schema)
    yield made
    made.close()


def steps(journal: Journal, thread: str = "t") -> list[int]:
    return [row.step for row in journal.history(thread)][::-1]


def next_of(rows: list[Checkpoint]) -> Checkpoint:
    tip = rows[-1]
    return checkpoint(later(tip.id), tip.id, step=tip.step + 1, delta=b"<%d>" % (tip.step + 1))


# The wire.


def test_idle_connections_that_were_lost_are_made_anew(journal: Journal, wire: Wire) -> None:
    rows = grow(journal, "t", 2)
    for n in range(2, 5):
        wire.cut_all()
        rows.append(next_of(rows))
        put(journal, "t", rows[-1], expect=rows[-2].id)
        wire.cut_all()
        assert steps(journal) == list(range(n + 1))
        wire.cut_all()
        assert fold(journal.chain("t")) == b"".join(b"<%d>" % k for k in range(n + 1))
        wire.cut_all()
        journal.transact(lambda tx, n=n: tx.set_mark("m", b"%d" % n))
        wire.cut_all()
        assert journal.read(lambda tx: tx.mark("m")) == b"%d" % n


def test_a_commit_whose_answer_was_lost_is_looked_up_and_stands(
    journal: Journal, straight: Journal, wire: Wire
) -> None:
    """The server committed and the answer never came: not an error, and not written twice. Rows: S0-123."""
    rows = grow(journal, "t", 2)
    wire.cut(COMMIT, "after")
    rows.append(next_of(rows))
    put(journal, "t", rows[-1], expect=rows[-2].id)
    assert wire.cuts == 1
    assert list(straight.history("t")) == rows[::-1]
    wire.cut(COMMIT, "after")
    journal.transact(lambda tx: tx.append(operation("a"), events("a")))
    assert wire.cuts == 2
    assert len(straight.read(lambda tx: tx.events("a"))) == 1
    assert put(journal, "t", next_of(rows), expect=rows[-1].id) is None


def test_a_commit_that_never_reached_the_server_may_be_tried_again(
    journal: Journal, straight: Journal, wire: Wire
) -> None:
    rows = grow(journal, "t", 2)
    following = next_of(rows)
    for word in (COMMIT, b"INSERT INTO"):
        wire.cut(word, "before")
        with pytest.raises(StoreError) as caught:
            put(journal, "t", following, expect=rows[-1].id)
        assert caught.value.retryable
        assert list(straight.history("t")) == rows[::-1]
    put(journal, "t", following, expect=rows[-1].id)
    assert list(straight.history("t")) == [following, *rows[::-1]]


def test_a_transaction_that_is_cut_writes_nothing(journal: Journal, straight: Journal, wire: Wire) -> None:
    journal.transact(lambda tx: tx.set_mark("m", b"1"))
    wire.cut(COMMIT, "before")
    with pytest.raises(StoreError) as caught:
        journal.transact(lambda tx: tx.append(operation("a"), events("a")))
    assert caught.value.retryable
    assert straight.read(lambda tx: tx.operation("a")) is None
    journal.transact(lambda tx: tx.append(operation("a"), events("a")))
    assert straight.read(lambda tx: tx.operation("a")) == operation("a")


def test_an_outcome_that_nobody_knows_is_not_called_retryable(
    journal: Journal, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lawful.stores import postgres_link

    grow(journal, "t", 1)
    monkeypatch.setattr(postgres_link, "_ASK", 0.0)
    wire.cut(COMMIT, "after")
    with pytest.raises(StoreError, match="not known") as caught:
        journal.transact(lambda tx: tx.set_mark("m", b"1"))
    assert not caught.value.retryable


def test_everybody_whose_batch_was_lost_is_told(journal: Journal, straight: Journal, wire: Wire) -> None:
    """Batches that waited are told what happened to theirs; those that come later go through."""
    grow(journal, "t", 1)
    told: list[BaseException | None] = []
    done = threading.Event()

    def heard(error: BaseException | None) -> None:
        told.append(error)
        if len(told) == 40:
            done.set()

    wire.cut(COMMIT, "before")
    for n in range(40):
        journal.submit(Batch(f"u{n}", (PutCheckpoint(checkpoint(Ids()())),)), heard)
    assert done.wait(20)
    lost = [error for error in told if error is not None]
    assert lost
    assert all(isinstance(error, StoreError) and error.retryable for error in lost)
    assert len(straight.threads()) == 1 + 40 - len(lost)


def test_no_error_holds_the_password(pg: PgServer, schema: str, wire: Wire) -> None:
    """Rows: S1-K07."""
    journal = pg.journal(schema, url=wire.url)
    grow(journal, "t", 1)
    wire.close()
    with pytest.raises(StoreError) as caught:
        put(journal, "t", checkpoint(Ids()()))
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value.to_json()) + repr(vars(journal))
    assert "planted-secret" not in told
    assert "planted-secret" not in journal.place
    journal.close()


# The server.


def test_a_server_that_is_away_is_told_and_used_again_when_it_is_back(pg: PgServer) -> None:
    journal = pg.journal(busy_timeout=1.0)
    rows = grow(journal, "t", 2)
    pg.stop(signal.SIGQUIT)  # as a crash: nobody is told
    try:
        for call in (
            lambda: put(journal, "t", next_of(rows)),
            lambda: journal.chain("t"),
            lambda: journal.acquire("t", "p/1", 30),
            lambda: journal.transact(lambda tx: tx.set_mark("m", b"1")),
        ):
            with pytest.raises(StoreError) as caught:
                call()
            assert caught.value.retryable
    finally:
        pg.start()
    put(journal, "t", next_of(rows), expect=rows[-1].id)
    assert steps(journal) == [0, 1, 2]
    journal.transact(lambda tx: tx.set_mark("m", b"1"))
    journal.close()


def failing(pg: PgServer, schema: str, table: str, code: str) -> None:
    """Let the server refuse every insert into ``table`` with an error of that code."""
    pg.run(
        f"CREATE FUNCTION {schema}.fails() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE='{code}', DETAIL='planted-secret'; END $$",
        f"CREATE TRIGGER fails BEFORE INSERT ON {schema}.{table} FOR EACH ROW EXECUTE FUNCTION {schema}.fails()",
    )


@pytest.mark.parametrize(
    "code, kind, retryable",
    [
        ("53100", StoreFull, False),
        ("53200", StoreError, True),
        ("55P03", StoreLocked, True),
        ("57014", StoreLocked, True),
        ("XX001", CorruptRecord, False),
        ("25006", StoreError, True),
        ("58030", StoreError, False),
    ],
)
def test_an_error_of_the_server_is_ours_and_nothing_is_half_written(
    pg: PgServer, schema: str, straight: Journal, code: str, kind: type[StoreError], retryable: bool
) -> None:
    """Rows: S0-123."""
    rows = grow(straight, "t", 2)
    before = (straight.chain("t"), straight.namespaces("t"))
    failing(pg, schema, "writes", code)
    from lawful.testing.conformance_kit import answer, chunks, writes

    records = (
        chunks(1),
        PutCheckpoint(checkpoint(Ids()(), ns="new")),
        answer(rows[-1].id, "q"),
        writes(rows[-1].id, "x"),
    )
    with pytest.raises(kind) as caught:
        straight.commit(Batch("t", records))
    assert type(caught.value) is kind
    assert caught.value.retryable is retryable
    assert "planted-secret" not in repr(caught.value.to_json())  # a server's detail may hold a row's values
    assert (straight.chain("t"), straight.namespaces("t")) == before
    put(straight, "t", next_of(rows), expect=rows[-1].id)


def test_one_batch_that_the_server_refuses_refuses_no_other(pg: PgServer, schema: str) -> None:
    journal = pg.journal(schema, writers=1)
    pg.run(f"ALTER TABLE {schema}.checkpoint ADD CONSTRAINT small CHECK (length(delta) < 100)")
    gate = threading.Event()
    results: dict[int, BaseException | None] = {}
    done = threading.Event()

    def heard(n: int, error: BaseException | None) -> None:
        results[n] = error
        if len(results) == 20:
            done.set()

    with held(pg, schema, "first", gate):
        first = threading.Thread(target=lambda: put(journal, "first", checkpoint(Ids()())))
        first.start()  # waits for a lock, so that the others gather behind it
        time.sleep(0.2)
        for n in range(20):
            delta = b"x" * (500 if n == 7 else 5)
            batch = Batch(f"t{n}", (PutCheckpoint(checkpoint(Ids()(), delta=delta)),))
            journal.submit(batch, lambda error, n=n: heard(n, error))
        gate.set()
        assert done.wait(20)
        first.join()
    assert [n for n, error in results.items() if error is not None] == [7]
    assert isinstance(results[7], StoreError)
    assert len(journal.threads()) == 20
    journal.close()


def test_a_lock_that_is_held_for_too_long_is_told(pg: PgServer, schema: str) -> None:
    journal = pg.journal(schema, busy_timeout=0.3)
    rows = grow(journal, "t", 1)
    with held(pg, schema, "t", threading.Event()):
        begun = time.monotonic()
        with pytest.raises(StoreLocked):
            put(journal, "t", next_of(rows))
        assert 0.2 < time.monotonic() - begun < 4
        grow(journal, "other", 1)  # nobody else waits
    put(journal, "t", next_of(rows))
    journal.close()


def test_waiting_for_a_connection_ends(pg: PgServer, schema: str) -> None:
    journal = pg.journal(schema, readers=1, busy_timeout=0.3)
    inside, leave = threading.Event(), threading.Event()

    def slow(tx: EffectTx) -> None:
        inside.set()
        leave.wait(20)

    holder = threading.Thread(target=lambda: journal.read(slow))
    holder.start()
    assert inside.wait(20)
    with pytest.raises(StoreLocked, match="in use"):
        journal.chain("t")
    leave.set()
    holder.join()
    assert journal.chain("t") is None
    journal.close()


def test_a_client_that_says_nothing_does_not_hold_a_thread_for_ever(
    pg: PgServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends its transaction; had it been about to commit, it learns that it did not."""
    from lawful.stores import postgres_link

    monkeypatch.setattr(postgres_link, "_STUCK", 200)
    stuck, free = pg.journal(schema, writers=1), pg.journal(schema)
    asleep = threading.Event()

    def sleeps(tx: EffectTx) -> None:
        tx.set_mark("m", b"1")
        asleep.set()
        time.sleep(0.8)

    results = at_once(2, lambda n: stuck.transact(sleeps) if n else (asleep.wait(20), free.transact(_look))[1])
    assert isinstance(results[1], StoreError)
    assert results[1].retryable
    assert free.read(lambda tx: tx.mark("m")) is None
    stuck.close()
    free.close()


def _look(tx: EffectTx) -> Any:
    return tx.mark("m")


def test_damaged_rows_are_told_by_their_place(pg: PgServer, schema: str) -> None:
    """Rows: S0-123."""
    journal = pg.journal(schema)
    grow(journal, "t", 3)
    journal.transact(lambda tx: tx.append(operation("a"), events("a")))
    pg.run(f"UPDATE {schema}.checkpoint SET delta='\\x00' WHERE step=1")
    with pytest.raises(CorruptRecord) as caught:
        journal.chain("t")
    assert caught.value.details["thread"] == "t"
    pg.run(f"UPDATE {schema}.operation SET state='done'")
    with pytest.raises(CorruptRecord):
        journal.read(lambda tx: tx.operation("a"))
    pg.run(f"DELETE FROM {schema}.checkpoint WHERE step=0")
    with pytest.raises(CorruptRecord):
        journal.chain("t")
    journal.close()


def test_an_error_that_work_swallows_is_not_committed_over(pg: PgServer, schema: str) -> None:
    """After a failed statement PostgreSQL answers COMMIT with a rollback: that must not pass for success."""
    journal = pg.journal(schema)
    failing(pg, schema, "event", "58030")
    import psycopg

    def work(tx: EffectTx) -> str:
        tx.set_mark("m", b"1")
        with contextlib.suppress(psycopg.Error):
            tx.append(operation("a"), events("a"))
        return "done"

    with pytest.raises(StoreError):
        journal.transact(work)
    assert journal.read(lambda tx: (tx.mark("m"), tx.operation("a"))) == (None, None)
    journal.close()


def test_refusals_of_one_thread_in_a_group_are_its_own(pg: PgServer, schema: str) -> None:
    """A refused head or lease refuses that batch, whatever was queued with it."""
    journal = pg.journal(schema, writers=1)
    lease = journal.acquire("b", "p/1", 30)
    assert isinstance(lease, Lease)
    rows = grow(journal, "a", 2)
    gate = threading.Event()
    told: dict[str, BaseException | None] = {}
    done = threading.Event()

    def send(name: str, batch: Batch) -> None:
        def heard(error: BaseException | None) -> None:
            told[name] = error
            if len(told) == 6:
                done.set()

        journal.submit(batch, heard)

    one, two = next_of(rows), checkpoint(later(later(rows[-1].id)), rows[-1].id, delta=b"<3>")
    with held(pg, schema, "first", gate):
        first = threading.Thread(target=lambda: put(journal, "first", checkpoint(Ids()())))
        first.start()
        time.sleep(0.2)
        send("good", Batch("a", (PutCheckpoint(one, rows[-1].id),)))
        send("late", Batch("a", (PutCheckpoint(two, rows[-1].id),)))
        send("next", Batch("a", (PutCheckpoint(checkpoint(later(one.id), one.id, delta=b"<4>"), one.id),)))
        send("mine", Batch("b", (PutCheckpoint(checkpoint(Ids()())),), lease=lease, release=True))
        send("over", Batch("b", (PutCheckpoint(checkpoint(later(two.id))),), lease=lease))
        send("else", Batch("c", (PutCheckpoint(checkpoint(Ids()())),)))
        gate.set()
        assert done.wait(20)
        first.join()
    kinds = {name: type(error) for name, error in told.items() if error is not None}
    assert kinds == {"late": HeadMoved, "over": LeaseLost}
    assert fold(journal.chain("a")) == b"<0><1><2><4>"
    assert len(journal.history("b")) == len(journal.history("c")) == 1
    journal.close()
