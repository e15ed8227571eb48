"""One connection: its transactions, none of which leaves anything in the session, and what became of a lost COMMIT."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lawful.core.errors import ConfigurationError, StoreError
from lawful.core.lazy import TYPE_CHECKING, late
from lawful.journal.checks import closed
from lawful.stores.postgres_errors import aborted, is_lost, unknown_outcome
from lawful.stores.postgres_identity import identity
from lawful.stores.postgres_schema import JOURNAL, Kind, check_version

if TYPE_CHECKING:
    import psycopg
    from psycopg import conninfo
    from psycopg.pq import TransactionStatus
else:
    psycopg = late("psycopg", extra="postgres")
    conninfo = late("psycopg.conninfo", extra="postgres")
    TransactionStatus = late("psycopg.pq", "TransactionStatus", extra="postgres")

_DEFAULTS: Mapping[str, str] = {
    "application_name": "lawful",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",  # milliseconds without an acknowledgement, then the connection counts as lost
}
_STUCK = 60_000
"""Milliseconds after which the server ends a transaction whose client says nothing: it may hold a thread's lock."""
_ASK = 5.0
"""Seconds to ask for what became of a commit."""


class Server:
    """Where the tables are, and how statements are written for them."""

    def __init__(
        self, url: str, schema: str, *, busy_timeout: float, prepare: bool, safe: bool, kind: Kind = JOURNAL
    ) -> None:
        self._kind = kind
        try:
            given: dict[str, Any] = {key: value for key, value in conninfo.conninfo_to_dict(url).items() if value}
        except psycopg.Error:  # whose text may hold the password
            raise ConfigurationError(
                "this is not a PostgreSQL URL or connection string (expected postgresql://user@host:port/database)",
                component="journal",
                operation="open",
            ) from None
        self._given = conninfo.make_conninfo(**{**_DEFAULTS, **given, "client_encoding": "utf8"})
        self._threshold = 5 if prepare else None
        self.schema = schema
        self.busy_timeout = busy_timeout
        self.place = f"{given.get('host', 'local')}:{given.get('port', 5432)}/{given.get('dbname', '')} schema {schema}"
        """For people; never holds a password."""
        self.database = str(given.get("dbname", ""))
        self._texts: dict[str, bytes] = {}
        lock = max(1, int(busy_timeout * 1000))
        self._limits = f"SET LOCAL lock_timeout={lock}; SET LOCAL idle_in_transaction_session_timeout={_STUCK}; "
        self._safe = safe
        self.sessions = 0
        """How many connections have been made."""
        self.identity = ""
        """What the database was told to be by the newest of them; "" before, and where the role may not ask."""

    def connect(self) -> psycopg.Connection[Any]:
        """A new connection to tables of this version. Raises: psycopg.Error, NewerSchema, StoreError."""
        con = psycopg.connect(self._given, autocommit=True, prepare_threshold=self._threshold)
        try:
            check_version(con, self.schema, self.place, self._kind)
            if self._kind is JOURNAL:
                self.identity = identity(con, self.schema) or self.identity
        except BaseException:
            con.close()
            raise
        self.sessions += 1
        return con

    def text(self, statement: str) -> bytes:
        """``statement`` with the schema put before each ``@table``."""
        found = self._texts.get(statement)
        if found is None:
            found = statement.replace("@", f'"{self.schema}".').encode()
            if len(self._texts) < 500:
                self._texts[statement] = found
        return found

    def begin(self, keys: Sequence[int] = (), *, durable: bool = False, serial: str = "") -> bytes:
        """The start of a write transaction: limits, locks of threads in the order given, its number and the time.

        With ``serial`` it is serializable, and holds the gate in that mode before it sees anything.
        """
        text = f"BEGIN ISOLATION LEVEL {'SERIALIZABLE' if serial else 'READ COMMITTED'} READ WRITE; {self._limits}"
        if serial:
            # Before any SELECT, for the first one fixes what the transaction sees. Index scans keep what it has read
            # small, so that it seldom meets another.
            text += f"LOCK TABLE {self.schema}.gate IN {serial} MODE; SET LOCAL enable_seqscan=off; "
        if durable:
            text += _DURABLE
        elif not self._safe:
            text += "SET LOCAL synchronous_commit=off; "
        if keys:
            listed = ",".join(map(str, keys))
            text += f"SELECT pg_advisory_xact_lock(k) FROM unnest('{{{listed}}}'::bigint[]) k; "
        return f"{text}SELECT pg_current_xact_id()::text, {NOW}".encode()


_DURABLE = "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit')='off'; "
NOW = "extract(epoch FROM clock_timestamp())::float8"
_VIEW = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT '', {NOW}".encode()


class Link:
    """A connection that is made when it is first needed, and anew after it was lost; used by one thread at a time."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._con: psycopg.Connection[Any] | None = None
        self._of = 0
        """The process that made the connection."""
        self._xid = ""
        self.shut = False
        self.wrote = False
        """Whether this transaction has anything to commit."""
        self.committed: bool | None = False
        """What became of the last write transaction; None where nobody knows."""

    def open(self) -> psycopg.Connection[Any]:
        """The connection. Raises: psycopg.Error, StoreError."""
        if self.shut:
            raise closed()
        if self._con is None or self._con.closed:
            self.drop()
            self._con = self._server.connect()
            self._of = os.getpid()
        return self._con

    def run(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        """One statement inside the open transaction."""
        if self._con is None:
            raise aborted(self._server.place, "write")
        return self._con.execute(self._server.text(statement), values, binary=True)

    def write(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        """As `run`, for what changes something."""
        self.wrote = True
        return self.run(statement, values)

    def ask(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What one reading statement gives, outside of any transaction."""

        def asked(con: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
            return con.execute(self._server.text(statement), values, binary=True).fetchall()

        warm = self._con is not None
        try:
            return asked(self.open())
        except psycopg.Error as error:
            if not (warm and is_lost(error)):
                raise
        # It may have been lost long ago, while nobody used it.
        self.drop()
        return asked(self.open())

    def _begin(self, text: bytes) -> float:
        warm = self._con is not None
        try:
            return self._begun(text)
        except psycopg.Error as error:
            if not (warm and is_lost(error)):
                raise
        self.drop()
        return self._begun(text)

    def _begun(self, text: bytes) -> float:
        self._xid = ""
        cursor = self.open().execute(text)
        while cursor.nextset():
            pass
        self._xid, now = cursor.fetchone() or ("", 0.0)
        return now

    @contextmanager
    def writing(self, begin: bytes) -> Generator[float]:
        """A write transaction and the server's time; whatever is raised within rolls it back."""
        self.wrote = self.committed = ending = False
        try:
            yield self._begin(begin)
            if not self.wrote:
                self.undo()
                return
            ending = True
            self._commit()
            self.committed = True
        except BaseException as error:
            if ending:
                self.committed = self._outcome(error)
                if self.committed is None and isinstance(error, psycopg.Error):
                    raise unknown_outcome(self._server.place, "commit") from error
                if self.committed and isinstance(error, psycopg.Error):
                    return
            self.undo()
            raise

    @contextmanager
    def reading(self) -> Generator[float]:
        """A consistent view, and the server's time."""
        try:
            yield self._begin(_VIEW)
        finally:
            self.undo()

    def _commit(self) -> None:
        # After a failed statement, which somebody may have swallowed, the server's answer is ROLLBACK.
        if self._con is None or self._con.execute("COMMIT").statusmessage != "COMMIT":
            raise aborted(self._server.place, "commit")

    def _outcome(self, error: BaseException) -> bool | None:
        """Whether the transaction whose COMMIT ended with ``error`` was committed; None where that cannot be found out."""
        if isinstance(error, StoreError) or (isinstance(error, psycopg.Error) and not is_lost(error)):
            return False
        self.drop()
        until = time.monotonic() + _ASK
        while time.monotonic() < until:
            try:
                ((status,),) = self.ask("SELECT pg_xact_status(%s::text::xid8)", (self._xid,))
            except (psycopg.Error, StoreError):
                status = "in progress"
            if status != "in progress":
                return None if status is None else status == "committed"
            time.sleep(0.05)
        return None

    def undo(self) -> None:
        """Roll back what is open; a connection that cannot do even that is given up."""
        con = self._con
        if con is None:
            return
        try:
            if con.closed or con.info.transaction_status != TransactionStatus.IDLE:
                con.execute("ROLLBACK")
        except psycopg.Error:
            self.drop()

    def drop(self) -> None:
        """Let go of the connection; one that was made before a fork is the parent's, and only forgotten."""
        con, self._con = self._con, None
        if con is None:
            return
        if self._of != os.getpid():
            _inherited.append(con)
            return
        con.close()

    def __del__(self) -> None:
        if self.__dict__.get("_con") is not None:
            self.drop()


_inherited: list[Any] = []
"""Connections of a parent process: closing them here would end them there."""
