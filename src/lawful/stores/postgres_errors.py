"""What PostgreSQL's errors mean to the caller of a journal, and which of them say that the connection is gone."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from lawful.core.errors import CorruptRecord, ForeignException, StoreError, StoreFull, StoreLocked
from lawful.core.lazy import TYPE_CHECKING, late

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = late("psycopg", extra="postgres")

_KINDS: Mapping[str, tuple[type[StoreError], str]] = {
    "53100": (StoreFull, "the server's disk is full"),
    "53000": (StoreError, "the server is short of resources"),
    "53200": (StoreError, "the server is out of memory"),
    "53400": (StoreFull, "a limit that the server's configuration sets is reached"),
    "55P03": (StoreLocked, "another connection holds a lock for longer than we wait"),
    "57014": (StoreLocked, "the server's own time limit cut the statement off"),
    "40P01": (StoreLocked, "the server ended a deadlock here"),
    "40001": (StoreLocked, "transactions of other connections kept getting in between"),
    "3F000": (StoreError, "the tables are not there: run lawful.stores.postgres.setup once"),
    "42P01": (StoreError, "the tables are not there: run lawful.stores.postgres.setup once"),
    "42501": (StoreError, "the role may not do this; docs/postgres.md lists the grants that it needs"),
    "54000": (StoreError, "a name is longer than an index can hold"),
    "25006": (StoreError, "the server takes no writes (a standby, or a read-only database)"),
    "XX001": (CorruptRecord, "the server found its data damaged"),
    "XX002": (CorruptRecord, "the server found an index damaged"),
}
_UNMADE = frozenset({"3F000", "42P01"})
_RETRYABLE = frozenset({"53000", "53200", "25006"})
_LOST = frozenset({"57P01", "57P02", "57P03", "57P05", "53300", "25P03", "25P04"})
"""The server ends the connection, or takes none now (shutdown, start-up, too many, idle for too long)."""


def is_lost(error: BaseException) -> bool:
    """Whether ``error`` says that the connection is gone, or could not be made."""
    if not isinstance(error, (psycopg.OperationalError, psycopg.InternalError)):
        return False
    code = error.sqlstate
    return code is None or code in _LOST or code.startswith("08")


def wants_setup(error: StoreError) -> bool:
    """Whether the tables are missing, or older than this library's."""
    return error.details.get("sqlstate") in _UNMADE or "needed" in error.details


def is_race(error: BaseException) -> bool:
    """Whether the transaction lost to a concurrent one and may be run again from its start."""
    return isinstance(error, psycopg.Error) and error.sqlstate in ("40001", "40P01", "23505")


def translated(error: psycopg.Error, place: str, operation: str, component: str = "journal") -> StoreError:
    """The error of ours that stands for ``error``; the server's first line is told, never the values of a row."""
    code = error.sqlstate or ""
    told = (error.diag.message_primary or str(error)).partition("\n")[0]
    details = {"server": place, "sqlstate": code}
    if is_lost(error):
        kind, message = StoreError, f"the connection to {place} is lost, or could not be made: nothing was written"
    else:
        kind, message = _KINDS.get(code, (StoreError, f"PostgreSQL refused to {operation}"))
        message = f"{place}: {message}"
    return kind(
        f"{message} ({told})",
        component=component,
        operation=operation,
        details=details,
        retryable=True if is_lost(error) or code in _RETRYABLE else None,
        cause=ForeignException(type(error).__name__, told),
    )


def unknown_outcome(place: str, operation: str) -> StoreError:
    """The connection went away during COMMIT, and nobody can be asked what became of it."""
    return StoreError(
        f"the connection to {place} was lost while it committed: whether this was written is not known; read before a retry",
        component="journal",
        operation=operation,
        details={"server": place, "outcome": "unknown"},
    )


def aborted(place: str, operation: str) -> StoreError:
    """A statement inside the transaction had failed, so that the server rolled it back."""
    return StoreError(
        f"a statement of this transaction failed at {place}, so that nothing of it was written",
        component="journal",
        operation=operation,
        details={"server": place},
        retryable=True,
    )


@contextmanager
def translating(place: str, operation: str, component: str = "journal") -> Generator[None]:
    """Raise errors of PostgreSQL as ours."""
    try:
        yield
    except psycopg.Error as error:
        found = translated(error, place, operation, component)
        raise found from found.__cause__
