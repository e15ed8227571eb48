"""Limits of a run: each ends it with a typed error that names it, what was done is kept, and the thread goes on."""

from __future__ import annotations

import time
from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.errors import GraphRecursionError, RunTimeoutError, StateTooLarge
from lawful.core.reducers import add_messages, append
from lawful.graph import START, Done, Failed, Limits, NodeError, Send, StateGraph
from lawful.graph.sizes import Sizes
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on
from support.pausing import Calls

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    log: Annotated[list[str], append()]
    text: str


def adding(name: str, text: str | None = None, calls: Calls | None = None, wait: float = 0) -> Any:
    def body(state: State) -> State:
        if calls is not None:
            calls(name)
        time.sleep(wait)
        return {"log": [text or name]}

    body.__name__ = name
    return body


def chain(drive: Drive, *bodies: Any, strict: bool = True, **options: Any) -> Any:
    builder: Any = StateGraph(State, strict=strict)
    builder.add_sequence([(body.__name__, drive.node(body)) for body in bodies])
    return builder.add_edge(START, bodies[0].__name__).compile(**options)


@pytest.mark.parametrize("name", ["steps", "seconds", "concurrency", "state_bytes"])
@pytest.mark.parametrize("wrong", [0, -1, True, "many"], ids=str)
def test_a_limit_is_positive(name: str, wrong: Any) -> None:
    """Rows: S1-083"""
    with pytest.raises(ValueError, match=name):
        Limits(**{name: wrong})


def test_steps(drive: Drive, journal: Journal, strict: bool) -> None:
    """Of the graph, of one call, and LangGraph's key, the nearest wins.

    Rules: 50. Rows: S1-083
    """
    builder: Any = StateGraph(State, strict=strict).add_node("turn", drive.node(adding("turn"))).add_edge(START, "turn")
    graph = builder.add_edge("turn", "turn").compile(checkpointer=journal, limits=Limits(steps=4))
    for thread, options, config, done in (
        ("graph", {}, {}, 4),
        ("call", {"limits": Limits(steps=2)}, {}, 2),
        ("config", {"limits": Limits(steps=2)}, {"recursion_limit": 3}, 3),
    ):
        with pytest.raises(GraphRecursionError, match=f"limit of {done}"):
            drive.invoke(graph, {"log": []}, {**on(thread), **config}, **options)
        assert len(drive.get_state(graph, on(thread)).values["log"]) == done


def test_seconds(drive: Drive, journal: Journal, strict: bool) -> None:
    """The run ends at once though its node cannot be stopped; what that returns later is dropped, what was done is kept.

    Rows: S1-083, S1-P10
    """
    calls = Calls()
    first, slow = adding("first", calls=calls), adding("slow", calls=calls, wait=0.6)
    builder: Any = StateGraph(State, strict=strict).add_node("first", first).add_node("slow", slow)
    graph = (
        builder.add_edge(START, "first")
        .add_edge("first", "slow")
        .compile(checkpointer=journal, limits=Limits(seconds=0.2))
    )
    began = time.monotonic()
    ended = drive.run(graph, {"log": []}, on("t"))
    assert time.monotonic() - began < 0.5
    assert isinstance(ended, Failed)
    assert isinstance(ended.error, RunTimeoutError)
    assert isinstance(ended.error, TimeoutError)
    assert (ended.error.details["limit"], ended.state) == ("seconds", {"log": ["first"]})
    time.sleep(0.6)
    head = drive.get_state(graph, on("t"))
    assert (head.values, head.next) == ({"log": ["first"]}, ("slow",))
    assert isinstance(drive.resume(graph, "t", limits=Limits(seconds=30)), Done)
    assert (calls.of("first"), calls.of("slow")) == (1, 2)


def test_seconds_reach_a_graph_inside_and_no_handler(drive: Drive, journal: Journal, strict: bool) -> None:
    """Rows: S1-083"""
    handled = Calls()

    def handle(state: State, error: NodeError) -> State:
        handled("handler")
        return {}

    inner = chain(drive, *(adding(f"s{i}", wait=0.05) for i in range(30)), strict=strict)
    builder: Any = StateGraph(State, strict=strict).add_node("hold", inner, error_handler=handle)
    graph = builder.add_edge(START, "hold").compile(checkpointer=journal)
    began = time.monotonic()
    with pytest.raises(RunTimeoutError):
        drive.invoke(graph, {"log": []}, on("t"), limits=Limits(seconds=0.15))
    assert time.monotonic() - began < 1
    assert handled.of("handler") == 0


def test_a_graph_inside_has_its_own_seconds_too(drive: Drive, strict: bool) -> None:
    """Its end is its holder's failure, which a handler may take: the run around it goes on.

    Rules: 194. Rows: S1-083
    """

    def handle(state: State, error: NodeError) -> State:
        return {"log": [type(error.error).__name__]}

    inner = chain(drive, *(adding(f"s{i}", wait=0.05) for i in range(20)), strict=strict, limits=Limits(seconds=0.1))
    for handler in (None, handle):
        builder: Any = StateGraph(State, strict=strict).add_node("hold", inner, error_handler=handler)
        graph = builder.add_edge(START, "hold").compile(limits=Limits(seconds=20))
        began = time.monotonic()
        if handler is None:
            with pytest.raises(RunTimeoutError):
                drive.invoke(graph, {"log": []})
        else:
            assert drive.invoke(graph, {"log": []}) == {"log": ["RunTimeoutError"]}
        assert time.monotonic() - began < 0.8


def test_concurrency(drive: Drive, strict: bool) -> None:
    """Rules: 48. Rows: S1-083, S1-070"""
    running, most = set[int](), list[int]()

    def work(state: Any) -> State:
        running.add(state["n"])
        most.append(len(running))
        time.sleep(0.01)
        running.discard(state["n"])
        return {}

    def spread(state: State) -> list[Send]:
        return [Send("work", {"n": n}) for n in range(8)]

    builder: Any = StateGraph(State, strict=strict).add_node("work", work)
    graph = builder.add_conditional_edges(START, spread, ["work"]).compile(limits=Limits(concurrency=2))
    drive.invoke(graph, {"log": []})
    assert max(most) <= 2


def test_state_bytes(drive: Drive, journal: Journal, strict: bool) -> None:
    """The step is not applied; a higher limit goes on from there without running the node again.

    Rows: S1-083, S1-074
    """
    calls = Calls()
    bodies = adding("small", calls=calls), adding("large", "x" * 300, calls)
    graph = chain(drive, *bodies, strict=strict, checkpointer=journal, limits=Limits(state_bytes=200))
    ended = drive.run(graph, {"log": []}, on("t"))
    assert isinstance(ended, Failed)
    assert isinstance(ended.error, StateTooLarge)
    assert ended.error.details["limit"] == "state_bytes"
    assert (ended.error.details["most"], ended.error.details["key"]) == ("200", "log")
    assert ended.state == {"log": ["small"]}
    head = drive.get_state(graph, on("t"))
    assert (head.values, head.next) == ({"log": ["small"]}, ("large",))
    done = drive.invoke(graph, None, on("t"), limits=Limits(state_bytes=2000))
    assert done == {"log": ["small", "x" * 300]}
    assert (calls.of("small"), calls.of("large")) == (1, 1)


def test_an_input_that_is_too_large_writes_nothing(drive: Drive, journal: Journal, strict: bool) -> None:
    """Rows: S1-083"""
    graph = chain(drive, adding("a"), strict=strict, checkpointer=journal, limits=Limits(state_bytes=100))
    with pytest.raises(StateTooLarge):
        drive.invoke(graph, {"log": ["x" * 200]}, on("t"))
    assert journal.info("t") is None
    assert drive.invoke(graph, {"log": []}, on("t")) == {"log": ["a"]}


def test_state_that_was_stored_counts(drive: Drive, journal: Journal, strict: bool) -> None:
    """Also where another graph, without the limit, wrote it.

    Rows: S1-083
    """
    drive.invoke(chain(drive, adding("a", "x" * 90), strict=strict, checkpointer=journal), {"log": []}, on("t"))
    graph = chain(drive, adding("a", "y" * 90), strict=strict, checkpointer=journal, limits=Limits(state_bytes=150))
    with pytest.raises(StateTooLarge):
        drive.invoke(graph, {"log": []}, on("t"))


class Kinds(TypedDict, total=False):
    last: str
    grown: Annotated[list[str], append()]
    talk: Annotated[list[Any], add_messages]
    own: Annotated[list[str], concat]


class Write:
    def __init__(self, *writes: tuple[str, Any]) -> None:
        self.node, self.writes, self.task_node = "n", list(writes), None


def test_a_size_is_that_of_what_is_kept_and_not_of_all_that_was_written() -> None:
    """A value that is replaced, and a list that is estimated by its writes, are measured before anything is refused.

    Rows: S1-083, S1-074
    """
    builder: Any = StateGraph(Kinds).add_node("n", adding("n")).add_edge(START, "n")
    sizes = Sizes(builder.compile().program, 400)
    values: dict[str, Any] = {"grown": [], "own": [], "talk": []}

    def takes(key: str, write: Any, value: Any) -> bool:
        wrong = sizes.refused(values, {key: value}, [Write((key, write))])  # pyright: ignore[reportArgumentType]
        if wrong is None:
            values[key] = value
        return wrong is None

    assert all(takes("last", "x" * 150, "x" * 150) for _ in range(5))
    assert takes("grown", ["y" * 100], ["y" * 100])
    assert all(takes("grown", ["y" * 100], ["y" * 100]) for _ in range(5))  # overwritten each time, so no larger
    assert not takes("grown", ["y" * 200], ["y" * 300])
    assert takes("last", "", "")
    assert takes("own", ["z"], ["z" * 200])
    assert not takes("own", ["z"], ["z" * 400])  # a reducer of one's own may give more than it was given
    assert takes("own", [], [])
