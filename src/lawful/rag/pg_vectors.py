"""`PgVectors`: vectors in PostgreSQL through the extension pgvector (extra ``postgres``)."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal

from lawful.core.errors import ConfigurationError, VectorStoreError
from lawful.core.lazy import late
from lawful.rag.documents import Hit, checked_id, checked_name
from lawful.rag.filter_sql import columns, condition
from lawful.rag.filters import Filter
from lawful.rag.ports import Entry, VectorStore, settled
from lawful.rag.sqlite_file import packed, unpacked

_LOST: Final = ("08", "57P")
"""SQLSTATEs that say that the connection is gone: another try may succeed."""


class _Link:
    """The connection that the handles of all scopes share; made when it is first needed, and anew after it is lost."""

    def __init__(self, url: str, table: str, index: str | None) -> None:
        self._psycopg: Any = late("psycopg", extra="postgres")
        self._url = url
        self._con: Any = None
        self.index = index
        self.table = checked_name(table)
        self.gate = threading.RLock()
        self.size: int | None = None

    @contextmanager
    def session(self) -> Generator[Any]:
        with self.gate:
            try:
                if self._con is None or self._con.closed:
                    self._con = self._psycopg.connect(self._url)
                    self.size = self._found()
                with self._con.transaction():
                    yield self._con
            except self._psycopg.Error as error:
                code = error.sqlstate or "08"
                told = (error.diag.message_primary or str(error)).partition("\n")[0]
                raise VectorStoreError(
                    f"PostgreSQL: {told}",
                    component="rag",
                    operation="pgvector",
                    details={"sqlstate": code},
                    retryable=code.startswith(_LOST) or code in ("40001", "40P01"),
                    cause=error,
                ) from error

    def _found(self) -> int | None:
        row = self._con.execute(
            "SELECT atttypmod FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = 'vector'", (self.table,)
        ).fetchone()
        self._con.commit()
        return None if row is None else int(row[0])

    def make(self, con: Any, size: int) -> None:
        if self.size is not None:
            return
        table = self.table
        # Two programs that begin at once would both see no table, and one of them would fail.
        con.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"lawful.{table}",))
        con.execute("CREATE EXTENSION IF NOT EXISTS vector")
        con.execute(
            f"CREATE TABLE IF NOT EXISTS {table} (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
            " scope text NOT NULL, id text NOT NULL, digest text NOT NULL, body text NOT NULL,"
            f" vector vector({int(size)}) NOT NULL, UNIQUE (scope, id))"
        )
        con.execute(
            f"CREATE TABLE IF NOT EXISTS {table}_field (item bigint NOT NULL REFERENCES {table} ON DELETE CASCADE,"
            ' name text NOT NULL, txt text COLLATE "C", num double precision, flag integer, PRIMARY KEY (item, name))'
        )
        if self.index == "hnsw":
            con.execute(f"CREATE INDEX IF NOT EXISTS {table}_near ON {table} USING hnsw (vector vector_cosine_ops)")
        self.size = self._found_within(con)

    def _found_within(self, con: Any) -> int:
        row = con.execute(
            "SELECT atttypmod FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = 'vector'", (self.table,)
        ).fetchone()
        return int(row[0])

    def close(self) -> None:
        with self.gate:
            if self._con is not None:
                self._con.close()


class PgVectors(VectorStore):
    """Vectors in a table of PostgreSQL; the table and the extension are made when the first vectors are stored.

    ``url`` is libpq's. Searches are exact; ``index="hnsw"`` makes an approximate index, which is searched further where a
    filter or the scope leaves too few (pgvector 0.8 and later). Raises: ConfigurationError, if psycopg is missing.
    """

    def __init__(
        self, url: str, *, table: str = "passages", scope: str = "local", index: Literal["hnsw"] | None = None
    ) -> None:
        if index not in (None, "hnsw"):
            raise ConfigurationError(f"index is None or 'hnsw', not {index!r}", component="rag", operation="pgvector")
        self.scope = checked_id(scope)
        self._link = _Link(url, table, index)

    @property
    def dimensions(self) -> int | None:
        with self._link.session():
            return self._link.size

    def scoped(self, scope: str) -> PgVectors:
        made = object.__new__(PgVectors)
        made.scope, made._link = checked_id(scope), self._link
        return made

    def close(self) -> None:
        """Close the connection, which all scopes of this store share."""
        self._link.close()

    def ids(self) -> list[str]:
        rows = self._rows(f"SELECT id FROM {self._link.table} WHERE scope = %s", self.scope)
        return sorted(id for (id,) in rows)

    def count(self) -> int:
        rows = self._rows(f"SELECT count(*) FROM {self._link.table} WHERE scope = %s", self.scope)
        return rows[0][0] if rows else 0

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._link.session() as con:
            if self._link.size is None:
                return []
            return con.execute(statement, values).fetchall()

    def _upsert(self, entries: Sequence[Entry]) -> None:
        table = self._link.table
        try:
            with self._link.session() as con:
                self._link.make(con, len(entries[0].vector))
                self._fit({len(entry.vector) for entry in entries})
                con.execute(
                    f"DELETE FROM {table} WHERE scope = %s AND id = ANY(%s)",
                    (self.scope, [entry.passage.id for entry in entries]),
                )
                with con.cursor() as cursor:
                    cursor.executemany(
                        f"INSERT INTO {table} (scope, id, digest, body, vector)"
                        " VALUES (%s, %s, %s, %s, %s::vector) RETURNING n",
                        [self._row(entry) for entry in entries],
                        returning=True,
                    )
                    numbers: list[int] = []
                    for _ in entries:
                        numbers.append(cursor.fetchone()[0])
                        cursor.nextset()
                    fields = [
                        (n, name, *columns(value))
                        for n, entry in zip(numbers, entries, strict=True)
                        for name, value in entry.passage.metadata.items()
                    ]
                    cursor.executemany(f"INSERT INTO {table}_field VALUES (%s, %s, %s, %s, %s)", fields)
        except BaseException:
            # The tables may have gone with the transaction that made them.
            self._link.close()
            raise

    def _row(self, entry: Entry) -> tuple[str, ...]:
        one = entry.passage
        return self.scope, one.id, one.digest, packed(one).decode(), _text(entry.vector)

    def _delete(self, ids: Sequence[str]) -> int:
        with self._link.session() as con:
            if self._link.size is None:
                return 0
            return con.execute(
                f"DELETE FROM {self._link.table} WHERE scope = %s AND id = ANY(%s)", (self.scope, list(ids))
            ).rowcount

    def _present(self, ids: Sequence[str]) -> dict[str, str]:
        return dict(
            self._rows(
                f"SELECT id, digest FROM {self._link.table} WHERE scope = %s AND id = ANY(%s)", self.scope, list(ids)
            )
        )

    def _search(self, vector: tuple[float, ...], k: int, filter: Filter | None) -> list[Hit]:
        table, wanted = self._link.table, _text(vector)
        more, values = ("", []) if filter is None else condition(filter, "i.n", f"{table}_field", "%s")
        with self._link.session() as con:
            if self._link.index == "hnsw":
                con.execute("SET LOCAL hnsw.iterative_scan = 'strict_order'")
                con.execute(f"SET LOCAL hnsw.ef_search = {min(1000, max(40, 2 * k))}")

            def fetch(many: int) -> list[Hit]:
                rows = con.execute(
                    f"SELECT i.body, i.vector <=> %s::vector FROM {table} i"
                    f" WHERE i.scope = %s{' AND ' + more if more else ''} ORDER BY i.vector <=> %s::vector LIMIT %s",
                    (wanted, self.scope, *values, wanted, many),
                ).fetchall()
                return [Hit(unpacked(body, table), 1.0 - far) for body, far in rows]

            return settled(fetch, k)


def _text(vector: Sequence[float]) -> str:
    return f"[{','.join(map(repr, vector))}]"
