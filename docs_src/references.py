"""Two of the reference effects at work: a row in somebody's database and a file's whole content."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from lawful import Ledger, SQLiteJournal
from lawful.effects.references import Entry, FileWrite, Row, Write, digest_of

with closing(sqlite3.connect("shop.db")) as con, con:
    con.execute("CREATE TABLE orders(operation TEXT UNIQUE, item TEXT)")

ledger = Ledger(SQLiteJournal("journal.db"))
for _ in range(2):
    outcome = ledger.execute_sync(Row("shop.db").plan(Entry("orders", "7", {"item": "tea"})))
    print(type(outcome).__name__)
with closing(sqlite3.connect("shop.db")) as con:
    print(con.execute("SELECT * FROM orders").fetchall())

write = FileWrite()
for command in (Write("note.txt", "one"), Write("note.txt", "two", expected=digest_of(b"another"))):
    print(type(ledger.execute_sync(write.plan(command))).__name__, Path("note.txt").read_text())

# prints: Succeeded
# prints: Succeeded
# prints: [('sql.row:orders:7', 'tea')]
# prints: Succeeded one
# prints: Refused one
