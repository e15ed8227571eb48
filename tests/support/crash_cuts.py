"""Cutting a run without killing anybody: a write that fails, a node that raises, a breakpoint, a limit, a closed stream."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

from lawful.core.errors import StoreFull
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.crash import Place, Write, run_to_end, watch_writes

Driver: TypeAlias = Literal["sync", "async"]
PATIENCE = 2.0
"""Seconds to wait for a thread that should be free: a lease left behind is to be seen, not waited out."""
DRIVERS: tuple[Driver, ...] = ("sync", "async")
PLACES: tuple[Place, ...] = ("before", "after")
Make: TypeAlias = Callable[[Journal], Any]
"""Compiles a graph over a journal; called anew for whoever goes on, as another process would."""


class Cutter:
    """Lets the n-th commit of a journal fail once: before it is stored, or after."""

    def __init__(self, journal: Journal, n: int, place: Place) -> None:
        self.left = n
        self.place: Place = place
        self.done = False
        watch_writes(journal, self._hook)

    def _hook(self, write: Write) -> None:
        if self.done or write.batch is None or write.place != self.place:
            return
        self.left -= 1
        if self.left == 0:
            self.done = True
            raise StoreFull("cut here")


def cut_at_write(make: Make, given: Any, driver: Driver, n: int, place: Place, folder: Path | None) -> Any:
    """The state after a run whose ``n``-th commit failed and which another graph object finished; None if it has none.

    In memory, or with ``folder`` in a new SQLite file there, opened again for the rest.
    """
    file = folder / f"{driver}-{place}-{n}.db" if folder is not None else None
    journal: Journal = MemoryJournal() if file is None else SQLiteJournal(file)
    cutter = Cutter(journal, n, place)
    try:
        with contextlib.suppress(StoreFull):
            run_to_end(make(journal), given, driver=driver)
        if not cutter.done:
            return None
        if file is not None:
            journal.close()
            journal = SQLiteJournal(file)
        return run_to_end(make(journal), given, driver=driver, busy_timeout=PATIENCE)
    finally:
        journal.close()
        if file is not None:
            for path in file.parent.glob(f"{file.name}*"):
                path.unlink()


def touching(n: int) -> Callable[[str], None]:
    """A touch that raises in the ``n``-th node that begins, once."""
    left = [n]

    def touch(name: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise ConnectionError(f"cut in {name}")

    return touch
