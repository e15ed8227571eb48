"""How sealed bytes are replaced where they are in PostgreSQL, those of events too, which a trigger guards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from lawful.stores.postgres_link import Link
from lawful.stores.postgres_rows import answer_out, writes_out
from lawful.stores.rekeying import Dialect


def _crc(value: bytes) -> int:
    return crc32(value) - (1 << 31)


DIALECT = Dialect(
    keys={
        "checkpoint": ("space", "id"),
        "writes": ("space", "checkpoint", "task"),
        "answer": ("space", "checkpoint", "question"),
        "event": ("operation", "seq"),
        "mark": ("scope", "name"),
        "chunk": ("thread", "digest"),
        "item": ("scope", "place"),
        "vector": ("scope", "place"),
    },
    operation="id",
    item="i.scope=t.scope AND i.place=t.place",
    writes=writes_out,
    answer=answer_out,
    crc=_crc,
)


def fetched(link: Link, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Within the transaction that is open."""
    return link.run(statement.replace("?", "%s"), values).fetchall()


def rewritten(link: Link, table: str, changes: Sequence[tuple[str, Sequence[Any]]]) -> int:
    """Within the transaction that is open: run the statements; how many rows they changed."""
    if table == "event":
        link.write("ALTER TABLE @event DISABLE TRIGGER event_stays")  # till the end of this transaction; its owner may
    count = sum(link.write(text.replace("?", "%s"), values).rowcount for text, values in changes)
    if table == "event":
        link.write("ALTER TABLE @event ENABLE TRIGGER event_stays")
    return count
