"""``busy="cancel"`` and sync nodes in threads of their own: they cannot be stopped, so they are left behind and fenced."""

from __future__ import annotations

import threading
import time
from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.errors import NotInRun, RunCancelled
from lawful.graph import START, StateGraph, get_stream_writer, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, concat, driving, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    log: Annotated[list[str], concat]
    block: bool


class Blocking:
    """A graph whose first run blocks in sync nodes until it is let go."""

    def __init__(self, journal: Journal, width: int) -> None:
        self.began, self.go, self.refused = threading.Event(), threading.Event(), list[str]()
        self.left = threading.Semaphore(0)
        builder: Any = StateGraph(State)
        for i in range(width):
            builder.add_node(f"n{i}", self._node(i)).add_edge(START, f"n{i}")
        self.graph = builder.compile(checkpointer=journal)
        self.error: BaseException | None = None
        self.ended = threading.Event()

    def _node(self, i: int) -> Any:
        def body(state: State) -> State:
            if not state.get("block"):
                return {"log": ["second"]}
            self.began.set()
            self.go.wait(10)
            for late in (lambda: get_stream_writer()("late"), lambda: interrupt("late?")):
                try:
                    late()
                except NotInRun:
                    self.refused.append(f"n{i}")
                except BaseException:
                    self.refused.append("not fenced")
            self.left.release()
            return {"log": ["first"]}

        return body

    def start(self, kind: str) -> threading.Thread:
        def run() -> None:
            with driving(kind) as drive:
                try:
                    drive.invoke(self.graph, {"block": True}, on("t"))
                except BaseException as error:
                    self.error = error
                self.ended.set()

        thread = threading.Thread(target=run)
        thread.start()
        assert self.began.wait(10)
        return thread


@pytest.mark.parametrize(("kind", "width"), [("sync", 2), ("async", 2), ("async", 1)])
def test_threads_are_left_behind_and_fenced(kind: str, width: int, journal: Journal, drive: Drive) -> None:
    """The run ends within a second; what its nodes ask or stream later is refused, what they return is dropped.

    Rows: S1-P16
    """
    first = Blocking(journal, width)
    thread = first.start(kind)
    began = time.monotonic()
    out = drive.invoke(first.graph, {"block": False}, on("t"), busy="cancel")
    assert time.monotonic() - began < 1
    assert first.ended.wait(5)
    thread.join()
    assert isinstance(first.error, RunCancelled)
    first.go.set()
    for _ in range(width):
        assert first.left.acquire(timeout=5)
    assert sorted(set(first.refused)) == [f"n{i}" for i in range(width)]
    time.sleep(0.05)
    assert drive.get_state(first.graph, on("t")).values["log"] == out["log"] == ["second"] * width
