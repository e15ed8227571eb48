"""Caches: what is kept under which key and for how long, in memory and in a file that processes share."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import CannotDecrypt, ConfigurationError, CorruptRecord, NewerSchema, StoreError
from lawful.journal.cache_port import Cache
from lawful.stores import EncryptedCache, MemoryCache, SQLiteCache, SQLiteJournal
from support.ciphers import TestCipher

pytestmark = pytest.mark.unit

NS = ("acme", "graph", "node")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(params=["memory", "sqlite", "encrypted"])
def cache(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Cache]:
    if request.param == "memory":
        yield MemoryCache(clock=clock)
        return
    if request.param == "encrypted":
        yield EncryptedCache(MemoryCache(clock=clock), TestCipher({"k1": b"a" * 32}, "k1"))
        return
    made = SQLiteCache(tmp_path / "cache.db", clock=clock)
    yield made
    made.close()


def test_it_gives_what_was_put_under_exactly_that_key(cache: Cache) -> None:
    """Labels are compared one by one: no separator, prefix or wildcard reaches another's.

    Rules: 187
    """
    odd = [("a", "b"), ("a:b",), ("a", "b", ""), ("a.b",), ("%",), ("a\x00b",), ("", "a", "b"), ('["a"]',)]
    cache.set({(ns, "k"): (repr(ns).encode(), None) for ns in odd})
    assert cache.get([(ns, "k") for ns in odd]) == {(ns, "k"): repr(ns).encode() for ns in odd}
    assert cache.get([(("a",), "k"), (("a", "b"), "K"), (("a", "b"), "k%")]) == {}
    cache.set({(("a", "b"), "k"): (b"new", None)})
    cache.clear([("a:b",), ("%",)])
    left = cache.get([(ns, "k") for ns in odd])
    assert left[("a", "b"), "k"] == b"new"
    assert set(left) == {(ns, "k") for ns in odd if ns not in (("a:b",), ("%",))}
    cache.clear()
    assert cache.get([(ns, "k") for ns in odd]) == {}


def test_an_entry_ends_with_its_time(cache: Cache, clock: FixedClock) -> None:
    """Rules: 187"""
    cache.set({(NS, "short"): (b"s", 10), (NS, "long"): (b"l", None)})
    clock.advance(9)
    assert set(cache.get([(NS, "short"), (NS, "long")])) == {(NS, "short"), (NS, "long")}
    clock.advance(2)
    assert set(cache.get([(NS, "short"), (NS, "long")])) == {(NS, "long")}


def test_it_is_bounded(tmp_path: Path) -> None:
    """Of what is too much the oldest goes first; in memory, that which was longest not asked for."""
    memory = MemoryCache(max_entries=3)
    for name in "abc":
        memory.set({(NS, name): (b"x", None)})
    memory.get([(NS, "a")])
    memory.set({(NS, "d"): (b"x", None)})
    assert {key for _, key in memory.get([(NS, n) for n in "abcd"])} == {"a", "c", "d"}
    file = SQLiteCache(tmp_path / "cache.db", max_entries=3)
    for n in range(65):
        file.set({(NS, str(n)): (b"x", None)})
    assert len(file.get([(NS, str(n)) for n in range(65)])) <= 3 + 32
    assert (NS, "64") in file.get([(NS, "64")])
    file.close()
    with pytest.raises(ConfigurationError, match="max_entries"):
        MemoryCache(max_entries=0)


def test_threads_share_it(cache: Cache) -> None:
    """Eight at once: nothing is lost, nothing is mixed up."""

    def work(n: int) -> None:
        for i in range(20):
            cache.set({(NS, f"{n}.{i}"): (f"{n}.{i}".encode(), None)})

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = [(NS, f"{n}.{i}") for n in range(8) for i in range(20)]
    assert cache.get(keys) == {key: key[1].encode() for key in keys}


def test_processes_share_a_file(tmp_path: Path) -> None:
    """Another opening sees it, a forked child too, and what the child puts is there."""
    cache = SQLiteCache(tmp_path / "cache.db")
    cache.set({(NS, "a"): (b"a", None)})
    other = SQLiteCache(tmp_path / "cache.db")
    assert other.get([(NS, "a")]) == {(NS, "a"): b"a"}
    other.close()
    child = os.fork()
    if child == 0:
        try:
            cache.set({(NS, "b"): (cache.get([(NS, "a")])[NS, "a"] + b"b", None)})
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert cache.get([(NS, "b")]) == {(NS, "b"): b"ab"}
    cache.close()


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    """A journal's, somebody else's, a newer one's, and what is no database at all."""
    SQLiteJournal(str(tmp_path / "journal.db")).close()
    with sqlite3.connect(tmp_path / "other.db") as con:
        con.execute("CREATE TABLE t(x)")
    (tmp_path / "text.db").write_text("no database " * 100)
    for name in ("journal.db", "other.db", "text.db"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(StoreError):
            SQLiteCache(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    SQLiteCache(tmp_path / "cache.db").close()
    with sqlite3.connect(tmp_path / "cache.db") as con:
        con.execute("PRAGMA user_version=99")
    with pytest.raises(NewerSchema):
        SQLiteCache(tmp_path / "cache.db")


@pytest.mark.parametrize(
    "change", ["UPDATE entry SET value=x'00'", "UPDATE entry SET value='text'", "UPDATE entry SET crc=1"]
)
def test_a_damaged_entry_is_told(tmp_path: Path, change: str) -> None:
    """And clear helps."""
    cache = SQLiteCache(tmp_path / "cache.db")
    cache.set({(NS, "a"): (b"value", None)})
    with sqlite3.connect(tmp_path / "cache.db") as con:
        con.execute(change)
    with pytest.raises(CorruptRecord):
        cache.get([(NS, "a")])
    cache.clear([NS])
    assert cache.get([(NS, "a")]) == {}
    cache.close()


def test_an_encrypted_result_is_bound_to_its_key_and_a_lost_key_forgets_it(tmp_path: Path) -> None:
    """No byte of it in the file; moved or changed it is told; of a key that is gone, or plain, it is as if never kept.

    Rows: S1-K08
    """
    keys = {"k1": b"a" * 32, "k2": b"b" * 32}
    beneath = SQLiteCache(tmp_path / "cache.db")
    cache = EncryptedCache(beneath, TestCipher(keys, "k1"))
    text = b"a result that nobody should read"
    cache.set({(NS, "a"): (text, None), (NS, "b"): (b"other", None)})
    assert not any(text in file.read_bytes() for file in tmp_path.iterdir())
    assert cache.get([(NS, "a")]) == {(NS, "a"): text}
    assert cache.blocking is True
    assert EncryptedCache(beneath, TestCipher(keys, "k2")).get([(NS, "a")]) == {(NS, "a"): text}
    assert EncryptedCache(beneath, TestCipher({"k2": keys["k2"]}, "k2")).get([(NS, "a"), (NS, "b")]) == {}
    beneath.set({(NS, "plain"): (text, None)})
    assert cache.get([(NS, "plain")]) == {}
    beneath.set({(NS, "b"): (beneath.get([(NS, "a")])[NS, "a"], None)})
    with pytest.raises(CannotDecrypt, match=r"'node'.*clear_cache"):
        cache.get([(NS, "b")])
    cache.clear([NS])
    assert cache.get([(NS, "b")]) == {}
    beneath.close()


def test_a_closed_cache_says_so(tmp_path: Path) -> None:
    cache = SQLiteCache(tmp_path / "cache.db")
    cache.close()
    cache.close()
    use: list[Any] = [lambda: cache.get([(NS, "a")]), lambda: cache.set({}), cache.clear]
    for one in use:
        with pytest.raises(StoreError, match="closed"):
            one()
