"""Where journals and stores of each kind keep what they are given, with every byte of it to be looked at."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lawful.core.lazy import late
from lawful.journal.cache_port import Cache
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.memory_cache import MemoryCache
from lawful.stores.memory_store import MemoryStore
from lawful.stores.sqlite import SQLiteJournal
from lawful.stores.sqlite_cache import SQLiteCache
from lawful.stores.sqlite_store import SQLiteStore
from lawful.stores.store_port import Store

if TYPE_CHECKING:
    from support.pg import PgServer


class Place:
    """One journal's and one store's place; opened as often as a test likes."""

    def __init__(self, kind: str, folder: Path, server: PgServer | None) -> None:
        self.kind = kind
        self.folder = folder
        self.server = server
        self.schema = "" if server is None else server.schema()
        self._memory = (MemoryJournal(), MemoryStore()) if kind == "memory" else None
        self._opened: list[Any] = []

    def journal(self, **options: Any) -> Journal:
        if self._memory is not None:
            return self._memory[0]
        made: Any = (
            SQLiteJournal(self.folder / "journal.db", **options)
            if self.server is None
            else self.server.journal(self.schema, **options)
        )
        self._opened.append(made)
        return made

    def store(self, **options: Any) -> Store:
        if self._memory is not None:
            return self._memory[1]
        made: Any = (
            SQLiteStore(self.folder / "store.db", **options)
            if self.server is None
            else self.server.store(self.schema, **options)
        )
        self._opened.append(made)
        return made

    def cache(self) -> Cache:
        if self._memory is not None:
            return MemoryCache()
        if self.server is None:
            made: Any = SQLiteCache(self.folder / "cache.db")
        else:
            made = late("lawful.stores.postgres_cache").PostgresCache(self.server.url(), schema=self.schema)
        self._opened.append(made)
        return made

    def close(self) -> None:
        for one in self._opened:
            one.close()
        self._opened.clear()

    def run(self, statement: str, values: Iterable[Any] = (), *, of: str = "journal") -> list[tuple[Any, ...]]:
        """Run one statement on the tables, ``@name`` being a table and ``?`` a value; what it gives."""
        if self.server is not None:
            import psycopg

            text = statement.replace("@", f'"{self.schema}".').replace("?", "%s")
            with psycopg.connect(self.server.url(), autocommit=True) as con:
                cursor = con.execute(text.encode(), tuple(values), binary=True)
                return cursor.fetchall() if cursor.description else []
        con = sqlite3.connect(self.folder / f"{of}.db")
        try:
            with con:
                return con.execute(statement.replace("@", ""), tuple(values)).fetchall()
        finally:
            con.close()

    def tables(self) -> dict[str, list[str]]:
        """The columns of each table that hold bytes, by ``@name``."""
        if self.server is not None:
            rows = self.server.run(
                "SELECT table_name::text, column_name::text FROM information_schema.columns"
                f" WHERE table_schema='{self.schema}' AND data_type='bytea'"
            )
        else:
            rows = self.run(
                "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE c.type='BLOB'"
            )
        found: dict[str, list[str]] = {}
        for table, column in rows:
            found.setdefault(table, []).append(column)
        return found

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Every file with what was stored: databases, write-ahead logs, a server's log, as they are at this moment."""
        if self.server is not None:
            self.server.run("CHECKPOINT")
        folder = self.folder if self.server is None else self.server.folder
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix not in {".so", ".sql"} and "pginstall" not in path.parts:
                with contextlib.suppress(FileNotFoundError):
                    yield path.name, path.read_bytes()


@contextlib.contextmanager
def placed(kind: str, folder: Path, server: PgServer | None) -> Generator[Place]:
    """A place whose journals and stores are closed at the end."""
    place = Place(kind, folder, server)
    try:
        yield place
    finally:
        place.close()
