"""Effects through the ledger, on one SQLite file."""

from __future__ import annotations

import threading
from pathlib import Path
from time import perf_counter

from bench.jobs import Unfit
from lawful import __version__
from lawful.effects import Ledger, Succeeded, recover_sync
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.provider import FakeCommand, FakeProvider

NAME = "lawful"


def version() -> str:
    return __version__


def each(path: Path, count: int) -> float:
    """Microseconds an effect, one after the other: planned and claimed in one commit, settled in another."""
    journal, pay = SQLiteJournal(path), FakeProvider(keyed=3600.0).effect("pay")
    ledger = Ledger(journal)
    began = perf_counter()
    for n in range(count):
        if not isinstance(ledger.execute_sync(pay.plan(FakeCommand(f"{n}"))), Succeeded):
            raise Unfit("an effect did not happen")
    took = perf_counter() - began
    journal.close()
    return took / count * 1e6


def crowd(path: Path, count: int, workers: int) -> float:
    """Microseconds an effect, by so many threads at once."""
    journal, provider = SQLiteJournal(path), FakeProvider(keyed=3600.0)
    pay, ledger = provider.effect("pay"), Ledger(journal)

    def work(worker: int) -> None:
        for n in range(worker, count, workers):
            ledger.execute_sync(pay.plan(FakeCommand(f"{n}")))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(workers)]
    began = perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = perf_counter() - began
    journal.close()
    if sum(provider.applied.values()) != count:
        raise Unfit("not every effect happened once")
    return took / count * 1e6


def recovering(path: Path, count: int, open_: int) -> float:
    """Milliseconds to recover a journal of ``count`` operations of which ``open_`` have no known outcome."""
    journal = SQLiteJournal(path)
    provider = FakeProvider(lookup="strong")
    pay = provider.effect("pay")
    ledger = Ledger(journal)
    for n in range(count):
        if n == count - open_:
            provider.lookup, provider.lose_reply = None, -1  # from here on replies are lost and nothing can be asked
        intent = pay.plan(FakeCommand(f"{n}"))
        ledger.execute_sync(intent)
    provider.lookup, provider.lose_reply = "strong", 0
    began = perf_counter()
    report = recover_sync(journal, [pay])
    took = perf_counter() - began
    journal.close()
    if len(report.settled) != open_ or report.left:
        raise Unfit(f"{len(report.settled)} of {open_} were settled")
    return took * 1e3
