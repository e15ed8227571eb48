"""A store in trouble and a worker torn down: nothing is sent without a claim, and no claim is left without an event."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.core.context import Run, Slot, current_task
from lawful.core.errors import StoreError, StoreFull
from lawful.core.signals import OutcomeUnknown
from lawful.effects import EffectContext, Ledger, Opaque, Succeeded, Unknown, effect
from lawful.effects import states as st
from lawful.stores.sqlite import SQLiteJournal
from support.effects import STRONG, Forge, Publish, PullRequest

pytestmark = pytest.mark.unit

ACME = PullRequest("acme")
OP = "publish:acme@abc"


class Trouble:
    """A journal whose transactions are scripted: "ok", "full", or seconds to take."""

    def __init__(self, inner: SQLiteJournal) -> None:
        self.inner = inner
        self.script: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def transact(self, work: Callable[[Any], Any], *, durable: bool = True) -> Any:
        how = self.script.pop(0) if self.script else "ok"
        if how == "full":
            raise StoreFull("the disk is full")
        if isinstance(how, float):
            time.sleep(how)
        return self.inner.transact(work, durable=durable)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Any]:
    inner = SQLiteJournal(tmp_path / "j.db")
    yield Trouble(inner)
    inner.close()


def test_a_claim_that_cannot_be_written_sends_nothing(journal: Any) -> None:
    """Ledger: L3"""
    forge = Forge()
    journal.script = ["full"]
    ledger = Ledger(journal)
    with pytest.raises(StoreError):
        ledger.execute_sync(Publish(forge).plan(ACME))
    assert forge.calls == 0
    assert ledger.events(OP) == ()
    assert isinstance(ledger.execute_sync(Publish(forge).plan(ACME)), Succeeded)


@pytest.mark.parametrize("troubles", [1, 3])
def test_an_outcome_is_offered_to_the_store_again(journal: Any, troubles: int) -> None:
    forge = Forge()
    journal.script = ["ok", *["full"] * troubles]
    assert Ledger(journal).execute_sync(Publish(forge).plan(ACME)) == Succeeded("https://forge/acme", OP)


async def test_an_outcome_that_cannot_be_written_is_unknown_and_looked_up_later(journal: Any) -> None:
    forge = Forge()
    publish = Publish(forge, STRONG)
    slot = Slot(Run(run_id="r", thread="t", lineage="t", journal=journal), "node", "node", 1)
    token = current_task.set(slot)
    try:
        journal.script = ["ok", *["full"] * 4]
        with pytest.raises(OutcomeUnknown):
            await publish(ACME)
    finally:
        current_task.reset(token)
    assert isinstance(slot.signal, OutcomeUnknown)
    ledger = Ledger(journal)
    assert isinstance(ledger.state(OP), st.InFlight)
    assert forge.applied == ["acme"]


async def test_a_cancellation_during_the_claim_sends_nothing_and_says_so(journal: Any) -> None:
    forge = Forge()
    journal.script = [0.2]
    ledger = Ledger(journal)
    task = asyncio.create_task(ledger.execute(Publish(forge, Opaque()).plan(ACME)))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    state = ledger.state(OP)
    assert isinstance(state, st.Refused)
    assert (state.code, state.retryable) == ("not_sent", True)
    assert forge.calls == 0
    assert isinstance(await ledger.execute(Publish(forge, Opaque()).plan(ACME)), Succeeded)


async def test_a_cancellation_during_the_outcome_does_not_stop_it(journal: Any) -> None:
    forge = Forge()
    journal.script = ["ok", 0.3]
    ledger = Ledger(journal)
    task = asyncio.create_task(ledger.execute(Publish(forge, Opaque()).plan(ACME)))
    while forge.calls == 0:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert isinstance(ledger.state(OP), st.Succeeded)


def test_a_torn_down_worker_settles_before_it_goes(journal: Any) -> None:
    class Torn(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            raise SystemExit(3)

    ledger = Ledger(journal)
    with pytest.raises(SystemExit):
        ledger.execute_sync(Torn(Forge(), Opaque()).plan(ACME))
    assert isinstance(ledger.state(OP), st.Unknown)


async def test_a_thread_that_replies_after_its_time_is_still_heard(
    journal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ledger: L11"""
    monkeypatch.setattr("lawful.effects.drive.GRACE", 0.05)

    @effect("k", capability=Opaque(), timeout=0.05)
    def slow(k: str) -> str:
        time.sleep(0.4)
        return k

    ledger = Ledger(journal)
    outcome = await ledger.execute(slow.plan("a"))
    assert isinstance(outcome, Unknown)
    await asyncio.sleep(0.6)
    state = ledger.state("slow:a")
    assert isinstance(state, st.Succeeded)
    assert (state.receipt.source, state.receipt.value) == ("late_reply", "a")
