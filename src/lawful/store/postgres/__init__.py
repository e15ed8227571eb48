"""The long-term store in PostgreSQL, at the place where LangGraph has it (extra ``postgres``)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from lawful.core.lazy import face
from lawful.stores import postgres_store
from lawful.stores.postgres_connections import url_of
from lawful.stores.postgres_schema import setup
from lawful.stores.store_records import IndexConfig, TTLConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.store.postgres.aio import AsyncPostgresStore as AsyncPostgresStore
else:
    _TABLE = {"AsyncPostgresStore": "lawful.store.postgres.aio"}
    __getattr__, __dir__ = face(globals(), _TABLE)


class PostgresStore(postgres_store.PostgresStore):
    """A `lawful.stores.PostgresStore`; `setup` makes its tables, and may be called after it was made.

    ``conn`` is a URL, or an open connection or a pool of psycopg: where that leads is used, and nothing else of it.

    Raises: ConfigurationError, NewerSchema, StoreError.
    """

    _before_setup: ClassVar = True

    def __init__(
        self,
        conn: Any,
        *,
        schema: str = "lawful",
        scope: str = "local",
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        url = url_of(conn)
        super().__init__(url, schema=schema, scope=scope, index=index, ttl=ttl)
        self._made_of = url, schema

    @classmethod
    @contextmanager
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        schema: str = "lawful",
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> Generator[Self, None, None]:
        """A store for the time of a ``with`` block."""
        made = cls(conn_string, schema=schema, index=index, ttl=ttl)
        try:
            yield made
        finally:
            made.close()

    def setup(self) -> None:
        """Make or migrate the tables; safe to call each time."""
        url, schema = self._made_of
        setup(url, schema=schema)
