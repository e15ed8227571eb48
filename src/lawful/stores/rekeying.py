"""Encrypting anew, with a cipher's current key, what older keys have encrypted: batch by batch, each whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from lawful.core.errors import ConfigurationError, StoreError
from lawful.journal.records import Answer, Checkpoint, EffectEvent, TaskWrites
from lawful.stores.rows import (
    ANSWERS,
    COLUMNS,
    EVENT,
    WRITES,
    Row,
    answer_row,
    checkpoint_of,
    checkpoint_row,
    checksum,
    chunk_of,
    event_of,
    event_row,
    writes_row,
)

PASSES: Final = 20
"""So often the tables are gone through, before it is said that somebody else still encrypts with an old key."""


class Dialect(Struct, frozen=True):
    """In what the tables of one kind of database differ."""

    keys: Mapping[str, tuple[str, ...]]
    """By table: the columns that name a row and put the rows in order; "" for the others."""
    operation: str
    """The column that events name an operation by."""
    item: str
    """Which item (``i``) vectors (``t``) are beside."""
    writes: Callable[[Row, str, str], TaskWrites]
    answer: Callable[[Row, str, str], Answer]
    crc: Callable[[bytes], int]
    """Of the value of an item."""

    def key(self, table: str) -> tuple[str, ...]:
        return self.keys.get(table) or self.keys[""]


@runtime_checkable
class Rewritable(Protocol):
    """A journal or store whose sealed bytes can be replaced where they are; for the stores of this package."""

    dialect: Dialect

    def fetch_raw(self, statement: str, values: Sequence[Any]) -> list[Row]:
        """What a statement gives that only reads; "@" stands before tables, "?" for values."""
        ...

    def rewrite_raw(self, table: str, changes: Sequence[tuple[str, Sequence[Any]]]) -> int:
        """Run the statements, which change rows of ``table``, in one transaction; how many rows they changed."""
        ...


class Resealing(Protocol):
    """What opens and seals, of a journal."""

    def checkpoint(self, scope: str, thread: str, kept: Checkpoint) -> Checkpoint: ...
    def writes(self, scope: str, thread: str, kept: TaskWrites) -> TaskWrites: ...
    def answer(self, scope: str, thread: str, kept: Answer) -> Answer: ...
    def chunk(self, scope: str, thread: str, digest: bytes, body: bytes) -> bytes: ...
    def event(self, scope: str, kept: EffectEvent) -> EffectEvent: ...
    def mark(self, scope: str, name: str, value: bytes) -> bytes: ...


Anew: TypeAlias = "Callable[[Row], Sequence[Any]]"
"""Of a row's owner and columns, the new values of ``crc`` and of the sealed columns."""


class Table(Struct, frozen=True):
    """One table with sealed columns."""

    name: str
    source: str
    """What follows FROM; the table itself is ``t``."""
    columns: str
    sealed: tuple[str, ...]
    anew: Anew

    def stale(self, key: Sequence[str], mark: bytes, after: Row | None, limit: int) -> tuple[str, list[Any]]:
        """The statement that finds rows which ``mark``, the beginning of what the current key has sealed, does not begin."""
        wrong = " OR ".join(f"(length(t.{c}) > 0 AND substr(t.{c}, 1, {len(mark)}) <> ?)" for c in self.sealed)
        values: list[Any] = [mark] * len(self.sealed)
        names = ", ".join(f"t.{column}" for column in key)
        beyond = ""
        if after is not None:
            beyond = f" AND ({names}) > ({', '.join('?' * len(key))})"
            values += after
        told = ", ".join(f"t.{column}" for column in ("crc", *self.sealed))
        text = f"SELECT {names}, {told}, {self.columns} FROM {self.source} WHERE ({wrong}){beyond} ORDER BY {names}"
        return f"{text} LIMIT {limit}", values

    def change(self, key: Sequence[str], row: Row) -> tuple[str, list[Any]]:
        """The statement that gives one row its new values, if nobody else has changed it meanwhile."""
        held = len(key) + 1 + len(self.sealed)
        old, new = row[len(key) : held], self.anew(row[held:])
        columns = ("crc", *self.sealed)
        same = [f"{c}=?" for c in (*key, "crc")] + [
            f"{c} IS NULL" if value is None else f"{c}=?" for c, value in zip(self.sealed, old[1:], strict=True)
        ]
        text = f"UPDATE @{self.name} SET {', '.join(f'{c}=?' for c in columns)} WHERE {' AND '.join(same)}"
        return text, [*new, *row[: len(key)], *(value for value in old if value is not None)]


def rekeyed(kept: Any, tables: Callable[[Dialect], Sequence[Table]], mark: bytes, batch: int) -> int:
    """Go through the tables until nothing is left that the current key has not sealed; how many rows were changed.

    Raises: ConfigurationError, for what cannot be rewritten; CannotDecrypt and CorruptRecord, with the place, for what
    cannot be read; StoreError, also where another process goes on encrypting with an old key. What was changed by then stays.
    """
    if not isinstance(kept, Rewritable):
        raise ConfigurationError(
            f"a {type(kept).__name__} cannot be encrypted anew: SQLite's and PostgreSQL's can",
            component="cipher",
            operation="rekey",
        )
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"batch is an int of at least 1, not {batch!r}", component="cipher", operation="rekey")
    count = 0
    for _ in range(PASSES):
        seen = 0
        for table in tables(kept.dialect):
            stale, changed = _gone_through(kept, table, mark, batch)
            seen, count = seen + stale, count + changed
        if not seen:
            return count
    raise StoreError(
        f"after {count} rows there are still new ones of an old key: somebody encrypts with it",
        component="cipher",
        operation="rekey",
    )


def _gone_through(kept: Rewritable, table: Table, mark: bytes, batch: int) -> tuple[int, int]:
    """How many stale rows were found, and how many of them had not been changed by somebody else meanwhile."""
    key = kept.dialect.key(table.name)
    after: Row | None = None
    seen = changed = 0
    while rows := kept.fetch_raw(*table.stale(key, mark, after, batch)):
        seen += len(rows)
        changed += kept.rewrite_raw(table.name, [table.change(key, row) for row in rows])
        after = rows[-1][: len(key)]
    return seen, changed


_THREAD = "JOIN @space s ON s.id=t.space JOIN @thread h ON h.id=s.thread"


def _of(columns: str) -> str:
    return ", ".join(f"t.{column}" for column in columns.split(", "))


def journal_tables(seal: Resealing) -> Callable[[Dialect], Sequence[Table]]:
    """The tables of a journal, chunks last: what refers to them is read without them."""

    def checkpoint(row: Row) -> Sequence[Any]:
        scope, thread, ns, *columns = row
        kept = checkpoint_of(tuple(columns), thread, ns)
        new = checkpoint_row(seal.checkpoint(scope, thread, kept), branch=columns[6], hidden=columns[7])
        return (new[8], new[10], new[11], new[12])

    def chunk(row: Row) -> Sequence[Any]:
        scope, thread, digest, crc, body = row
        new = seal.chunk(scope, thread, digest, chunk_of(digest, crc, body, thread))
        return (checksum(digest, new), new)

    def event(row: Row) -> Sequence[Any]:
        scope, op_id, *columns = row
        new = event_row(seal.event(scope, event_of(tuple(columns), op_id)))
        return (new[3], new[4])

    def mark(row: Row) -> Sequence[Any]:
        scope, name, value = row
        new = seal.mark(scope, name, value)
        return (checksum(name.encode(), new), new)

    def tables(dialect: Dialect) -> Sequence[Table]:
        def writes(row: Row) -> Sequence[Any]:
            scope, thread, ns, *columns = row
            new = writes_row(seal.writes(scope, thread, dialect.writes(tuple(columns), thread, ns)))
            return (new[3], new[4])

        def answer(row: Row) -> Sequence[Any]:
            scope, thread, ns, *columns = row
            new = answer_row(seal.answer(scope, thread, dialect.answer(tuple(columns), thread, ns)))
            return (new[4], new[5])

        owner = "h.scope, h.name, s.ns"
        operations = f"@event t JOIN @operation o ON o.{dialect.operation}=t.operation"
        sealed = ("head", "delta", "snapshot")
        return (
            Table("checkpoint", f"@checkpoint t {_THREAD}", f"{owner}, {_of(COLUMNS)}", sealed, checkpoint),
            Table("writes", f"@writes t {_THREAD}", f"{owner}, {_of(WRITES)}", ("blob",), writes),
            Table("answer", f"@answer t {_THREAD}", f"{owner}, {_of(ANSWERS)}", ("blob",), answer),
            Table("event", operations, f"o.scope, o.op_id, {_of(EVENT)}", ("blob",), event),
            Table("mark", "@mark t", "t.scope, t.name, t.value", ("value",), mark),
            Table(
                "chunk",
                "@chunk t JOIN @thread h ON h.id=t.thread",
                "h.scope, h.name, t.digest, t.crc, t.body",
                ("body",),
                chunk,
            ),
        )

    return tables


def item_tables(
    value: Callable[[str, bytes, str, bytes], bytes], vectors: Callable[[str, bytes, str, bytes], bytes]
) -> Callable[[Dialect], Sequence[Table]]:
    """The tables of a store, by what makes new bytes of scope, packed namespace, key and bytes: of items, of vectors."""

    def tables(dialect: Dialect) -> Sequence[Table]:
        def anew(make: Callable[[str, bytes, str, bytes], bytes]) -> Anew:
            def made(row: Row) -> Sequence[Any]:
                new = make(*row)
                return (dialect.crc(new), new)

            return made

        return (
            Table("item", "@item t", "t.scope, t.ns, t.key, t.value", ("value",), anew(value)),
            Table(
                "vector",
                f"@vector t JOIN @item i ON {dialect.item}",
                "i.scope, i.ns, i.key, t.body",
                ("body",),
                anew(vectors),
            ),
        )

    return tables
