"""What goes wrong at a terminal first: one line each, nothing made by looking, and any question answered."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from lawful.cli.console import command
from lawful.cli.main import main

pytestmark = pytest.mark.integration

CODE = """
from typing import TypedDict
from lawful import START, StateGraph, interrupt

class Paint(TypedDict, total=False):
    colour: str
    pots: int

def ask(paint: Paint) -> Paint:
    return {"colour": interrupt("Which colour?"), "pots": interrupt("How many?", answer=int)}

def broken(paint: Paint) -> Paint:
    return {"pots": 1 // 0}

graph = StateGraph(Paint, name="paint").add_node(ask).add_edge(START, "ask")
bug = StateGraph(Paint, name="bug").add_node(broken).add_edge(START, "broken")
"""
LOOKING = (
    ("threads",),
    ("show", "t"),
    ("history", "t"),
    ("trace", "t"),
    ("recover",),
    ("ledger", "list"),
    ("ledger", "verify"),
    ("ledger", "freeze", "--list"),
    ("ledger", "export"),
)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with a module of its own, whose name is given."""
    name = f"paint_{abs(hash(tmp_path)):x}"
    (tmp_path / f"{name}.py").write_text(CODE)
    (tmp_path / f"{name}_broken.py").write_text("ready = False\n1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return name


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code, and what was said on both streams."""
    code = main(words)
    out = capsys.readouterr()
    return code, out.out + out.err


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
def test_looking_makes_no_journal_of_an_empty_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """A journal that was cut off must not verify."""
    empty = tmp_path / "empty.db"
    empty.touch()
    code, said = told(capsys, *words, "--db", str(empty))
    assert code == 1
    assert "is empty: a journal that was cut off, or none [store]" in said
    assert empty.stat().st_size == 0
    assert [each.name for each in tmp_path.iterdir()] == ["empty.db"]


def test_a_journal_that_is_not_there_is_told_with_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.db").touch()
    assert "Did you mean 'orders.db'?" in told(capsys, "threads", "--db", "order.db")[1]
    assert "is a folder" in told(capsys, "threads", "--db", ".")[1]
    assert "There is no folder 'none'" in told(capsys, "threads", "--db", "none/x.db")[1]


def test_a_question_takes_any_answer_and_any_verb_any_journal(
    shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, journal = f"{shop}:graph", ("--journal", f"sqlite:///{tmp_path}/jobs.db")
    code, said = told(capsys, "run", graph, "{}", "--thread", "t", *journal)
    assert code == 0
    assert f"answer t --value JSON --graph {graph} --db" in said
    code, said = told(capsys, "answer", "t", "--value", "light red", "--graph", graph, *journal)
    assert code == 0
    assert f"answer t --value INT --graph {graph} --db" in said
    assert " yes " not in said
    code, said = told(capsys, "answer", "t", "--value", "many", "--graph", graph, *journal)
    assert (code, "of type int" in said) == (1, True)
    code, said = told(capsys, "answer", "t", "--value", "3", "--graph", graph, "--db", f"sqlite:///{tmp_path}/jobs.db")
    assert (code, '"colour": "light red"' in said, '"pots": 3' in said) == (0, True, True)
    for verb in ("history", "trace", "show"):
        assert told(capsys, verb, "t", "--graph", graph, *journal)[0] == 0
    assert "paint" in told(capsys, "threads", *journal)[1]
    for both in (("threads",), ("answer", "t", "yes")):
        assert "name the journal once" in told(capsys, *both, *journal, "--db", "x.db")[1]


def test_an_exception_of_ones_own_code_is_one_line(
    shop: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = told(capsys, "run", f"{shop}:bug", "{}")
    assert code == 1
    assert said.count("\n") == 1
    assert f"{shop}.py, line 13). In node 'broken' of 'bug', step 1" in said
    for verb in ("draw", "check", "chat"):
        code, said = told(capsys, verb, f"{shop}_broken:graph")
        assert (code, said.count("\n")) == (1, 1)
        assert f"{shop}_broken.py, line 2)" in said
    monkeypatch.setenv("LAWFUL_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["run", f"{shop}:bug", "{}"])


def test_names_are_guessed_among_what_the_module_made(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"Did you mean '{shop}:graph'?" in told(capsys, "run", f"./{shop}.py:graph", "x")[1]
    assert f"Did you mean '{shop}'?" in told(capsys, "draw", f"{shop}.py:graph")[1]
    assert "Did you mean 'graph'?" in told(capsys, "check", f"{shop}:grap")[1]
    said = told(capsys, "check", f"{shop}:zzzz")[1]
    assert "'bug'" in said
    assert "StateGraph" not in said


def test_what_is_refused_leaves_nothing_behind(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().iterdir())
    assert told(capsys, "run", f"{shop}:graph", "{}", "--thread", "")[0] == 1
    assert told(capsys, "index", f"{shop}.py", "--embedder", "none-such")[0] == 1
    assert sorted(each for each in Path().iterdir() if each.name != "__pycache__") == before


def test_the_demo_is_kept_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = told(capsys, "demo", "--db", "postgresql://nobody@127.0.0.1:1/none")
    assert (code, "the demo keeps its journal" in said) == (1, True)


def test_recovery_says_which_threads_it_did_not_look_at(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    """That no run is cut short is said only where every graph is known."""
    graph = f"{shop}:graph"
    assert told(capsys, "run", graph, "{}", "--thread", "t")[0] == 0
    code, said = told(capsys, "recover")
    assert (code, "Threads of graph 'paint' were not looked at" in said, "cut short." in said) == (0, True, False)
    code, said = told(capsys, "recover", "--graph", graph)
    assert (code, said) == (0, "Nothing to recover: every outcome is known and no run is cut short.\n")


def test_an_encrypted_journal_is_read_with_its_cipher(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cryptography")
    keys = f"{shop}_keys"
    Path(f"{keys}.py").write_text(
        "from lawful.stores import AESGCM\ncipher = AESGCM({'1': bytes(range(32))}, current='1')\nnone = 3\n"
    )
    graph, own = f"{shop}:graph", ("--db", "sealed.db", "--cipher", f"{keys}:cipher")
    code, said = told(capsys, "run", graph, "{}", "--thread", "t", *own)
    assert (code, f"--graph {graph} --cipher {keys}:cipher --db sealed.db" in said) == (0, True)
    assert "open the journal with its cipher" in told(capsys, "show", "t", "--graph", graph, "--db", "sealed.db")[1]
    assert told(capsys, "answer", "t", "--value", "dark red", "--graph", graph, *own)[0] == 0
    assert "dark red" not in Path("sealed.db").read_bytes().decode(errors="replace")
    code, said = told(capsys, "upgrade", "--check", graph, "--journal", "sealed.db", "--cipher", f"{keys}:cipher")
    assert (code, "1 can go on, 0 cannot" in said) == (0, True)
    assert told(capsys, "answer", "t", "--value", "3", "--graph", graph, *own)[0] == 0
    code, said = told(capsys, "show", "t", "--graph", graph, *own)
    assert (code, "dark red" in said) == (0, True)
    assert "is a int, not a cipher" in told(capsys, "threads", "--db", "sealed.db", "--cipher", f"{keys}:none")[1]


@pytest.mark.parametrize(
    "url,shown",
    [
        ("postgresql://app:hunter2@db:5432/shop", "postgresql://app@db:5432/shop"),
        ("postgresql://app:@db/shop", "postgresql://app@db/shop"),
        ("postgres://db/shop?user=app&password=hunter2&sslmode=require", "postgres://db/shop?user=app&sslmode=require"),
        ("postgresql://app@db/shop", "postgresql://app@db/shop"),
        ("notes:hunter2@x.db", "notes:hunter2@x.db"),
    ],
)
def test_a_password_is_in_no_line_that_is_printed(url: str, shown: str) -> None:
    """Terminals and the logs of jobs keep what a command says to copy."""
    assert command("answer", "t", "yes", db=url).endswith(f"--db {shlex.quote(shown)}")
