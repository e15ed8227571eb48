"""A run whose last commit the store refuses leaves its thread free, although that commit was to give the lease back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lawful.core.errors import StoreFull
from lawful.graph import Failed, Paused
from lawful.journal.port import Journal
from lawful.journal.records import Batch
from lawful.testing.graphs import Work, build
from support.crash_cuts import DRIVERS, Driver
from support.graphs import JOURNALS, boxed, driving

pytestmark = pytest.mark.integration


def refuse_release(journal: Journal) -> Any:
    """From now on, refuse whatever gives a lease back in the same transaction; gives what ends that."""
    commit, submit = journal.commit, journal.submit
    journal_: Any = journal

    def refusing(batch: Batch) -> None:
        if batch.release:
            raise StoreFull("full")
        commit(batch)

    def refusing_later(batch: Batch, done: Any) -> None:
        if batch.release:
            done(StoreFull("full"))
        else:
            submit(batch, done)

    journal_.commit, journal_.submit = refusing, refusing_later

    def again() -> None:
        journal_.commit, journal_.submit = commit, submit

    return again


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("kind", JOURNALS)
def test_the_thread_is_free(kind: str, driver: Driver, tmp_path: Path) -> None:
    """Whoever comes next need not wait for the lease to expire. Rules: 84. Rows: S1-041."""
    with boxed(kind, tmp_path) as box, driving(driver) as drive:
        journal = box.open()
        built: Any = build(Work(asks=True), is_async=driver == "async")
        graph = built.compile(checkpointer=journal)
        again = refuse_release(journal)
        refused = drive.run(graph, {"trail": []}, thread="t")
        assert isinstance(refused, Failed)
        assert isinstance(refused.error, StoreFull)
        again()
        assert isinstance(drive.run(graph, None, thread="t", busy="reject"), Paused)
