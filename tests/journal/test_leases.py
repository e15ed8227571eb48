"""Waiting for a busy thread by policy and in order, and keeping what is held."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import gc
import threading
import time
from pathlib import Path
from typing import Any, TypedDict

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import ConfigurationError, ThreadBusy
from lawful.graph import START, StateGraph
from lawful.journal import leases
from lawful.journal.leases import Held, Keeper, Taking, owner_of, process_token, take
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.journal.records import Busy, Lease
from lawful.stores.sqlite import SQLiteJournal
from support.forks import ended, fork

pytestmark = pytest.mark.unit


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path):
    made: Journal = MemoryJournal() if request.param == "memory" else SQLiteJournal(tmp_path / "j.db")
    yield made
    made.close()


def test_the_token_names_the_process() -> None:
    here = process_token()
    assert here == process_token()
    assert int(here, 16) < 1 << 60
    assert owner_of("run") == f"{here}/run"

    def work() -> None:
        assert process_token() != here

    assert ended(fork(work)) == 0
    assert process_token() == here


def test_a_free_thread_is_taken_at_once(journal: Journal) -> None:
    lease = take(journal, "t", owner_of("1"))
    assert lease.owner == owner_of("1")
    journal.release(lease)
    assert take(journal, "t", owner_of("2"), policy="reject").fence > lease.fence


def test_reject_does_not_wait(journal: Journal) -> None:
    take(journal, "t", owner_of("1"))
    begun = time.monotonic()
    with pytest.raises(ThreadBusy) as caught:
        take(journal, "t", owner_of("2"), policy="reject")
    assert time.monotonic() - begun < 2
    assert caught.value.details == {"thread": "t", "holder": owner_of("1"), "policy": "reject"}


def test_queue_gives_up_in_time(journal: Journal) -> None:
    take(journal, "t", owner_of("1"))
    begun = time.monotonic()
    with pytest.raises(ThreadBusy):
        take(journal, "t", owner_of("2"), timeout=0.2)
    assert 0.2 <= time.monotonic() - begun < 5
    with pytest.raises(ThreadBusy):
        take(journal, "t", owner_of("3"), policy="cancel", timeout=0)


def test_an_unknown_policy_is_refused(journal: Journal) -> None:
    with pytest.raises(ConfigurationError, match="'queue'"):
        take(journal, "t", owner_of("1"), policy="queu")  # pyright: ignore[reportArgumentType]


def test_queue_is_first_come_first_served(journal: Journal) -> None:
    """Five at once on one thread. Cases: A19."""
    lease = take(journal, "t", owner_of("0"))
    order: list[int] = []

    def work(n: int) -> None:
        mine = take(journal, "t", owner_of(str(n)))
        order.append(n)
        journal.release(mine)

    workers: list[threading.Thread] = []
    for n in range(1, 6):
        workers.append(threading.Thread(target=work, args=(n,)))
        workers[-1].start()
        _until_waiting(journal, n)
    journal.release(lease)
    for worker in workers:
        worker.join(20)
    assert order == [1, 2, 3, 4, 5]


def _until_waiting(journal: Journal, count: int) -> None:
    from lawful.journal import leases

    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        line = leases._lines.of.get(journal, {}).get("t")
        if line is not None and len(line.places) == count:
            return
        time.sleep(0.002)
    raise AssertionError("nobody waits")


def test_cancel_asks_the_holder_and_waits_for_it(journal: Journal) -> None:
    lease = take(journal, "t", owner_of("1"))

    def holder() -> None:
        while not journal.cancelled(lease):
            time.sleep(0.005)
        journal.release(lease)

    running = threading.Thread(target=holder)
    running.start()
    mine = take(journal, "t", owner_of("2"), policy="cancel", timeout=20)
    running.join()
    assert mine.owner == owner_of("2")
    assert not journal.cancelled(mine)


def test_steps_never_wait(journal: Journal) -> None:
    lease = take(journal, "t", owner_of("1"))
    first, second = Taking(journal, "t", owner_of("2")), Taking(journal, "t", owner_of("3"))
    for taking in (first, second, first):
        got = taking.step()
        assert isinstance(got, float)
        assert 0 < got <= 0.05
    journal.release(lease)
    assert isinstance(second.step(), float)  # the other came before
    mine = first.step()
    assert isinstance(mine, Lease)
    first.leave()
    journal.release(mine)
    assert isinstance(second.step(), Lease)
    second.leave()


def test_who_leaves_the_line_does_not_block_it(journal: Journal) -> None:
    take(journal, "t", owner_of("1"))
    first, second = Taking(journal, "t", owner_of("2"), timeout=0), Taking(journal, "t", owner_of("3"))
    with pytest.raises(ThreadBusy):
        first.step()
    second.step()
    first.leave()
    first.leave()
    assert isinstance(second.step(), float)
    second.leave()


def test_a_held_lease_is_renewed(journal: Journal) -> None:
    keeper = Keeper()
    lease = take(journal, "t", owner_of("1"), ttl=0.3)
    held = keeper.hold(journal, lease, ttl=0.3)
    time.sleep(0.7)
    assert isinstance(journal.acquire("t", owner_of("2"), 1), Busy)
    assert held.lease.expires > lease.expires
    assert not held.lost
    keeper.drop(held)
    time.sleep(0.4)
    assert isinstance(journal.acquire("t", owner_of("2"), 1), Lease)


def test_a_run_that_is_gone_is_not_kept_alive(journal: Journal) -> None:
    keeper = Keeper()
    keeper.hold(journal, take(journal, "t", owner_of("1"), ttl=0.15), ttl=0.15)
    gc.collect()
    time.sleep(0.4)
    assert isinstance(journal.acquire("t", owner_of("2"), 1), Lease)


def test_a_lost_lease_is_noticed() -> None:
    clock = FixedClock()
    journal = MemoryJournal(clock=clock)
    held = Held(journal, take(journal, "t", owner_of("1")), 30)
    clock.advance(31)
    take(journal, "t", owner_of("2"))
    held.renew()
    assert held.lost


def test_a_store_in_trouble_is_asked_again() -> None:
    journal = MemoryJournal()
    held = Held(journal, take(journal, "t", owner_of("1")), 30)
    journal.close()
    held.renew()
    assert not held.lost


def test_a_forked_child_holds_nothing_and_waits_for_nobody() -> None:
    journal = MemoryJournal()
    take(journal, "t", owner_of("1"))
    waiting = Taking(journal, "t", owner_of("2"))
    waiting.step()

    def work() -> None:
        assert take(journal, "t", owner_of("3"), policy="reject").owner == owner_of("3")

    assert ended(fork(work)) == 0
    waiting.leave()


class _Count(TypedDict):
    x: int


def _one(state: _Count) -> _Count:
    return {"x": 1}


class _Slow(MemoryJournal):
    """Acquires when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = threading.Event(), threading.Event()

    def acquire(self, thread: str, owner: str, ttl: float) -> Lease | Busy:
        self.asked.set()
        self.go.wait(5)
        return super().acquire(thread, owner, ttl)


def test_a_lease_that_comes_after_its_waiter_has_left_goes_back() -> None:
    journal = _Slow()
    taking = Taking(journal, "t", owner_of("1"))
    step = threading.Thread(target=taking.step)
    step.start()
    assert journal.asked.wait(5)
    taking.leave()
    journal.go.set()
    step.join(5)
    assert isinstance(journal.acquire("t", owner_of("2"), 30.0), Lease)


def test_a_lease_that_nobody_took_over_goes_back(journal: Journal) -> None:
    taking = Taking(journal, "t", owner_of("1"))
    assert isinstance(taking.step(), Lease)
    taking.leave()
    assert isinstance(journal.acquire("t", owner_of("2"), 30.0), Lease)


def test_a_lease_that_is_kept_stays(journal: Journal) -> None:
    taking, keeper = Taking(journal, "t", owner_of("1")), leases.keeper
    lease = taking.step()
    assert isinstance(lease, Lease)
    held = keeper.hold(journal, lease)
    held.renew()
    taking.leave()
    assert isinstance(journal.acquire("t", owner_of("2"), 30.0), Busy)
    keeper.drop(held)
    assert not keeper.keeps(lease)
    journal.release(held.lease)


async def test_a_run_cancelled_while_it_takes_its_thread_does_not_block_it() -> None:
    builder: Any = StateGraph(_Count)
    graph = builder.add_node("n", _one).add_edge(START, "n").compile(journal := _Slow())
    run = asyncio.create_task(graph.ainvoke({"x": 0}, thread="t"))
    await asyncio.to_thread(journal.asked.wait, 5)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    journal.go.set()
    assert await graph.ainvoke({"x": 0}, thread="t", busy_timeout=2.0) == {"x": 1}
