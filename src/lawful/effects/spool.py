"""Outcomes that the journal would not take: kept in memory and beside the journal's file until it does."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from lawful.core.errors import CannotDecrypt
from lawful.effects.moves import Reply
from lawful.journal.beside import base_of, beside, sealer_of
from lawful.journal.cipher import Sealer
from lawful.journal.port import Journal


class Spooled(Struct, frozen=True):
    """How an attempt ended, still to be written down."""

    scope: str
    op_id: str
    fence: int
    reply: Reply


_decoder = msgspec.json.Decoder(Spooled)


class Spool:
    """One scope's outcomes that are still to be written down; safe to use from any thread and process.

    ``folder`` is made when it is first needed; None keeps them in memory alone, for a store without a place. With
    ``sealer`` the files are as encrypted as the journal is.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, sealer: Sealer | None = None) -> None:
        self._sealer = sealer
        self.folder = Path(folder) if folder is not None else None
        self._lock = threading.Lock()
        self._held: dict[str, Spooled] = {}

    def keep(self, what: Spooled) -> None:
        """Remember ``what``; on disk too where the disk takes it."""
        name = _name(what)
        with self._lock:
            self._held[name] = what
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            data = msgspec.json.encode(what)
            _written(self.folder / name, data if self._sealer is None else self._sealer.seal(data, "spool", name))
        except OSError:
            return  # as full as the journal's disk: it is in memory, and as if we had died here otherwise

    def all(self, scope: str) -> tuple[Spooled, ...]:
        """What is kept of a scope."""
        with self._lock:
            found = dict(self._held)
        if self.folder is not None and self.folder.is_dir():
            for path in self.folder.glob("*.json"):
                told = self._read(path)
                if told is not None:
                    found[path.name] = told
        return tuple(each for each in found.values() if each.scope == scope)

    def of(self, scope: str, op_id: str) -> tuple[Spooled, ...]:
        """What is kept of one operation."""
        return tuple(each for each in self.all(scope) if each.op_id == op_id)

    def _read(self, path: Path) -> Spooled | None:
        try:
            data = path.read_bytes()
            return _decoder.decode(data if self._sealer is None else self._sealer.open(data, "spool", path.name))
        except (OSError, msgspec.MsgspecError, CannotDecrypt):
            return None  # taken by another process meanwhile, or not ours

    def drop(self, done: Iterable[Spooled]) -> None:
        """Forget what has been written down."""
        for each in done:
            name = _name(each)
            with self._lock:
                self._held.pop(name, None)
            if self.folder is not None:
                with suppress(OSError):
                    (self.folder / name).unlink()


def _name(what: Spooled) -> str:
    told = f"{what.scope}\x1f{what.op_id}\x1f{what.fence}".encode("utf-8", "surrogatepass")
    return f"{hashlib.sha256(told).hexdigest()[:40]}.json"


def _written(path: Path, data: bytes) -> None:
    """Whole or not at all, and on the disk before this returns."""
    aside = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise


_spools: WeakKeyDictionary[Any, Spool] = WeakKeyDictionary()
_spools_lock = threading.Lock()


def spool_of(journal: Journal) -> Spool:
    """The spool of a journal: the folder beside it, named as it is with ``-spool``, else this process's memory."""
    sealer, start = sealer_of(journal), beside(journal)
    kept: Any = sealer if sealer is not None else base_of(journal)
    with _spools_lock:
        found = _spools.get(kept)
        if found is None:
            found = _spools[kept] = Spool(f"{start}-spool" if start is not None else None, sealer)
        return found
