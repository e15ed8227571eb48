"""A pause cannot be swallowed: bare except, finally-return, gathered exceptions, task groups, left-over work."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest

from lawful.core.errors import NotInRun
from lawful.graph import END, START, Command, RetryPolicy, StateGraph, get_stream_writer, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, on
from support.pausing import Calls, Log, asked, chain, fan_of, ids, values

pytestmark = pytest.mark.unit


def bare_except(state: Log) -> Log:
    try:
        return {"log": [interrupt("who?")]}
    except:  # noqa: E722
        return {"log": ["swallowed"]}


def base_exception(state: Log) -> Log:
    try:
        return {"log": [interrupt("who?")]}
    except BaseException:
        return {"log": ["swallowed"]}


def finally_return(state: Log) -> Log:
    answer = "swallowed"
    try:
        answer = interrupt("who?")
    finally:
        return {"log": [answer]}  # noqa: B012


def suppressed(state: Log) -> Log:
    with contextlib.suppress(BaseException):
        return {"log": [interrupt("who?")]}
    return {"log": ["swallowed"]}


def turned_into_an_error(state: Log) -> Log:
    try:
        return {"log": [interrupt("who?")]}
    except BaseException as signal:
        raise ValueError("the pause became an error") from signal


def turned_into_a_command(state: Log) -> Any:
    try:
        return {"log": [interrupt("who?")]}
    except BaseException:
        return Command(update={"log": ["swallowed"]}, goto="elsewhere")


def forgetful_loop(state: Log) -> Log:
    for _ in range(5):
        try:
            return {"log": [interrupt("who?", name="who")]}
        except BaseException:
            continue
    return {"log": ["swallowed"]}


SWALLOWERS: list[Callable[[Log], Any]] = [
    bare_except,
    base_exception,
    finally_return,
    suppressed,
    turned_into_an_error,
    turned_into_a_command,
    forgetful_loop,
]


@pytest.mark.parametrize("node", SWALLOWERS, ids=lambda node: node.__name__)
def test_a_swallowed_pause_is_a_pause(drive: Drive, journal: Journal, strict: bool, node: Callable[[Log], Any]) -> None:
    """The question is told, the attempt's writes and ways are dropped; the answer makes the node end as it should.

    Rules: 121, 185. Rows: S0-104
    """
    calls = Calls()

    def elsewhere(state: Log) -> Log:
        calls("elsewhere")
        return {"log": ["elsewhere"]}

    def route(state: Log) -> str:
        calls("route")
        return END

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("node", drive.node(node)).add_node("elsewhere", drive.node(elsewhere)).add_edge(START, "node")
    graph = builder.add_conditional_edges("node", route, [END]).compile(checkpointer=journal)
    paused = drive.invoke(graph, {"log": ["in"]}, on("t"))
    assert [question.value for question in asked(paused)] == ["who?"]
    assert values(paused) == {"log": ["in"]}
    assert drive.get_state(graph, on("t")).next == ("node",)
    assert (calls.of("elsewhere"), calls.of("route")) == (0, 0)
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["in", "ada"]}
    assert calls.of("route") == 1


@pytest.mark.parametrize("node", SWALLOWERS, ids=lambda node: node.__name__)
def test_a_swallowed_pause_is_not_retried(drive: Drive, journal: Journal, node: Callable[[Log], Any]) -> None:
    """Whatever the node made of it.

    Rules: 121, 186. Rows: S0-104
    """
    calls = Calls()

    def counted(state: Log) -> Any:
        calls("node")
        return node(state)

    policy = RetryPolicy(initial_interval=0.001, jitter=False, retry_on=lambda error: True)
    builder: Any = StateGraph(Log)
    builder.add_node("node", drive.node(counted), retry_policy=policy).add_node("elsewhere", drive.node(bare_except))
    graph = builder.add_edge(START, "node").compile(checkpointer=journal)
    assert [question.value for question in asked(drive.invoke(graph, {"log": []}, on("t")))] == ["who?"]
    assert calls.of("node") == 1


async def ask(name: str) -> Any:
    return interrupt(f"{name}?", name=name)


async def gathered(state: Log) -> Log:
    a, b = await asyncio.gather(ask("a"), ask("b"), return_exceptions=True)
    return {"log": [str(a), str(b)]}


async def grouped(state: Log) -> Log:
    async with asyncio.TaskGroup() as group:
        a, b = group.create_task(ask("a")), group.create_task(ask("b"))
    return {"log": [a.result(), b.result()]}


async def grouped_and_swallowed(state: Log) -> Log:
    try:
        return await grouped(state)
    except BaseException:
        return {"log": ["swallowed"]}


async def waited(state: Log) -> Log:
    done, _ = await asyncio.wait([asyncio.create_task(ask("a")), asyncio.create_task(ask("b"))])
    results = [task.exception() or task.result() for task in done]
    return {"log": sorted(map(str, results))}


@pytest.mark.parametrize("node", [gathered, grouped, grouped_and_swallowed, waited], ids=lambda node: node.__name__)
async def test_pauses_of_child_tasks_are_all_told(journal: Journal, strict: bool, node: Callable[[Log], Any]) -> None:
    """Gathered as results, wrapped in a group, or never looked at: both questions are in the first pause.

    Rules: 121, 130. Rows: S0-104, S1-H03
    """
    graph = fan_of(node, strict=strict, checkpointer=journal)
    paused = await graph.ainvoke({"log": []}, on("t"))
    found = ids(asked(paused))
    assert set(found) == {"a?", "b?"}
    assert values(paused) == {"log": []}
    done = await graph.ainvoke(Command(resume={found["a?"]: "A", found["b?"]: "B"}), on("t"))
    assert done == {"log": ["A", "B"]}


async def test_a_failure_in_a_group_beside_a_pause_is_a_pause(journal: Journal) -> None:
    """The group holds an ordinary error too; the recorded question wins over it.

    Rules: 121. Rows: S0-104
    """
    calls = Calls()

    async def fail() -> None:
        if calls("fail") == 1:
            raise ValueError("beside the question")

    async def node(state: Log) -> Log:
        async with asyncio.TaskGroup() as group:
            a = group.create_task(ask("a"))
            group.create_task(fail())
        return {"log": [a.result()]}

    graph = fan_of(node, checkpointer=journal)
    assert [question.value for question in asked(await graph.ainvoke({"log": []}, on("t")))] == ["a?"]
    assert await graph.ainvoke(Command(resume="A"), on("t")) == {"log": ["A"]}


def test_a_subgraphs_pause_cannot_be_swallowed_by_its_holder(drive: Drive, journal: Journal, strict: bool) -> None:
    """A bare except around the inner invoke: the question still reaches the root.

    Rules: 121, 129. Rows: S0-104, S1-H08
    """

    def inner_ask(state: Log) -> Log:
        return {"log": [interrupt("inner?")]}

    inner = chain(drive, inner_ask, strict=strict)
    if drive.name == "async":

        async def hold_async(state: Log) -> Log:
            try:
                return {"log": (await inner.ainvoke({"log": []}))["log"]}
            except BaseException:
                return {"log": ["swallowed"]}

        hold: Any = hold_async
    else:

        def hold_sync(state: Log) -> Log:
            try:
                return {"log": inner.invoke({"log": []})["log"]}
            except BaseException:
                return {"log": ["swallowed"]}

        hold = hold_sync
    builder: Any = StateGraph(Log, strict=strict)
    graph = builder.add_node("hold", hold).add_edge(START, "hold").compile(checkpointer=journal)
    assert [question.value for question in asked(drive.invoke(graph, {"log": []}, on("t")))] == ["inner?"]
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["ada"]}


def test_a_command_to_the_parent_cannot_be_swallowed(drive: Drive, journal: Journal, strict: bool) -> None:
    """It too is recorded before it is raised.

    Rules: 58, 61. Rows: S0-104
    """

    def jump(state: Log) -> Any:
        return Command(graph=Command.PARENT, update={"word": "jumped"})

    inner = chain(drive, jump, strict=strict)
    if drive.name == "async":

        async def hold_async(state: Log) -> Log:
            with contextlib.suppress(BaseException):
                await inner.ainvoke({"log": []})
            return {"log": ["swallowed"]}

        hold: Any = hold_async
    else:

        def hold_sync(state: Log) -> Log:
            with contextlib.suppress(BaseException):
                inner.invoke({"log": []})
            return {"log": ["swallowed"]}

        hold = hold_sync
    builder: Any = StateGraph(Log, strict=strict)
    graph = builder.add_node("hold", hold).add_edge(START, "hold").compile(checkpointer=journal)
    assert drive.invoke(graph, {"log": []}, on("t")) == {"log": [], "word": "jumped"}


def test_a_pause_in_a_route_is_its_nodes_pause(drive: Drive, journal: Journal, strict: bool) -> None:
    """The conditional edge runs in its node's attempt, so it may ask; swallowing does not help it either.

    Rules: 42, 121
    """

    def work(state: Log) -> Log:
        return {"log": ["work"]}

    def route(state: Log) -> str:
        try:
            return interrupt("where to?")
        except BaseException:
            return END

    def there(state: Log) -> Log:
        return {"log": ["there"]}

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("work", drive.node(work)).add_node("there", drive.node(there)).add_edge(START, "work")
    graph = builder.add_conditional_edges("work", route, ["there", END]).compile(checkpointer=journal)
    paused = drive.invoke(graph, {"log": []}, on("t"))
    assert [question.value for question in asked(paused)] == ["where to?"]
    assert drive.invoke(graph, Command(resume="there"), on("t")) == {"log": ["work", "there"]}


def test_a_thread_left_over_can_ask_nobody(journal: Journal) -> None:
    """It knows its node, but the node's attempt is over: NotInRun says which.

    Rules: 101. Rows: S0-104
    """
    refusals: list[BaseException] = []
    over = threading.Event()
    ended = threading.Event()

    def later() -> None:
        over.wait(3)
        for call in (lambda: interrupt("late?"), lambda: get_stream_writer()("late")):
            try:
                call()
            except BaseException as refused:
                refusals.append(refused)
        ended.set()

    def starter(state: Log) -> Log:
        threading.Thread(target=contextvars.copy_context().run, args=(later,)).start()
        return {"log": ["starter"]}

    graph = fan_of(starter, checkpointer=journal)
    assert graph.invoke({"log": []}, on("t")) == {"log": ["starter"]}
    over.set()
    assert ended.wait(3)
    assert [type(refused) for refused in refusals] == [NotInRun, NotInRun]
    assert "starter" in str(refusals[0])
    assert graph.get_state(on("t")).interrupts == ()


async def test_a_task_left_over_can_ask_nobody(journal: Journal) -> None:
    """The same for an asyncio task that nobody awaited.

    Rules: 101. Rows: S0-104
    """
    kept: list[asyncio.Task[Any]] = []
    over = asyncio.Event()

    async def later() -> Any:
        await over.wait()
        return interrupt("late?")

    async def starter(state: Log) -> Log:
        kept.append(asyncio.create_task(later()))
        return {"log": ["starter"]}

    graph = fan_of(starter, checkpointer=journal)
    assert await graph.ainvoke({"log": []}, on("t")) == {"log": ["starter"]}
    over.set()
    with pytest.raises(NotInRun, match="starter"):
        await kept[0]
    assert (await graph.aget_state(on("t"))).interrupts == ()


def test_a_bare_thread_is_told_the_remedy(journal: Journal) -> None:
    """A thread started without the node's context: the error says how to give it.

    Rows: S0-104
    """
    refusals: list[BaseException] = []

    def lost() -> None:
        try:
            interrupt("who?")
        except BaseException as refused:
            refusals.append(refused)

    def starter(state: Log) -> Log:
        thread = threading.Thread(target=lost)
        thread.start()
        thread.join()
        return {"log": ["starter"]}

    fan_of(starter, checkpointer=journal).invoke({"log": []}, on("t"))
    assert [type(refused) for refused in refusals] == [NotInRun]
    assert "copy_context" in str(refusals[0])


def test_a_thread_with_its_nodes_context_may_ask(journal: Journal) -> None:
    """While the attempt runs; the node need not even look at what the thread met.

    Rules: 121. Rows: S0-104
    """
    answers: list[Any] = []

    def helper() -> None:
        with contextlib.suppress(BaseException):
            answers.append(interrupt("who?", name="who"))

    def starter(state: Log) -> Log:
        thread = threading.Thread(target=contextvars.copy_context().run, args=(helper,))
        thread.start()
        thread.join()
        return {"log": [str(answers[-1]) if answers else "nobody"]}

    graph = fan_of(starter, checkpointer=journal)
    assert [question.value for question in asked(graph.invoke({"log": []}, on("t")))] == ["who?"]
    assert graph.invoke(Command(resume="ada"), on("t")) == {"log": ["ada"]}


def test_the_second_question_of_a_swallower_is_told_too(drive: Drive, journal: Journal) -> None:
    """It swallowed the first pause and asked on: both are known, by name.

    Rules: 121, 130
    """

    def greedy(state: Log) -> Log:
        got: list[str] = []
        for name in ("a", "b"):
            with contextlib.suppress(BaseException):
                got.append(interrupt(f"{name}?", name=name))
        return {"log": got}

    graph = chain(drive, greedy, checkpointer=journal)
    found = ids(asked(drive.invoke(graph, {"log": []}, on("t"))))
    assert set(found) == {"a?", "b?"}
    assert drive.invoke(graph, Command(resume={found["a?"]: "A", found["b?"]: "B"}), on("t")) == {"log": ["A", "B"]}
