"""Case A19: five messages at once on one thread, and from two processes: in order and whole, or refused by a typed error."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from lawful.core.errors import ThreadBusy
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from support import five
from support.children import TESTS, finish, start
from support.graphs import JournalBox, on
from support.pausing import Log, fan_of

pytestmark = pytest.mark.integration

PROGRAM = TESTS / "support" / "five.py"


async def answer(state: Log) -> Log:
    await asyncio.sleep(0.02)
    return {"log": [f"answer to {state.get('log', [])[-1]}"]}


def paired(log: list[str]) -> list[str]:
    """The messages, each of which must be followed by its own answer."""
    assert log[1::2] == [f"answer to {text}" for text in log[::2]]
    return log[::2]


async def test_queued_in_one_loop(journal: Journal, strict: bool) -> None:
    """All ten entries, each answer after its message, in the order in which the messages came.

    Cases: A19
    """
    graph = fan_of(answer, strict=strict, checkpointer=journal)
    results = await asyncio.gather(*(graph.ainvoke({"log": [f"m{i}"]}, on("t")) for i in range(5)))
    log = (await graph.aget_state(on("t"))).values["log"]
    assert paired(log) == [f"m{i}" for i in range(5)]
    assert sorted(len(result["log"]) for result in results) == [2, 4, 6, 8, 10]


async def test_rejected_in_one_loop(journal: Journal) -> None:
    """Exactly one is accepted, four are told.

    Cases: A19
    """
    graph = fan_of(answer, checkpointer=journal)
    sent = (graph.ainvoke({"log": [f"m{i}"]}, on("t"), busy="reject") for i in range(5))
    results = await asyncio.gather(*sent, return_exceptions=True)
    refused = [result for result in results if isinstance(result, ThreadBusy)]
    accepted: list[Any] = [result for result in results if isinstance(result, dict)]
    assert (len(refused), len(accepted)) == (4, 1)
    assert (await graph.aget_state(on("t"))).values == accepted[0]


@pytest.mark.parametrize("policy", ["queue", "reject"])
def test_from_five_threads(box: JournalBox, policy: str) -> None:
    """Each with an opening of the store of its own.

    Cases: A19
    """
    together = threading.Barrier(5)
    results: list[Any] = []

    def send(number: int) -> None:
        graph = five.build(box.open())
        together.wait()
        try:
            results.append(graph.invoke({"log": [f"m{number}"]}, on("t"), busy=policy))
        except ThreadBusy as busy:
            results.append(busy)

    senders = [threading.Thread(target=send, args=(number,)) for number in range(5)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    accepted: list[Any] = [result for result in results if isinstance(result, dict)]
    assert len(results) == 5
    if policy == "queue":
        assert len(accepted) == 5
    else:
        assert len(accepted) >= 1
        assert all(isinstance(result, (dict, ThreadBusy)) for result in results)
    log = five.build(box.open()).get_state(on("t")).values["log"]
    assert len(log) == 2 * len(accepted)
    assert len(set(paired(log))) == len(accepted)


@pytest.mark.parametrize("policy", ["queue", "reject"])
def test_from_two_processes(tmp_path: Path, policy: str) -> None:
    """One SQLite file, five messages from each: every accepted one is there with its answer, no other.

    Cases: A19. Rows: S1-K11
    """
    db = tmp_path / "journal.db"
    SQLiteJournal(str(db)).close()
    children = [start(PROGRAM, str(db), name, "5", policy) for name in ("a", "b")]
    told = [finish(child).split() for child in children]
    accepted = sum(words.count("done") for words in told)
    assert sum(map(len, told)) == 10
    if policy == "queue":
        assert accepted == 10
    journal = SQLiteJournal(str(db))
    try:
        log = five.build(journal).get_state(on("t")).values["log"]
    finally:
        journal.close()
    assert len(log) == 2 * accepted
    messages = paired(log)
    for name in ("a", "b"):
        mine = [text for text in messages if text.startswith(name)]
        assert mine == sorted(mine), "each process's messages keep their order"
