"""Recovery of many operations: one event loop, so many look-ups at once, few commits; one that is broken harms no other."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lawful.core.clock import FixedClock
from lawful.core.errors import CorruptRecord, StoreFull
from lawful.effects import Found, Ledger, Unavailable, effect, recover, recover_sync
from lawful.effects.intents import idempotency_key
from lawful.effects.log import read_events
from lawful.effects.protocol import _begin  # pyright: ignore[reportPrivateUsage]
from lawful.effects.recover import TOGETHER
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import EffectTx, Journal
from lawful.stores.sqlite import SQLiteJournal

pytestmark = pytest.mark.unit


class Provider:
    """Loses every reply while it is down; counts who looks at once, and in which loop."""

    def __init__(self) -> None:
        self.down = True
        self.now = 0
        self.most = 0
        self.loops: set[int] = set()

        @effect("key")
        async def pay(key: str) -> str:
            if self.down:
                raise ConnectionError("the reply was lost")
            return f"receipt of {key}"

        @pay.lookup
        async def find(key: str) -> Any:
            if self.down:
                return Unavailable("down")
            self.loops.add(id(asyncio.get_running_loop()))
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.02)
            self.now -= 1
            return Found(f"receipt of {key}")

        self.pay = pay

    async def lose(self, journal: Journal, count: int) -> None:
        ledger = Ledger(journal)
        for n in range(count):
            await ledger.execute(self.pay.plan(f"{n}"))
        self.down = False


def counting(journal: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []
    real: Callable[..., Any] = journal.transact

    def transact(work: Any, **options: Any) -> Any:
        made.append("transact")
        return real(work, **options)

    monkeypatch.setattr(journal, "transact", transact)
    return made


async def test_many_are_looked_up_at_once_and_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows: S2-024"""
    journal, provider = SQLiteJournal(tmp_path / "j.db"), Provider()
    count = 2 * TOGETHER + 1
    await provider.lose(journal, count)
    made = counting(journal, monkeypatch)
    report = await asyncio.to_thread(recover_sync, journal, [provider.pay])
    assert (len(report.settled), report.left) == (count, ())
    assert TOGETHER // 2 < provider.most <= TOGETHER
    assert len(provider.loops) == 1
    assert len(made) == 3
    assert [row.state for row in journal.read(lambda tx: list(tx.operations()))] == ["Succeeded"] * count
    assert await recover(journal, [provider.pay]) == type(report)()
    journal.close()


async def test_sync_code_in_a_thread_with_a_loop_gets_its_report_too() -> None:
    journal, provider = MemoryJournal(), Provider()
    await provider.lose(journal, 3)
    assert len(recover_sync(journal, [provider.pay]).settled) == 3
    assert id(asyncio.get_running_loop()) not in provider.loops


async def test_claims_of_one_dead_worker_lapse_together(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FixedClock()
    journal, provider = MemoryJournal(clock=clock), Provider()
    worker = Ledger(journal, clock=clock)
    for n in range(5):
        intent = provider.pay.plan(f"{n}")
        worker.plan(intent)
        record = worker.intent(intent).record
        _begin(worker.kit, intent, _scoped(record, journal), worker.kit.rules(intent))
    assert [row.state for row in worker.unresolved()] == ["InFlight"] * 5
    del worker
    provider.down = False
    clock.advance(1000.0)
    made = counting(journal, monkeypatch)
    report = await recover(journal, [provider.pay], clock=clock)
    assert len(report.settled) == 5
    assert len(made) == 2


def _scoped(record: Any, journal: Journal) -> Any:
    return replace(record, scope=journal.scope, idempotency_key=idempotency_key(journal.scope, record.op_id))


async def test_a_broken_operation_is_told_and_the_others_are_settled(tmp_path: Path) -> None:
    journal, provider = SQLiteJournal(tmp_path / "j.db"), Provider()
    await provider.lose(journal, 4)
    with sqlite3.connect(tmp_path / "j.db") as raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        where = "operation = (SELECT row FROM operation WHERE op_id = 'pay:2') AND seq = 3"
        changed = raw.execute(f"UPDATE event SET blob = x'7b7d' WHERE {where}")
        assert changed.rowcount == 1
    report = await recover(journal, [provider.pay])
    assert sorted(each.op_id for each in report.settled) == ["pay:0", "pay:1", "pay:3"]
    assert [each.op_id for each in report.left] == ["pay:2"]
    assert "damaged" in report.left[0].reason
    journal.close()


async def test_where_they_cannot_be_written_together_they_are_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    journal, provider = MemoryJournal(), Provider()
    await provider.lose(journal, 3)
    real: Any = journal.transact

    def transact(work: Callable[[EffectTx], Any], **options: Any) -> Any:
        def alone(tx: EffectTx) -> Any:
            found = work(tx)
            if isinstance(found, list):
                raise StoreFull("too much at once", component="journal")
            return found

        return real(alone, **options)

    monkeypatch.setattr(journal, "transact", transact)
    report = await recover(journal, [provider.pay])
    assert len(report.settled) == 3


async def test_what_was_seen_counts_only_for_what_was_looked_up() -> None:
    """Another worker has written something down in between: the older observation is dropped."""
    ledger, nested = Ledger(MemoryJournal()), [True]

    @effect("key")
    async def pay(key: str) -> str:
        raise ConnectionError("lost")

    @pay.lookup
    async def find(key: str) -> Any:
        if nested.pop() if nested else False:
            await ledger.reconcile(pay.plan("a"))
        return Unavailable("down")

    nested.clear()
    await ledger.execute(pay.plan("a"))
    before = len(ledger.events("pay:a"))
    nested.append(True)
    await ledger.reconcile(pay.plan("a"))
    assert len(ledger.events("pay:a")) == before + 1


async def test_an_operation_is_replayed_to_any_of_its_events() -> None:
    journal, provider = MemoryJournal(), Provider()
    await provider.lose(journal, 1)
    ledger = Ledger(journal, effects=[provider.pay])
    await ledger.reconcile("pay:0")
    stood = [type(ledger.replay("pay:0", n)).__name__ for n in range(len(ledger.events("pay:0")) + 1)]
    assert (stood[0], stood[1], stood[-1]) == ("Unplanned", "Planned", "Succeeded")
    assert "Unknown" in stood
    assert ledger.replay("pay:0") == ledger.state("pay:0")


async def test_an_event_that_was_rewritten_whole_breaks_the_chain() -> None:
    """The store's own check sums fit; the digests of the chain do not. Ledger: L2"""
    journal, provider = MemoryJournal(), Provider()
    await provider.lose(journal, 1)
    rows = journal.read(lambda tx: list(tx.events("pay:0")))
    assert len(read_events(rows)) == len(rows)
    for place in range(len(rows)):
        forged = [*rows]
        forged[place] = replace(rows[place], blob=rows[place].blob.replace(b"pay:0", b"pay:9"))
        with pytest.raises(CorruptRecord, match=f"breaks at event {place + 1}"):
            read_events(forged)
    with pytest.raises(CorruptRecord, match="breaks at event 1"):
        read_events(rows[1:])
