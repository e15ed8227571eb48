"""What stands for a SQLite file beside its path: an open connection of `sqlite3`."""

from __future__ import annotations

import os
import sqlite3
from typing import Any, cast

from lawful.core.errors import ConfigurationError


def path_of(conn: Any) -> str:
    """The file of ``conn``, a path or an open connection, of which nothing else is used; ":memory:" where it has none.

    Raises: ConfigurationError, for anything else.
    """
    if isinstance(conn, str | os.PathLike):
        return os.fspath(cast("str | os.PathLike[str]", conn))
    if not isinstance(conn, sqlite3.Connection):
        raise ConfigurationError(
            f'A {type(conn).__module__}.{type(conn).__name__} does not say which file it has: give its path, or ":memory:"',
            component="journal",
            operation="open",
        )
    for _, name, path in conn.execute("PRAGMA database_list"):
        if name == "main" and path:
            return str(path)
    return ":memory:"
