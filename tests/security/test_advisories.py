"""The published advisories about checkpointers and stores of other libraries that have a like here, each by its id."""

from __future__ import annotations

import ast
import os
import pickle
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lawful import START, StateGraph
from lawful.core import codec
from lawful.core.codec_types import READERS
from lawful.core.errors import CorruptRecord, Failure, InvalidFilter, StoreError, UnknownType, ValidationError
from lawful.journal.port import Journal
from lawful.stores.store_port import Store
from lawful.testing.conformance_kit import answer, chunks, digest, events, grow, operation, send, writes
from lawful.testing.conformance_store_index import INDEX
from lawful.testing.conformance_store_items import HOSTILE, NAMESPACES
from support.graphs import on
from support.places import Place
from support.tree import ROOT

pytestmark = [pytest.mark.integration]


class State(TypedDict, total=False):
    kept: Any


ENVELOPES: list[Any] = [
    {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}},
    {"lc": 2, "type": "constructor", "id": ["builtins", "eval"], "args": ["1"], "method": None},
    {"lc": 1, "type": "secret", "id": ["PATH"]},
    {"lc": 1, "type": "not_implemented", "id": ["x"], "repr": "y"},
    {"__type__": "os.system", "__args__": ["true"]},
    {"py/object": "os.system"},
    {"__class__": "subprocess.Popen", "__module__": "subprocess"},
    {"$type": "System.Diagnostics.Process", "pickle": "gASVBw=="},
    ["json+pickle", "gAR9cQAu"],
    "lawful:Message",
]
"""Data that other libraries' decoders take for objects to be built."""
SURROGATES = ["\ud800", "a\udfffb", "\udc80" * 3, {"\ud834": "\udd1e"}]


_TELLING = {
    "import",
    "exec",
    "compile",
    "os.system",
    "subprocess.Popen",
    "os.exec",
    "pickle.find_class",
    "marshal.loads",
}
_LISTENERS: list[list[str]] = []
_HOOKED: list[bool] = []


def _hear(event: str, args: tuple[Any, ...]) -> None:
    if _LISTENERS and event in _TELLING and not (event == "import" and args[0] in sys.modules):
        _LISTENERS[-1].append(f"{event}: {args[:1]!r}")


@contextmanager
def _watched() -> Generator[list[str]]:
    """Whatever an audit hook hears of importing and running code meanwhile, and which environment variables are read."""
    if not _HOOKED:
        sys.addaudithook(_hear)  # for good: there is no way to take one away
        _HOOKED.append(True)
    heard: list[str] = []
    environ = os.environ.get

    def told(key: str, default: Any = None) -> Any:
        heard.append(f"environ: {key}")
        return environ(key, default)

    os.environ.get = told  # type: ignore[method-assign]
    _LISTENERS.append(heard)
    try:
        yield heard
    finally:
        del os.environ.get
        _LISTENERS.pop()


def _there_and_back(place: Place, value: Any) -> tuple[Any, list[str]]:
    """A value put into a state by one process and read by another, and what was heard while it was read."""

    def keep(state: State) -> State:
        return {"kept": value}

    def graph(journal: Journal) -> Any:
        return StateGraph(State).add_node("keep", keep).add_edge(START, "keep").compile(checkpointer=journal)

    graph(place.journal()).invoke({"kept": None}, on("t"))
    again = graph(place.journal())
    again.get_state(on("other"))  # what is loaded once is loaded now
    again.get_state(on("t"))
    with _watched() as heard:
        found = again.get_state(on("t")).values["kept"]
    return found, heard


@pytest.mark.parametrize("value", [*ENVELOPES, *SURROGATES], ids=ascii)
def test_envelopes_and_lone_surrogates_are_data(place: Place, value: Any) -> None:
    """CVE-2025-64439, GHSA-wwqv-p2pp-99h5; CVE-2025-68664, GHSA-c67j-w6g6-q2cm; CVE-2025-68665; lgjs#2346, lgjs#2337.

    They come back equal, and nothing is imported, run or read from the environment for them. Rows: S1-081, S1-K08.
    """
    for wrapped in (value, [value], {"deep": [{"x": value}]}):
        found, heard = _there_and_back(place, wrapped)
        assert found == wrapped
        assert type(found) is type(wrapped)
        assert heard == []
        place.journal().delete_thread("t")


def test_the_watch_hears(tmp_path: Path) -> None:
    """The other way round: what the tests here must not hear can be heard."""
    with _watched() as heard:
        exec("pass")
        os.environ.get("PATH")
    assert any(one.startswith("exec") for one in heard)
    assert "environ: PATH" in heard


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("raise SystemExit('it was run')",))


BOMB = pickle.dumps(Bomb())
"""Bytes that run code when they are unpickled."""


def _fill(place: Place) -> None:
    journal = place.journal()
    rows = grow(journal, "t", 3, every=1)
    send(journal, "t", chunks(1), writes(rows[-1].id, "a", refs=(digest(1),)), answer(rows[-1].id, "q"))
    journal.transact(lambda tx: (tx.append(operation("op"), events("op")), tx.set_mark("m", b"v")))
    place.store(index=INDEX).put(("a",), "k", {"n": 1, "text": "a"})
    place.cache().set({(("acme", "graph", "node"), "k"): (b"v", None)})


READS: list[Callable[[Place], Any]] = [
    lambda place: place.journal().chain("t"),
    lambda place: place.journal().history("t"),
    lambda place: place.journal().threads(),
    lambda place: place.journal().read(lambda tx: (tx.operation("op"), list(tx.events("op")), tx.mark("m"))),
    lambda place: place.store().search(()),
    lambda place: place.store(index=INDEX).search((), query="a"),
    lambda place: place.cache().get([(("acme", "graph", "node"), "k")]),
]


def test_pickled_bytes_in_every_column_are_never_run(place: Place) -> None:
    """CVE-2026-27794, GHSA-mhr3-j7m5-c7c9; GHSA-q9r5-6hrr-9ph7. Rows: S1-081."""
    if place.kind == "memory":
        pytest.skip("has no tables")
    _fill(place)
    changed = 0
    if place.server is None:
        place.run("DROP TRIGGER event_stays")
    else:
        place.run("ALTER TABLE @event DISABLE TRIGGER ALL")
    tables = {**place.tables(), "item": ["value"], "vector": ["body"]}
    tables |= {"entry": ["value"]} if place.server is None else {}
    for table, columns in tables.items():
        of = {"item": "store", "vector": "store", "entry": "cache"}.get(table, "journal")
        for column in columns:
            if column not in _KEYS:
                place.run(f"UPDATE @{table} SET {column}=?", [BOMB], of=of)
                changed += 1
    with _watched() as heard:
        for read in READS:
            with pytest.raises(CorruptRecord):
                read(place)
    assert [one for one in heard if not one.startswith("environ")] == []
    assert changed >= 14


_KEYS = {"id", "parent", "checkpoint", "task", "question", "digest", "key", "place", "head_of"}
"""What rows are found by: unique, so that not all can be made the same."""


def test_a_pickle_in_a_state_is_bytes(place: Place) -> None:
    """CVE-2026-27794. Rows: S1-K08."""
    found, heard = _there_and_back(place, {"raw": BOMB})
    assert found == {"raw": BOMB}
    assert heard == []


@pytest.mark.parametrize("code", range(-128, 128))
def test_every_extension_code_of_msgpack_is_ours_or_refused(code: int) -> None:
    """CVE-2026-28277, GHSA-g48c-2wqr-h844: no extension builds an object that was not registered. Rows: S1-K08."""
    import msgspec

    bodies = [b"", b"\x00", BOMB, msgspec.msgpack.encode(["os", "system", ["true"]]), b'["os","system"]', b"\xc1" * 16]
    bodies += [msgspec.msgpack.encode(["os:system", 1, {"command": "true"}]), msgspec.msgpack.encode(["x"] * 3)]
    kept: list[bool] = []
    with _watched() as heard:
        for body in bodies:
            blob = msgspec.msgpack.encode(msgspec.msgpack.Ext(code, body))
            try:
                found = codec.decode(blob)
            except (CorruptRecord, UnknownType) as error:
                kept.append(error.raw == blob)
            else:
                assert code in READERS or code in range(1, 18)
                assert type(found).__module__ in ("builtins", "datetime", "decimal", "uuid"), found
    assert all(kept)
    assert [one for one in heard if "zoneinfo" not in one and not one.startswith("environ")] == []


INJECTIONS = [*HOSTILE, "n' OR '1'='1", 'x") UNION SELECT value FROM item --', "n]", "$where", "__proto__", "n\u0000"]


@pytest.mark.parametrize("text", INJECTIONS, ids=ascii)
def test_filters_of_a_store_are_refused_or_literal(place: Place, text: str) -> None:
    """CVE-2025-8709, GHSA-4h97-wpxp-3757; CVE-2025-64104; CVE-2025-1793, GHSA-v3c8-3pr6-gr7p. Rows: S1-K12."""
    store = place.store()
    store.put(("a",), "k", {"n": 1, "s": "x"})
    store.put(("b",), "k", {"n": 2, "s": text if "\x00" not in text else ""})
    for filter in ({text: 1}, {"n": {text: 1}}, {text: {"$eq": 1}}, {"n": {"$eq": {text: 1}}}):
        try:
            found = store.search((), filter=filter)
        except (InvalidFilter, ValidationError):
            continue
        assert [item for item in found if item.value.get(text) == 1] == found
    wanted = [("b",)] if "\x00" not in text else []
    assert [item.namespace for item in store.search((), filter={"s": text})] == wanted
    assert len(store.search((), limit=100)) == 2


@pytest.mark.parametrize("text", INJECTIONS, ids=ascii)
def test_filters_of_a_history_are_refused_or_literal(place: Place, text: str) -> None:
    """CVE-2025-67644: a hostile metadata key. Rows: S1-K05."""
    journal = place.journal()
    rows = grow(journal, "t", 3)
    with suppress(ValidationError):
        assert list(journal.history("t", filter={text: 0})) == []
    if "\x00" not in text:
        assert list(journal.history("t", filter={"n": text})) == []
    assert list(journal.history("t", filter={"n": 1})) == [rows[1]]
    assert list(journal.history("t")) == rows[::-1]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NAMESPACES, max_size=6, unique=True), st.lists(NAMESPACES, min_size=1, max_size=3))
def test_a_prefix_finds_exactly_what_begins_with_its_labels(store: Store, kept: list[Any], asked: list[Any]) -> None:
    """CVE-2026-71433, GHSA-47pj-3jcm-6whg: labels with . _ % \\ * : and common beginnings. Rows: S1-K12."""
    mine = store.scoped(f"s{os.urandom(6).hex()}")
    for namespace in kept:
        mine.put(namespace, "k", {})
    for prefix in [*asked, *(namespace[:1] for namespace in kept)]:
        wanted = {namespace for namespace in kept if namespace[: len(prefix)] == prefix}
        assert {item.namespace for item in mine.search(prefix, limit=100)} == wanted
        assert set(mine.list_namespaces(prefix=prefix)) == wanted


NO_IDS: list[Any] = [
    {"$ne": ""},
    {"$gt": ""},
    ["t"],
    None,
    True,
    1.5,
    b"t",
    ("t",),
    "",
    "a\x00b",
    "a\nb",
    "\ud800",
    "x" * 300,
]


@pytest.mark.parametrize("id", NO_IDS, ids=ascii)
def test_ids_are_text_of_a_stated_form(place: Place, id: Any) -> None:
    """GHSA-98xf-r82g-9mhx, lgjs#2351: an operator object as thread id; refused before the back end. Rows: S1-082."""
    journal = place.journal()
    grow(journal, "t", 2)

    def keep(state: State) -> State:
        return state

    graph: Any = StateGraph(State).add_node("keep", keep).add_edge(START, "keep").compile(checkpointer=journal)
    for call in (
        lambda: graph.invoke({"kept": 1}, {"configurable": {"thread_id": id}}),
        lambda: graph.get_state({"configurable": {"thread_id": id}}),
    ):
        with pytest.raises(Failure) as caught:
            call()
        assert not isinstance(caught.value, StoreError)
    assert [info.thread for info in journal.threads()] == ["t"]


@pytest.mark.parametrize("pattern", ["*", "t*", "t?", "[a-z]*", "%", "_", "t_", "\\", "{t}", "@id:{*}", "t-1 | t-2"])
def test_ids_are_no_patterns(place: Place, pattern: str) -> None:
    """CVE-2026-27022, lgjs PR#2350, lgjs#1943: globs and query languages in ids and filters. Rows: S1-082."""
    journal = place.journal()
    for thread in ("t", "t1", "ta", "t-1"):
        grow(journal, thread, 1)
    assert journal.chain(pattern) is None
    assert list(journal.history(pattern)) == []
    assert list(journal.history("t", filter={"n": pattern})) == []
    journal.delete_thread(pattern)
    assert journal.prune(pattern) == 0
    assert [info.thread for info in journal.threads()] == ["t", "t-1", "t1", "ta"]
    grow(journal, pattern, 2)
    assert len(journal.history(pattern)) == 2
    assert len(journal.history("t")) == 1


RUNS = {"eval", "exec", "compile", "__import__", "execfile"}
NEVER = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "marshal",
    "shelve",
    "joblib",
    "jsonpickle",
    "runpy",
    "imp",
}


def test_nothing_in_the_wheel_runs_text_or_unpickles() -> None:
    """CVE-2026-26030, CVE-2026-27794. Rows: S1-081."""
    found: list[str] = []
    for path in sorted((ROOT / "src" / "lawful").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RUNS:
                found.append(f"{path.name}: {node.func.id}()")
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [f"{path.name}: import {name}" for name in names if name.partition(".")[0] in NEVER]
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NEVER:
                found.append(f"{path.name}: {node.value!r}")
    assert found == []
