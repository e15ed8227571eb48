"""Under a cipher every journal and store keeps its promises, holds no plain value, and tells what was changed or moved."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, TypedDict

import pytest

from lawful import START, StateGraph, interrupt
from lawful.core.clock import Clock
from lawful.core.errors import CannotDecrypt, ConfigurationError, CorruptRecord, ValidationError
from lawful.effects import Natural, effect
from lawful.journal.cipher import Cipher, key_of
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores import EncryptedJournal, EncryptedStore, MemoryStore, SQLiteJournal, Store
from lawful.stores.store_records import IndexConfig, TTLConfig
from lawful.testing.conformance import JournalConformance
from lawful.testing.conformance_kit import answer, chunks, digest, events, grow, operation, send, writes
from lawful.testing.conformance_store import StoreConformance
from support.ciphers import TestCipher
from support.graphs import Drive, on
from support.places import Place

pytestmark = [pytest.mark.integration]

OLD = {"k1": b"a" * 32}
BOTH = {**OLD, "k2": b"b" * 32}
TEXT = "a-plain-value-that-nobody-should-read"


class State(TypedDict, total=False):
    said: str
    kept: list[str]


def cipher(current: str = "k1", keys: dict[str, bytes] | None = None) -> Cipher:
    return TestCipher(BOTH if keys is None else keys, current)


class TestEncryptedMemory(JournalConformance):
    """Rows: S1-K08, S1-K05."""

    def make_journal(self, clock: Clock) -> Journal:
        return EncryptedJournal(MemoryJournal(clock=clock), cipher())


class TestEncryptedFile(JournalConformance):
    """Rows: S1-K08, S1-K05."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        TestEncryptedFile.files = (tmp_path / f"{n}.db" for n in itertools.count())

    files: Any

    def make_journal(self, clock: Clock) -> Journal:
        return EncryptedJournal(SQLiteJournal(next(self.files), clock=clock), cipher())


class TestEncryptedItems(StoreConformance):
    """Rows: S1-K12."""

    def make_store(self, clock: Clock, ttl: TTLConfig | None) -> Store:
        return EncryptedStore(MemoryStore(clock=clock, ttl=ttl), cipher())

    def make_indexed(self, clock: Clock, ttl: TTLConfig | None, index: IndexConfig) -> Store:
        return EncryptedStore(MemoryStore(clock=clock, ttl=ttl, index=index), cipher())


def program(journal: Journal, drive: Drive) -> Any:
    """State, a large value, a question and its answer, an effect."""

    @effect("place", capability=Natural(), tool="write_line")
    def write_line(place: int, line: str) -> str:
        return f"wrote {line}"

    def ask(state: State) -> State:
        return {"said": interrupt({"why": TEXT}), "kept": [TEXT] * 60}

    def act(state: State) -> State:
        return {"said": write_line(1, TEXT)}

    builder: Any = StateGraph(State).add_node("ask", drive.node(ask)).add_node("act", act)
    return builder.add_edge(START, "ask").add_edge("ask", "act").compile(checkpointer=journal)


def through(journal: Journal, drive: Drive) -> Any:
    graph = program(journal, drive)
    paused = drive.run(graph, {"said": TEXT}, on("t"))
    done = drive.resume(graph, "t", paused.questions[0].answer(TEXT + "!"))
    assert done.state == {"said": f"wrote {TEXT}", "kept": [TEXT] * 60}
    return graph


def test_a_run_leaves_nothing_plain(place: Place, drive: Drive) -> None:
    """State, chunks, question, answer, effect: no byte of the value in any file; and all of it can be read. Rows: S1-K08."""
    journal = EncryptedJournal(place.journal(), cipher())
    graph = through(journal, drive)
    store = EncryptedStore(place.store(), cipher())
    store.put(("a",), "k", {"text": TEXT})
    assert [s.values.get("said") for s in drive.get_state_history(graph, on("t"))][-2:] == [TEXT, None]
    assert store.search(("a",), filter={"text": TEXT})[0].value == {"text": TEXT}
    if place.kind != "memory":
        assert [name for name, data in place.files() if TEXT.encode() in data] == []


def test_without_its_cipher_it_is_told_what_it_is(place: Place, drive: Drive) -> None:
    through(EncryptedJournal(place.journal(), cipher()), drive)
    with pytest.raises(CorruptRecord, match="encrypted"):
        drive.get_state(program(place.journal(), drive), on("t"))


def test_a_key_may_be_rotated(place: Place, drive: Drive) -> None:
    """What is written from then on has the new key; the old one reads what is older. Rows: S1-K08."""
    through(EncryptedJournal(place.journal(), cipher(keys=OLD)), drive)
    journal = EncryptedJournal(place.journal(), cipher("k2"))
    graph = program(journal, drive)
    drive.update_state(graph, on("t"), {"said": "new"}, as_node="act")
    assert drive.get_state(graph, on("t")).values["said"] == "new"
    used = {key_of(row.head) for row in journal.inner.history("t")}
    assert used == {"k1", "k2"}
    with pytest.raises(CannotDecrypt, match="'k1'") as caught:
        EncryptedJournal(place.journal(), cipher("k2", {"k2": BOTH["k2"]})).history("t")
    assert caught.value.details["key"] == "k1"
    assert caught.value.details["thread"] == "t"
    assert key_of(caught.value.raw) == "k1"


def test_a_wrong_key_of_that_name_is_told_and_nothing_is_lost(place: Place, drive: Drive) -> None:
    graph = through(EncryptedJournal(place.journal(), cipher()), drive)
    wrong = EncryptedJournal(place.journal(), cipher(keys={"k1": b"z" * 32}))
    with pytest.raises(CannotDecrypt, match="head of thread 't'"):
        drive.get_state(program(wrong, drive), on("t"))
    with pytest.raises(CannotDecrypt):
        drive.invoke(program(wrong, drive), {"said": "x"}, on("t"))
    assert drive.get_state(graph, on("t")).values["said"] == f"wrote {TEXT}"


def test_copies_of_copies_can_be_read_and_gone_on_with(place: Place, drive: Drive) -> None:
    """A seal is bound to the thread that a copy comes from in the end."""
    journal = EncryptedJournal(place.journal(), cipher())
    graph = through(journal, drive)
    for source, target in (("t", "u"), ("u", "v")):
        journal.copy_thread(source, target)
        drive.update_state(graph, on(target), {"said": target}, as_node="act")
        assert drive.invoke(graph, {"said": "again"}, on(target))["__interrupt__"]
    journal.delete_thread("u")
    again = EncryptedJournal(place.journal(), cipher())
    values = [s.values.get("said") for s in drive.get_state_history(program(again, drive), on("v"))]
    assert [v for v in values if v in ("u", "v")] == ["v", "v", "u", "u"]
    journal.delete_thread("v")
    drive.invoke(graph, {"said": "anew"}, on("v"))
    assert journal.inner.read(lambda tx: tx.mark("sealed copy: v")) is None


def test_a_copy_that_is_refused_leaves_no_note(place: Place) -> None:
    journal = EncryptedJournal(place.journal(), cipher())
    grow(journal, "t", 2)
    grow(journal, "u", 2)
    with pytest.raises(ValidationError):
        journal.copy_thread("t", "u")
    assert journal.inner.read(lambda tx: tx.mark("sealed copy: u")) is None


def test_pruned_history_can_be_read(place: Place) -> None:
    journal = EncryptedJournal(place.journal(), cipher())
    rows = grow(journal, "t", 12, every=5)
    assert journal.prune("t", keep_last=1) == 11
    chain = journal.chain("t")
    assert chain is not None
    assert chain.tip == rows[-1]
    assert list(journal.history("t")) == [rows[-1]]


def filled(journal: Journal) -> None:
    rows = grow(journal, "t", 2, every=1)
    grow(journal, "u", 2, every=1)
    send(journal, "t", chunks(1, 2), writes(rows[-1].id, "a", refs=(digest(1),)), answer(rows[-1].id, "q"))
    send(journal, "t", writes(rows[-1].id, "b", refs=(digest(2),)), answer(rows[-1].id, "r"))
    journal.transact(lambda tx: (tx.append(operation("op", 2), events("op", 1, 2)), tx.set_mark("m", b"v")))


def read_all(journal: Journal) -> None:
    for thread in ("t", "u"):
        journal.chain(thread)
        journal.history(thread)
    journal.read(lambda tx: (list(tx.events("op")), tx.mark("m")))


COLUMNS = [
    ("checkpoint", "head"),
    ("checkpoint", "delta"),
    ("checkpoint", "snapshot"),
    ("writes", "blob"),
    ("answer", "blob"),
    ("chunk", "body"),
    ("event", "blob"),
    ("mark", "value"),
]


class Forger:
    """Who can write the tables, and even makes the checksums fit, but has no key."""

    def __init__(self, journal: MemoryJournal) -> None:
        scope: Any = vars(journal)["_rows"]
        self.rows: Any = scope.threads
        self.effects: Any = scope.effects


@pytest.mark.parametrize(
    "column", ["head", "delta", "snapshot", "metadata", "parent", "step", "source", "refs", "unwhole"]
)
def test_no_field_of_a_checkpoint_can_be_changed(column: str) -> None:
    """Rows: S1-K08."""
    from msgspec.structs import replace

    inner = MemoryJournal()
    journal = EncryptedJournal(inner, cipher())
    rows = grow(journal, "t", 3, every=1)
    read_all(journal)
    space = Forger(inner).rows["t"].spaces[""]
    old, other = space.rows[rows[-1].id], space.rows[rows[-2].id]
    changes: dict[str, dict[str, Any]] = {
        "metadata": {"metadata": {"n": 7}},
        "parent": {"parent": rows[0].id},
        "step": {"step": 9},
        "source": {"source": "fork"},
        "refs": {"refs": (b"x" * 16,)},
        "unwhole": {"snapshot": None},
    }
    space.rows[old.id] = replace(old, **(changes[column] if column in changes else {column: getattr(other, column)}))
    with pytest.raises(CannotDecrypt, match="'t'") as caught:
        journal.history("t")
    assert caught.value.details["thread"] == "t"
    space.rows[old.id] = old
    assert list(journal.history("t")) == rows[::-1]


def test_a_delta_cannot_be_emptied() -> None:
    from msgspec.structs import replace

    inner = MemoryJournal()
    journal = EncryptedJournal(inner, cipher())
    rows = grow(journal, "t", 3)
    space = Forger(inner).rows["t"].spaces[""]
    space.rows[rows[-1].id] = replace(space.rows[rows[-1].id], delta=b"")
    with pytest.raises(CannotDecrypt, match="delta"):
        journal.chain("t")


@pytest.mark.parametrize("what", ["writes", "answers", "chunks", "events", "marks", "threads", "scopes"])
def test_nothing_can_be_moved_to_another_place(what: str) -> None:
    """Between tasks, questions, digests, events, marks, threads and tenants. Rows: S1-K08."""
    from msgspec.structs import replace

    inner = MemoryJournal()
    journal = EncryptedJournal(inner, cipher())
    filled(journal)
    read_all(journal)
    forged = Forger(inner)
    if what in ("writes", "answers"):
        held: Any = next(iter(getattr(forged.rows["t"].spaces[""], what).values()))
        one, two = list(held)
        held[one] = replace(held[one], blob=held[two].blob)
    elif what == "chunks":
        pieces = forged.rows["t"].chunks
        pieces[digest(1)] = pieces[digest(2)]
    elif what == "threads":
        forged.rows["t"] = forged.rows["u"]
    elif what == "scopes":
        theirs = EncryptedJournal(inner.scoped("acme"), cipher())
        filled(theirs)
        forged.rows["t"] = Forger(inner.scoped("acme")).rows["t"]
    else:
        _forge_effects(inner, what)
    with pytest.raises(CannotDecrypt):
        read_all(journal)


def _forge_effects(inner: MemoryJournal, what: str) -> None:
    from msgspec.structs import replace

    if what == "marks":
        inner.transact(lambda tx: tx.set_mark("n", tx.mark("m")))
        EncryptedJournal(inner, cipher()).transact(lambda tx: tx.set_mark("m", b"other"))
        other = inner.read(lambda tx: tx.mark("m"))
        inner.transact(lambda tx: (tx.set_mark("n", other), tx.set_mark("m", b"\xc1" + (other or b"")[1:-1] + b"x")))
        return
    stored: Any = vars(inner)["_rows"].effects
    held: Any = stored.events["op"]
    stored.events["op"] = type(held)((held[0], replace(held[1], blob=held[0].blob)))


def test_tampering_with_each_column_of_the_file_is_told_as_damage_or_as_forgery(tmp_path: Path) -> None:
    """Who changes bytes but not the row's checksum is told of damage; nothing is ever decrypted into another value."""
    import sqlite3

    for table, column in COLUMNS:
        path = tmp_path / f"{table}-{column}.db"
        journal = EncryptedJournal(SQLiteJournal(path), cipher())
        filled(journal)
        con = sqlite3.connect(path)
        con.execute("DROP TRIGGER IF EXISTS event_stays")
        with con:
            cut = f"substr({column}, 1, length({column})-1)||x'00'"
            con.execute(f"UPDATE {table} SET {column}={cut} WHERE row=(SELECT max(row) FROM {table})")
        con.close()
        with pytest.raises((CannotDecrypt, CorruptRecord)):
            read_all(journal)
        journal.close()


def test_an_item_cannot_be_moved_or_changed() -> None:
    from msgspec.structs import replace

    inner = MemoryStore()
    store = EncryptedStore(inner, cipher())
    store.put(("a",), "k", {"n": 1})
    store.put(("a",), "l", {"n": 2})
    rows: Any = vars(inner)["_shared"].scopes["local"]
    rows[("a",), "k"] = replace(rows[("a",), "k"], value=rows[("a",), "l"].value)
    with pytest.raises(CannotDecrypt, match=r"'k' of namespace \('a',\)"):
        store.get(("a",), "k")
    assert store.get(("a",), "l") is not None


def test_plain_rows_are_read_only_where_that_is_asked_for(place: Place, drive: Drive) -> None:
    """How a journal that was plain is encrypted from now on."""
    through(place.journal(), drive)
    place.store().put(("a",), "k", {"n": 1})
    with pytest.raises(CannotDecrypt, match="not encrypted"):
        drive.get_state(program(EncryptedJournal(place.journal(), cipher()), drive), on("t"))
    with pytest.raises(CannotDecrypt, match="not encrypted"):
        EncryptedStore(place.store(), cipher()).get(("a",), "k")
    journal = EncryptedJournal(place.journal(), cipher(), plain=True)
    graph = program(journal, drive)
    drive.update_state(graph, on("t"), {"said": "sealed now"}, as_node="act")
    assert drive.get_state(graph, on("t")).values["said"] == "sealed now"
    assert {key_of(row.head) for row in journal.inner.history("t")} == {None, "k1"}
    store = EncryptedStore(place.store(), cipher(), plain=True)
    assert store.get(("a",), "k") is not None


def test_a_key_id_that_fits_no_envelope_is_refused() -> None:
    long = "k" * 300
    with pytest.raises(ConfigurationError, match="key id"):
        grow(EncryptedJournal(MemoryJournal(), cipher(long, {long: b"x" * 32})), "t", 1)
