"""The verbs that look, graphs that callers name, and every mistake as one line: nothing is made or run by looking."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from lawful.cli.console import clean, line
from lawful.stores.sqlite import SQLiteJournal
from support.command import Place
from support.tree import environment

pytestmark = pytest.mark.integration

SHOP = """
from typing import TypedDict
from lawful import START, SQLiteJournal, StateGraph, interrupt
from lawful.core.questions import Approved

class Order(TypedDict, total=False):
    item: str
    by: str

def approve(order: Order) -> Order:
    yes = interrupt({"buy": order.get("item", "")}, answer=Approved)
    return {"by": yes.by if yes else ""}

def thing(): ...

builder = StateGraph(Order, name="shop").add_node(approve).add_edge(START, "approve")
unstored = builder.compile()
if __name__ == "__main__":
    import sys
    graph = builder.compile(SQLiteJournal(sys.argv[1]), name="shop")
    graph.invoke({"item": sys.argv[2]}, thread="order")
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def shop(place: Place) -> Place:
    """A folder with a graph of its own, and a thread of it that asks; the item holds a terminal command."""
    (place.folder / "shop.py").write_text(SHOP)
    words = [sys.executable, "shop.py", "shop.db", "tea \x1b[2J"]
    subprocess.run(words, cwd=place.folder, env=environment(), check=True)
    return place


def test_threads_show_and_history_tell_of_a_paused_demo(place: Place) -> None:
    """Rows: S1-015."""
    place.run("demo", "--test", "true")
    [told] = place.run("threads", "--json").json()
    assert (told["thread"], told["graph"], told["status"]) == ("demo", "demo", "waits for an answer")
    assert "waits for an answer" in place.run("threads").out
    shown = place.run("show", "demo", "--json").json()
    assert shown["next"] == ["approve"]
    assert shown["values"]["pins"][0]["version"] == "1.4.0"
    assert shown["questions"][0]["value"]["digest"] == shown["values"]["judged"]["binding"]
    assert "answer demo yes" in place.run("show", "demo").out
    history = place.run("history", "demo", "--json").json()
    assert [step["ran"] for step in history["steps"]][2:] == [["read"], ["propose"], ["scope"], ["test"], ["judge"]]
    assert [fact["event"] for fact in history["effects"]] == ["Planned", "EvidenceAdded", "EvidenceAdded"] * 2
    assert len(place.run("history", "demo", "--json", "--limit", "2").json()["steps"]) == 2
    assert "judge" in place.run("history", "demo").out


def test_the_demos_graph_is_drawn_without_a_journal(place: Place) -> None:
    drawn = place.run("draw")
    assert drawn.code == 0, drawn
    assert drawn.out.startswith("graph TD;")
    for edge in ("read -.-> propose;", "approve -.-> commit;", "commit -.-> publish;", "publish --> __end__;"):
        assert edge in drawn.out
    assert "read -> propose" in place.run("draw", "--words").out
    assert list(place.folder.iterdir()) == []


def test_a_graph_is_named_by_the_caller_and_never_taken_from_the_store(shop: Place) -> None:
    shop.run("answer", "order", "yes")
    ran = shop.run("answer", "order", "yes", "--db", "shop.db")
    assert (ran.code, ran.error) == (1, "configuration")
    assert "--graph module:name" in ran.err
    assert "shop" in shop.run("threads", "--db", "shop.db").out
    history = shop.run("history", "order", "--db", "shop.db")
    assert history.code == 0, history
    given = ["--db", "shop.db", "--graph", "shop:builder"]
    asked = shop.run("show", "order", *given)
    assert asked.code == 0, asked
    assert "\x1b" not in asked.out
    assert "tea" in asked.out
    done = shop.run("answer", "order", "yes", "--by", "ada", *given)
    assert done.code == 0, done
    assert shop.run("show", "order", "--json", *given).json()["values"]["by"] == "ada"
    assert "approve" in shop.run("history", "order", *given).out
    assert shop.run("recover", *given).code == 0


@pytest.mark.parametrize(
    "graph, hint",
    [
        ("shop", "module:name"),
        ("shop:builer", "Did you mean 'builder'?"),
        ("shop:thing", "not a graph"),
        ("shop:unstored", "without a journal"),
        ("shap:builder", "no module 'shap'"),
        ("os;x:builder", "module:name"),
        ("../shop:builder", "module:name"),
    ],
)
def test_a_graph_that_cannot_be_used_is_one_line(shop: Place, graph: str, hint: str) -> None:
    ran = shop.run("show", "order", "--db", "shop.db", "--graph", graph)
    assert (ran.code, ran.error) == (1, "configuration"), ran
    assert hint in ran.err


def test_the_wrong_graph_for_a_thread_is_refused(shop: Place) -> None:
    shop.run("demo", "--test", "true", "--db", "shop.db")
    ran = shop.run("answer", "demo", "yes", "--db", "shop.db", "--graph", "shop:builder")
    assert (ran.code, ran.error) == (1, "configuration")
    ran = shop.run("demo", "--thread", "order", "--db", "shop.db")
    assert (ran.code, ran.error) == (1, "validation")
    ran = shop.run("answer", "order", "yes", "--kill-after-effect", "--db", "shop.db", "--graph", "shop:builder")
    assert (ran.code, ran.error) == (1, "configuration")


def test_a_graph_of_ones_own_is_drawn(shop: Place) -> None:
    drawn = shop.run("draw", "shop:builder")
    assert drawn.code == 0, drawn
    assert "approve --> __end__;" in drawn.out
    assert shop.run("draw", "shop:unstored").out == drawn.out


@pytest.mark.parametrize(
    "verb", [["answer", "demo", "yes"], ["recover"], ["history", "demo"], ["show", "demo"], ["threads"]]
)
def test_without_a_journal_nothing_is_made(place: Place, verb: list[str]) -> None:
    ran = place.run(*verb)
    assert (ran.code, ran.error) == (1, "store")
    assert "lawful demo" in ran.err
    assert list(place.folder.iterdir()) == []


@pytest.mark.parametrize("verb", [["answer", "dmo", "yes"], ["history", "dmo"], ["show", "dmo"]])
def test_an_unknown_thread_is_one_line_with_the_nearest(place: Place, verb: list[str]) -> None:
    place.run("demo", "--test", "true")
    ran = place.run(*verb)
    assert (ran.code, ran.error) == (1, "validation")
    assert "Did you mean 'demo'?" in ran.err


def test_a_newer_journal_and_a_foreign_file_are_one_line(place: Place) -> None:
    SQLiteJournal(place.folder / "newer.db").close()
    db = sqlite3.connect(place.folder / "newer.db")
    db.execute("PRAGMA user_version=999")
    db.close()
    (place.folder / "text.db").write_text("not a database, but long enough to be read as one" * 40)
    db = sqlite3.connect(place.folder / "foreign.db")
    db.execute("CREATE TABLE t(x)")
    db.close()
    for name, code in (("newer.db", "newer_schema"), ("text.db", "corrupt_record"), ("foreign.db", "store")):
        for verb in (["threads"], ["demo"], ["recover"]):
            ran = place.run(*verb, "--db", name)
            assert (ran.code, ran.error) == (1, code), ran
    (place.folder / "file").write_text("")
    assert place.run("demo", "--db", "file/x.db").code == 1


@pytest.mark.parametrize(
    "words, hint",
    [
        ([], "--help"),
        (["anser", "demo", "yes"], "Did you mean 'answer'?"),
        (["answer", "demo", "perhaps"], "yes"),
        (["answer", "demo"], "required"),
        (["history", "demo", "--limit", "0"], "from 1 up"),
        (["demo", "--pack", "x"], "--pack"),
    ],
)
def test_a_wrong_command_line_is_one_line(place: Place, words: list[str], hint: str) -> None:
    ran = place.run(*words)
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert hint in ran.err
    assert list(place.folder.iterdir()) == []


def test_help_and_version(place: Place) -> None:
    told = place.run("--help")
    assert told.code == 0
    assert len(told.out.splitlines()) < 50
    for verb in ("demo", "answer", "recover", "history", "show", "threads", "draw"):
        assert f"    {verb} " in told.out
        assert place.run(verb, "--help").code == 0
    assert place.run("--version").out.startswith("lawful ")


def test_a_reader_that_goes_away_is_no_error(place: Place) -> None:
    place.run("demo", "--test", "true")
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m lawful.cli show demo | true"],
        cwd=place.folder,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""


def test_what_is_written_can_command_no_terminal() -> None:
    assert clean("a\x1b[31m\x07b\u202ec\x9bd\ud800") == "a\\x1b[31m\\x07b\\u202ec\\x9bd\\ud800"
    assert clean("é→\n\t") == "é→\n\t"
    assert line("two\nlines\r\n  here") == "two lines here"
