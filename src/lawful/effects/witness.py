"""How a journal that was restored from an older copy is noticed: a number beside the file that the copy does not have."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from lawful.core.clock import Clock
from lawful.effects.marks import Quarantine, quarantine, set_quarantine
from lawful.journal.port import EffectTx, Journal

_CLAIMS = "effects:claims"


class Witness:
    """Counts the claims of one scope in the journal and beside it; where the journal is behind, it is older than the world.

    The number beside the file is written after each claim and not forced to the disk: it may be behind, never ahead.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._looked = 0

    def look(self, journal: Journal, clock: Clock) -> None:
        """Once in each process: put the scope into quarantine if the journal knows of fewer claims than were made."""
        if self._looked == os.getpid():
            return
        with self._lock:
            if self._looked == os.getpid():
                return
            made = self._read()
            if made > journal.read(_claims):
                journal.transact(lambda tx: self._doubt(tx, made, clock))
            self._looked = os.getpid()

    def _doubt(self, tx: EffectTx, made: int, clock: Clock) -> None:
        known = _claims(tx)
        if made <= known:
            return
        newest = max((row.updated for row in tx.operations()), default=None)
        if newest is not None and quarantine(tx) is None:  # an empty journal is a new one, not an old one
            now = tx.now()
            why = f"{made} claims were made, this journal knows of {known}: it was restored from an older copy"
            set_quarantine(tx, Quarantine(clock.token(), min(newest, now), "the journal itself", why, now))
        tx.set_mark(_CLAIMS, b"%d" % made)

    def count(self, tx: EffectTx) -> int:
        """Note a claim in the transaction that makes it."""
        number = _claims(tx) + 1
        tx.set_mark(_CLAIMS, b"%d" % number)
        return number

    def note(self, number: int) -> None:
        """Note it beside the journal, once it is committed."""
        try:
            with self._lock, self._path.open("r+b" if self._path.exists() else "wb") as file:
                file.write(b"%020d" % number)
        except OSError:
            return  # the disk is full or the folder read-only: then nothing is noticed here

    def _read(self) -> int:
        try:
            return int(self._path.read_bytes() or 0)
        except (OSError, ValueError):
            return 0


def _claims(tx: EffectTx) -> int:
    return int(tx.mark(_CLAIMS) or 0)


_witnesses: WeakKeyDictionary[Any, Witness] = WeakKeyDictionary()
_witnesses_lock = threading.Lock()


def witness_of(journal: Journal) -> Witness | None:
    """The witness of a journal that is a file: ``path-claims``, with a suffix for scopes other than "local"."""
    path = getattr(journal, "path", None)
    if not isinstance(path, str) or path in ("", ":memory:"):
        return None
    with _witnesses_lock:
        found = _witnesses.get(journal)
        if found is None:
            scope = journal.scope
            tail = "" if scope == "local" else f"-{hashlib.sha256(scope.encode()).hexdigest()[:8]}"
            found = _witnesses[journal] = Witness(Path(f"{path}-claims{tail}"))
        return found
