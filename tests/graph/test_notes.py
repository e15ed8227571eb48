"""Clock, ids and chance in node code, and calls of tasks: the same again where a node runs again, and in a replay."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import EffectRefused, NotInRun, ToolError
from lawful.core.secret import Secret
from lawful.effects import effect
from lawful.graph import END, START, StateGraph, interrupt
from lawful.graph.functional import entrypoint, task
from lawful.graph.runtime import Runtime
from lawful.journal.memory import MemoryJournal
from support.graphs import JournalBox, concat

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    log: Annotated[list[str], concat]
    n: int


def told(runtime: Runtime[None]) -> list[str]:
    return [str(each) for each in (runtime.now(), runtime.new_id(), runtime.random(), runtime.now())]


def asking(seen: list[list[str]]) -> Any:
    def node(state: State, runtime: Runtime[None]) -> State:
        seen.append(told(runtime))
        interrupt("go on?")
        return {"log": [*seen[-1], runtime.new_id()]}

    graph = StateGraph(State).add_node(node).add_edge(START, "node")

    def more(state: State) -> str:
        return "node" if len(state.get("log", [])) < 8 else END

    return graph.add_conditional_edges("node", more, ["node", END])


def run_all(graph: Any) -> Any:
    result = graph.run_sync({"log": []}, thread="t")
    while hasattr(result, "questions"):
        result = graph.resume_sync("t", *(q.answer("yes") for q in result.questions))
    return result


def test_a_node_that_runs_again_is_told_the_same(box: JournalBox) -> None:
    """Rows: S2-023"""
    seen: list[list[str]] = []
    graph = asking(seen)
    result = graph.compile(box.open()).run_sync({"log": []}, thread="t")
    again = graph.compile(box.open())
    result = again.resume_sync("t", *(q.answer("yes") for q in result.questions))
    assert len(seen) == 3  # twice the first visit, once the second, which asks anew
    assert seen[0] == seen[1] != seen[2]
    assert seen[0][0] != seen[0][3]
    assert len(set(seen[0])) == 4
    assert hasattr(result, "questions")


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_a_replay_is_told_the_same(durability: str) -> None:
    """Rows: S2-023"""
    seen: list[list[str]] = []
    journal = MemoryJournal()
    graph = asking(seen).compile(journal)
    config = {"configurable": {"thread_id": "t"}}
    graph.invoke({"log": []}, config, durability=durability)
    run_all_left(graph, config, durability)
    ran = len(seen)
    before = journal.history("t")
    found = graph.replay_recorded("t")
    assert found.same, found
    assert found.steps == 3
    assert len(seen) > ran
    assert seen[-1] in seen[:ran]
    assert journal.history("t") == before


def run_all_left(graph: Any, config: Any, durability: str) -> None:
    from lawful.graph import Command

    while graph.get_state(config).interrupts:
        graph.invoke(Command(resume="yes"), config, durability=durability)


def test_what_was_not_asked_then_is_a_gap_that_no_handler_hides() -> None:
    journal = MemoryJournal()

    def build(more: bool) -> Any:
        def node(state: State, runtime: Runtime[None]) -> State:
            first = runtime.random()
            try:
                second = runtime.random() if more else 0.0
            except Exception:
                second = 0.0
            return {"log": [str(first), str(second)]}

        return StateGraph(State).add_node(node).add_edge(START, "node").compile(journal)

    build(False).run_sync({"log": []}, thread="t")
    found = build(True).replay_recorded("t")
    assert found.gap is not None
    assert "random:1" in found.gap.message
    assert found.divergence is not None
    assert found.divergence.nodes == ("node",)


def test_an_effect_made_of_a_note_has_the_same_arguments_after_a_death(box: JournalBox) -> None:
    """The note is durable before the intent that is made of it."""
    sent: list[tuple[str, str]] = []

    class Dead(BaseException):
        pass

    durable: list[bool] = []

    @effect("key")
    def send(key: str, text: str) -> str:
        chain = box.open().chain("t")
        durable.append(chain is not None and any(text.encode() in answer.blob for answer in chain.answers))
        sent.append((key, text))
        return f"receipt of {text}"

    dies = [True]

    def node(state: State, runtime: Runtime[None]) -> State:
        receipt = send("one", runtime.new_id())
        if dies.pop() if dies else False:
            raise Dead
        return {"log": [receipt]}

    graph = StateGraph(State).add_node(node).add_edge(START, "node")
    with pytest.raises(Dead):
        graph.compile(box.open()).run_sync({"log": []}, thread="t")
    graph.compile(box.open()).run_sync(None, thread="t")
    assert len(sent) == 1
    assert durable == [True]
    values = graph.compile(box.open()).get_state({"configurable": {"thread_id": "t"}}).values
    assert values["log"] == [f"receipt of {sent[0][1]}"]


def test_time_travel_asks_the_world_anew() -> None:
    def node(state: State, runtime: Runtime[None]) -> State:
        return {"log": [runtime.new_id()]}

    graph = StateGraph(State).add_node(node).add_edge(START, "node")
    made = graph.compile(MemoryJournal())
    config = {"configurable": {"thread_id": "t"}}
    first = made.invoke({"log": []}, config)["log"]
    earlier = next(s for s in made.get_state_history(config) if s.next == ("node",))
    assert made.invoke(None, earlier.config)["log"] != first


def test_without_a_journal_they_are_what_the_clock_says() -> None:
    kept: list[Runtime[None]] = []

    def node(state: State, runtime: Runtime[None]) -> State:
        kept.append(runtime)
        return {"log": told(runtime)}

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile()
    graph.clock = FixedClock(5.0, 0.25)
    assert graph.invoke({"log": []})["log"][2:] == ["0.25", "5.0"]
    with pytest.raises(NotInRun):
        kept[0].now()


# Calls of tasks


class Calls:
    def __init__(self, journal: Any) -> None:
        self.made: list[str] = []
        self.factor = 1
        self.journal = journal

    def build(self) -> Any:
        @task
        def fetch(n: int) -> dict[str, int]:
            self.made.append(f"fetch {n}")
            return {"n": n, "r": len(self.made)}

        @entrypoint(checkpointer=self.journal)
        def flow(n: int) -> list[Any]:
            got = [fetch(k * self.factor).result() for k in range(n)]
            return [got, interrupt("fine?"), fetch(99).result()]

        return flow


@pytest.mark.parametrize("resumed", ["same process", "another"])
def test_results_of_tasks_are_taken_from_the_record(box: JournalBox, resumed: str) -> None:
    """Rows: S2-023"""
    program = Calls(box.open())
    graph = program.build()
    result = graph.run_sync(3, thread="t")
    if resumed == "another":
        program.journal = box.open()
        graph = program.build()
    result = graph.resume_sync("t", *(q.answer("yes") for q in result.questions))
    assert program.made == ["fetch 0", "fetch 1", "fetch 2", "fetch 99"]
    found = graph.replay_recorded("t")
    assert found.same, found
    assert found.steps == 1
    assert len(program.made) == 4
    program.factor = 2
    found = program.build().replay_recorded("t")
    assert found.gap is not None
    assert "other arguments" in found.gap.message
    assert len(program.made) == 4


def test_results_of_an_unfinished_step_are_found_too() -> None:
    program = Calls(MemoryJournal())
    graph = program.build()
    graph.run_sync(3, thread="t")
    assert graph.replay_recorded("t").same
    assert len(program.made) == 3


async def test_async_tasks_and_notes_of_subgraphs() -> None:
    made: list[str] = []

    @task
    async def fetch(n: int) -> str:
        made.append(f"fetch {n}")
        return f"got {n}"

    async def inner(state: State, runtime: Runtime[None]) -> State:
        return {"log": [runtime.new_id(), *await asyncio.gather(fetch(1), fetch(2))]}

    async def outer(state: State, runtime: Runtime[None]) -> State:
        return {"log": [str(runtime.random())]}

    sub = StateGraph(State).add_node(inner).add_edge(START, "inner").compile()
    graph = StateGraph(State).add_node(outer).add_node("sub", sub).add_edge(START, "outer").add_edge("outer", "sub")
    built = graph.compile(MemoryJournal())
    await built.ainvoke({"log": []}, {"configurable": {"thread_id": "t"}})
    found = await asyncio.to_thread(built.replay_recorded, "t")
    assert found.same, found
    assert len(made) == 2


class OwnError(Exception):
    """A program's own."""


def failing(journal: Any, made: list[str], raised: Exception, caught: type[Exception]) -> Any:
    """One call fails once and is caught, the next is made all the same."""

    @task
    def fetch(n: int) -> str:
        made.append(f"fetch {n}")
        if n == 1:
            raise raised
        return f"got {n}"

    @entrypoint(checkpointer=journal)
    def flow(n: int) -> list[str]:
        out: list[str] = []
        for k in range(n):
            try:
                out.append(fetch(k).result())
            except caught as error:
                out.append(f"{error}")
        return out

    return flow


@pytest.mark.parametrize(
    ("raised", "caught"),
    [
        (ValueError("no"), ValueError),
        (KeyError("key"), KeyError),
        (FileNotFoundError(2, "none", "there"), OSError),
        (ToolError("no tool", details={"a": "b"}), ToolError),
        (EffectRefused("no"), ToolError),
        (OwnError("mine"), Exception),
    ],
    ids=lambda each: repr(each),
)
def test_a_task_that_failed_fails_again_in_a_replay(
    box: JournalBox, raised: Exception, caught: type[Exception]
) -> None:
    """Rows: S2-023"""
    made: list[str] = []
    graph = failing(box.open(), made, raised, caught)
    assert graph.invoke(3, thread="t")[1] == str(raised)
    assert made == ["fetch 0", "fetch 1", "fetch 2"]
    found = graph.replay_recorded("t")
    assert found.same, found
    assert len(made) == 3


async def test_an_async_task_that_failed_fails_again_in_a_replay() -> None:
    made: list[str] = []

    @task
    async def fetch(n: int) -> str:
        made.append(f"fetch {n}")
        raise ValueError(f"no {n}")

    async def work(state: State) -> State:
        got = await asyncio.gather(fetch(1), fetch(2), return_exceptions=True)
        return {"log": [repr(each) for each in got]}

    built = StateGraph(State).add_node(work).add_edge(START, "work").compile(MemoryJournal())
    await built.ainvoke({"log": []}, {"configurable": {"thread_id": "t"}})
    found = await asyncio.to_thread(built.replay_recorded, "t")
    assert found.same, found
    assert len(made) == 2


def test_a_task_that_succeeded_in_the_end_is_replayed_as_that() -> None:
    """A failed run that was gone on with: what counts is what the history came from."""
    made: list[int] = []

    @task
    def fetch() -> str:
        made.append(1)
        if len(made) == 1:
            raise ValueError("not yet")
        return "got it"

    @entrypoint(checkpointer=MemoryJournal())
    def flow(n: int) -> str:
        return fetch().result()

    with pytest.raises(ValueError, match="not yet"):
        flow.invoke(1, thread="t")
    assert flow.invoke(None, thread="t") == "got it"
    assert flow.replay_recorded("t").same
    assert len(made) == 2


def test_what_an_exception_says_of_a_secret_is_not_kept() -> None:
    journal = MemoryJournal()
    token = Secret("planted-token-1234567")

    @task
    def fetch() -> str:
        raise ValueError(f"bad {token.reveal()}")

    @entrypoint(checkpointer=journal)
    def flow(n: int) -> str:
        try:
            return fetch().result()
        except ValueError:
            return "failed"

    assert flow.invoke(2, thread="t") == "failed"
    chains = [journal.chain("t", "", row.id) for row in journal.history("t")]
    kept = [answer.blob for chain in chains if chain is not None for answer in chain.answers]
    assert kept
    assert not any(b"planted-token" in blob for blob in kept)
