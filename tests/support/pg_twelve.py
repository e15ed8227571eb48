"""The graph of twelve steps over PostgreSQL in processes that die as a test tells, and what it must come to all the same."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, TypeAlias

from lawful.testing.crash import Ended, ForkServer
from support.crash_programs import ran_again
from support.pg import PgServer
from support.pg_torn import make_tearable, settled

Death: TypeAlias = dict[str, Any]
"""How a process dies: ``point`` and ``inside`` are told to the program, ``kill_after`` to the fork server."""
FIRST = 2
"""The write that has the input; before it stands the lease."""


class Twelve:
    """The fork server of the program, and what a run that nobody kills gives."""

    def __init__(self, server: ForkServer, pg: PgServer, folder: Path, driver: str) -> None:
        self.server = server
        self.pg = pg
        self.folder = folder
        self.driver = driver
        self.schema = pg.schema()
        begun = time.monotonic()
        self.whole = self.live("whole", 0, {})
        self.seconds = time.monotonic() - begun
        assert self.whole.code == 0, self.whole.said

    def live(self, name: str, number: int, death: Death) -> Ended:
        told: dict[str, Any] = {"url": self.pg.url(), "schema": self.schema, "driver": self.driver, **death}
        after: float | None = told.pop("kill_after", None)
        return self.server.run(self.folder / name, number=number, told=told, timeout=60, kill_after=after)

    def dies(self, name: str, *deaths: Death) -> bool:
        """Processes that die as told, one after the other, then one that must finish; False if none died."""
        self.schema = self.pg.schema()
        if any("inside" in death for death in deaths):
            make_tearable(self.pg, self.schema)
        ends: list[Ended] = []
        for number, death in enumerate([*deaths, {}]):
            ends.append(self.live(name, number, death))
            if not ends[-1].killed:
                break
            # The program asks whether its thread has begun before it gives the input. Asked while the server is not yet
            # through with the beginning, it would rightly be told no, and the input would be there twice.
            if death.get("inside", (FIRST + 1,))[0] <= FIRST:
                settled(self.pg)
        assert ends[-1].code == 0, f"{name}: {ends[-1].said}"
        assert ends[-1].value == self.whole.value, f"{name}: {ends[-1].shown}\ninstead of\n{self.whole.shown}"
        assert ran_again(self.folder / name) == [], name
        self.pg.run("SET client_min_messages=error", f"DROP SCHEMA {self.schema} CASCADE")
        return ends[0].killed
