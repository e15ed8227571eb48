"""The server itself dies in the middle of runs and comes back: what was acknowledged stands, and the effect happens once."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.testing.crash import Ended, ForkServer, Place
from support.crash_programs import ran_again
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, pytest.mark.crash, skipped]

PLACES: tuple[Place, ...] = ("before", "after")


@pytest.fixture(scope="module")
def own() -> Iterator[PgServer]:
    """A server of its own, for the others' must not die."""
    server = PgServer()
    yield server
    server.remove()


@pytest.mark.parametrize("driver", ["sync", "async"])
def test_runs_go_on_after_the_server_died(own: PgServer, tmp_path: Path, driver: str) -> None:
    """A run whose server went away fails, or goes on over a new connection; whoever goes on ends as an uncut one.

    Rows: S0-123, S1-047.
    """
    from support import pg_programs

    with ForkServer(pg_programs.on_postgres) as forks:

        def live(name: str, schema: str, number: int, at: tuple[int, Place] | None = None) -> Ended:
            told: dict[str, Any] = {"url": own.url(), "schema": schema, "driver": driver, "at": at}
            told["server"] = None if at is None else own.pid
            return forks.run(tmp_path / name, number=number, told=told, timeout=60)

        whole = live("whole", own.schema(), 0)
        assert whole.code == 0, whole.said
        for write, place in itertools.product((2, 7, 13, 21), PLACES):
            name, schema, before = f"{place}-{write}", own.schema(), own.pid
            back = threading.Thread(target=own.start_when_it_ends)
            back.start()
            end = live(name, schema, 0, (write, place))
            back.join()
            assert own.pid != before
            if end.code != 0:
                assert "StoreError" in end.said, end.said
                end = live(name, schema, 1)
            assert end.code == 0, end.said
            assert end.value == whole.value, f"{end.shown}\ninstead of\n{whole.shown}"
            assert ran_again(tmp_path / name) == []
