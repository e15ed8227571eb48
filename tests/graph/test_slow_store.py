"""A store whose commits take long, or whose last one is refused: the run is not taken for another's, and lets go."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypedDict

import pytest

from lawful.core.errors import StoreFull, ValidationError
from lawful.graph import START, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.journal.records import Batch
from support.graphs import Drive, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    said: str


class Slow(MemoryJournal):
    """Tells of a commit a while after it is stored, as a server far away does."""

    @property
    def blocking(self) -> bool:
        return True

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        self.commit(batch)
        threading.Timer(0.15 if batch.release else 0.0, done, (None,)).start()


class Full(MemoryJournal):
    """Has no room for the last commit of a run, once."""

    full = True

    def commit(self, batch: Batch) -> None:
        if batch.release and self.full:
            self.full = False
            raise StoreFull("no room")
        super().commit(batch)


def flow(journal: MemoryJournal) -> Any:
    """A question: the commit of a pause is the last one, and gives the lease up."""

    async def ask(state: State) -> State:
        return {"said": interrupt("what?")}

    return StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=journal)


def asked(result: dict[str, Any]) -> list[Any]:
    return [question.value for question in result["__interrupt__"]]


async def test_a_lease_that_went_with_our_own_last_commit_was_not_taken_by_another() -> None:
    """While that commit is under way the run looks whether anybody asked it to stop."""
    graph = flow(Slow())
    assert asked(await asyncio.wait_for(graph.ainvoke({}, thread="t"), 10)) == ["what?"]


async def test_a_thread_is_free_when_its_runs_last_commit_was_refused() -> None:
    graph = flow(Full())
    with pytest.raises(StoreFull):
        await graph.ainvoke({}, thread="t")
    assert asked(await graph.ainvoke({}, thread="t", busy="reject")) == ["what?"]


def test_a_thread_is_free_after_a_refusal_in_the_sync_driver_too() -> None:
    graph = flow(Full())
    with pytest.raises(StoreFull):
        graph.invoke({}, thread="t")
    assert asked(graph.invoke({}, thread="t", busy="reject")) == ["what?"]


def test_a_batch_that_is_not_even_taken_ends_the_run(journal: Journal, drive: Drive) -> None:
    """The journal refuses it where it is handed over, before it is queued: the run fails, and does not wait for ever."""

    def node(state: State) -> State:
        return state

    graph: Any = StateGraph(State).add_node(drive.node(node)).add_edge(START, "node").compile(checkpointer=journal)
    with pytest.raises(ValidationError, match="NUL"):
        drive.invoke(graph, {"said": "a"}, on("t", metadata={"note": "a\x00b"}))
    assert drive.invoke(graph, {"said": "b"}, on("t")) == {"said": "b"}
