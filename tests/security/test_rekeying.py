"""A new key for what is stored: every byte of it, on both databases, beside runs, and through a kill in the middle."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lawful.core.errors import CannotDecrypt, ConfigurationError, StoreError
from lawful.effects.ledger import Ledger
from lawful.graph import START, StateGraph
from lawful.journal.cipher import key_of
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import EffectTx
from lawful.stores.encrypted_journal import EncryptedJournal
from lawful.stores.encrypted_store import EncryptedStore
from lawful.stores.memory_store import MemoryStore
from lawful.stores.rekeying import Rewritable
from lawful.testing.conformance_store_index import INDEX
from security.conftest import KINDS
from security.test_encryption import BOTH, OLD, TEXT, State, cipher, program, through
from support.forks import fork
from support.graphs import Drive, SyncDrive, on
from support.pg import shared, skipped
from support.places import Place, placed

pytestmark = [pytest.mark.integration]

NEW = {"k2": BOTH["k2"]}
SEALED = {
    "checkpoint": ("head", "delta", "snapshot"),
    "writes": ("blob",),
    "answer": ("blob",),
    "chunk": ("body",),
    "event": ("blob",),
    "mark": ("value",),
}


def keys_of(place: Place) -> dict[str, set[str | None]]:
    """By table: the names of the keys of all that is sealed in it."""
    found: dict[str, set[str | None]] = {}
    for table, columns in SEALED.items():
        for column in columns:
            rows = place.run(f"SELECT {column} FROM @{table} WHERE length({column}) > 0")
            found.setdefault(table, set()).update(key_of(bytes(value)) for (value,) in rows)
    return found


def grown(place: Place, drive: Drive) -> EncryptedJournal:
    """A thread with a question, a large value and an effect, pruned; one that stands in the middle; copies; a scope; marks."""
    journal = EncryptedJournal(place.journal(), cipher(keys=OLD))
    through(journal, drive)
    drive.run(program(journal, drive), {"said": TEXT}, on("open"))
    journal.copy_thread("t", "copy")
    journal.copy_thread("copy", "copy of it")
    journal.prune("copy of it")
    journal.delete_thread("copy")
    other = journal.scoped("acme")
    drive.run(program(other, drive), {"said": TEXT}, on("t"))
    other.transact(lambda tx: tx.set_mark("mine", b"kept"))
    return journal


def told(journal: EncryptedJournal, drive: Drive) -> list[Any]:
    """All that can be read: states, questions, events, marks."""
    graph = program(journal, drive)
    states = [
        [(s.values, s.next, s.interrupts) for s in drive.get_state_history(graph, on(info.thread))]
        for info in journal.threads()
    ]
    ledger = Ledger(journal)
    with_events: list[Any] = []
    for op in journal.read(lambda tx: list(tx.operations())):
        assert ledger.verify(op.op_id)
        with_events.append(journal.read(partial(_events, op.op_id)))
    return [states, with_events, journal.scoped("acme").read(lambda tx: tx.mark("mine"))]


def _events(op_id: str, tx: EffectTx) -> list[Any]:
    return [(e.kind, e.digest, e.blob) for e in tx.events(op_id)]


@pytest.fixture(params=KINDS[1:])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with placed(request.param, tmp_path, shared() if request.param == "postgres" else None) as found:
        yield found


def test_everything_has_the_new_key_and_reads_as_before(file: Place, drive: Drive) -> None:
    """Question, answer, large value, events with their chain, copies, hidden rows, another scope, marks. Rows: S1-K08."""
    before = told(EncryptedJournal(grown(file, drive).inner, cipher("k2")), drive)
    assert all(used == {"k1"} for used in keys_of(file).values())
    journal = EncryptedJournal(file.journal(), cipher("k2"))
    count = journal.rekey(batch=7)
    assert count > 20
    assert keys_of(file) == {table: {"k2"} for table in SEALED}
    alone = EncryptedJournal(file.journal(), cipher("k2", NEW))
    assert told(alone, drive) == before
    assert alone.rekey() == 0
    graph = program(alone, drive)
    (question,) = drive.get_state(graph, on("open")).interrupts
    assert drive.resume(graph, "open", question.answer("yes")).state["kept"] == [TEXT] * 60
    with pytest.raises(Exception, match="never changed"):  # each database has its own
        file.run("UPDATE @event SET kind=kind")


def test_what_was_plain_is_encrypted_too(file: Place, drive: Drive) -> None:
    through(file.journal(), drive)
    journal = EncryptedJournal(file.journal(), cipher("k2"), plain=True)
    assert journal.rekey() > 5
    assert all(used <= {"k2"} for used in keys_of(file).values())
    state = drive.get_state(program(EncryptedJournal(file.journal(), cipher("k2", NEW)), drive), on("t"))
    assert state.values == {"said": f"wrote {TEXT}", "kept": [TEXT] * 60}


def test_a_store_has_the_new_key_vectors_and_all(file: Place) -> None:
    """Order, times and scopes stay. Rows: S1-K08, S1-K12."""
    store = EncryptedStore(file.store(index=INDEX), cipher(keys=OLD))
    for n in range(5):
        store.put(("a", "b" * n or "x"), f"k{n}", {"text": "ab" * n + "c"}, ttl=60)
    store.scoped("acme").put(("a",), "k", {"text": TEXT})
    before = [store.search(()), store.search((), query="a"), store.scoped("acme").search(())]
    again = EncryptedStore(file.store(index=INDEX), cipher("k2"))
    assert again.rekey(batch=2) == 12
    for table, column in (("item", "value"), ("vector", "body")):
        assert {key_of(bytes(v)) for (v,) in file.run(f"SELECT {column} FROM @{table}", of="store")} == {"k2"}
    alone = EncryptedStore(file.store(index=INDEX), cipher("k2", NEW))
    assert [alone.search(()), alone.search((), query="a"), alone.scoped("acme").search(())] == before
    assert alone.rekey() == 0


class Dies:
    """A journal or store whose process dies within the n-th batch, or right after it."""

    def __init__(self, inner: Any, batches: int, *, after: bool) -> None:
        self.inner = inner
        self.dialect = inner.dialect
        self.left = batches
        self.after = after

    def fetch_raw(self, statement: str, values: Any) -> Any:
        return self.inner.fetch_raw(statement, values)

    def rewrite_raw(self, table: str, changes: Any) -> int:
        self.left -= 1
        if self.left == 0 and not self.after:
            changes = [*changes, ("SELECT nothing FROM nowhere", ())]
        try:
            return self.inner.rewrite_raw(table, changes)
        finally:
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@pytest.mark.crash
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("batches", [1, 4, 9])
def test_a_kill_in_the_middle_leaves_whole_rows_and_it_goes_on(file: Place, batches: int, after: bool) -> None:
    """Rows: S1-K08."""
    drive = SyncDrive()
    before = told(EncryptedJournal(grown(file, drive).inner, cipher("k2")), drive)
    file.close()

    def die() -> None:
        dying = Dies(file.journal(), batches, after=after)
        assert isinstance(dying, Rewritable)
        journal: Any = dying
        EncryptedJournal(journal, cipher("k2")).rekey(batch=3)

    _, status = os.waitpid(fork(die), 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    halfway = keys_of(file)
    assert {"k1", "k2"} & set().union(*halfway.values()) == ({"k1"} if (batches, after) == (1, False) else {"k1", "k2"})
    journal = EncryptedJournal(file.journal(), cipher("k2"))
    assert told(journal, drive) == before
    assert journal.rekey(batch=3) > 0
    assert keys_of(file) == {table: {"k2"} for table in SEALED}
    assert told(journal, drive) == before


def test_runs_go_on_meanwhile(file: Place) -> None:
    """No write of theirs is lost; they have both keys."""
    old = EncryptedJournal(file.journal(), cipher(keys=BOTH))
    failed: list[BaseException] = []
    refused: list[str] = []

    def work(state: State) -> State:
        return {"kept": [*state.get("kept", []), "x"]}

    graph: Any = StateGraph(State).add_sequence([("a", work), ("b", work)]).add_edge(START, "a").compile(old)

    def run(n: int) -> None:
        try:
            for _ in range(12):
                graph.invoke({"said": "on"}, thread=f"t{n}", busy_timeout=60)
        except BaseException as error:
            failed.append(error)
            raise

    for n in range(3):
        graph.invoke({"said": "on"}, thread=f"t{n}")
    workers = [threading.Thread(target=run, args=(n,)) for n in range(3)]
    for worker in workers:
        worker.start()
    journal = EncryptedJournal(file.journal(), cipher("k2"))
    while any(worker.is_alive() for worker in workers):
        try:
            journal.rekey(batch=5)
        except StoreError as error:  # they still encrypt with the old key
            refused.append(error.message)
    for worker in workers:
        worker.join()
    assert failed == []
    assert all("old key" in message for message in refused)
    journal.rekey()
    assert set().union(*keys_of(file).values()) == {"k2"}
    assert [len(graph.get_state(f"t{n}").values["kept"]) for n in range(3)] == [26] * 3


class Between:
    """A journal or store in which something happens between the reading of a batch and its writing."""

    def __init__(self, inner: Any, happens: Callable[[], object]) -> None:
        self.inner = inner
        self.dialect = inner.dialect
        self.happens = [happens]

    def fetch_raw(self, statement: str, values: Any) -> Any:
        return self.inner.fetch_raw(statement, values)

    def rewrite_raw(self, table: str, changes: Any) -> int:
        if self.happens:
            self.happens.pop()()
        return self.inner.rewrite_raw(table, changes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_what_is_written_in_between_is_not_written_over(file: Place) -> None:
    """A row that somebody changed since it was read is looked at again. Rows: S1-K08."""
    old = EncryptedJournal(file.journal(), cipher(keys=OLD))
    old.transact(lambda tx: tx.set_mark("mine", b"before"))
    journal: Any = Between(file.journal(), lambda: old.transact(lambda tx: tx.set_mark("mine", b"after")))
    assert EncryptedJournal(journal, cipher("k2")).rekey() == 1
    assert EncryptedJournal(file.journal(), cipher("k2", NEW)).read(lambda tx: tx.mark("mine")) == b"after"
    kept = EncryptedStore(file.store(index=INDEX), cipher(keys=OLD))
    kept.put(("a",), "k", {"text": "a"})
    store: Any = Between(file.store(index=INDEX), lambda: kept.put(("a",), "k", {"text": "b"}))
    assert EncryptedStore(store, cipher("k2")).rekey() == 2
    (item,) = EncryptedStore(file.store(index=INDEX), cipher("k2", NEW)).search((), query="b")
    assert (item.value, round(item.score or 0, 3)) == ({"text": "b"}, 1.0)


def test_a_row_that_cannot_be_read_is_named_and_left(file: Place, drive: Drive) -> None:
    through(EncryptedJournal(file.journal(), cipher(keys=OLD)), drive)
    before = keys_of(file)
    with pytest.raises(CannotDecrypt, match="of thread 't'"):
        EncryptedJournal(file.journal(), cipher("k2", NEW)).rekey()
    assert keys_of(file) == before


@pytest.mark.parametrize(
    "make", [lambda: EncryptedJournal(MemoryJournal(), cipher()), lambda: EncryptedStore(MemoryStore(), cipher())]
)
def test_what_is_in_memory_cannot_be_rekeyed(make: Callable[[], Any]) -> None:
    with pytest.raises(ConfigurationError, match="Memory"):
        make().rekey()


@pytest.mark.parametrize("batch", [0, True, "9"])
def test_a_wrong_batch_is_refused(file: Place, batch: Any) -> None:
    with pytest.raises(ConfigurationError, match="batch"):
        EncryptedJournal(file.journal(), cipher()).rekey(batch=batch)


@pytest.mark.postgres
@skipped
def test_in_postgresql_only_the_owner_may(tmp_path: Path) -> None:
    with placed("postgres", tmp_path, shared()) as place:
        _refused_to_the_running_role(place)


def _refused_to_the_running_role(place: Place) -> None:
    from lawful.stores.postgres import PostgresJournal, grants

    through(EncryptedJournal(place.journal(), cipher(keys=OLD)), SyncDrive())
    server = shared()
    server.run(
        "DROP ROLE IF EXISTS runs", "CREATE ROLE runs LOGIN", grants("runs", schema=place.schema, retention=True)
    )
    running = PostgresJournal(server.url("runs"), schema=place.schema)
    try:
        with pytest.raises(StoreError, match=r"permission|owner"):
            EncryptedJournal(running, cipher("k2")).rekey()
    finally:
        running.close()
        server.run("DROP OWNED BY runs", "DROP ROLE runs")
