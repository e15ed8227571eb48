"""Async entrypoints and tasks: awaitable futures, cancellation, time limits, sync tasks beside async ones."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lawful.core.errors import GraphBuildError, NodeTimeoutError
from lawful.graph import Command, interrupt
from lawful.graph.functional import entrypoint, task
from lawful.graph.policies import TimeoutPolicy
from lawful.journal.port import Journal
from support.graphs import on as config

pytestmark = pytest.mark.unit


async def test_calls_are_awaited_alone_and_gathered() -> None:
    """Rules: 199."""
    together = asyncio.Barrier(2)

    @task
    async def meet(name: str) -> str:
        await together.wait()
        return name

    @task
    def plain(name: str) -> str:
        return name.upper()

    @entrypoint()
    async def flow(given: str) -> list[str]:
        both = await asyncio.gather(meet("a"), meet("b"))
        done, _ = await asyncio.wait([asyncio.ensure_future(plain("c")), asyncio.ensure_future(plain("d"))])
        return [*both, *sorted(d.result() for d in done)]

    assert await flow.ainvoke("go") == ["a", "b", "C", "D"]


async def test_a_call_that_user_code_cancelled_runs_again_on_resume(journal: Journal) -> None:
    """Rules: 103."""
    runs: list[str] = []
    begun = asyncio.Event()

    @task
    async def slow(name: str, first: bool) -> str:
        runs.append(name)
        if first and len(runs) == 1:
            begun.set()
            await asyncio.sleep(30)
        return name

    @entrypoint(checkpointer=journal, strict=False)
    async def flow(given: str) -> str:
        future: Any = slow("a", len(runs) == 0)
        if len(runs) == 0:
            await begun.wait()
            future.cancel()
            with pytest.raises(asyncio.CancelledError):
                await future
            return interrupt("cancelled")
        got = await future
        return got + interrupt("cancelled")

    paused = await flow.ainvoke("go", config("t"))
    assert paused["__interrupt__"][0].value == "cancelled"
    assert await flow.ainvoke(Command(resume="!"), config("t")) == "a!"
    assert runs == ["a", "a"]


async def test_cancelling_the_run_cancels_its_calls(journal: Journal) -> None:
    """Rules: 100."""
    begun, ended = asyncio.Event(), asyncio.Event()

    @task
    async def slow() -> None:
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    @task
    async def quick() -> int:
        return 1

    @entrypoint(checkpointer=journal)
    async def flow(given: str) -> int:
        got = await quick()
        await slow()
        return got

    run = asyncio.create_task(flow.ainvoke("go", config("t")))
    await begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert ended.is_set()
    chain = journal.chain("t")
    assert chain is not None
    assert [w.kind for w in chain.writes if w.kind == "done"] == ["done"]


async def test_a_failure_cancels_the_calls_that_are_under_way() -> None:
    """Rules: 91."""
    begun, ended = asyncio.Event(), asyncio.Event()

    @task
    async def slow() -> None:
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    @entrypoint()
    async def flow(given: str) -> None:
        slow()
        await begun.wait()
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        await flow.ainvoke("go")
    assert ended.is_set()


async def test_a_pause_lets_the_other_calls_end(journal: Journal) -> None:
    """Rules: 98."""
    runs: list[str] = []

    @task
    async def ask() -> str:
        return interrupt("?")

    @task
    async def work() -> str:
        await asyncio.sleep(0.01)
        runs.append("work")
        return "w"

    @entrypoint(checkpointer=journal)
    async def flow(given: str) -> list[str]:
        other = work()
        return [await ask(), await other]

    await flow.ainvoke("go", config("t"))
    assert await flow.ainvoke(Command(resume="a"), config("t")) == ["a", "w"]
    assert runs == ["work"]


async def test_questions_in_a_task_group_are_gathered(journal: Journal) -> None:
    """Rules: 130."""

    @task
    async def ask(name: str) -> str:
        return interrupt(name)

    @entrypoint(checkpointer=journal)
    async def flow(given: str) -> list[str]:
        async def one(name: str) -> str:
            return await ask(name)

        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(one(n)) for n in ("a", "b")]
        return [a.result() for a in asked]

    paused = await flow.ainvoke("go", config("t"))
    assert sorted(q.value for q in paused["__interrupt__"]) == ["a", "b"]
    answers = {q.id: q.value.upper() for q in paused["__interrupt__"]}
    assert await flow.ainvoke(Command(resume=answers), config("t")) == ["A", "B"]


async def test_a_time_limit_holds_for_a_task_and_is_refused_on_a_sync_one() -> None:
    """Rules: 188, 189."""

    @task(timeout=0.01)
    async def slow() -> None:
        await asyncio.sleep(30)

    @entrypoint()
    async def flow(given: str) -> str:
        try:
            await slow()
        except NodeTimeoutError as error:
            return error.details["node"]
        return "no"

    assert await flow.ainvoke("go") == "slow"

    def sync() -> None: ...

    def echo(given: str) -> str:
        return given

    with pytest.raises(GraphBuildError, match="make it async"):
        task(timeout=1)(sync)
    with pytest.raises(GraphBuildError, match="make it async"):
        entrypoint(timeout=TimeoutPolicy(run_timeout=1.0))(echo)
    for wrong in (0, -1, True, "soon"):
        with pytest.raises(GraphBuildError, match="positive number"):
            task(timeout=wrong)(slow.func)


async def test_max_concurrency_bounds_async_calls() -> None:
    """Rules: 48."""
    running, peak = 0, 0

    @task
    async def work(number: int) -> int:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.001)
        running -= 1
        return number

    @entrypoint()
    async def flow(count: int) -> list[int]:
        return list(await asyncio.gather(*(work(n) for n in range(count))))

    assert await flow.ainvoke(10, {"max_concurrency": 3}) == list(range(10))
    assert peak == 3


def test_a_sync_entrypoint_may_call_async_tasks(journal: Journal) -> None:
    """Rules: 199."""

    @task
    async def fetch(name: str) -> str:
        await asyncio.sleep(0)
        return name.upper()

    @entrypoint(checkpointer=journal)
    def flow(given: str) -> list[str]:
        return [f.result() for f in (fetch(given), fetch(given + given))]

    assert flow.invoke("a", config("t")) == ["A", "AA"]


def test_an_async_entrypoint_is_driven_to_its_end_by_invoke(journal: Journal) -> None:
    @task
    async def fetch(name: str) -> str:
        return name

    @entrypoint(checkpointer=journal)
    async def flow(given: str) -> str:
        return await fetch(given)

    assert flow.invoke("a", config("t")) == "a"
    assert list(flow.stream("b", config("t"))) == [{"fetch": "b"}, {"flow": "b"}]


async def test_async_streams_tell_of_calls_while_the_entrypoint_runs() -> None:
    """Rules: 179."""
    seen = asyncio.Event()

    @task
    async def early() -> str:
        return "early"

    @entrypoint()
    async def flow(given: str) -> str:
        await early()
        await asyncio.wait_for(seen.wait(), 10)
        return "end"

    chunks: list[Any] = []
    async for chunk in flow.astream("go"):
        chunks.append(chunk)
        if "early" in chunk:
            seen.set()
    assert chunks == [{"early": "early"}, {"flow": "end"}]
