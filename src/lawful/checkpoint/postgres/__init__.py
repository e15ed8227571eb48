"""The journal in PostgreSQL by the names of LangGraph's saver (extra ``postgres``)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from lawful.checkpoint.names import SaverNames
from lawful.core.lazy import face
from lawful.stores.postgres import PostgresJournal
from lawful.stores.postgres_connections import url_of
from lawful.stores.postgres_schema import setup


class PostgresSaver(SaverNames, PostgresJournal):
    """A `PostgresJournal`; `setup` makes its tables, and may be called after it was made.

    ``conn`` is a URL, or an open connection or a pool of psycopg: where that leads is used, and nothing else of it.

    Raises: ConfigurationError, NewerSchema, StoreError.
    """

    _before_setup: ClassVar = True

    def __init__(self, conn: Any, *, schema: str = "lawful", scope: str = "local", power_safe: bool = True) -> None:
        url = url_of(conn)
        super().__init__(url, schema=schema, scope=scope, power_safe=power_safe)
        self._made_of = url, schema

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, conn_string: str, *, pipeline: bool = False, schema: str = "lawful"
    ) -> Generator[Self, None, None]:
        """A journal for the time of a ``with`` block; ``pipeline`` changes nothing, commits that wait are always grouped."""
        made = cls(conn_string, schema=schema)
        try:
            yield made
        finally:
            made.close()

    def setup(self) -> None:
        """Make or migrate the tables; safe to call each time."""
        url, schema = self._made_of
        setup(url, schema=schema)


__getattr__, __dir__ = face(globals(), {})
