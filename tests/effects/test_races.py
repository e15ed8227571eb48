"""Many workers, one operation: exactly one of them gets the claim."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lawful.effects import EffectContext, InProgress, Ledger, Opaque, Succeeded
from lawful.effects.outcomes import Outcome
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from support.effects import Forge, Publish, PullRequest

pytestmark = pytest.mark.integration

WORKERS = 16


class Slow(Publish):
    """Takes long enough that all others meet its claim."""

    async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
        time.sleep(0.3)
        return await super().perform(command, ctx)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_of_sixteen_threads_one_claims(kind: str, tmp_path: Path) -> None:
    """Ledger: L6"""
    journal: Journal = MemoryJournal() if kind == "memory" else SQLiteJournal(tmp_path / "j.db")
    forge = Forge()
    publish = Slow(forge, Opaque())
    gate = threading.Barrier(WORKERS)
    outcomes: list[Outcome[str]] = []

    def work() -> None:
        ledger = Ledger(journal)
        gate.wait()
        outcomes.append(ledger.execute_sync(publish.plan(PullRequest("acme"))))

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(outcomes) == WORKERS
    assert forge.calls == 1
    assert [type(outcome) for outcome in outcomes if isinstance(outcome, Succeeded) and not outcome.recorded] == [
        Succeeded
    ]
    assert sum(isinstance(outcome, InProgress) for outcome in outcomes) >= WORKERS - 2
    kinds = [type(event).__name__ for event in Ledger(journal).events("publish:acme@abc")]
    assert kinds.count("Claimed") == 1
    journal.close()


def test_of_four_processes_one_claims(tmp_path: Path) -> None:
    """Ledger: L6"""
    path, sink, go = tmp_path / "j.db", tmp_path / "sink", tmp_path / "go"
    SQLiteJournal(path).close()
    children = [_forked(lambda: _compete(path, sink, go)) for _ in range(4)]
    go.touch()
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert sorted(codes) == [0, 7, 7, 7]
    assert sink.read_text() == "effect\n"
    journal = SQLiteJournal(path)
    kinds = [type(event).__name__ for event in Ledger(journal).events("publish:acme@abc")]
    journal.close()
    assert kinds.count("Claimed") == 1


def _compete(path: Path, sink: Path, go: Path) -> int:
    class Written(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            ctx.before_send()
            with open(sink, "a") as file:
                file.write("effect\n")
            time.sleep(0.7)
            return "done"

    journal = SQLiteJournal(path)
    ledger = Ledger(journal)
    while not go.exists():
        time.sleep(0.001)
    outcome = ledger.execute_sync(Written(Forge(), Opaque()).plan(PullRequest("acme")))
    return 0 if outcome == Succeeded("done", "publish:acme@abc") else 7 if isinstance(outcome, InProgress) else 1


def _forked(work: Callable[[], int]) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        code = work()
    finally:
        os._exit(code)
