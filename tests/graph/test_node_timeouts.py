"""Rules of limits to an async node's time: how long it runs, how long it is silent, and what shows that it is at work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.clock import FixedClock
from lawful.core.context import Run
from lawful.core.errors import NodeTimeoutError, NotInRun, from_json
from lawful.graph import (
    START,
    NodeError,
    RetryPolicy,
    Runtime,
    Send,
    StateGraph,
    TimeoutPolicy,
    get_stream_writer,
    interrupt,
)
from lawful.graph import orders as o
from lawful.graph.program import Node, Program
from lawful.graph.step_task import CANCELLED, PENDING, Base, Task
from lawful.graph.timing import alarms, rang
from lawful.journal.port import Journal
from support.graphs import concat, on
from support.pausing import Calls

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    log: Annotated[list[str], concat]


def one(body: Any, timeout: Any, *, strict: bool = True, compiled: Any = None, **node: Any) -> Any:
    builder: Any = StateGraph(State, strict=strict).add_node("work", body, timeout=timeout, **node)
    return builder.add_edge(START, "work").compile(**(compiled or {}))


def idle(seconds: float = 0.1, refresh_on: Any = "auto") -> TimeoutPolicy:
    return TimeoutPolicy(idle_timeout=seconds, refresh_on=refresh_on)


WRONG: list[Any] = [0, -1, True, "1", float("inf"), float("nan"), timedelta(0)]


@pytest.mark.parametrize("limit", WRONG, ids=str)
def test_a_limit_is_a_positive_number_wherever_it_is_given(limit: Any) -> None:
    """Refused at once, before anything is compiled.

    Rules: 188
    """

    async def work(state: State) -> State:
        return {}

    given: list[Callable[[], Any]] = [
        lambda: TimeoutPolicy(run_timeout=limit),
        lambda: TimeoutPolicy(idle_timeout=limit),
        lambda: Send("work", {}, timeout=limit),
        lambda: StateGraph(State).add_node("work", work, timeout=limit),
        lambda: StateGraph(State).set_node_defaults(timeout=limit),
    ]
    for one_way in given:
        with pytest.raises(ValueError, match="timeout"):
            one_way()


def test_what_refreshes_is_one_of_two_words() -> None:
    """Rules: 190"""
    with pytest.raises(ValueError, match="heartbeat"):
        TimeoutPolicy(idle_timeout=1, refresh_on="heartbeats")  # pyright: ignore[reportArgumentType]


def test_a_timedelta_is_a_limit() -> None:
    """Rules: 188"""
    assert TimeoutPolicy(run_timeout=timedelta(milliseconds=1500)).run_timeout == 1.5  # pyright: ignore[reportArgumentType]
    assert Send("work", {}, timeout=timedelta(seconds=2)).timeout == 2


def test_a_graph_of_sync_nodes_has_no_limit_of_its_own(strict: bool) -> None:
    """It runs in a thread that cannot be stopped.

    Rules: 188. Cases: A11
    """

    def sync(state: State) -> State:
        return {}

    inner = StateGraph(State, strict=strict).add_node("sync", sync).add_edge(START, "sync").compile()
    with pytest.raises(ValueError, match="seconds"):
        one(inner, 1, strict=strict)


async def test_expiry_tells_both_limits_and_is_retried(journal: Journal, strict: bool) -> None:
    """It is no TimeoutError, so that the default policy retries it; the last one is raised.

    Rules: 189. Rows: S1-P10
    """
    calls = Calls()

    async def work(state: State) -> State:
        calls("work")
        await asyncio.sleep(5)
        return {}

    policy = RetryPolicy(initial_interval=0.001, jitter=False, max_attempts=2)
    limit = TimeoutPolicy(run_timeout=0.05, idle_timeout=3)
    graph = one(work, limit, strict=strict, retry_policy=policy, compiled={"checkpointer": journal})
    with pytest.raises(NodeTimeoutError, match="'work'") as caught:
        await graph.ainvoke({}, on("t"))
    error = caught.value
    assert (error.node, error.kind, error.run_timeout, error.idle_timeout, error.timeout) == (
        "work",
        "run",
        0.05,
        3.0,
        0.05,
    )
    assert 0.05 <= error.elapsed < 3
    assert not isinstance(error, TimeoutError)
    assert calls.of("work") == 2
    again = from_json(error.to_json())
    assert isinstance(again, NodeTimeoutError)
    assert (again.kind, again.run_timeout, again.elapsed) == ("run", 0.05, error.elapsed)


async def test_a_node_cannot_swallow_its_expiry(journal: Journal, strict: bool) -> None:
    """Nor stream, ask or return anything after it.

    Rules: 189. Rows: S1-P10
    """
    late: list[str] = []

    async def work(state: State, runtime: Runtime[None]) -> State:
        write = get_stream_writer()
        write("before")
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            for what in (lambda: write("after"), runtime.heartbeat):
                try:
                    what()
                except NotInRun:
                    late.append("refused")
        return {"log": ["swallowed"]}

    graph = one(work, 0.05, strict=strict, compiled={"checkpointer": journal})
    seen: list[Any] = []

    async def follow() -> None:
        async for event in graph.astream({"log": []}, on("t"), stream_mode="custom"):
            seen.append(event)

    with pytest.raises(NodeTimeoutError):
        await follow()
    assert (seen, late) == (["before"], ["refused", "refused"])
    assert (await graph.aget_state(on("t"))).values == {"log": []}


async def test_silence_expires(strict: bool) -> None:
    """Rules: 189, 190"""

    async def work(state: State) -> State:
        await asyncio.sleep(5)
        return {}

    with pytest.raises(NodeTimeoutError) as caught:
        await one(work, idle(0.05), strict=strict).ainvoke({})
    assert (caught.value.kind, caught.value.timeout, caught.value.run_timeout) == ("idle", 0.05, None)


async def test_an_error_handler_takes_an_expired_node_over(journal: Journal, strict: bool) -> None:
    """Rules: 189, 192"""

    async def work(state: State) -> State:
        await asyncio.sleep(5)
        return {}

    def handle(state: State, error: NodeError) -> State:
        return {"log": [type(error.error).__name__]}

    graph = one(work, 0.05, strict=strict, error_handler=handle, compiled={"checkpointer": journal})
    assert await graph.ainvoke({"log": []}, on("t")) == {"log": ["NodeTimeoutError"]}


def writing(runtime: Runtime[None]) -> None:
    runtime.stream_writer("chunk")


def beating(runtime: Runtime[None]) -> None:
    runtime.heartbeat()


@pytest.mark.parametrize("listens", [True, False])
@pytest.mark.parametrize(("sign", "refresh_on"), [(writing, "auto"), (beating, "auto"), (beating, "heartbeat")])
async def test_signs_of_life_push_the_idle_limit_back(sign: Any, refresh_on: str, listens: bool, strict: bool) -> None:
    """Four waits of 60 ms pass under an idle limit of 150 ms, whether somebody listens or not.

    Rules: 190
    """

    async def work(state: State, runtime: Runtime[None]) -> State:
        for _ in range(4):
            await asyncio.sleep(0.06)
            sign(runtime)
        return {"log": ["done"]}

    graph = one(work, idle(0.15, refresh_on), strict=strict)
    if listens:
        assert [e async for e in graph.astream({"log": []}, stream_mode="values")][-1] == {"log": ["done"]}
    else:
        assert await graph.ainvoke({"log": []}) == {"log": ["done"]}


async def test_only_heartbeats_count_where_that_was_said(strict: bool) -> None:
    """Rules: 190"""

    async def work(state: State, runtime: Runtime[None]) -> State:
        for _ in range(20):
            await asyncio.sleep(0.02)
            runtime.stream_writer("chunk")
        return {}

    with pytest.raises(NodeTimeoutError, match="sign of life"):
        await one(work, idle(0.1, "heartbeat"), strict=strict).ainvoke({})


async def test_nothing_extends_the_run_limit(strict: bool) -> None:
    """Rules: 190"""

    async def work(state: State, runtime: Runtime[None]) -> State:
        for _ in range(50):
            await asyncio.sleep(0.01)
            runtime.heartbeat()
        return {}

    with pytest.raises(NodeTimeoutError) as caught:
        await one(work, TimeoutPolicy(run_timeout=0.1, idle_timeout=0.08), strict=strict).ainvoke({})
    assert caught.value.kind == "run"


@pytest.mark.parametrize("called", ["as a node", "in a node"])
async def test_a_graph_inside_is_a_sign_of_life(called: str, journal: Journal, strict: bool) -> None:
    """Each task of it that ends shows that the node which holds it is at work.

    Rules: 190
    """

    async def step(state: State) -> State:
        await asyncio.sleep(0.06)
        return {"log": ["step"]}

    builder: Any = StateGraph(State, strict=strict).add_sequence([(f"s{i}", step) for i in range(4)])
    inner = builder.add_edge(START, "s0").compile()

    async def holding(state: State) -> Any:
        return {"log": (await inner.ainvoke({"log": []}))["log"]}

    graph = one(
        inner if called == "as a node" else holding, idle(0.15), strict=strict, compiled={"checkpointer": journal}
    )
    assert await graph.ainvoke({"log": []}, on("t")) == {"log": ["step"] * 4}


@pytest.mark.parametrize("limited", [True, False])
async def test_a_chunk_of_a_graph_inside_is_a_sign_of_life_of_the_limited_node(strict: bool, limited: bool) -> None:
    """Rules: 190"""

    async def writing(state: State) -> None:
        write = get_stream_writer()
        for _ in range(4):
            await asyncio.sleep(0.06)
            if limited:
                write("alive")

    inner = one(writing, None, strict=strict)

    async def holding(state: State) -> Any:
        return await inner.ainvoke({"log": []})

    graph = one(holding, idle(0.15), strict=strict)
    if limited:
        assert await graph.ainvoke({}) == {"log": []}
    else:
        with pytest.raises(NodeTimeoutError):
            await graph.ainvoke({})


async def test_blocking_code_defeats_the_clock(strict: bool) -> None:
    """It gives the loop no chance to look, and what it returns counts.

    Rules: 191
    """

    async def work(state: State) -> State:
        time.sleep(0.15)
        return {"log": ["done"]}

    limit = TimeoutPolicy(run_timeout=0.03, idle_timeout=0.03)
    assert await one(work, limit, strict=strict).ainvoke({"log": []}) == {"log": ["done"]}


async def test_time_in_the_queue_does_not_count(strict: bool) -> None:
    """A task that max_concurrency keeps waiting has not begun.

    Rules: 188, 48
    """

    async def work(state: Any) -> State:
        await asyncio.sleep(0.06)
        return {"log": ["x"]}

    def spread(state: State) -> list[Send]:
        return [Send("work", {}, timeout=0.15) for _ in range(4)]

    builder: Any = StateGraph(State, strict=strict).add_node("work", work)
    graph = builder.add_conditional_edges(START, spread, ["work"]).compile()
    assert (await graph.ainvoke({"log": []}, {"max_concurrency": 1}))["log"] == ["x"] * 4


async def test_a_packets_policy_survives_storing(journal: Journal, strict: bool) -> None:
    """Rules: 71, 188"""

    async def work(state: Any) -> State:
        await asyncio.sleep(5)
        return {}

    def spread(state: State) -> list[Send]:
        return [Send("work", {}, timeout=idle(0.05))]

    builder: Any = StateGraph(State, strict=strict).add_node("work", work)
    builder.add_conditional_edges(START, spread, ["work"])
    await builder.compile(checkpointer=journal, interrupt_before=["work"]).ainvoke({}, on("t"))
    with pytest.raises(NodeTimeoutError) as caught:
        await builder.compile(checkpointer=journal).ainvoke(None, on("t"))
    assert caught.value.kind == "idle"


async def test_a_question_wins_over_the_clock(journal: Journal, strict: bool) -> None:
    """It was recorded before the limit was passed.

    Rules: 189
    """

    async def work(state: State) -> State:
        try:
            interrupt("who?")
        except BaseException:
            await asyncio.sleep(5)
        return {}

    out = await one(work, 0.05, strict=strict, compiled={"checkpointer": journal}).ainvoke({"log": []}, on("t"))
    assert [q.value for q in out["__interrupt__"]] == ["who?"]


# The decision itself, without a clock


def standing(policy: Any) -> tuple[Task, FixedClock]:
    clock = FixedClock(100.0)
    node = Node.inert("work")
    node.timeout = policy
    program = Program("g", {"work": node}, {}, strict=True)
    run = Run(run_id="r", clock=clock)
    base = Base(run, program, {}, checkpoint="c", ns="", path="", step=1, remaining=1, visits={})
    return Task(base, node, -1, None), clock


def test_the_machine_decides_by_the_time_that_the_event_brings() -> None:
    """The same events give the same orders: an alarm again while there is time left, then the task's end, once.

    Rules: 189, 190
    """
    task, clock = standing(TimeoutPolicy(run_timeout=10, idle_timeout=4))
    assert alarms([task]) == [o.Alarm(task, 4)]
    assert rang(task, 104.0) == (o.Alarm(task, 4),)  # it has not begun
    task.started = 100.0
    clock.advance(3)
    task.touch()
    assert rang(task, 104.0) == (o.Alarm(task, 3.0),)
    clock.advance(4)
    task.touch()
    assert rang(task, 108.0) == (o.Alarm(task, 2.0),)  # the run's limit is nearer
    assert rang(task, 110.0) == (o.Cancel((task,)),)
    assert isinstance(task.expired, NodeTimeoutError)
    assert task.expired.elapsed == 10
    assert task.closed
    assert rang(task, 111.0) == ()


def test_an_alarm_for_a_task_that_has_ended_is_nobodys() -> None:
    """Rules: 191"""
    task, _ = standing(TimeoutPolicy(run_timeout=1))
    task.started = 0.0
    task.status = CANCELLED
    assert rang(task, 100.0) == ()
    task.status = PENDING
    assert rang(task, 100.0) == (o.Cancel((task,)),)
