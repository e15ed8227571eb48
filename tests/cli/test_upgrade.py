"""`lawful upgrade --check`: what new code means to paused threads, told before it is deployed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

import pytest

from lawful.graph import START, StateGraph, interrupt
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.conformance_kit import Ids, checkpoint, put
from support.command import Place

pytestmark = pytest.mark.integration

CODE = """
from typing import TypedDict
from lawful import START, StateGraph, interrupt
from lawful.graph import RenameNode

class Order(TypedDict, total=False):
    by: str

def ask(order: Order) -> Order:
    return {"by": str(interrupt("who?"))}

changed = StateGraph(Order, name="shop").add_node("ask_person", ask).add_edge(START, "ask_person")
moved = StateGraph(Order, name="shop").add_node("ask_person", ask).add_edge(START, "ask_person")
moved.migrate(RenameNode("ask", "ask_person"))
same = StateGraph(Order, name="shop").add_node("ask", ask).add_edge(START, "ask")
"""


class Order(TypedDict, total=False):
    by: str


def ask(order: Order) -> Order:
    return {"by": str(interrupt("who?"))}


@pytest.fixture
def shop(tmp_path: Path) -> Place:
    """A journal with a paused thread, and three versions of its graph."""
    journal = SQLiteJournal(str(tmp_path / "shop.db"))
    builder: Any = StateGraph(Order, name="shop").add_node("ask", ask).add_edge(START, "ask")
    builder.compile(journal).invoke({}, thread="order")
    journal.close()
    (tmp_path / "versions.py").write_text(CODE)
    return Place(tmp_path)


def test_each_paused_thread_is_told_with_the_reason(shop: Place) -> None:
    """0 where all can go on, 1 where one cannot; nothing is written by looking. Rows: S1-S07."""
    before = (shop.folder / "shop.db").read_bytes()
    told = {
        name: shop.run("upgrade", "--check", f"versions:{name}", "--journal", "shop.db")
        for name in ("same", "moved", "changed")
    }
    assert {name: ran.code for name, ran in told.items()} == {"same": 0, "moved": 0, "changed": 1}, told
    assert "fits" in told["same"].out
    assert "migrates" in told["moved"].out
    assert "'ask'" in told["changed"].out
    assert "0 can go on, 1 cannot" in told["changed"].out
    [verdict] = shop.run("upgrade", "--check", "versions:changed", "--journal", "sqlite:///shop.db", "--json").json()
    assert (verdict["thread"], verdict["resumable"], verdict["findings"][0]["name"]) == ("order", False, "ask")
    assert (shop.folder / "shop.db").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--check", "versions:same", "--journal", "none.db"), "no journal"),
        (("--check", "versions:sam", "--journal", "shop.db"), "'same'"),
    ],
)
def test_what_cannot_be_checked_is_one_line(shop: Place, words: tuple[str, ...], hint: str) -> None:
    ran = shop.run("upgrade", *words)
    assert ran.code == 1
    assert hint in ran.err
    assert not (shop.folder / "none.db").exists()


def test_threads_without_a_graphs_name_are_counted(shop: Place) -> None:
    """As an import without a name leaves them: nobody knows whose they are, and nobody should believe they were looked at.

    Rows: S1-S07.
    """
    assert "no graph's name" not in shop.run("upgrade", "--check", "versions:same", "--journal", "shop.db").out
    journal = SQLiteJournal(str(shop.folder / "shop.db"))
    for count, words in ((1, "1 thread bears no graph's name"), (2, "2 threads bear no graph's name")):
        put(journal, f"imported-{count}", checkpoint(Ids()()))
        told = shop.run("upgrade", "--check", "versions:same", "--journal", "shop.db")
        assert words in told.out
        assert told.code == 0
        machine = shop.run("upgrade", "--check", "versions:same", "--journal", "shop.db", "--json")
        assert [verdict["thread"] for verdict in machine.json()] == ["order"]
        assert words in machine.err
    journal.close()
