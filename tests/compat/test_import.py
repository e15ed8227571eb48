"""Threads of real LangGraph, paused in many ways, are gone on with by the ported graph to the same end."""

# LangGraph tells its types in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("langgraph")
pytest.importorskip("langgraph.checkpoint.sqlite")

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from lawful.cli.main import main
from lawful.compat import JournalSaver, export_threads, import_threads
from lawful.compat.envelope import Envelope, register_kept
from lawful.compat.exporting import saver_at
from lawful.compat.tables import tables_at
from lawful.core.codec import default as default_registry
from lawful.core.errors import ConfigurationError, Failure, StoreError, UnknownType, ValidationError
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from support.tree import ROOT

pytestmark = pytest.mark.integration
PROGRAM = (Path(__file__).parent.parent / "data/ported/paused.txt").read_text()
Load = Callable[[str, str], Any]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    def loaded(name: str, text: str) -> Any:
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        spec = spec_from_file_location("desk", path)
        assert spec is not None
        assert spec.loader is not None
        made = module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "desk", made)
        spec.loader.exec_module(made)
        return made

    return loaded


def theirs(load: Load, path: Path, count: int) -> list[Any]:
    """Pause so many threads under LangGraph, keep the file, and go on there; what each came to."""
    program = load("theirs", PROGRAM)
    connection = sqlite3.connect(path, check_same_thread=False)
    connection.execute("PRAGMA synchronous=OFF")
    graph = program.build(SqliteSaver(connection))
    for n in range(count):
        program.begin(graph, n)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.commit()
    shutil.copy(path, path.with_suffix(".copy"))
    ends = [program.finish(graph, n) for n in range(count)]
    connection.close()
    return ends


def ported(load: Load) -> Any:
    """By its imports; lenient, since it has a join whose rule it does not state."""
    lines = [line.replace("langgraph", "lawful") if " import " in line else line for line in PROGRAM.splitlines()]
    return load("ported", "\n".join(lines).replace("StateGraph(State)", "StateGraph(State, strict=False)"))


def resumed(load: Load, path: Path, journal: Journal, count: int) -> list[Any]:
    program = ported(load)
    graph = program.build(journal)
    tables = tables_at("sqlite", str(path.with_suffix(".copy")))
    told = list(import_threads(tables, journal, program=graph.program))
    tables.close()
    assert [t.error for t in told] == [None] * count
    return [program.finish(graph, n) for n in range(count)]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_paused_threads_come_to_the_same_end(load: Load, tmp_path: Path, kind: str) -> None:
    journal = MemoryJournal() if kind == "memory" else SQLiteJournal(tmp_path / "j.db")
    ends = theirs(load, tmp_path / "lg.sqlite", 30)
    assert resumed(load, tmp_path / "lg.sqlite", journal, 30) == ends
    journal.close()


def moved(load: Load, text: str, path: Path, journal: Journal, count: int, change: tuple[str, str] = ("", "")) -> None:
    """Begun under LangGraph, taken over, and gone on with here: to the same end as there."""
    program = load("theirs", text)
    connection = sqlite3.connect(path, check_same_thread=False)
    connection.execute("PRAGMA synchronous=OFF")
    graph = program.build(SqliteSaver(connection))
    for n in range(count):
        program.begin(graph, n)
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(path, path.with_suffix(".copy"))
    ends = [program.finish(graph, n) for n in range(count)]
    connection.close()
    lines = [line.replace("langgraph", "lawful") if " import " in line else line for line in text.splitlines()]
    here = load("ported", "\n".join(lines).replace(*change))
    ours = here.build(journal)
    tables = tables_at("sqlite", str(path.with_suffix(".copy")))
    told = list(import_threads(tables, journal, program=ours.program))
    tables.close()
    assert [t.error for t in told] == [None] * count
    for n in range(count):
        assert here.finish(ours, n) == ends[n], f"thread {n}"


def test_graphs_with_a_memory_and_a_second_call_go_on(load: Load, tmp_path: Path) -> None:
    """What a subgraph with ``checkpointer=True`` remembers, and its question, come along; so does that of a second call."""
    text = (ROOT / "tests/data/ported/remembering.txt").read_text(encoding="utf-8")
    moved(load, text, tmp_path / "lg.sqlite", MemoryJournal(), 16)


def test_entrypoints_go_on_without_calling_again_what_has_ended(load: Load, tmp_path: Path) -> None:
    """Finished calls of tasks are found again, questions inside of calls too, and what was saved for the next run."""
    pytest.importorskip("xxhash")
    text = (ROOT / "tests/data/ported/flowing.txt").read_text(encoding="utf-8")
    moved(load, text, tmp_path / "lg.sqlite", MemoryJournal(), 15)


def test_channels_that_are_stored_as_what_was_written_are_added_up(load: Load, tmp_path: Path) -> None:
    """By the ported graph's own reducers, over histories that were stored whole or at their ends alone."""
    text = (ROOT / "tests/data/ported/adding.txt").read_text(encoding="utf-8")
    moved(load, text, tmp_path / "lg.sqlite", MemoryJournal(), 18)


@pytest.mark.parametrize(
    ("name", "said"),
    [("flowing", r"an entrypoint|a @task"), ("adding", r"'items' as deltas, of a DeltaChannel")],
)
def test_without_the_graph_such_threads_are_left_out_and_say_so(
    load: Load, tmp_path: Path, name: str, said: str
) -> None:
    program = load("theirs", (ROOT / f"tests/data/ported/{name}.txt").read_text(encoding="utf-8"))
    connection = sqlite3.connect(tmp_path / "lg.sqlite", check_same_thread=False)
    graph = program.build(SqliteSaver(connection))
    for n in range(3):
        program.begin(graph, n)
    connection.commit()
    connection.close()
    journal, tables = MemoryJournal(), tables_at("sqlite", str(tmp_path / "lg.sqlite"))
    told = list(import_threads(tables, journal))
    tables.close()
    assert [t.thread for t in told if t.error is None] == []
    for each in told:
        assert isinstance(each.error, Failure)
        if not isinstance(each.error, UnknownType):
            with pytest.raises(ValidationError, match=f"(?s){each.thread}.*({said})|({said})"):
                raise each.error
    assert journal.threads() == []


@pytest.mark.parametrize(("name", "count"), [("remembering", 16), ("flowing", 15), ("adding", 12)])
def test_such_threads_of_ours_are_gone_on_with_by_langgraph(load: Load, tmp_path: Path, name: str, count: int) -> None:
    """Begun here, written back, and finished there: to the same end as if all had happened there."""
    pytest.importorskip("xxhash")
    text = (ROOT / f"tests/data/ported/{name}.txt").read_text(encoding="utf-8")
    original, journal = load("theirs", text), MemoryJournal()
    there = original.build(original.InMemorySaver())
    for n in range(count):
        original.begin(there, n)
    ends = [original.finish(there, n) for n in range(count)]
    lines = [line.replace("langgraph", "lawful") if " import " in line else line for line in text.splitlines()]
    here = load("ported", "\n".join(lines))
    ours = here.build(journal)
    for n in range(count):
        here.begin(ours, n)
    connection = sqlite3.connect(tmp_path / "back.sqlite", check_same_thread=False)
    saver = SqliteSaver(connection)
    told = list(export_threads(journal, saver, program=ours.program))
    assert [t.error for t in told] == [None] * count
    again = original.build(saver)
    for n in range(count):
        end = original.finish(again, n)
        # A thread is written as it stands: the second part of `adding` is its past.
        assert [part for k, part in enumerate(end) if (name, k) != ("adding", 1)] == [
            part for k, part in enumerate(ends[n]) if (name, k) != ("adding", 1)
        ], f"thread {n}"
    connection.close()


@pytest.mark.full
def test_a_thousand_paused_threads_come_to_the_same_end(load: Load, tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "j.db")
    ends = theirs(load, tmp_path / "lg.sqlite", 1_000)
    assert resumed(load, tmp_path / "lg.sqlite", journal, 1_000) == ends
    journal.close()


def test_threads_of_ours_are_gone_on_with_by_langgraph(load: Load, tmp_path: Path) -> None:
    """Paused here, resumed there: the same end as if all had happened there."""
    ends = theirs(load, tmp_path / "lg.sqlite", 30)
    program, journal = ported(load), MemoryJournal()
    graph = program.build(journal)
    for n in range(30):
        program.begin(graph, n)
    connection = sqlite3.connect(tmp_path / "back.sqlite", check_same_thread=False)
    saver = SqliteSaver(connection)
    told = list(export_threads(journal, saver, program=graph.program))
    assert [t.error for t in told] == [None] * 30
    original = load("theirs", PROGRAM)
    there = original.build(saver)
    assert [original.finish(there, n) for n in range(30)] == ends
    connection.close()


def test_threads_go_there_and_back(load: Load, tmp_path: Path) -> None:
    ends = theirs(load, tmp_path / "lg.sqlite", 12)
    program, journal = ported(load), MemoryJournal()
    graph = program.build(journal)
    tables = tables_at("sqlite", str(tmp_path / "lg.copy"))
    list(import_threads(tables, journal, program=graph.program))
    tables.close()
    connection = sqlite3.connect(tmp_path / "back.sqlite", check_same_thread=False)
    saver = SqliteSaver(connection)
    list(export_threads(journal, saver, program=graph.program))
    original = load("theirs", PROGRAM)
    assert [original.finish(original.build(saver), n) for n in range(12)] == ends
    again = list(export_threads(journal, saver, program=graph.program, threads=["t1", "nobody"]))
    assert [str(t.error) for t in again] == ["thread 't1' is there already", "there is no thread 'nobody'"]
    connection.close()


def test_a_class_that_no_graph_names_leaves_its_thread_out(
    load: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of that thread is written, its bytes are kept, and the error names thread, key and class."""
    theirs(load, tmp_path / "lg.sqlite", 2)
    journal, tables = MemoryJournal(), tables_at("sqlite", str(tmp_path / "lg.copy"))
    told = list(import_threads(tables, journal))
    tables.close()
    assert [t.thread for t in told] == ["t0", "t1"]
    error = told[0].error
    assert isinstance(error, UnknownType)
    assert "thread 't0'" in str(error)
    assert "desk:" in str(error)
    assert "key 'money'" in str(error)
    assert b"desk" in error.raw
    assert journal.threads() == []
    where = ["--from", "sqlite", str(tmp_path / "lg.copy"), "--journal", str(tmp_path / "j.db")]
    assert main(["import", *where]) == 1
    assert "0 of 2 threads" in capsys.readouterr().out


PLAIN = """
import sys
from typing import Annotated, Any, TypedDict
class Talk(TypedDict):
    messages: Annotated[list[Any], add_messages]
def ask(state):
    return {"messages": [("user", str(interrupt("name?")))]}
graph = StateGraph(Talk).add_node("ask", ask).add_edge(START, "ask")
"""


def test_threads_are_taken_over_and_written_back_by_the_command(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    imports = "from langgraph.graph import START, StateGraph, add_messages\nfrom langgraph.types import interrupt\n"
    program = load("theirs", imports + PLAIN)
    connection = sqlite3.connect(tmp_path / "lg.sqlite", check_same_thread=False)
    config: Any = {"configurable": {"thread_id": "t"}}
    program.graph.compile(checkpointer=SqliteSaver(connection)).invoke(
        {"messages": [HumanMessage("hi", id="h")]}, config
    )
    connection.close()
    journal, back = str(tmp_path / "j.db"), str(tmp_path / "back.sqlite")
    script = (
        "import sys\n"
        "sys.modules['langgraph'] = sys.modules['langchain_core'] = None\n"
        "from lawful.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    source = ["--from", "sqlite", str(tmp_path / "lg.sqlite"), "--journal", journal]
    done = subprocess.run([sys.executable, "-c", script, "import", *source, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [told] = json.loads(done.stdout)
    assert (told["waits"], told["questions"][0]["value"], told["error"]) == (["ask"], "name?", None)
    (tmp_path / "talk.py").write_text(imports.replace("langgraph", "lawful") + PLAIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    target = ["--to", "sqlite", back, "--journal", journal, "--graph", "talk:graph"]
    assert main(["export", *target]) == 0
    assert "1 of 1 threads" in capsys.readouterr().out
    connection = sqlite3.connect(back, check_same_thread=False)
    graph = load("theirs", imports + PLAIN).graph.compile(checkpointer=SqliteSaver(connection))
    end = graph.invoke(Command(resume="Ann"), config)
    assert [m.content for m in end["messages"]] == ["hi", "Ann"]
    connection.close()
    assert main(["import", *source]) == 1
    assert "is in the journal already" in capsys.readouterr().out


def test_what_a_saver_of_ours_stored_is_written_back_whole(load: Load, tmp_path: Path) -> None:
    program, journal = load("theirs", PROGRAM), MemoryJournal()
    types = [program.Money, program.Claim, program.Kind]
    graph = program.build(JournalSaver(journal, types=types))
    for n in range(6):
        program.begin(graph, n)
    connection = sqlite3.connect(tmp_path / "back.sqlite", check_same_thread=False)
    saver = SqliteSaver(connection)
    registry = JournalSaver(journal, types=types).registry
    told = list(export_threads(journal, saver, registry=registry))
    assert [t.error for t in told] == [None] * 6
    there = program.build(saver)
    for n in range(6):
        config: Any = {"configurable": {"thread_id": f"t{n}"}}
        mine, back = list(graph.get_state_history(config)), list(there.get_state_history(config))
        assert [s.values for s in mine] == [s.values for s in back]
    assert [program.finish(there, n) for n in range(6)] == [program.finish(graph, n) for n in range(6)]
    connection.close()


def test_a_saver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph.checkpoint.postgres", None)
    with (
        pytest.raises(ConfigurationError, match="pip install langgraph langgraph-checkpoint-postgres"),
        saver_at("postgres", "postgresql://nowhere"),
    ):
        pass
    with pytest.raises(ConfigurationError, match="not 'mysql'"), saver_at("mysql", ""):
        pass


def test_a_file_without_such_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file"):
        tables_at("sqlite", str(tmp_path / "none"))
    sqlite3.connect(tmp_path / "other").close()
    with pytest.raises(StoreError, match="no tables"):
        tables_at("sqlite", str(tmp_path / "other"))


@pytest.mark.parametrize(
    ("kind", "blob", "said"),
    [
        ("pickle", b"x", "pickle"),
        ("msgpack", b"\xc1", "malformed|MessagePack|truncated"),
        ("msgpack", b"\xc7\x00\x00", "truncated"),
        ("json", b"{", "Expecting"),
    ],
)
def test_stored_bytes_are_data_whatever_they_say(kind: str, blob: bytes, said: str) -> None:
    with pytest.raises(UnknownType, match=said) as caught:
        Envelope(default_registry).read(kind, blob, "here")
    assert caught.value.raw == blob


def test_a_constructor_that_is_not_in_the_table_is_not_called() -> None:
    inner = msgspec.msgpack.encode(["os", "system", "exit 1"])
    blob = msgspec.msgpack.encode(msgspec.msgpack.Ext(0, inner))
    with pytest.raises(UnknownType, match="os:system"):
        Envelope(default_registry).read("msgpack", blob, "here")


def test_the_older_json_form_is_read() -> None:
    told = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": {"content": "x"},
    }
    made = Envelope(default_registry).read("json", json.dumps([told, 1]).encode(), "here")
    registry = register_kept(default_registry.child())
    assert default_registry.decode(registry.encode(made)) == [HumanMessage("x"), 1]
