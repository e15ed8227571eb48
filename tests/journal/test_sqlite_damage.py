"""Damaged rows, foreign and newer files, a full disk: a typed error that names the place, and a journal that works on."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lawful.core.errors import CorruptRecord, NewerSchema, StoreError, StoreFull
from lawful.journal.records import PutCheckpoint
from lawful.stores import sqlite_schema
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.conformance_kit import (
    START,
    Ids,
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

pytestmark = pytest.mark.unit


def con(journal: SQLiteJournal) -> sqlite3.Connection:
    found = journal._writer._link
    assert found is not None
    return found.con


def plant(journal: SQLiteJournal) -> None:
    """One row or more in every table."""
    ids = Ids()
    first, second = ids(), ids()
    send(
        journal,
        "t",
        chunks(1, 2),
        PutCheckpoint(checkpoint(first, step=-1, source="input", snapshot=b"whole" * 5, refs=(digest(1),))),
        PutCheckpoint(checkpoint(second, first, step=0, delta=b"delta" * 5, metadata={"k": "v", "n": 7})),
        writes(second, "task", b"written", refs=(digest(2),)),
        answer(second, "q", b"answered"),
    )
    op = operation("op", 2, state="claimed", claimed_at=START, labels={"n": 1})
    journal.transact(lambda tx: tx.append(op, events("op", 1, 2)), durable=False)
    journal.transact(lambda tx: tx.set_mark("mark", b"value"), durable=False)


def look(journal: SQLiteJournal) -> list[Any]:
    """All that was planted, as the port gives it."""
    return [
        journal.chain("t"),
        list(journal.history("t")),
        dict(journal.chunks("t", [digest(1), digest(2)])),
        journal.read(lambda tx: (tx.operation("op"), list(tx.events("op")), list(tx.operations()), tx.mark("mark"))),
    ]


# The columns that hold facts; keys and numbers of rows decide only whether a row is found.
PLACES = {
    "checkpoint": ("parent", "step", "source", "at", "weight", "crc", "metadata", "head", "delta", "snapshot", "refs"),
    "writes": ("task", "kind", "crc", "blob", "refs"),
    "answer": ("question", "principal", "at", "crc", "blob"),
    "chunk": ("crc", "body"),
    "operation": ("tool", "state", "version", "lineage", "key", "args_hash", "claimed_at", "lease_until",
                  "labels", "updated", "crc"),
    "event": ("kind", "at", "crc", "blob", "digest"),
    "mark": ("crc", "value"),
}  # fmt: skip


def flipped(value: Any, bit: int) -> Any:
    """``value`` with one bit changed, or None as something else."""
    if isinstance(value, bytes) and value:
        at = bit // 8 % len(value)
        return value[:at] + bytes([value[at] ^ 1 << bit % 8]) + value[at + 1 :]
    if isinstance(value, int):
        return value ^ 1 << bit % 31
    if isinstance(value, float):
        return value + 1.0 + bit
    if isinstance(value, str) and value:
        at = bit % len(value)
        return value[:at] + chr(ord(value[at]) ^ 1) + value[at + 1 :]
    return b"\x01" if isinstance(value, bytes) else "x" if isinstance(value, str) else 1


def cut(value: Any, bit: int) -> Any:
    """``value`` truncated, or of another type."""
    if isinstance(value, (bytes, str)) and value:
        return value[: bit % len(value)]
    return None if value is not None and bit % 2 else f"{value}"


@settings(max_examples=120, deadline=None)
@given(data=st.data(), bit=st.integers(0, 400), harm=st.sampled_from([flipped, cut]))
def test_no_damaged_row_is_taken_for_good(data: st.DataObject, bit: int, harm: Callable[[Any, int], Any]) -> None:
    table = data.draw(st.sampled_from(sorted(PLACES)))
    column = data.draw(st.sampled_from(PLACES[table]))
    journal = SQLiteJournal(":memory:")
    try:
        plant(journal)
        sound = look(journal)
        db = con(journal)
        db.execute("DROP TRIGGER event_stays")
        rows = db.execute(f"SELECT row, {column} FROM {table}").fetchall()
        row, value = data.draw(st.sampled_from(rows))
        harmed = harm(value, bit)
        try:
            db.execute(f"UPDATE {table} SET {column}=? WHERE row=?", (harmed, row))
        except sqlite3.IntegrityError:  # NULL where the schema forbids it
            return
        stored = db.execute(f"SELECT {column} FROM {table} WHERE row=?", (row,)).fetchone()[0]
        if stored == value and type(stored) is type(value):  # the column's affinity has mended it
            assert look(journal) == sound
            return
        found: list[Any] = []
        with pytest.raises(CorruptRecord) as caught:
            found = look(journal)
        assert found == []
        assert caught.value.details
        assert caught.value.context.component == "journal"
        put(journal, "another", checkpoint(Ids()(), snapshot=b"fine"))
        assert fold(journal.chain("another")) == b"fine"
    finally:
        journal.close()


def test_damage_is_named_and_its_bytes_are_kept(journal: SQLiteJournal) -> None:
    rows = grow(journal, "t", 3)
    con(journal).execute("UPDATE checkpoint SET delta=x'00' WHERE step=1")
    with pytest.raises(CorruptRecord) as caught:
        journal.chain("t")
    assert caught.value.details == {"thread": "t", "ns": "", "id": rows[1].id}
    assert isinstance(caught.value.raw, bytes)
    assert list(journal.history("t", limit=1)) == [rows[2]]
    assert fold(journal.chain("t", "", rows[0].id)) == b"<0>"


@pytest.mark.parametrize("table", ["checkpoint", "chunk", "event"])
def test_a_lost_row_is_noticed(journal: SQLiteJournal, table: str) -> None:
    plant(journal)
    db = con(journal)
    db.execute("DROP TRIGGER event_lasts")
    db.execute(f"DELETE FROM {table} WHERE row=1")
    with pytest.raises(CorruptRecord):
        look(journal)


def test_events_cannot_be_changed_by_sql(journal: SQLiteJournal) -> None:
    plant(journal)
    db = con(journal)
    for statement in (
        "UPDATE event SET kind='other'",
        "DELETE FROM event",
        "INSERT OR REPLACE INTO event(operation, seq, kind, at, crc, blob, digest)"
        " SELECT operation, seq, 'x', 0, 0, blob, digest FROM event",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            db.execute(statement)
    assert [event.kind for event in journal.read(lambda tx: tx.events("op"))] == ["noted", "noted"]


@settings(max_examples=60, deadline=None)
@example(place=0.3671875, bit=0, size=None)  # in an index: it led to another checkpoint, each sound by itself
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), size=st.none() | st.floats(0, 1))
def test_a_damaged_file_gives_typed_errors_only(
    tmp_path_factory: pytest.TempPathFactory, place: float, bit: int, size: float | None
) -> None:
    """A bit flipped or a tail missing anywhere in the file: what is read is right, or an error of the store."""
    path = tmp_path_factory.getbasetemp() / "damaged.db"
    for part in ("", "-wal", "-shm"):
        Path(f"{path}{part}").unlink(missing_ok=True)
    journal = SQLiteJournal(path)
    rows = grow(journal, "t", 40, every=7)
    sound = {row.id: row for row in rows}
    journal.close()
    raw = bytearray(path.read_bytes())
    if size is not None:
        del raw[int(size * len(raw)) :]
    else:
        raw[int(place * len(raw))] ^= 1 << bit
    path.write_bytes(raw)
    try:
        journal = SQLiteJournal(path)
    except StoreError:
        return
    try:
        for id in sound:
            chain = journal.chain("t", "", id)
            assert chain is None or list(chain.rows) == [sound[row.id] for row in chain.rows]
            assert chain is None or fold(chain) == b"".join(b"<%d>" % n for n in range(sound[id].step + 1))
    except StoreError:
        return
    finally:
        journal.close()


@pytest.mark.parametrize(
    "raw", [b"not a database, but a text of some length" * 100, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_what_is_no_database_is_refused(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    with pytest.raises(CorruptRecord) as caught:
        SQLiteJournal(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == raw


def test_somebody_elses_database_is_left_alone(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE checkpoint(a)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a journal"):
        SQLiteJournal(path)
    assert path.read_bytes() == before


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """Rows: S4-044."""
    with pytest.raises(StoreError) as caught:
        SQLiteJournal(tmp_path / "no such folder" / "j.db")
    assert "no such folder" in caught.value.details["path"]


def test_a_newer_schema_is_refused_and_left_alone(path: Path) -> None:
    """Rows: S4-046."""
    journal = SQLiteJournal(path)
    grow(journal, "t", 2)
    second = SQLiteJournal(path)
    second.chain("t")
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version={sqlite_schema.version() + 1}")
    newer.commit()
    newer.close()
    for use in (lambda: grow(journal, "u", 1), lambda: second.chain("t"), lambda: SQLiteJournal(path)):
        with pytest.raises(NewerSchema) as caught:
            use()
        assert caught.value.details["found"] == str(sqlite_schema.version() + 1)
    journal.close()
    second.close()
    before = path.read_bytes()
    with pytest.raises(NewerSchema):
        SQLiteJournal(path)
    assert path.read_bytes() == before


def test_an_older_file_is_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows: S4-046."""
    journal = SQLiteJournal(path)
    rows = grow(journal, "t", 3)
    journal.close()
    step = "CREATE TABLE later(a);\nINSERT INTO later SELECT count(*) FROM checkpoint;\n"
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", (*sqlite_schema.MIGRATIONS, step))
    journal = SQLiteJournal(path)
    assert con(journal).execute("SELECT a FROM later").fetchall() == [(3,)]
    assert con(journal).execute("PRAGMA user_version").fetchone() == (sqlite_schema.version(),)
    assert con(journal).execute("SELECT value FROM meta").fetchall() == [(str(sqlite_schema.version()),)]
    assert list(journal.history("t")) == rows[::-1]
    journal.close()
    SQLiteJournal(path).close()


def test_a_migration_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = SQLiteJournal(path)
    rows = grow(journal, "t", 3)
    journal.close()
    with monkeypatch.context() as m:
        m.setattr(
            sqlite_schema, "MIGRATIONS", (*sqlite_schema.MIGRATIONS, "CREATE TABLE later(a);\nDROP TABLE no_such;\n")
        )
        with pytest.raises(StoreError):
            SQLiteJournal(path)
    journal = SQLiteJournal(path)
    assert list(journal.history("t")) == rows[::-1]
    assert con(journal).execute("SELECT name FROM sqlite_master WHERE name='later'").fetchall() == []
    journal.close()


def test_a_full_disk_writes_nothing_and_is_told(journal: SQLiteJournal) -> None:
    """Rows: S1-K11, S1-041. Rules: 84."""
    rows = grow(journal, "t", 3)
    tip = rows[-1].id
    db = con(journal)
    db.execute(f"PRAGMA max_page_count={db.execute('PRAGMA page_count').fetchone()[0] + 2}")
    big = later(tip)
    with pytest.raises(StoreFull) as caught:
        send(journal, "t", writes(tip, "task"), PutCheckpoint(checkpoint(big, tip, snapshot=os.urandom(200_000))))
    assert journal.path in str(caught.value)
    with pytest.raises(StoreFull):
        journal.transact(lambda tx: tx.set_mark("big", os.urandom(200_000)))
    chain = journal.chain("t")
    assert chain is not None
    assert (chain.tip, chain.writes) == (rows[-1], ())
    put(journal, "t", small := checkpoint(later(tip), tip, delta=b"<3>"), expect=tip)
    db.execute("PRAGMA max_page_count=1000000")
    put(journal, "t", checkpoint(later(small.id), snapshot=os.urandom(200_000)))
    assert len(journal.history("t")) == 5
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_in_a_full_group_what_fits_is_written(journal: SQLiteJournal) -> None:
    from lawful.journal.records import Batch

    db = con(journal)
    db.execute(f"PRAGMA max_page_count={db.execute('PRAGMA page_count').fetchone()[0] + 2}")
    ids, told = Ids(), dict[str, BaseException | None]()
    with journal._writer._queue.gate:
        for name, size in (("a", 10), ("b", 300_000), ("c", 10)):
            batch = Batch(name, (PutCheckpoint(checkpoint(ids(), snapshot=os.urandom(size))),))
            journal.submit(batch, lambda error, name=name: told.__setitem__(name, error))
    journal.close()
    assert told["a"] is told["c"] is None
    assert isinstance(told["b"], StoreFull)


def test_only_the_journals_own_tables_are_touched(journal: SQLiteJournal) -> None:
    """No input becomes SQL: an authorizer sees the same tables whatever the names are."""
    seen: set[str] = set()

    def allow(action: int, one: str | None, two: str | None, base: str | None, trigger: str | None) -> int:
        if action in (sqlite3.SQLITE_READ, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_UPDATE):
            seen.add(str(one))
        return sqlite3.SQLITE_OK

    con(journal).set_authorizer(allow)
    for name in ("x'); DROP TABLE checkpoint; --", 'x" OR 1=1', "sqlite_master", "%", "*"):
        grow(journal, name, 2, ns=name)
        send(journal, name, chunks(1), writes(later(None), name, ns=name), answer(later(None), name, ns=name))
        assert len(journal.history(name, name, filter={"n": name})) == 0
        assert journal.chain(name, name) is not None
        journal.transact(lambda tx, name=name: tx.append(operation(name, tool=name), events(name)), durable=False)
        assert len(journal.read(lambda tx, name=name: list(tx.operations(tool=name, states=[name])))) == 0
        journal.acquire(name, name, 1)
        journal.delete_thread(name)
    assert seen <= {"thread", "space", "checkpoint", "writes", "answer", "chunk", "lease", "operation", "event", ""} | {
        "sqlite_master", "path", "p", "c"
    }  # fmt: skip


def _removed(path: Path) -> None:
    for part in ("", "-wal", "-shm"):
        Path(f"{path}{part}").unlink(missing_ok=True)


def _emptied(path: Path) -> None:
    os.truncate(path, 0)


def _replaced(path: Path) -> None:
    other = path.with_name("other.db")
    SQLiteJournal(other).close()
    other.replace(path)


@pytest.mark.parametrize("harm", [_removed, _emptied, _replaced])
def test_nothing_is_written_to_a_file_that_nobody_will_find(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """SQLite would go on writing to what the path no longer names, and say that all is well."""
    path = tmp_path / "j.db"
    journal = SQLiteJournal(path)
    grow(journal, "t", 2)
    harm(path)
    with pytest.raises(StoreError, match="removed, emptied or replaced"):
        grow(journal, "u", 1)
    with pytest.raises(StoreError, match="removed, emptied or replaced"):
        journal.acquire("t", "0123456789abcde/run", 5.0)
    with pytest.raises(StoreError, match="removed, emptied or replaced"):
        journal.transact(lambda tx: tx.now())
    _removed(path)
    with suppress(StoreError):
        journal.close()
