"""How sealed bytes are replaced where they are in a SQLite file, those of events too, which a trigger guards."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from lawful.stores.rekeying import Dialect
from lawful.stores.rows import answer_of, writes_of

DIALECT = Dialect(
    keys={"": ("row",), "vector": ("item",)},
    operation="row",
    item="i.row=t.item",
    writes=writes_of,
    answer=answer_of,
    crc=crc32,
)


def rewritten(con: sqlite3.Connection, table: str, changes: Sequence[tuple[str, Sequence[Any]]]) -> int:
    """Within the transaction that is open: run the statements; how many rows they changed."""
    guards = con.execute(
        "SELECT name, sql FROM sqlite_master WHERE type='trigger' AND tbl_name='event' AND ?='event'", (table,)
    ).fetchall()
    # Gone for the length of this transaction, which nobody else sees.
    for name, _ in guards:
        con.execute(f'DROP TRIGGER "{name}"')
    count = sum(con.execute(text.replace("@", ""), values).rowcount for text, values in changes)
    for _, sql in guards:
        con.execute(sql)
    return count
