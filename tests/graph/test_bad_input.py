"""Bad input of every kind: a typed error that names the place, nothing half-written, the thread still usable.

What belongs to one subject has its tests there: thread ids and filter keys in test_checkpoints, answers in test_questions,
swallowed pauses in test_latch, names and edges in test_build, parallel processes in the case A19.
"""

from __future__ import annotations

import contextlib
import random
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lawful.core.errors import (
    ConfigurationError,
    CorruptRecord,
    Failure,
    GraphBuildError,
    InvalidUpdateError,
    NewerSchema,
    StoreError,
    StoreFull,
    StoreLocked,
    UnknownType,
)
from lawful.graph import START, Command, Send, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.journal.records import Batch, Checkpoint, PutCheckpoint
from lawful.stores.sqlite import SQLiteJournal
from support.connections import connection_of
from support.faulty import FailingJournal, puts_step
from support.graphs import Drive, on
from support.pausing import Calls, Log, asked, chain, checkpoint_id, fan, steps

pytestmark = pytest.mark.unit


class Loose(Log, total=False):
    """A log and a key that may hold anything that can be stored."""

    thing: Any


def usable(drive: Drive, graph: Any, thread: str = "t") -> None:
    """The thread takes new input and comes to its end."""
    result = drive.invoke(graph, {"log": ["new"], "n": 1}, on(thread), busy="reject")
    assert result["log"][-1] == "good"


def mended(drive: Drive, journal: Journal) -> Any:
    """A graph over the same state whose only node, "node", does well."""

    def node(state: Log) -> Log:
        return {"log": ["good"]}

    return chain(drive, node, reads=Loose, checkpointer=journal)


WRONG: dict[str, tuple[Any, list[str]]] = {
    "undeclared key": ({"lgo": ["x"]}, ["node", "lgo", "log"]),
    "one good and one undeclared": ({"log": ["x"], "m": 1}, ["node", "'m'"]),
    "wrong type": ({"n": "seven"}, ["node", "'n'"]),
    "bool for int": ({"n": True}, ["node", "'n'"]),
    "wrong item type": ({"log": ["x", 7]}, ["node", "'log'"]),
    "text for a list": ({"log": "x"}, ["node", "'log'"]),
    "none": ({"word": None}, ["node", "'word'"]),
    "a text": ("x", ["node"]),
    "a number": (7, ["node"]),
    "a set": ({"x"}, ["node"]),
    "wrong in a command": (Command(update={"n": "seven"}), ["node", "'n'"]),
    "wrong in a list": ([{"log": ["x"]}, {"n": "seven"}], ["node", "'n'"]),
    "unknown goto": (Command(goto="nide"), ["node", "nide", "Did you mean 'node'"]),
    "unknown goto after a good update": (Command(update={"log": ["x"]}, goto="nide"), ["nide"]),
    "unknown send": (Send("nide", {}), ["nide", "'node'"]),
    "key that is no text": ({7: "x"}, ["node", "7"]),
}


@pytest.mark.parametrize("given,named", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_return_is_refused(drive: Drive, journal: Journal, given: Any, named: list[str]) -> None:
    """Node, key or target and the nearest valid name are told; nothing of the step is stored.

    Rules: 30, 31, 45, 222. Rows: S1-040, S1-049
    """

    def node(state: Loose) -> Any:
        return given

    graph = chain(drive, node, reads=Loose, checkpointer=journal)
    with pytest.raises(InvalidUpdateError) as caught:
        drive.invoke(graph, {"log": ["in"]}, on("t"))
    for name in named:
        assert name in str(caught.value)
    head = drive.get_state(graph, on("t"))
    assert (head.values, head.next) == ({"log": ["in"]}, ("node",))
    assert steps(drive, graph, on("t")) == [("loop", 0), ("input", -1)]
    usable(drive, mended(drive, journal))


@pytest.mark.parametrize(
    "route", ["nide", "", 7, None, ["node", "nide"], object()], ids=lambda r: type(r).__name__ + str(r)[:4]
)
def test_a_wrong_route_is_refused(drive: Drive, journal: Journal, route: Any) -> None:
    """Node and target are told, and the valid ones; the node's own writes are not stored either.

    Rules: 43, 44
    """

    def node(state: Log) -> Log:
        return {"log": ["node"]}

    def way(state: Log) -> Any:
        return route

    builder: Any = StateGraph(Log)
    builder.add_node("node", drive.node(node)).add_edge(START, "node").add_conditional_edges("node", way)
    graph = builder.compile(checkpointer=journal)
    with pytest.raises(InvalidUpdateError, match="node"):
        drive.invoke(graph, {"log": ["in"]}, on("t"))
    assert drive.get_state(graph, on("t")).values == {"log": ["in"]}
    usable(drive, mended(drive, journal))


@pytest.mark.parametrize(
    "given", [{"n": "seven"}, {"log": [7]}, {"log": "x"}, {"log": ["x"], "word": None}, "text", 7], ids=str
)
def test_wrong_input_is_refused_before_anything_is_stored(drive: Drive, journal: Journal, given: Any) -> None:
    """On a new thread there is no thread afterwards, on an old one its head has not moved.

    Rows: S1-080, S1-040
    """
    calls = Calls()

    def node(state: Log) -> Log:
        calls("node")
        return {"log": ["good"]}

    graph = chain(drive, node, reads=Loose, checkpointer=journal)
    with pytest.raises(Failure):
        drive.invoke(graph, given, on("t"))
    assert list(journal.threads()) == []
    drive.invoke(graph, {"log": []}, on("t"))
    head = checkpoint_id(drive.get_state(graph, on("t")))
    with pytest.raises(Failure):
        drive.invoke(graph, given, on("t"))
    assert checkpoint_id(drive.get_state(graph, on("t"))) == head
    assert calls.of("node") == 1
    usable(drive, graph)


def test_wrong_input_to_a_paused_thread_leaves_it_paused(drive: Drive, journal: Journal) -> None:
    """The question is still open afterwards.

    Rules: 96. Rows: S1-080
    """

    def node(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    graph = chain(drive, node, checkpointer=journal)
    question = asked(drive.invoke(graph, {"log": []}, on("t")))[0]
    wrong: list[Any] = [{"n": "seven"}, Command(update={"n": "seven"}), Command(resume="ada", update={"n": "seven"})]
    for given in wrong:
        with pytest.raises(Failure):
            drive.invoke(graph, given, on("t"))
    assert [one.id for one in drive.get_state(graph, on("t")).interrupts] == [question.id]
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["ada"]}


def test_a_join_that_can_be_skipped_is_refused_at_build() -> None:
    """Both sources are named, and what to write instead.

    Rules: 28
    """

    def node(state: Log) -> None:
        return None

    def either(state: Log) -> str:
        return "left"

    builder: Any = StateGraph(Log)
    for name in ("left", "right", "both"):
        builder.add_node(name, node)
    builder.add_conditional_edges(START, either, ["left", "right"]).add_edge(["left", "right"], "both")
    with pytest.raises(GraphBuildError, match="join=") as caught:
        builder.compile()
    for name in ("left", "right", "both"):
        assert name in str(caught.value)


def test_two_writers_without_a_merge_are_refused_when_they_meet(drive: Drive, journal: Journal) -> None:
    """At run time, since what a node writes is not known before: key and both nodes are named; the build only reports.

    Rules: 19. Rows: S1-041
    """

    def left(state: Log) -> Log:
        return {"word": "left"}

    def right(state: Log) -> Log:
        return {"word": "right"}

    graph = fan(drive, left, right, checkpointer=journal)
    assert "left" in str(graph.explain())
    with pytest.raises(InvalidUpdateError, match="At key 'word'") as caught:
        drive.invoke(graph, {"log": ["in"]}, on("t"))
    assert "left" in str(caught.value)
    assert "right" in str(caught.value)
    usable(drive, mended(drive, journal))


class Homemade:
    """A class that nobody registered."""


def homemade_function() -> None: ...


def unstorable() -> dict[str, Callable[[], Any]]:
    return {
        "lock": threading.Lock,
        "function": lambda: homemade_function,
        "lambda": lambda: lambda: 0,
        "generator": lambda: (i for i in range(3)),
        "object of no registered class": Homemade,
        "class": lambda: Homemade,
        "exception": lambda: ValueError("x"),
        "module": lambda: socket,
        "deep inside": lambda: {"a": [{"b": (1, threading.Lock())}]},
        "nested beyond reason": lambda: nested(100_000),
        "holding itself": holding_itself,
    }


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def holding_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize("make", unstorable().values(), ids=unstorable().keys())
def test_state_that_cannot_be_stored_fails_its_node(drive: Drive, journal: Journal, make: Callable[[], Any]) -> None:
    """The error names the node and the key; neither this write nor the node's others are there.

    Rows: S1-043, S1-074
    """

    def node(state: Loose) -> Any:
        return {"log": ["half"], "thing": make()}

    graph = chain(drive, node, reads=Loose, checkpointer=journal)
    with pytest.raises(Failure) as caught:
        drive.invoke(graph, {"log": ["in"]}, on("t"))
    assert "node" in str(caught.value)
    assert drive.get_state(graph, on("t")).values == {"log": ["in"]}
    usable(drive, mended(drive, journal))


def test_input_that_cannot_be_stored_is_refused(drive: Drive, journal: Journal) -> None:
    """Before the thread exists; the key is named.

    Rows: S1-043, S1-080
    """
    graph = mended(drive, journal)
    with pytest.raises(Failure, match="thing"):
        drive.invoke(graph, {"log": [], "thing": threading.Lock()}, on("t"))
    assert list(journal.threads()) == []
    usable(drive, graph)


def test_a_send_that_cannot_be_stored_fails_its_sender(drive: Drive, journal: Journal) -> None:
    """Its argument would be part of the checkpoint.

    Rules: 70. Rows: S1-043
    """

    def node(state: Log) -> Any:
        return Send("node", {"thing": threading.Lock()})

    graph = chain(drive, node, reads=Loose, checkpointer=journal)
    with pytest.raises(Failure, match="node"):
        drive.invoke(graph, {"log": ["in"]}, on("t"))
    assert drive.get_state(graph, on("t")).values == {"log": ["in"]}
    usable(drive, mended(drive, journal))


def test_without_a_journal_anything_may_be_in_the_state(drive: Drive) -> None:
    """What is never stored need not be storable.

    Rows: S1-043
    """
    lock = threading.Lock()

    def node(state: Loose) -> Any:
        return {"thing": lock}

    assert drive.invoke(chain(drive, node, reads=Loose), {"log": []})["thing"] is lock


TEXTS = [
    "a\ud800b",
    "\x00",
    "\u202e",
    "\N{OWL}" * 10,
    '{"lc": 1}',
    "__import__('os').system('true')",
    "$ne",
    "'; DROP TABLE x",
]


def test_hostile_text_is_only_text(drive: Drive, journal: Journal) -> None:
    """Lone surrogates, controls, markup of other libraries: values and dict keys come back as they were.

    Rules: 78. Rows: S1-081
    """

    def node(state: Loose) -> Any:
        return {"log": ["good"], "thing": {text: [text] for text in TEXTS}}

    graph = chain(drive, node, reads=Loose, checkpointer=journal)
    drive.invoke(graph, {"log": list(TEXTS)}, on("t"))
    told = drive.get_state(graph, on("t")).values
    assert told["log"] == [*TEXTS, "good"]
    assert told["thing"] == {text: [text] for text in TEXTS}


LOOK_ALIKES: list[Any] = [
    {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}},
    {"__type__": "os:system", "args": ["true"]},
    {"__class__": "subprocess.Popen"},
    {"py/object": "os.system"},
    {"$type": "x", "$ref": "#"},
    ["ext", 5, b"\xc7\x01\x05x"],
]


@pytest.mark.parametrize("value", LOOK_ALIKES, ids=lambda value: str(value)[:30])
def test_look_alike_envelopes_come_back_as_data(drive: Drive, journal: Journal, value: Any) -> None:
    """Nothing is built from what only looks like a stored object.

    Rows: S1-081, S1-K08
    """
    graph = mended(drive, journal)
    drive.invoke(graph, {"log": [], "thing": value}, on("t"))
    assert drive.get_state(graph, on("t")).values["thing"] == value
    assert type(drive.get_state(graph, on("t")).values["thing"]) is type(value)


# Stored bytes


def forge(journal: Journal, change: Callable[[Checkpoint], Checkpoint]) -> None:
    """Put a changed copy of the newest checkpoint of "t" on top of it."""
    stored = journal.chain("t")
    assert stored is not None
    tip = stored.tip
    newer = f"{int(tip.id.replace('-', ''), 16) + 1:032x}"
    id = "-".join((newer[:8], newer[8:12], newer[12:16], newer[16:20], newer[20:]))
    forged = msgspec.structs.replace(change(tip), id=id, parent=tip.id)
    journal.commit(Batch("t", (PutCheckpoint(forged, expect=tip.id),)))


@pytest.mark.parametrize("field", ["head", "snapshot", "delta"])
def test_every_extension_code_is_refused_or_data(field: str) -> None:
    """All 256 codes in place of a checkpoint's bytes: a typed error that names the thread, or plain values.

    Rows: S1-081, S1-K08
    """

    def node(state: Loose) -> Log:
        return {"log": ["good"]}

    # A delta is read only where no snapshot makes it needless.
    without: dict[str, Any] = {"snapshot": None} if field == "delta" else {}
    refusals = 0
    for code in range(-128, 128):
        payload = PAYLOADS[code % len(PAYLOADS)]
        blob = msgspec.msgpack.encode(msgspec.msgpack.Ext(code, payload))
        for forged in (
            blob,
            msgspec.msgpack.encode([msgspec.Raw(blob)]),
            msgspec.msgpack.encode({"k": msgspec.Raw(blob)}),
        ):
            journal = MemoryJournal()
            builder: Any = StateGraph(Loose)
            graph = builder.add_node("node", node).add_edge(START, "node").compile(checkpointer=journal)
            graph.invoke({"log": ["in"]}, on("t"))
            good = checkpoint_id(graph.get_state(on("t")))
            forge(journal, lambda row, forged=forged: msgspec.structs.replace(row, **without, **{field: forged}))
            refused = refusal(lambda graph=graph: graph.get_state(on("t")))
            if refused is not None:
                refusals += 1
                assert isinstance(refused, (CorruptRecord, UnknownType))
                assert "'t'" in str(refused)
                assert refused.raw
            assert graph.get_state(on("t", checkpoint=good)).values == {"log": ["in", "good"]}
    assert refusals > 256, "most of these are no state at all"


def refusal(call: Callable[[], object]) -> Failure | None:
    """The typed error that ``call`` raises, if it does."""
    try:
        call()
    except Failure as error:
        return error
    return None


PAYLOADS = (b"", b"\x00" * 4, b"\x93\xa9os:system\x01\x90", b"cos\nsystem\n(S'true'\ntR.")
"""Among them the form of a registered value, and a pickle."""


def damages(blob: bytes) -> Iterator[tuple[str, bytes]]:
    """Truncations and single flipped bits of one stored value."""
    chance = random.Random(len(blob))
    yield "empty", b""
    for cut in sorted({1, len(blob) // 2, len(blob) - 1}):
        yield f"cut at {cut}", blob[:cut]
    yield "longer", blob + b"\x00"
    for _ in range(6):
        place = chance.randrange(len(blob) * 8)
        flipped = bytearray(blob)
        flipped[place // 8] ^= 1 << place % 8
        yield f"bit {place}", bytes(flipped)


def blobs(path: Path) -> list[tuple[str, str, int, bytes]]:
    """Table, column, rowid and bytes of every blob in the file."""
    found: list[tuple[str, str, int, bytes]] = []
    with contextlib.closing(sqlite3.connect(path)) as con:
        tables = [
            row[0]
            for row in con.execute("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite%'")
        ]
        for table in tables:
            for column in [row[1] for row in con.execute(f"PRAGMA table_info({table})")]:
                try:
                    rows = con.execute(
                        f"SELECT rowid, {column} FROM {table} WHERE typeof({column}) = 'blob'"
                    ).fetchall()
                except sqlite3.OperationalError:
                    continue  # a table without rowids
                found += [(table, column, rowid, blob) for rowid, blob in rows if blob]
    return found


def test_damaged_rows_are_told_or_harmless(tmp_path: Path) -> None:
    """Every stored blob cut short or with one bit flipped: a typed error that names the thread, or the values as they were.

    Rules: 84. Rows: S1-K11, S1-081
    """

    def node(state: Loose) -> Log:
        return {"log": ["good"]}

    def build(journal: Journal) -> Any:
        builder: Any = StateGraph(Loose)
        return builder.add_node("node", node).add_edge(START, "node").compile(checkpointer=journal)

    path = tmp_path / "journal.db"
    journal = SQLiteJournal(str(path))
    graph = build(journal)
    for turn in range(3):
        graph.invoke({"log": [f"turn {turn}"], "thing": {"text": "x" * 700, "turn": turn}}, on("t"))
    right = graph.get_state(on("t")).values
    told_right = [entry.values for entry in graph.get_state_history(on("t"))]
    journal.close()
    saved = path.read_bytes()
    kinds: set[type] = set()
    for table, column, rowid, blob in blobs(path):
        for what, damaged in damages(blob):
            path.write_bytes(saved)
            with contextlib.closing(sqlite3.connect(path)) as con:
                con.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (damaged, rowid))
                con.commit()
            place = f"{table}.{column} row {rowid}: {what}"
            try:
                opened = SQLiteJournal(str(path))
            except Failure as refused:
                kinds.add(type(refused))
                continue
            try:
                again = build(opened)
                head = again.get_state(on("t")).values
                told = [entry.values for entry in again.get_state_history(on("t"))]
                assert head in (right, {}), place
                assert told == told_right or head == {}, place
            except Failure as refused:
                kinds.add(type(refused))
            finally:
                opened.close()
    assert CorruptRecord in kinds


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    """And left as it was.

    Rules: 84
    """
    path = tmp_path / "journal.db"
    path.write_text("dear diary, " * 100, encoding="utf-8")
    with pytest.raises(StoreError, match=r"journal\.db"):
        SQLiteJournal(str(path))
    assert path.read_text(encoding="utf-8").startswith("dear diary")


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    """A file that a later version wrote is not touched; the error names both versions.

    Rules: 84. Rows: S1-K01
    """
    path = tmp_path / "journal.db"
    SQLiteJournal(str(path)).close()
    with contextlib.closing(sqlite3.connect(path)) as con:
        (version,) = con.execute("PRAGMA user_version").fetchone()
        con.execute(f"PRAGMA user_version = {version + 1}")
    before = path.read_bytes()
    with pytest.raises(NewerSchema, match=str(version + 1)):
        SQLiteJournal(str(path))
    assert path.read_bytes() == before


def test_a_full_disk_is_told_and_nothing_is_half_written(drive: Drive, tmp_path: Path) -> None:
    """A real limit on the file's pages: StoreFull comes out of the run, the thread stands where it stood, room heals it.

    Rules: 84. Rows: S1-K11
    """

    def node(state: Loose) -> Log:
        return {"log": ["good"]}

    path = tmp_path / "journal.db"
    journal = SQLiteJournal(str(path))
    graph = chain(drive, node, reads=Loose, checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    before = drive.get_state(graph, on("t"))
    pages = limited(journal, 8)
    with pytest.raises(StoreFull):
        drive.invoke(graph, {"log": ["big"], "thing": random.Random(1).randbytes(200_000)}, on("t"))
    assert drive.get_state(graph, on("t")).values == before.values
    limited(journal, pages)
    usable(drive, graph)
    journal.close()


def limited(journal: SQLiteJournal, more: int) -> int:
    """Let the journal's own connection grow its file by ``more`` pages at most; the limit before."""
    con = connection_of(journal)
    (before,) = con.execute("PRAGMA max_page_count").fetchone()
    (now,) = con.execute("PRAGMA page_count").fetchone()
    con.execute(f"PRAGMA max_page_count = {now + more}")
    return before


def test_a_refused_record_in_the_middle_of_a_run(drive: Drive) -> None:
    """The disk fills at step 2 of 3: the state is that of step 1, and with room again the run goes on from there.

    Rules: 84, 92. Rows: S1-K11
    """
    journal = FailingJournal()
    calls = Calls()

    def node(name: str) -> Any:
        def body(state: Log) -> Log:
            calls(name)
            return {"log": [name]}

        body.__name__ = body.__qualname__ = name
        return body

    graph = chain(drive, node("one"), node("two"), node("three"), checkpointer=journal)
    journal.fail, journal.when = StoreFull("no room", component="journal"), puts_step(2)
    with pytest.raises(StoreFull, match="no room"):
        drive.invoke(graph, {"log": []}, on("t"))
    assert calls.of("three") == 0
    journal.fail = None
    assert drive.invoke(graph, None, on("t"), busy="reject") == {"log": ["one", "two", "three"]}
    assert (calls.of("one"), calls.of("three")) == (1, 1)


def test_a_locked_database_is_told(drive: Drive, tmp_path: Path) -> None:
    """Another program holds the file: StoreLocked after busy_timeout, and when it lets go all is well.

    Rules: 84. Rows: S1-K11
    """

    def node(state: Log) -> Log:
        return {"log": ["good"]}

    path = tmp_path / "journal.db"
    journal = SQLiteJournal(str(path), busy_timeout=0.2)
    graph = chain(drive, node, checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked):
            drive.invoke(graph, {"log": ["locked out"]}, on("t"))
        con.execute("ROLLBACK")
    assert drive.get_state(graph, on("t")).values == {"log": ["in", "good"]}
    usable(drive, graph)
    journal.close()


@pytest.mark.parametrize(
    "config",
    [
        {"configurable": "t"},
        {"configurable": {"thread_id": "t"}, "recursion_limit": "many"},
        {"configurable": {"thread_id": "t"}, "max_concurrency": 0},
        {"configurable": {"thread_id": "t", "checkpoint_id": 7}},
    ],
    ids=str,
)
def test_a_config_of_another_form_is_refused(drive: Drive, journal: Journal, config: Any) -> None:
    """Typed, naming the part that is wrong; nothing ran.

    Rows: S1-080
    """
    calls = Calls()

    def node(state: Log) -> Log:
        calls("node")
        return {"log": ["good"]}

    graph = chain(drive, node, checkpointer=journal)
    with pytest.raises((Failure, ValueError, TypeError)):
        drive.invoke(graph, {"log": []}, config)
    assert calls.of("node") == 0
    usable(drive, graph)


def test_unknown_keyword_arguments_are_refused(drive: Drive, journal: Journal) -> None:
    """A misspelt option is a TypeError and not a default.

    Rows: S1-080
    """
    builder: Any = StateGraph
    with pytest.raises(TypeError):
        builder(Log, strickt=False)
    graph = mended(drive, journal)
    with pytest.raises(TypeError):
        drive.invoke(graph, {"log": []}, on("t"), stream_moda="values")
    with pytest.raises(TypeError):
        builder(Log).add_node("node", homemade_function, retry=1)
    assert list(journal.threads()) == []


@pytest.mark.parametrize(
    ("odd", "named"),
    [
        ({"configurable": {"thread_id": "t", 1: 2}}, "1"),
        ({"configurable": {"thread_id": "t"}, "metadata": "text"}, "metadata"),
        ({"configurable": {"thread_id": "t"}, "metadata": [1]}, "metadata"),
        ({"configurable": {"thread_id": "t"}, "tags": 5}, "tags"),
    ],
)
def test_keys_metadata_and_tags_of_another_form_are_refused(
    odd: Any, named: str, drive: Drive, journal: Journal
) -> None:
    """Before anything is written.

    Rows: S1-080
    """
    graph = mended(drive, journal)
    with pytest.raises(ConfigurationError, match=named):
        drive.stream(graph, {"log": []}, odd, stream_mode="tasks")
    assert list(journal.threads()) == []
