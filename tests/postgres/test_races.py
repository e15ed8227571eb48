"""Many at once: claims that read sums, batches that are written together, locks in every order, and no session state."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from lawful.core.errors import AlreadyAnswered, HeadMoved
from lawful.journal.leases import owner_of, take
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import Batch, Busy, DropWrites, Lease, PutCheckpoint, PutChunks
from lawful.testing.conformance_kit import (
    Ids,
    answer,
    at_once,
    checkpoint,
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
from support.pg import PgServer, Pooler, held, pooled, skipped

if TYPE_CHECKING:
    from lawful.stores.postgres import PostgresJournal

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]

LIMIT = 7


def claim(journal: Journal, op_id: str) -> bool:
    """Claim one operation of at most LIMIT: reads a sum that other claims change, and writes another row."""

    def work(tx: EffectTx) -> bool:
        taken = sum(1 for op in tx.operations(tool="pay", states=("claimed",)) if op.labels.get("who") == "ann")
        if taken >= LIMIT:
            return False
        made = operation(op_id, tool="pay", state="claimed", claimed_at=tx.now(), labels={"who": "ann"})
        tx.append(made, events(op_id))
        return True

    return journal.transact(work)


@pytest.mark.parametrize("behind", [False, pytest.param(True, marks=pooled)])
def test_a_limit_holds_though_claims_race(pg: PgServer, schema: str, behind: bool) -> None:
    """Two claims that both saw room for one more would break it: write skew. Rows: S0-123."""
    pooler = Pooler(pg) if behind else None
    url = pooler.url if pooler else pg.url()
    journals = [pg.journal(schema, url=url, readers=4, busy_timeout=20) for _ in range(2)]
    given = at_once(12, lambda n: [claim(journals[n % 2], f"op{n}-{k}") for k in range(3)])
    assert sum(sum(got) for got in given if isinstance(got, list)) == LIMIT, given
    assert all(isinstance(got, list) for got in given)
    assert len(journals[0].read(lambda tx: list(tx.operations()))) == LIMIT
    for journal in journals:
        journal.close()
    if pooler:
        pooler.remove()


def bump(tx: EffectTx) -> None:
    tx.set_mark("n", b"%d" % (int(tx.mark("n") or b"0") + 1))


def test_a_transaction_that_always_loses_gets_its_turn(pg: PgServer, schema: str) -> None:
    """After some tries it closes the gate: the others wait, and it is run once more, alone."""
    slow, busy = pg.journal(schema), pg.journal(schema)
    tries: list[int] = []

    def work(tx: EffectTx) -> None:
        tries.append(1)
        seen = tx.mark("n")
        if len(tries) <= 4:
            busy.transact(bump)  # somebody gets in between, every time
        else:
            crowd.start()
            time.sleep(0.2)  # now they wait
        tx.set_mark("n", b"%d" % (int(seen or b"0") + 1))

    crowd = threading.Thread(target=lambda: busy.transact(bump))
    slow.transact(work)
    crowd.join()
    assert len(tries) == 5
    assert slow.read(lambda tx: tx.mark("n")) == b"6"
    slow.close()
    busy.close()


def test_a_mark_that_everybody_counts_on_misses_nothing(pg: PgServer, schema: str) -> None:
    journals = [pg.journal(schema, busy_timeout=30) for _ in range(3)]

    def work(n: int) -> None:
        for _ in range(15):
            journals[n % 3].transact(bump, durable=False)

    assert at_once(12, work) == [None] * 12
    assert journals[0].read(lambda tx: tx.mark("n")) == b"180"
    for journal in journals:
        journal.close()


def test_batches_that_wait_are_written_together(pg: PgServer, schema: str) -> None:
    """What gathers behind a commit that waits needs one transaction, not forty."""
    journal = pg.journal(schema, writers=1)
    gate, told, done = threading.Event(), list[BaseException | None](), threading.Event()

    def heard(error: BaseException | None) -> None:
        told.append(error)
        if len(told) == 40:
            done.set()

    with held(pg, schema, "first", gate):
        first = threading.Thread(target=lambda: put(journal, "first", checkpoint(Ids()())))
        first.start()
        time.sleep(0.2)
        for n in range(40):
            journal.submit(Batch(f"t{n}", (PutCheckpoint(checkpoint(Ids()())),)), heard)
        gate.set()
        assert done.wait(20)
        first.join()
    assert told == [None] * 40
    assert pg.run(f"SELECT count(*), count(DISTINCT xmin::text) FROM {schema}.checkpoint") == [(41, 2)]
    journal.close()


def test_a_thread_of_runs_stays_with_its_writer(pg: PgServer, schema: str) -> None:
    """Submitted in order, written in order, with other threads' batches in between on every writer."""
    journal = pg.journal(schema, writers=4)
    assert journal.writers == 4
    told: list[tuple[str, BaseException | None]] = []
    done = threading.Event()
    names = [f"t{n}" for n in range(12)]
    ids = {name: Ids() for name in names}
    tips: dict[str, str | None] = dict.fromkeys(names)

    def heard(name: str, error: BaseException | None) -> None:
        told.append((name, error))
        if len(told) == 12 * 25:
            done.set()

    for step in range(25):
        for name in names:
            row = checkpoint(ids[name](), tips[name], step=step, delta=b"<%d>" % step)
            expect, tips[name] = tips[name], row.id
            journal.submit(Batch(name, (PutCheckpoint(row, expect),)), lambda error, name=name: heard(name, error))
    assert done.wait(30)
    assert [error for _, error in told if error is not None] == []
    for name in names:
        assert fold(journal.chain(name)) == b"".join(b"<%d>" % k for k in range(25))
    journal.close()


def test_locks_of_several_threads_are_taken_in_one_order(pg: PgServer, schema: str) -> None:
    """Groups of many threads, copies and prunes, in two journals at once: nobody waits for another in a circle."""
    journals = [pg.journal(schema, writers=1, busy_timeout=20) for _ in range(3)]
    for n in range(6):
        grow(journals[0], f"t{n}", 3)
    before = _deadlocks(pg)

    def work(n: int) -> int:
        journal = journals[n % 3]
        for k in range(8):
            copy = f"copy{n}-{k}"
            journal.copy_thread(f"t{(n + k) % 6}", copy)
            tip = journal.history(f"t{k % 6}", limit=1)[0]
            row = checkpoint(later(tip.id), tip.id, step=tip.step + 1, delta=b"<x>")
            with contextlib.suppress(HeadMoved):
                put(journal, f"t{k % 6}", row, expect=tip.id)
            journal.prune(f"t{(n * k) % 6}", keep_last=2)
            journal.copy_thread(copy, f"second{n}-{k}")
            journal.delete_thread(copy)
        return n

    assert at_once(9, work) == list(range(9))
    assert _deadlocks(pg) == before
    assert len(journals[0].threads()) == 6 + 9 * 8
    for journal in journals:
        journal.close()


def _deadlocks(pg: PgServer) -> int:
    time.sleep(0.1)
    return pg.run("SELECT sum(deadlocks) FROM pg_stat_database")[0][0]


def test_groups_that_meet_in_opposite_orders_do_not_wait_in_a_circle(pg: PgServer, schema: str) -> None:
    """Two writers take the same threads, one forwards, one backwards, and both get as far as the one in the middle."""
    journals = [pg.journal(schema, writers=1, busy_timeout=20) for _ in range(2)]
    names = [f"t{n}" for n in range(17)]
    before = _deadlocks(pg)
    told, done = list[BaseException | None](), threading.Event()

    def heard(error: BaseException | None) -> None:
        told.append(error)
        if len(told) == 2 * len(names):
            done.set()

    with held(pg, schema, names[8], threading.Event()):
        for way, journal in zip((1, -1), journals, strict=True):
            for name in names[::way]:
                journal.submit(Batch(name, (PutChunks({digest(1): b"x"}),)), heard)
        time.sleep(0.4)
    assert done.wait(30)
    assert told == [None] * 2 * len(names)
    assert _deadlocks(pg) == before
    for journal in journals:
        journal.close()


def test_of_racing_writers_in_several_journals_one_wins(pg: PgServer, schema: str) -> None:
    """Each journal is as good as a process of its own. Case A19."""
    journals = [pg.journal(schema, busy_timeout=20) for _ in range(5)]
    ids = Ids()
    tip: str | None = None
    for turn in range(15):
        rows = [checkpoint(ids(), tip, step=turn, delta=b"<%d>" % turn) for _ in range(5)]
        expect = tip

        def race(n: int, rows: Any = rows, expect: str | None = expect) -> None:
            put(journals[n], "t", rows[n], expect=expect)

        results = at_once(5, race)
        (won,) = [n for n, result in enumerate(results) if result is None]
        assert all(result is None or isinstance(result, HeadMoved) for result in results)
        tip = rows[won].id
    assert fold(journals[0].chain("t")) == b"".join(b"<%d>" % n for n in range(15))
    for journal in journals:
        journal.close()


def test_of_racing_answers_in_two_journals_one_is_taken(pg: PgServer, schema: str) -> None:
    journals = [pg.journal(schema) for _ in range(3)]
    (row,) = grow(journals[0], "t", 1)
    results = at_once(9, lambda n: send(journals[n % 3], "t", answer(row.id, "q", b"%d" % n)))
    assert sum(result is None for result in results) == 1
    assert all(result is None or isinstance(result, AlreadyAnswered) for result in results)
    for journal in journals:
        journal.close()


def test_a_step_dropped_and_written_again_in_one_batch(pg: PgServer, schema: str) -> None:
    journal = pg.journal(schema)
    (row,) = grow(journal, "t", 1)
    send(journal, "t", writes(row.id, "a", b"old"), writes(row.id, "b", b"old"))
    send(journal, "t", writes(row.id, "c", b"never"), DropWrites("", row.id), writes(row.id, "a", b"new"))
    send(journal, "t", writes(row.id, "a", b"newer"), writes(row.id, "d", b"1"), writes(row.id, "d", b"2"))
    chain = journal.chain("t")
    assert chain is not None
    assert [(w.task, w.blob) for w in chain.writes] == [("a", b"newer"), ("d", b"2")]
    journal.close()


def test_ids_of_any_form_come_back(pg: PgServer, schema: str) -> None:
    """A UUID is sixteen bytes in its column; a text of about that length is not taken for one."""
    journal = pg.journal(schema)
    (row,) = grow(journal, "t", 1)
    names = ["", *("x" * n for n in range(1, 20)), "T\x01", "0190a1b2-c3d4-7000-8000-00000000000a", "A" * 36, "é😀"]
    send(journal, "t", *(writes(row.id, name, name.encode()) for name in names))
    send(journal, "t", *(answer(row.id, name, name.encode()) for name in names))
    chain = journal.chain("t")
    assert chain is not None
    assert [(w.task, w.blob.decode()) for w in chain.writes] == [(name, name) for name in names]
    assert [(a.question, a.blob.decode()) for a in chain.answers] == [(name, name) for name in names]
    journal.close()


def test_leases_go_by_the_databases_clock(pg: PgServer, schema: str) -> None:
    """And a holder that says nothing any more is waited for until its time is up."""
    one, two = pg.journal(schema), pg.journal(schema)
    (((told,),)) = [pg.run("SELECT extract(epoch FROM clock_timestamp())::float8")[0]]
    lease = one.acquire("t", owner_of("gone"), 0.6)
    assert isinstance(lease, Lease)
    assert abs(lease.expires - 0.6 - told) < 0.5
    assert isinstance(two.acquire("t", owner_of("me"), 30), Busy)
    begun = time.monotonic()
    taken = take(two, "t", owner_of("me"), timeout=10)
    assert 0.3 < time.monotonic() - begun < 3
    assert taken.fence > lease.fence
    one.close()
    two.close()


def test_a_lease_given_up_in_another_process_is_noticed_soon(pg: PgServer, schema: str) -> None:
    one, two = pg.journal(schema), pg.journal(schema)  # two journals know as little of each other as two processes
    lease = one.acquire("t", "p/1", 60)
    assert isinstance(lease, Lease)
    free = threading.Timer(0.2, one.release, (lease,))
    free.start()
    begun = time.monotonic()
    two.wait("t", 10)
    assert time.monotonic() - begun < 2
    assert isinstance(two.acquire("t", "p/2", 60), Lease)
    free.join()
    one.close()
    two.close()


# Behind a pooler.


UNTOUCHED = {
    "SHOW synchronous_commit": "on",
    "SHOW lock_timeout": "0",
    "SHOW idle_in_transaction_session_timeout": "0",
    "SHOW enable_seqscan": "on",
    "SHOW transaction_isolation": "read committed",
    "SELECT count(*)::text FROM pg_prepared_statements": "0",
    "SELECT count(*)::text FROM pg_locks WHERE locktype='advisory' AND pid=pg_backend_pid()": "0",
    "SELECT count(*)::text FROM pg_listening_channels()": "0",
}
"""What a session tells in which nothing was left, as it must be where another client gets it next."""


def use(journal: PostgresJournal) -> None:
    """Write, lease, prune, claim and read."""
    grow(journal, "t", 3)
    assert isinstance(journal.acquire("t", "p/1", 30), Lease)
    journal.transact(lambda tx: tx.append(operation("a"), events("a")))
    journal.chain("t")
    journal.history("t", filter={"n": 1})
    journal.prune("t")


@pytest.mark.parametrize("power_safe", [True, False])
def test_nothing_is_left_in_the_journals_own_sessions(pg: PgServer, schema: str, power_safe: bool) -> None:
    """Asked over its own connections, after each of them was used: this needs no pooler. Rows: S0-123."""
    journal = pg.journal(schema, power_safe=power_safe, writers=1, readers=1)
    use(journal)
    pool = journal._store
    for link in (pool._lanes[0].link, pool._spare[0]):
        assert {ask: link.ask(ask)[0][0] for ask in UNTOUCHED} == UNTOUCHED
    journal.close()


@pooled
@pytest.mark.parametrize("power_safe", [True, False])
def test_nothing_is_left_in_a_session(pg: PgServer, schema: str, power_safe: bool) -> None:
    """Rows: S0-123."""
    import psycopg

    pooler = Pooler(pg, connections=1)
    journal = pg.journal(schema, url=pooler.url, power_safe=power_safe)
    use(journal)
    with psycopg.connect(pooler.url, autocommit=True, prepare_threshold=None) as con:  # the same session: there is one
        found = {ask: (con.execute(ask.encode()).fetchone() or ("",))[0] for ask in UNTOUCHED}
    assert found == UNTOUCHED
    journal.close()
    pooler.remove()


@pooled
def test_many_threads_share_two_sessions(pg: PgServer, schema: str) -> None:
    pooler = Pooler(pg, connections=2)
    journals = [pg.journal(schema, url=pooler.url, busy_timeout=20) for _ in range(3)]

    def work(n: int) -> int:
        journal = journals[n % 3]
        rows = grow(journal, f"t{n}", 8, every=3)
        for _ in range(3):
            lease = take(journal, "shared", owner_of(f"run{n}"), timeout=60)
            chain = journal.chain("shared")
            tip = chain.tip if chain else None
            row = checkpoint(later(tip.id if tip else None), step=tip.step + 1 if tip else 0)
            journal.commit(Batch("shared", (PutCheckpoint(row, tip.id if tip else None),), lease=lease, release=True))
        return len(rows) if list(journal.history(f"t{n}")) == rows[::-1] else 0

    assert at_once(9, work) == [8] * 9
    assert [row.step for row in journals[0].history("shared")] == list(range(26, -1, -1))
    for journal in journals:
        journal.close()
    pooler.remove()


def prepared(journal: Any) -> int:
    """How many prepared statements the session of the journal's writer has; the journal has one."""
    return journal._store._lanes[0].link.ask("SELECT count(*) FROM pg_prepared_statements")[0][0]


def test_statements_are_prepared_only_where_one_asks(pg: PgServer, schema: str) -> None:
    counts: dict[bool, int] = {}
    for prepare in (False, True):
        journal = pg.journal(schema, prepare=prepare, writers=1, readers=1)
        rows = grow(journal, f"t{prepare}", 12)
        assert list(journal.history(f"t{prepare}")) == rows[::-1]
        counts[prepare] = prepared(journal)
        journal.close()
    assert counts[False] == 0
    assert counts[True] > 0
