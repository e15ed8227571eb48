"""LangGraph's own checkpoint tables, in SQLite and PostgreSQL, read as they lie there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol, cast

from msgspec import Struct

from lawful.compat.envelope import Envelope
from lawful.core.errors import ConfigurationError, StoreError
from lawful.core.lazy import late


class StoredWrite(Struct, frozen=True):
    """One write of a task of an unfinished step."""

    task: str
    path: str
    """As LangGraph writes it: "~__pregel_pull, name"; "" in tables from before it did."""
    index: int
    channel: str
    value: Any


class StoredCheckpoint(Struct, frozen=True):
    """One checkpoint of LangGraph's."""

    ns: str
    id: str
    parent: str | None
    checkpoint: Mapping[str, Any]
    metadata: Mapping[str, Any]


class Tables(Protocol):
    """Where LangGraph's threads are read from."""

    def threads(self) -> Sequence[str]: ...

    def checkpoints(self, thread: str, envelope: Envelope) -> Iterator[StoredCheckpoint]:
        """Every checkpoint of the thread, oldest first. Raises: UnknownType."""
        ...

    def writes(self, thread: str, ns: str, checkpoint: str, envelope: Envelope) -> list[StoredWrite]:
        """What the tasks of a checkpoint have written, in LangGraph's order. Raises: UnknownType."""
        ...

    def close(self) -> None: ...


def tables_at(kind: str, url: str) -> Tables:
    """LangGraph's tables in a database; it is only read.

    Raises: StoreError, where there is no such database, or it has none of these tables; ConfigurationError for another kind.
    """
    if kind == "sqlite":
        return SQLiteTables(url.removeprefix("sqlite:///"))
    if kind == "postgres":
        return PostgresTables(url)
    raise ConfigurationError(f"threads are read from sqlite or postgres, not {kind!r}", component="compat")


class SQLiteTables:
    """The file of LangGraph's SqliteSaver."""

    def __init__(self, path: str) -> None:
        if not Path(path).is_file():
            raise _nothing(path, "there is no such file")
        self._file = path
        self._con = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        columns = {row[1] for row in self._rows("PRAGMA table_info(writes)")}
        if "task_id" not in columns or not self._rows("PRAGMA table_info(checkpoints)"):
            self.close()
            raise _nothing(path, "it has no tables of LangGraph's")
        self._path = "task_path" if "task_path" in columns else "''"

    def _rows(self, sql: str, *given: Any) -> list[Any]:
        try:
            with closing(self._con.execute(sql, given)) as found:
                return found.fetchall()
        except sqlite3.DatabaseError as error:
            raise _nothing(self._file, str(error)) from error

    def threads(self) -> Sequence[str]:
        return [row[0] for row in self._rows("SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id")]

    def checkpoints(self, thread: str, envelope: Envelope) -> Iterator[StoredCheckpoint]:
        rows = self._rows(
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints"
            " WHERE thread_id = ? ORDER BY checkpoint_id",
            thread,
        )
        for ns, id, parent, kind, blob, metadata in rows:
            told = envelope.checkpoint(kind, blob, f"thread {thread!r}, checkpoint {id}")
            yield StoredCheckpoint(ns, id, parent or None, told, _json(metadata))

    def writes(self, thread: str, ns: str, checkpoint: str, envelope: Envelope) -> list[StoredWrite]:
        rows = self._rows(
            f"SELECT task_id, {self._path}, idx, channel, type, value FROM writes"
            " WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
            thread,
            ns,
            checkpoint,
        )
        return _written(rows, thread, checkpoint, envelope)

    def close(self) -> None:
        self._con.close()


class PostgresTables:
    """The database of LangGraph's PostgresSaver."""

    def __init__(self, url: str) -> None:
        psycopg = late("psycopg", extra="postgres")
        self._error = psycopg.Error
        try:
            self._con = psycopg.connect(url, autocommit=True, prepare_threshold=None)
            self._con.read_only = True
            self._rows("SELECT thread_id FROM checkpoints LIMIT 1")
            has = self._rows(
                "SELECT 1 FROM information_schema.columns WHERE table_name = 'checkpoint_writes' AND column_name = 'task_path'"
            )
        except psycopg.Error as error:
            raise _nothing("the database", str(error).splitlines()[0]) from None
        self._path = "task_path" if has else "''"

    def _rows(self, sql: str, *given: Any) -> list[Any]:
        return self._con.execute(sql, given).fetchall()

    def threads(self) -> Sequence[str]:
        return [row[0] for row in self._rows("SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id")]

    def checkpoints(self, thread: str, envelope: Envelope) -> Iterator[StoredCheckpoint]:
        blobs = {
            (ns, channel, version): (kind, blob)
            for ns, channel, version, kind, blob in self._rows(
                "SELECT checkpoint_ns, channel, version, type, blob FROM checkpoint_blobs WHERE thread_id = %s", thread
            )
        }
        for ns, id, parent, told, metadata in self._rows(
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata FROM checkpoints"
            " WHERE thread_id = %s ORDER BY checkpoint_id",
            thread,
        ):
            values = dict(told.get("channel_values") or {})
            for channel, version in told["channel_versions"].items():
                kind, blob = blobs.get((ns, channel, str(version)), ("empty", None))
                if kind != "empty":
                    values[channel] = envelope.read(kind, blob, f"thread {thread!r}, checkpoint {id}, key {channel!r}")
            yield StoredCheckpoint(ns, id, parent or None, {**told, "channel_values": values}, metadata)

    def writes(self, thread: str, ns: str, checkpoint: str, envelope: Envelope) -> list[StoredWrite]:
        rows = self._rows(
            f"SELECT task_id, {self._path}, idx, channel, type, blob FROM checkpoint_writes"
            " WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s",
            thread,
            ns,
            checkpoint,
        )
        return _written(rows, thread, checkpoint, envelope)

    def close(self) -> None:
        self._con.close()


def _written(rows: Sequence[Any], thread: str, checkpoint: str, envelope: Envelope) -> list[StoredWrite]:
    made = [
        StoredWrite(
            task, path, idx, channel, envelope.read(kind, blob, f"thread {thread!r}, a write to key {channel!r}")
        )
        for task, path, idx, channel, kind, blob in rows
    ]
    return sorted(made, key=lambda each: (each.path, each.task, each.index))


def _json(data: Any) -> Mapping[str, Any]:
    try:
        told: Any = json.loads(data) if data is not None else {}
    except ValueError:
        return {}
    return cast("dict[str, Any]", told) if isinstance(told, dict) else {}


def _nothing(where: str, why: str) -> StoreError:
    return StoreError(
        f"no threads of LangGraph's can be read from {where!r}: {why}", component="compat", operation="import"
    )
