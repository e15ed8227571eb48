"""An unchanged LangGraph program with langchain's messages and model, ported by its imports alone."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph")
pytest.importorskip("langgraph.checkpoint.sqlite")

from support.pg import shared, skipped

pytestmark = pytest.mark.integration
TEXTS = Path(__file__).parent.parent / "data/ported"


Load = Callable[[str, str], Any]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Make a module of a text, as if it lay in a file of that name."""

    def loaded(name: str, text: str) -> Any:
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        spec = spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        made = module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, made)
        spec.loader.exec_module(made)
        return made

    return loaded


@pytest.fixture(params=["assistant", "tooling"])
def text(request: pytest.FixtureRequest) -> str:
    """A program as it was written for LangGraph: with nodes of its own for tools, and with prebuilt ones."""
    return (TEXTS / f"{request.param}.txt").read_text(encoding="utf-8")


@pytest.fixture
def theirs(load: Load, text: str) -> list[Any]:
    program = load("theirs", text)
    return program.play(program.InMemorySaver())


@pytest.fixture
def ported(load: Load, text: str) -> Any:
    """Only what stands on lines of imports is changed."""
    lines = [line.replace("langgraph", "lawful") if " import " in line else line for line in text.splitlines()]
    return load("ported", "\n".join(lines))


def test_a_program_ported_by_its_imports_shows_the_same_in_memory(theirs: list[Any], ported: Any) -> None:
    assert ported.play(ported.InMemorySaver()) == theirs


def test_a_program_ported_by_its_imports_shows_the_same_on_sqlite(
    theirs: list[Any], ported: Any, tmp_path: Path
) -> None:
    connection = sqlite3.connect(tmp_path / "c.sqlite", check_same_thread=False)
    saver = ported.SqliteSaver(connection)
    try:
        assert ported.play(saver) == theirs
    finally:
        saver.close()
        connection.close()


@pytest.mark.postgres
@skipped
def test_a_program_ported_by_its_imports_shows_the_same_on_postgresql(
    theirs: list[Any], ported: Any, request: pytest.FixtureRequest
) -> None:
    """Over the saver's own names: `from_conn_string` and `setup`. Rows: S0-123."""
    from lawful.checkpoint.postgres import PostgresSaver

    database = f"ported_{request.node.callspec.params['text']}"
    shared().run(f"CREATE DATABASE {database}")
    with PostgresSaver.from_conn_string(shared().url(database=database)) as saver:
        saver.setup()
        assert ported.play(saver) == theirs
