"""What stands for a PostgreSQL database beside its URL: an open connection of psycopg, or a pool of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from lawful.core.errors import ConfigurationError
from lawful.core.lazy import TYPE_CHECKING, late

if TYPE_CHECKING:
    from psycopg import conninfo, pq
else:
    conninfo = late("psycopg.conninfo", extra="postgres")
    pq = late("psycopg.pq", extra="postgres")


def url_of(conn: Any) -> str:
    """The connection string that ``conn``, a URL, a connection or a pool of psycopg, was made with, password included.

    Raises: ConfigurationError, for anything else.
    """
    if isinstance(conn, str):
        return conn
    info: Any = getattr(conn, "info", None)
    if isinstance(dsn := getattr(info, "dsn", None), str):
        return conninfo.make_conninfo(dsn, **({"password": info.password} if info.password else {}))
    told: Any = getattr(conn, "conninfo", None)
    if isinstance(told, str):
        return conninfo.make_conninfo(told, **_parameters(getattr(conn, "kwargs", None)))
    raise ConfigurationError(
        "A connection string is needed, or a connection or a pool of psycopg that was made with one,"
        f" not a {type(conn).__name__}",
        component="journal",
        operation="open",
    )


def _parameters(given: Any) -> dict[str, Any]:
    """Of a pool's arguments those that name the database; the others are psycopg's own."""
    if not isinstance(given, Mapping):
        return {}
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    return {key: value for key, value in cast("Mapping[str, Any]", given).items() if key in known}
