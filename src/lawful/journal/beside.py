"""What stands beside a journal on this machine, and what tells its database from a copy; asked of a journal or a wrapped one.

A store may have these attributes, none of which the port demands: ``beside``, the path that names of files beside it begin
with; ``identity``, a text that another database, or this one put back from an archive, does not have; ``sessions``, how
often it has connected so far. A wrapper that encrypts has ``sealer``.
"""

from __future__ import annotations

from typing import Any

from lawful.journal.cipher import Sealer
from lawful.journal.port import EffectTx, Journal
from lawful.journal.wrapper import EffectTxWrapper, JournalWrapper


def base_of(journal: Journal) -> Any:
    """The store beneath all wrappers."""
    while isinstance(journal, JournalWrapper):
        journal = journal.inner
    return journal


def bare(tx: EffectTx) -> EffectTx:
    """The store's own transaction, which sees every operation and opens no seal."""
    while isinstance(tx, EffectTxWrapper):
        tx = tx.inner
    return tx


def beside(journal: Journal) -> str | None:
    """What names of files beside the journal begin with; None where it has no place on this machine."""
    found = getattr(base_of(journal), "beside", None)
    return found if isinstance(found, str) and found else None


def sealer_of(journal: Journal) -> Sealer | None:
    """What encrypts whatever is written beside it; None where nothing is encrypted."""
    while isinstance(journal, JournalWrapper):
        found = getattr(journal, "sealer", None)
        if isinstance(found, Sealer):
            return found
        journal = journal.inner
    return None


def identity_of(journal: Journal) -> str:
    """What tells the database from others; "" where nothing does."""
    return str(getattr(base_of(journal), "identity", ""))


def sessions_of(journal: Journal) -> int:
    """How often the store has connected; 0 where it does not count."""
    return int(getattr(base_of(journal), "sessions", 0))
