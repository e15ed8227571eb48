"""`SQLiteStore`'s file: it outlives the store, is told from others, and neither damage nor hostile text gets past it."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import CorruptRecord, NewerSchema, StoreError, StoreFull, StoreLocked
from lawful.stores.sqlite import SQLiteJournal
from lawful.stores.sqlite_store import SQLiteStore
from lawful.stores.sqlite_store_schema import after, packed, unpacked
from lawful.testing.conformance_store_items import HOSTILE
from support.tree import environment

pytestmark = pytest.mark.unit


def _raw(path: Path, sql: str, *values: Any) -> None:
    con = sqlite3.connect(path)
    try:
        with con:
            con.execute(sql, values)
    finally:
        con.close()


def test_items_outlive_the_store(tmp_path: Path) -> None:
    """Rows: S1-K12."""
    path = tmp_path / "s.db"
    with SQLiteStore(path) as store:
        store.put(("a", "b"), "k", {"n": 1})
        before = store.get(("a", "b"), "k")
    with SQLiteStore(path) as store:
        assert store.path == str(path)
        assert store.get(("a", "b"), "k") == before is not None


def test_it_is_a_write_ahead_file(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "s.db") as store:
        store.put(("a",), "k", {})
        con = sqlite3.connect(tmp_path / "s.db")
        assert con.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        con.close()


def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    SQLiteStore(path).close()
    _raw(path, "PRAGMA user_version=99")
    with pytest.raises(NewerSchema, match="99"):
        SQLiteStore(path)


def test_a_file_brought_up_to_a_newer_version_meanwhile_is_noticed(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "s.db") as store:
        _raw(tmp_path / "s.db", "PRAGMA user_version=99")
        with pytest.raises(NewerSchema):
            store.put(("a",), "k", {})
        with pytest.raises(NewerSchema):
            store.get(("a",), "k")


def test_a_journal_is_no_store_and_a_store_no_journal(tmp_path: Path) -> None:
    SQLiteJournal(tmp_path / "j.db").close()
    SQLiteStore(tmp_path / "s.db").close()
    with pytest.raises(StoreError, match="not a store"):
        SQLiteStore(tmp_path / "j.db")
    with pytest.raises(StoreError, match="not a journal"):
        SQLiteJournal(tmp_path / "s.db")


def test_what_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_bytes(b"plain text, and more than a hundred bytes of it" * 9)
    with pytest.raises(CorruptRecord) as caught:
        SQLiteStore(tmp_path / "s.db")
    assert caught.value.context.component == "store"


@pytest.mark.parametrize(
    "change, value",
    [
        ("value=?", pickle.dumps({"n": 1})),
        ("value=?", b'{"n":2}'),
        ("value=?", "text"),
        ("created=?", "now"),
        ("ns=?", b"a"),
    ],
)
def test_damage_is_told_with_the_bytes(tmp_path: Path, change: str, value: Any) -> None:
    path = tmp_path / "s.db"
    with SQLiteStore(path) as store:
        store.put(("a",), "k", {"n": 1})
        _raw(path, f"UPDATE item SET {change}", value)
        with pytest.raises(CorruptRecord) as caught:
            store.search(())
        if isinstance(value, bytes):
            assert caught.value.raw == value


@pytest.mark.parametrize("stored", [b"[1]", b"{", b'{"a":NaN}', b"\xff", b"[" * 100_000], ids=lambda raw: repr(raw[:9]))
def test_text_that_no_put_wrote_is_damage_though_its_sum_is_right(tmp_path: Path, stored: bytes) -> None:
    from zlib import crc32

    path = tmp_path / "s.db"
    with SQLiteStore(path) as store:
        store.put(("a",), "k", {})
        _raw(path, "UPDATE item SET value=?, crc=?", stored, crc32(stored))
        with pytest.raises(CorruptRecord) as caught:
            store.get(("a",), "k")
        assert caught.value.raw == stored


def test_a_removed_file_takes_no_more_writes(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "s.db")
    os.remove(tmp_path / "s.db")
    with pytest.raises(StoreError, match="removed or replaced"):
        store.put(("a",), "k", {})
    with pytest.raises(StoreError, match="removed or replaced"):
        store.get(("a",), "k")
    store.close()


def test_another_process_that_writes_for_long_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with SQLiteStore(path, busy_timeout=0.05) as store:
        store.put(("a",), "k", {})
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked) as caught:
            store.put(("a",), "k", {"n": 1})
        assert caught.value.retryable
        found = store.get(("a",), "k")
        assert found is not None
        assert found.value == {}
        other.execute("ROLLBACK")
        other.close()
        store.put(("a",), "k", {"n": 1})


def test_a_full_disk_loses_the_new_and_keeps_the_old(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "s.db") as store:
        store.put(("a",), "k", {"n": 1})
        with store._file.writing() as con:  # pyright: ignore[reportPrivateUsage]
            (pages,) = con.execute("PRAGMA page_count").fetchone()
        writer: Any = store._file._writer  # pyright: ignore[reportPrivateUsage]
        writer.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(StoreFull):
            store.put(("a",), "k", {"big": "x" * 100_000})
        found = store.get(("a",), "k")
        assert found is not None
        assert found.value == {"n": 1}


def test_hostile_text_meets_no_table_but_ours(tmp_path: Path) -> None:
    """SQL injection by any text that a caller hands in (CVE-2025-8709, CVE-2025-64104, CVE-2025-67644). Rows: S1-K12."""
    allowed = {"item", "vector", "sqlite_master", "sqlite_schema", ""}
    seen: set[str] = set()

    def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action in (sqlite3.SQLITE_READ, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE):
            seen.add(first or "")
        refused = action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_CREATE_TRIGGER)
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK

    texts = [text.replace("\x00", "") or "x" for text in HOSTILE]
    with SQLiteStore(":memory:") as store:
        with store._file.writing() as con:  # pyright: ignore[reportPrivateUsage]
            con.set_authorizer(authorize)
        for text in texts:
            store.put((text,), text, {"field": text})
            assert [item.key for item in store.search((text,), filter={"field": {"$eq": text}})] == [text]
            assert store.list_namespaces(prefix=(text,)) == [(text,)]
        assert len(store.search((), limit=100)) == len(set(texts))
        for text in texts:
            store.delete((text,), text)
        assert store.search(()) == []
    assert seen <= allowed


def test_packed_namespaces_keep_order_and_prefixes() -> None:
    names = [("a",), ("a", "b"), ("a\x01",), ("a", "b", "c"), ("ab",), ("é",), ("\U0001f600",), ("a", "é")]
    assert sorted(names, key=packed) == sorted(names)
    assert [unpacked(packed(name)) for name in names] == names
    for prefix in names:
        inside = [name for name in names if packed(prefix) <= packed(name) < after(packed(prefix))]
        assert inside == [name for name in names if name[: len(prefix)] == prefix]


_CHILD = """
import sys
from lawful.stores.sqlite_store import SQLiteStore
with SQLiteStore(sys.argv[1], busy_timeout=30) as store:
    for n in range(40):
        store.put((sys.argv[2],), f"k{n}", {"n": n})
        store.put(("shared",), "k", {"by": sys.argv[2], "n": n})
"""


def test_processes_on_one_file_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "s.db")
    children = [
        subprocess.Popen(
            [sys.executable, "-c", _CHILD, path, name], env=environment(), stderr=subprocess.PIPE, text=True
        )
        for name in ("p1", "p2", "p3")
    ]
    assert [(child.communicate(timeout=60)[1], child.returncode) for child in children] == [("", 0)] * 3
    with SQLiteStore(path) as store:
        assert [len(store.search((name,), limit=100)) for name in ("p1", "p2", "p3", "shared")] == [40, 40, 40, 1]
        last = store.get(("shared",), "k")
        assert last is not None
        assert last.value["n"] == 39


def test_a_forked_child_opens_the_file_anew(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from lawful.stores.sqlite_store import SQLiteStore\n"
        "store = SQLiteStore(sys.argv[1])\n"
        "store.put(('a',), 'parent', {})\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    store.put(('a',), 'child', {})\n"
        "    os._exit(0 if len(store.search(())) == 2 else 1)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
        "store.put(('a',), 'parent again', {})\n"
        "print(sorted(item.key for item in store.search(())))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(tmp_path / "s.db")],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("['child', 'parent', 'parent again']\n", "")


def test_a_child_forked_in_the_midst_of_a_write_is_not_stuck(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys, threading\n"
        "from lawful.stores.sqlite_store import SQLiteStore\n"
        "store = SQLiteStore(sys.argv[1])\n"
        "store.put(('a',), 'before', {})\n"
        "inside, on = threading.Event(), threading.Event()\n"
        "def work(tx):\n"
        "    tx.write(('a',), 'during', b'{}', None)\n"
        "    inside.set()\n"
        "    on.wait()\n"
        "writer = threading.Thread(target=store.run, args=('local', work), kwargs={'writing': True})\n"
        "writer.start()\n"
        "inside.wait()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    signal.alarm(20)\n"
        "    os._exit(0 if [item.key for item in store.search(())] == ['before'] else 1)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
        "on.set()\n"
        "writer.join()\n"
        "print([item.key for item in store.search(())])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(tmp_path / "s.db")],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("['during', 'before']\n", "")


def test_what_is_touched_by_a_read_is_written_down(tmp_path: Path) -> None:
    clock = FixedClock(1_000_000.0)
    with SQLiteStore(tmp_path / "s.db", clock=clock) as store:
        store.put(("a",), "k", {}, ttl=1)
        clock.advance(30)
        assert store.get(("a",), "k") is not None
    con = sqlite3.connect(tmp_path / "s.db")
    assert con.execute("SELECT expires FROM item").fetchall() == [(1_000_090.0,)]
    con.close()
