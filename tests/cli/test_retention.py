"""`lawful prune`, `delete` and `copy`: told before it is done, on any journal, and never by a slip of the pen."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lawful.graph import START, StateGraph, interrupt
from lawful.journal.leases import owner_of
from lawful.journal.port import Journal
from lawful.journal.records import Busy
from lawful.stores.encrypted_journal import EncryptedJournal
from lawful.stores.encrypted_store import EncryptedStore
from lawful.stores.sqlite import SQLiteJournal
from lawful.stores.sqlite_store import SQLiteStore
from support.ciphers import TestCipher
from support.command import Place
from support.pausing import Log
from support.tree import ROOT

pytestmark = pytest.mark.integration


def graph(journal: Journal) -> Any:
    def one(state: Log) -> Log:
        return {"log": ["one"]}

    def ask(state: Log) -> Log:
        return {"log": [str(interrupt("who?"))]}

    return (
        StateGraph(Log, name="g").add_sequence([("one", one), ("two", one), ("ask", ask)]).add_edge(START, "one")
    ).compile(journal)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Two threads that wait at their third step: four checkpoints each; one of another tenant."""
    with closing(SQLiteJournal(tmp_path / "j.db")) as journal:
        for thread in ("a", "b"):
            graph(journal).invoke({"log": []}, thread=thread)
        graph(journal.scoped("acme")).invoke({"log": []}, thread="theirs")
    return Place(tmp_path)


def counts(place: Place, scope: str = "local") -> dict[str, int]:
    with closing(SQLiteJournal(place.folder / "j.db")) as whole:
        journal = whole.scoped(scope)
        return {info.thread: len(journal.history(info.thread)) for info in journal.threads()}


def test_prune_tells_first_and_does_it_with_yes(place: Place) -> None:
    """What was told is what goes, and the thread goes on from where it stood. Rows: S1-015."""
    before = counts(place)
    dry = place.run("prune", "--db", "j.db")
    assert (dry.code, dry.error) == (0, "")
    assert "a (graph g): 3 of 4 checkpoints" in dry.out
    assert "6 checkpoints of 2 threads would go" in dry.out
    assert counts(place) == before == {"a": 4, "b": 4}
    told = place.run("prune", "a", "--keep-last", "2", "--db", "j.db", "--yes", "--json").json()
    assert told["done"] is True
    assert [(one["thread"], one["checkpoints"], one["going"]) for one in told["threads"]] == [("a", 4, 2)]
    assert counts(place) == {"a": 2, "b": 4}
    with closing(SQLiteJournal(place.folder / "j.db")) as journal:
        assert graph(journal).get_state("a").next == ("ask",)
        assert graph(journal).get_state("a").values == {"log": ["one", "one"]}


def test_prune_keeps_the_young_and_every_nth(place: Place) -> None:
    young = place.run("prune", "--db", "j.db", "--older-than", "1h", "--yes")
    assert "Nothing to do." in young.out
    every = place.run("prune", "b", "--db", "j.db", "--keep-every", "1", "--yes")
    assert ("Nothing to do." in every.out, counts(place)) == (True, {"a": 4, "b": 4})
    old = place.run("prune", "b", "--db", "j.db", "--older-than", "0s", "--keep-last", "3", "--yes")
    assert (old.code, counts(place)) == (0, {"a": 4, "b": 3})
    for wrong in ("1x", "-1d", "d"):
        assert place.run("prune", "--db", "j.db", f"--older-than={wrong}").code == 2


def test_delete_tells_first_and_reaches_no_other_tenant(place: Place) -> None:
    dry = place.run("delete", "a", "theirs", "--db", "j.db")
    assert (dry.code, "no thread 'theirs'" in dry.err) == (1, True)
    dry = place.run("delete", "a", "--db", "j.db")
    assert ("a (graph g): 4 checkpoints" in dry.out, counts(place)) == (True, {"a": 4, "b": 4})
    assert place.run("delete", "a", "--db", "j.db", "--yes").code == 0
    assert (counts(place), counts(place, "acme")) == ({"b": 4}, {"theirs": 4})
    assert place.run("delete", "theirs", "--scope", "acme", "--journal", "sqlite:///j.db", "--yes").code == 0
    assert counts(place, "acme") == {}


def test_a_wrong_name_names_the_nearest_and_nothing_is_deleted(place: Place) -> None:
    done = place.run("delete", "b", "aa", "--db", "j.db", "--yes")
    assert (done.code, "Did you mean 'a'" in done.err, counts(place)) == (1, True, {"a": 4, "b": 4})


def test_a_thread_on_which_a_run_is_under_way_is_not_deleted(place: Place) -> None:
    with closing(SQLiteJournal(place.folder / "j.db")) as journal:
        lease = journal.acquire("a", owner_of("run"), 30)
        assert not isinstance(lease, Busy)
        done = place.run("delete", "a", "b", "--db", "j.db", "--yes")
        assert (done.code, done.error, counts(place)) == (1, "thread_busy", {"a": 4})
        journal.release(lease)
    assert place.run("delete", "a", "--db", "j.db", "--yes").code == 0
    with closing(SQLiteJournal(place.folder / "j.db")) as journal:
        assert not isinstance(journal.acquire("a", owner_of("run"), 30), Busy)


KEYS = """
from support.ciphers import TestCipher
old = TestCipher({"k1": b"a" * 32}, "k1")
both = TestCipher({"k1": b"a" * 32, "k2": b"b" * 32}, "k2")
no_cipher = 7
"""


def test_rekey_gives_journal_and_store_the_current_key(tmp_path: Path) -> None:
    """Rows: S1-K08."""
    place = Place(tmp_path)
    (tmp_path / "keys.py").write_text(KEYS)
    old = TestCipher({"k1": b"a" * 32}, "k1")
    with closing(SQLiteJournal(tmp_path / "j.db")) as journal, SQLiteStore(tmp_path / "s.db") as store:
        graph(EncryptedJournal(journal, old)).invoke({"log": []}, thread="a")
        EncryptedStore(store, old).put(("n",), "k", {"text": "a"})
        store.put(("n",), "plain", {"text": "b"})
    paths = os.pathsep.join(str(ROOT / part) for part in ("src", "tests"))
    for wrong in (("keys:no_cipher", "--journal", "j.db"), ("keys:both",), ("keys:bth", "--journal", "j.db")):
        assert place.run("rekey", *wrong, PYTHONPATH=paths).code == 1
    words = ("rekey", "keys:both", "--journal", "j.db", "--store", "s.db")
    refused = place.run(*words, PYTHONPATH=paths)
    assert (refused.code, "not encrypted" in refused.err) == (1, True)
    done = place.run(*words, "--plain", "--json", PYTHONPATH=paths)
    assert done.json() == {"journal": 0, "store": 2}
    new = TestCipher({"k2": b"b" * 32}, "k2")
    with closing(SQLiteJournal(tmp_path / "j.db")) as journal, SQLiteStore(tmp_path / "s.db") as store:
        assert graph(EncryptedJournal(journal, new)).get_state("a").next == ("ask",)
        assert [item.value for item in EncryptedStore(store, new).search(("n",))] == [{"text": "b"}, {"text": "a"}]


def test_copy_makes_a_thread_that_goes_on_by_itself(place: Place) -> None:
    assert "4 checkpoints of a" in place.run("copy", "a", "c", "--db", "j.db").out
    taken = place.run("copy", "a", "b", "--db", "j.db")
    assert (taken.code, "b" in taken.err, counts(place)) == (1, True, {"a": 4, "b": 4, "c": 4})
    with closing(SQLiteJournal(place.folder / "j.db")) as journal:
        assert graph(journal).get_state("c").next == ("ask",)
