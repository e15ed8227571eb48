"""An attempt is closed when it ends: what is left over of it neither acts nor asks, and nobody waits for its successor."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from lawful.core.errors import NotInRun
from lawful.effects import HERE, Repeatable, effect
from lawful.graph import START, RetryPolicy, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from support.graphs import Drive, on
from support.pausing import Calls, Log, until

pytestmark = pytest.mark.unit

AT_ONCE = RetryPolicy(initial_interval=0.0, jitter=False, max_attempts=2)
LONG_WAIT = RetryPolicy(initial_interval=4.0, jitter=False)


class Leftover:
    """Work that goes on in another thread after its attempt ended, and what became of it."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self.go = threading.Event()
        self.over = threading.Event()
        self.raised: list[type[BaseException]] = []

    def __call__(self) -> None:
        """Wait for ``go``, at most two seconds, then act."""
        self.go.wait(2)
        try:
            self._act()
        except BaseException as error:
            self.raised.append(type(error))
        self.over.set()


class Post:
    """An effect that counts what it sent."""

    def __init__(self) -> None:
        self.sent = 0

        @effect(capability=Repeatable())
        def mail(ctx: Any = HERE) -> int:
            self.sent += 1
            return self.sent

        self.mail: Callable[[], Any] = mail


def acting(kind: str, post: Post) -> Callable[[], object]:
    return post.mail if kind == "effect" else lambda: interrupt("from before?")


def one(body: Any, **options: Any) -> Any:
    return StateGraph(Log).add_node("one", body, **options).add_edge(START, "one").compile(MemoryJournal())


@pytest.mark.parametrize("kind", ["effect", "question"])
def test_a_failed_attempts_thread_is_not_in_the_next_attempt(kind: str, drive: Drive) -> None:
    """It has the failed attempt's context, and acts while the next one runs. Rules: 101, 185."""
    post, calls = Post(), Calls()
    left = Leftover(acting(kind, post))

    def body(state: Log) -> Log:
        if calls("body") == 1:
            threading.Thread(target=contextvars.copy_context().run, args=(left,), daemon=True).start()
            raise ConnectionError("once more")
        left.go.set()
        left.over.wait(2)
        return {"n": post.mail()}

    out = drive.invoke(one(body, retry_policy=AT_ONCE), {}, on("t"))
    assert (out, post.sent, left.raised) == ({"log": [], "n": 1}, 1, [NotInRun])


async def test_an_expired_attempts_thread_is_not_in_the_next_attempt() -> None:
    """The wait for it was given up, the thread itself cannot be. Rules: 101, 189."""
    post, calls = Post(), Calls()
    left = Leftover(post.mail)

    async def body(state: Log) -> Log:
        if calls("body") == 1:
            await asyncio.to_thread(left)
        left.go.set()
        while not left.over.is_set():
            await asyncio.sleep(0.001)
        return {"word": "second"}

    out = await one(body, timeout=0.3, retry_policy=AT_ONCE).ainvoke({}, on("t"))
    assert (out, post.sent, left.raised) == ({"log": [], "word": "second"}, 0, [NotInRun])


@pytest.mark.parametrize("kind", ["effect", "question"])
def test_after_ctrl_c_the_nodes_left_running_neither_act_nor_ask(kind: str) -> None:
    """Rules: 101. Rows: S1-P16."""
    post = Post()
    lefts = [Leftover(acting(kind, post)) for _ in range(2)]
    entered = threading.Barrier(3)

    def body(left: Leftover) -> Any:
        def node(state: Log) -> None:
            entered.wait(2)
            left()

        return node

    def press() -> None:
        entered.wait(2)
        time.sleep(0.02)  # until the nodes and the run itself wait
        os.kill(os.getpid(), signal.SIGINT)

    builder = StateGraph(Log).add_node("a", body(lefts[0])).add_node("b", body(lefts[1]))
    graph: Any = builder.add_edge(START, "a").add_edge(START, "b").compile(MemoryJournal())
    threading.Thread(target=press, daemon=True).start()
    # A parent that started us in the background may have had the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            graph.invoke({}, on("t"))
    finally:
        signal.signal(signal.SIGINT, before)
    for left in lefts:
        left.go.set()
    assert until(lambda: any(left.over.is_set() for left in lefts))
    assert post.sent == 0
    assert {error for left in lefts for error in left.raised} == {NotInRun}
    assert graph.questions("t") == ()


async def test_cancelling_the_caller_does_not_wait_for_the_next_attempt() -> None:
    """Rules: 100, 182."""

    async def fails(state: Log) -> Log:
        raise ConnectionError("down")

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await one(fails, retry_policy=LONG_WAIT).ainvoke({}, on("t"))
    assert time.monotonic() - began < 2


async def test_a_failure_does_not_wait_for_a_siblings_next_attempt() -> None:
    """Rules: 91, 182."""
    failed = asyncio.Event()

    async def fails(state: Log) -> Log:
        failed.set()
        raise ConnectionError("down")

    async def breaks(state: Log) -> Log:
        await failed.wait()
        await asyncio.sleep(0.02)
        raise ValueError("broken")

    builder = StateGraph(Log).add_node(fails, retry_policy=LONG_WAIT).add_node(breaks)
    graph: Any = builder.add_edge(START, "fails").add_edge(START, "breaks").compile()
    began = time.monotonic()
    with pytest.raises(ValueError, match="broken"):
        await graph.ainvoke({})
    assert time.monotonic() - began < 2


async def test_a_node_that_swallows_the_cancellation_does_not_hide_it_from_the_run() -> None:
    """The caller's task ends cancelled, and no further step runs. Rules: 100."""
    started, later = asyncio.Event(), Calls()

    async def stubborn(state: Log) -> Log:
        started.set()
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return {"word": "went on"}
        return {}

    def after(state: Log) -> None:
        later("after")

    builder = StateGraph(Log).add_node(stubborn).add_node(after).add_edge(START, "stubborn")
    graph: Any = builder.add_edge("stubborn", "after").compile()
    caller = asyncio.create_task(graph.ainvoke({}))
    await started.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert later.of("after") == 0
