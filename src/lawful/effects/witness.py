"""How a journal that was restored from an older copy, or promoted from a standby that was behind, is noticed at a claim.

Two things tell: the newest claim made on this machine, noted beside the journal, which a copy does not have; and what the
database says it is, noted in the journal, which does not fit a copy.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from lawful.core.clock import Clock
from lawful.effects.marks import Quarantine, quarantine, set_quarantine
from lawful.journal.beside import bare, base_of, beside, identity_of, sessions_of
from lawful.journal.port import EffectTx, Journal

_PLACE = "effects:database"


class Newest(Struct, frozen=True):
    """The newest claim that this machine knows of: a journal without it is older than the world."""

    op_id: str
    seq: int
    digest: str
    at: float

    def missing(self, tx: EffectTx) -> bool:
        """Whether the journal has another history, or none, of that operation."""
        events = bare(tx).events(self.op_id)
        return len(events) < self.seq or events[self.seq - 1].digest.hex() != self.digest


_decoder = msgspec.json.Decoder(Newest)


class Looked(Struct, frozen=True):
    """What a look within a transaction came to; kept once that is committed."""

    key: tuple[int, int]
    lost: Newest | None = None
    sure: bool = True
    """False: ``lost`` may have been claimed after the transaction's view was made, and is to be looked for in another."""


class Witness:
    """Watches one scope of a journal; ``path`` is the file beside it, None where there is no such place.

    The file is written after each claim and not forced to the disk: it may be behind the journal, never ahead.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._looked: tuple[int, int] | None = None

    def look(self, journal: Journal, tx: EffectTx, clock: Clock, missed: Newest | None) -> Looked | None:
        """Within a claim, once for each process and new connection: begin a quarantine if the journal is not what it was.

        ``missed`` is what an earlier look has not found.
        """
        key = (os.getpid(), sessions_of(journal))
        if self._looked == key:
            return None
        newest = missed or self._read()
        lost = newest if newest is not None and newest.missing(tx) else None
        if lost is not None and missed is None:
            return Looked(key, lost, sure=False)
        why = _elsewhere(journal, tx)
        if lost is not None:
            why = f"the claim of {lost.op_id}, made from this machine, is not in this journal: it is an older copy"
        if why:
            _doubt(tx, clock, why)
        return Looked(key, lost)

    def claimed(self, tx: EffectTx, op_id: str) -> Newest | None:
        """What to note of the claim that ``tx`` has just written."""
        if self._path is None:
            return None
        event = bare(tx).events(op_id)[-1]
        return Newest(op_id, event.seq, event.digest.hex(), event.at)

    def committed(self, looked: Looked | None, claim: Newest | None) -> None:
        """Keep what a transaction found and did, once it is committed."""
        if looked is not None:
            self._looked = looked.key
        if claim is not None:
            self._note(claim)
        elif looked is not None and looked.lost is not None:
            self._note(None)

    def _note(self, claim: Newest | None) -> None:
        if self._path is None:
            return
        try:
            with self._path.open("a+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.seek(0)
                held = _told(file.read())
                if claim is not None and held is not None and held.at > claim.at:
                    return  # somebody else's claim is newer
                file.truncate(0)
                file.write(msgspec.json.encode(claim) if claim is not None else b"")
        except OSError:
            return  # the disk is full or the folder read-only: then nothing is noticed here

    def _read(self) -> Newest | None:
        try:
            return _told(self._path.read_bytes()) if self._path is not None else None
        except OSError:
            return None


def _elsewhere(journal: Journal, tx: EffectTx) -> str:
    """Why this is not the database that the journal was in, if it is not; and note which one it is."""
    now = identity_of(journal)
    held = (tx.mark(_PLACE) or b"").decode()
    if not now or now == held:
        return ""
    tx.set_mark(_PLACE, now.encode())
    return f"this journal was in another database ({held}, now {now}): restored, or promoted" if held else ""


def _told(data: bytes) -> Newest | None:
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError:
        return None  # empty, or cut off by a crash


def _doubt(tx: EffectTx, clock: Clock, why: str) -> None:
    newest = max((row.updated for row in bare(tx).operations()), default=None)
    if newest is not None and quarantine(tx) is None:  # an empty journal is a new one, not an old one
        now = tx.now()
        set_quarantine(tx, Quarantine(clock.token(), min(newest, now), "the journal itself", why, now))


_witnesses: WeakKeyDictionary[Any, Witness] = WeakKeyDictionary()
_witnesses_lock = threading.Lock()


def witness_of(journal: Journal) -> Witness:
    """The witness of a journal; its file is the journal's with ``-claims``, and a suffix for scopes other than "local"."""
    base = base_of(journal)
    with _witnesses_lock:
        found = _witnesses.get(base)
        if found is None:
            scope, start = journal.scope, beside(journal)
            tail = "" if scope == "local" else f"-{hashlib.sha256(scope.encode()).hexdigest()[:8]}"
            found = _witnesses[base] = Witness(Path(f"{start}-claims{tail}") if start is not None else None)
        return found
