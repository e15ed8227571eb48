"""`lawful prune`, `delete` and `copy`: told before it is done, on any journal, and never by a slip of the pen."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lawful.graph import START, StateGraph, interrupt
from lawful.journal.leases import owner_of
from lawful.journal.port import Journal
from lawful.journal.records import Busy
from lawful.stores.sqlite import SQLiteJournal
from support.command import Place
from support.pausing import Log

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


def test_copy_makes_a_thread_that_goes_on_by_itself(place: Place) -> None:
    assert "4 checkpoints of a" in place.run("copy", "a", "c", "--db", "j.db").out
    taken = place.run("copy", "a", "b", "--db", "j.db")
    assert (taken.code, "b" in taken.err, counts(place)) == (1, True, {"a": 4, "b": 4, "c": 4})
    with closing(SQLiteJournal(place.folder / "j.db")) as journal:
        assert graph(journal).get_state("c").next == ("ask",)
