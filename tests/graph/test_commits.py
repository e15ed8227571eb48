"""How often a run commits, and that what a task did is in the first commit that begins after it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from lawful.graph import START, Send, StateGraph
from lawful.journal.memory import MemoryJournal
from lawful.journal.records import Batch, PutCheckpoint, PutWrites
from support.graphs import Drive, on
from support.pausing import Log, chain, fan_of

pytestmark = pytest.mark.unit


class HeldJournal(MemoryJournal):
    """Keeps every batch it is handed; while ``hold`` is set, says that one is written only when told by ``let``."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[Batch] = []
        self.hold = False
        self.waiting: list[Callable[[], None]] = []

    @property
    def blocking(self) -> bool:
        return True

    def commit(self, batch: Batch) -> None:
        self.batches.append(batch)
        super().commit(batch)

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        self.batches.append(batch)
        MemoryJournal.commit(self, batch)
        if self.hold:
            self.waiting.append(lambda: done(None))
        else:
            done(None)

    def let(self) -> None:
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            one()


def saved(batch: Batch) -> int:
    """How many tasks' writes it holds."""
    return sum(isinstance(record, PutWrites) for record in batch.records)


@pytest.mark.parametrize("steps", [20, 100])
def test_a_step_of_one_task_is_one_commit(drive: Drive, steps: int) -> None:
    """Beside the input's: no lease, no writes of a task, nothing but the step's checkpoint. Rows: S1-072."""
    journal = HeldJournal()

    def node(n: int) -> Any:
        def body(state: Log) -> Log:
            return {"log": [str(n)]}

        body.__name__ = f"n{n}"
        return body

    drive.invoke(chain(drive, *(node(n) for n in range(steps)), checkpointer=journal), {"log": []}, on("t"))
    assert len(journal.history("t")) == steps + 2
    assert len(journal.batches) <= steps + 2
    assert [saved(batch) for batch in journal.batches] == [0] * len(journal.batches)


def test_a_wide_step_whose_tasks_end_together_is_few_commits() -> None:
    """A hundred of them. Rows: S1-072."""
    journal = HeldJournal()
    all_here = asyncio.Event()
    here: list[int] = []

    async def work(given: int) -> Log:
        here.append(given)
        if len(here) == 100:
            all_here.set()
        await all_here.wait()
        return {"log": [str(given)]}

    def spread(state: Log) -> list[Send]:
        return [Send("work", n) for n in range(100)]

    builder = StateGraph(Log).add_node("work", work).add_conditional_edges(START, spread, ["work"])
    done = asyncio.run(builder.compile(journal).ainvoke({"log": []}, on("t")))
    assert len(done["log"]) == 100
    before = next(n for n, batch in enumerate(journal.batches) if puts(batch, 0))
    assert len(journal.batches) - before - 1 <= 5


def puts(batch: Batch, step: int) -> bool:
    return any(isinstance(r, PutCheckpoint) and r.checkpoint.step == step for r in batch.records)


async def test_what_ends_during_a_commit_is_all_in_the_very_next() -> None:
    """The first to end is stored at once, its siblings still running; those that end meanwhile go together.

    Rows: S1-046. Rules: 90
    """
    journal = HeldJournal()
    gates = {name: asyncio.Event() for name in ("first", "second", "third", "last")}

    def node(name: str) -> Any:
        async def body(state: Log) -> Log:
            await gates[name].wait()
            return {"log": [name]}

        body.__name__ = name
        return body

    graph = fan_of(*(node(name) for name in gates), checkpointer=journal)
    run = asyncio.create_task(graph.ainvoke({"log": []}, on("t")))
    await turns()
    begun = len(journal.batches)
    journal.hold = True
    gates["first"].set()
    await turns()
    assert [saved(batch) for batch in journal.batches[begun:]] == [1]
    gates["second"].set()
    gates["third"].set()
    await turns()
    assert len(journal.batches) == begun + 1
    journal.let()
    await turns()
    assert [saved(batch) for batch in journal.batches[begun:]] == [1, 2]
    journal.hold = False
    journal.let()
    gates["last"].set()
    assert sorted((await run)["log"]) == sorted(gates)


async def turns() -> None:
    """Let everything happen that can."""
    for _ in range(50):
        await asyncio.sleep(0.001)
