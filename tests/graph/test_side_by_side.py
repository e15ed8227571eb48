"""Nodes that run side by side live as asyncio tasks do, although few of them are one from the start."""

from __future__ import annotations

import asyncio
import gc
import operator
import weakref
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.graph import END, START, Send, StateGraph
from lawful.graph.drivers.stepping import Stepper

pytest.importorskip("anyio")

from support.bodies import ACTS, COLOUR, HELD, LASTING, Log, soon

pytestmark = [pytest.mark.unit]

Start = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
WAYS = ("tasks", "eager", "queued")


def starter(way: str, broken: list[BaseException]) -> Start:
    """How to begin a coroutine: as a plain task, or stepped by hand, at once or in the next turn."""
    loop = asyncio.get_running_loop()
    if way == "tasks":
        return loop.create_task
    stepper = Stepper(loop, eager=way == "eager", broken=broken.append)

    def start(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        with stepper:
            return stepper.start(work)

    return start


class Seen:
    """One body and what became of it."""

    def __init__(self, acts: Sequence[str], lasting: str | None, obeys: bool) -> None:
        self.acts, self.lasting, self.obeys = acts, lasting, obeys
        self.log: Log = []
        self.holding = False
        self.over: asyncio.Event = asyncio.Event()

    async def run(self) -> None:
        try:
            for name in self.acts:
                await ACTS[name](self.log)
            if self.lasting is not None:
                await self._last()
                for name in self.acts:
                    await ACTS[name](self.log)
            self.log.append("returned")
        except BaseException as error:
            self.log.append((type(error).__name__, error.args))
        finally:
            self.over.set()

    async def _last(self) -> None:
        assert self.lasting is not None
        self.holding = True
        try:
            await LASTING[self.lasting](self.log)
        except asyncio.CancelledError as error:
            me: Any = asyncio.current_task()
            self.log.append(("cancelled", error.args, me.cancelling()))
            if self.obeys:
                raise
            me.uncancel()


async def turns(n: int) -> None:
    for _ in range(n):
        await asyncio.sleep(0)


async def lived(way: str, plans: Sequence[tuple[Sequence[str], str | None, bool]], after: int) -> list[Log]:
    """Run the bodies side by side; each that lasts is cancelled so many turns after it has got that far."""
    broken: list[BaseException] = []
    start = starter(way, broken)
    around = asyncio.current_task()
    seen = [Seen(*plan) for plan in plans]
    tasks = [start(body.run()) for body in seen]
    assert asyncio.current_task() is around
    for body, task in zip(seen, tasks, strict=True):
        if body.lasting is not None:
            while not body.holding:
                await asyncio.sleep(0.0005)
            await turns(after)
            task.cancel("from outside")
    await asyncio.wait_for(asyncio.gather(*(body.over.wait() for body in seen)), 20)
    await asyncio.gather(*tasks)
    assert all(task.done() and task.exception() is None for task in tasks)
    assert broken == []
    assert asyncio.all_tasks() == {around}
    assert COLOUR.get() == "none"
    return [body.log for body in seen]


def own(logs: list[Log], after: int) -> list[Log]:
    """Without what child tasks logged, if those may not have begun when their parent was cancelled."""
    return [[entry for entry in log if after or entry not in HELD] for log in logs]


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("way", WAYS[1:])
async def test_an_act_goes_as_in_a_task(way: str, act: str) -> None:
    plans = [((act,), None, True), ((act, act), None, True)]
    assert await lived(way, plans, 0) == await lived("tasks", plans, 0)


@pytest.mark.parametrize("lasting", LASTING)
@pytest.mark.parametrize("way", WAYS[1:])
async def test_a_cancellation_goes_as_in_a_task(way: str, lasting: str) -> None:
    """At once, before the loop has had a look at what it waits for, and later; obeyed and not."""
    plans = [((), lasting, True), (("give_way",), lasting, False), (("look",), lasting, False)]
    for after in (0, 1, 3):
        assert own(await lived(way, plans, after), after) == own(await lived("tasks", plans, after), after)


@pytest.mark.property
@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(sorted(ACTS)), max_size=4),
            st.none() | st.sampled_from(sorted(LASTING)),
            st.booleans(),
        ),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 3),
)
def test_any_bodies_side_by_side_go_as_in_tasks(plans: list[tuple[list[str], str | None, bool]], after: int) -> None:
    plain = asyncio.run(lived("tasks", plans, after))
    assert own(asyncio.run(lived("eager", plans, after)), after) == own(plain, after)
    assert own(asyncio.run(lived("queued", plans, after)), after) == own(plain, after)


async def nothing() -> None:
    return


@pytest.mark.parametrize("way", WAYS)
async def test_a_task_cancelled_before_its_first_turn_never_begins(way: str) -> None:
    begun: list[str] = []

    async def body() -> None:
        begun.append("begun")
        await soon()

    task = starter(way, [])(body())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert begun == (["begun"] if way == "eager" else [])


@pytest.mark.parametrize("way", WAYS)
async def test_a_task_that_is_over_is_done_for_whoever_looks(way: str) -> None:
    task = starter(way, [])(nothing())
    await asyncio.wait_for(task, 5)
    assert task.done()
    assert task.cancel() is False
    assert await task is None


@pytest.mark.parametrize("way", WAYS)
async def test_one_that_waits_is_among_all_tasks(way: str) -> None:
    task = starter(way, [])(LASTING["for_a_future"]([]))
    await turns(2)
    assert task in asyncio.all_tasks()
    turning = starter(way, [])(LASTING["turn_by_turn"]([]))
    await turns(3)
    assert turning in asyncio.all_tasks()
    assert "turn_by_turn" in repr(turning) or "coro=" in repr(turning)
    for each in (task, turning):
        each.cancel()
        with pytest.raises(asyncio.CancelledError):
            await each


async def test_what_a_coroutine_raises_past_its_attempt_is_told() -> None:
    async def body(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        raise ZeroDivisionError

    for way in WAYS[1:]:
        for n in (0, 1):
            broken: list[BaseException] = []
            task = starter(way, broken)(body(n))
            await asyncio.wait((task,), timeout=5)
            await turns(3)
            assert [type(error) for error in broken] == [ZeroDivisionError]
            assert task.done()


async def test_nothing_is_left_of_one_that_is_over() -> None:
    """Neither its coroutine nor its context outlives it, whoever still holds the task."""

    class Held:
        pass

    held: list[weakref.ref[Held]] = []

    async def body() -> None:
        thing = Held()
        held.append(weakref.ref(thing))
        await asyncio.sleep(0)
        assert thing is not None

    for way in WAYS:
        task = starter(way, [])(body())
        await turns(3)
        gc.collect()
        assert held.pop()() is None
        del task


class Parts(TypedDict):
    parts: Annotated[list[Any], operator.add]


def wide(bodies: Sequence[Callable[[Any], Any]]) -> Any:
    graph = StateGraph(Parts)
    for i, body in enumerate(bodies):
        graph.add_node(f"n{i:02}", body)
        graph.add_edge(START, f"n{i:02}")
        graph.add_edge(f"n{i:02}", END)
    return graph.compile()


def acting(i: int, acts: Sequence[str]) -> Callable[[Any], Any]:
    async def node(state: Parts) -> dict[str, list[Any]]:
        log: Log = []
        for act in acts:
            await ACTS[act](log)
        return {"parts": [(i, log)]}

    return node


def plain_task(loop: Any, coro: Any, **rest: Any) -> Any:
    return asyncio.Task(coro, loop=loop, **rest)


@contextmanager
def watched(way: str) -> Generator[None]:
    """With a task factory, or in the loop's debug mode, every node is a task from the start."""
    loop = asyncio.get_running_loop()
    if way == "factory":
        loop.set_task_factory(plain_task)
    loop.set_debug(way == "debug")
    try:
        yield
    finally:
        loop.set_task_factory(None)
        loop.set_debug(False)


@pytest.mark.property
@settings(max_examples=10, deadline=None)
@given(st.lists(st.lists(st.sampled_from(sorted(ACTS)), max_size=3), min_size=2, max_size=6))
def test_nodes_do_as_in_tasks(plans: list[list[str]]) -> None:
    async def run(way: str) -> Any:
        with watched(way):
            return await wide([acting(i, acts) for i, acts in enumerate(plans)]).ainvoke({"parts": []})

    plain = asyncio.run(run("factory"))
    assert asyncio.run(run("as it is")) == plain
    assert asyncio.run(run("debug")) == plain


@pytest.mark.parametrize("way", ["as it is", "factory", "debug"])
@pytest.mark.parametrize("lasting", LASTING)
async def test_a_failed_sibling_and_a_cancelled_run_stop_every_kind_of_node(way: str, lasting: str) -> None:
    """Rules: 92."""
    log: Log = []

    async def lasts(state: Parts) -> None:
        log.append("begun")
        try:
            await LASTING[lasting](log)
        finally:
            log.append("ended")

    async def fails(state: Parts) -> None:
        await asyncio.sleep(0.005)
        raise ZeroDivisionError("mine")

    with watched(way):
        with pytest.raises(ZeroDivisionError, match="mine"):
            await asyncio.wait_for(wide([lasts, fails, lasts]).ainvoke({"parts": []}), 10)
        assert (log.count("begun"), log.count("ended")) == (2, 2)
        log.clear()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wide([lasts, lasts]).ainvoke({"parts": []}), 0.02)
        assert (log.count("begun"), log.count("ended")) == (2, 2)
        assert asyncio.all_tasks() == {asyncio.current_task()}


def fifty(state: Parts) -> list[Send]:
    return [Send("node", {}) for _ in range(50)]


async def test_a_nodes_own_current_task_is_no_other_nodes() -> None:
    tasks: list[Any] = []

    async def node(state: Any) -> dict[str, list[Any]]:
        tasks.append(asyncio.current_task())
        await asyncio.sleep(0)
        return {"parts": [tasks.index(asyncio.current_task())]}

    graph = StateGraph(Parts)
    graph.add_node("node", node)
    graph.add_conditional_edges(START, fifty, ["node"])
    found = await graph.compile().ainvoke({"parts": []})
    assert sorted(found["parts"]) == list(range(50))
    assert asyncio.current_task() not in tasks


async def test_all_start_before_any_goes_on() -> None:
    """Giving way is to every other node: as tasks, all have begun before the first continues."""
    order: list[str] = []

    async def node(state: Any) -> None:
        order.append("begun")
        await asyncio.sleep(0)
        order.append("gone on")

    await wide([node] * 20).ainvoke({"parts": []})
    assert order == ["begun"] * 20 + ["gone on"] * 20


async def test_other_work_of_the_loop_has_its_turns() -> None:
    """Nodes that only give way starve nobody."""
    counted = 0
    stop = asyncio.Event()

    async def other() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1
            await asyncio.sleep(0)

    async def node(state: Any) -> None:
        for _ in range(50):
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    await wide([node] * 10).ainvoke({"parts": []})
    stop.set()
    await beside
    assert 40 <= counted <= 80


async def test_nested_graphs_wide_at_every_level_go_deep() -> None:
    """A graph inside a node steps nothing on the stack of all those around it: 40 levels of two branches each."""

    async def leaf(state: Parts) -> dict[str, list[Any]]:
        await asyncio.sleep(0)
        return {"parts": ["leaf"]}

    async def idle(state: Parts) -> None:
        return None

    graph = wide([leaf, idle])
    for _ in range(40):

        def around(inner: Any) -> Callable[[Any], Any]:
            async def node(state: Parts) -> dict[str, list[Any]]:
                return {"parts": (await inner.ainvoke({"parts": []}))["parts"]}

            return node

        graph = wide([around(graph), idle])
    assert (await graph.ainvoke({"parts": []}))["parts"] == ["leaf"]


@pytest.mark.parametrize("way", ["as it is", "factory", "debug"])
async def test_an_attempt_that_breaks_breaks_the_run(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """What is raised beside a node, by the running of it, ends the run with that error; it does not hang."""

    def breaks(*_: Any) -> None:
        raise ZeroDivisionError("beside")

    async def node(state: Parts) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr("lawful.graph.attempt._over", breaks)
    with watched(way), pytest.raises(ZeroDivisionError, match="beside"):
        await asyncio.wait_for(wide([node, node]).ainvoke({"parts": []}), 5)
