"""Rules of error handlers: in the failed node's step, told what failed, stored before they start, run again after a crash."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from lawful.core.errors import GraphBuildError, InvalidUpdateError, NetworkError
from lawful.graph import START, CachePolicy, Command, NodeError, RetryPolicy, Send, StateGraph
from lawful.graph.runtime import get_config
from lawful.journal.port import Journal
from support.graphs import Drive, names, on
from support.handlers import DEFAULT, HANDLER, State, adding, failing, graph_of, noting
from support.pausing import Calls

pytestmark = pytest.mark.unit


def test_the_handler_takes_over_in_the_same_step(drive: Drive, journal: Journal, strict: bool) -> None:
    """With the failed node's input; its update is applied and streamed under its own name, the node's edges are not followed.

    Rules: 192. Rows: S1-003
    """
    seen: list[Any] = []

    def handle(state: State, error: NodeError) -> State:
        seen.append((dict(state), get_config()["metadata"]["langgraph_step"], type(error.error)))
        return {"log": [f"{error.node}: {error.error}"]}

    work = failing("work", ValueError("boom"))
    graph = graph_of(drive, work, drive.node(handle), strict=strict, compiled={"checkpointer": journal})
    events = drive.stream(graph, {"log": ["in"]}, on("t"), stream_mode="updates")
    assert events == [{HANDLER: {"log": ["work: boom"]}}]
    assert seen == [({"log": ["in"]}, 1, ValueError)]
    head = drive.get_state(graph, on("t"))
    assert (head.values, head.next, head.metadata["step"]) == ({"log": ["in", "work: boom"]}, (), 1)


def test_without_a_journal_too(drive: Drive, strict: bool) -> None:
    """Rules: 192"""
    graph = graph_of(drive, failing("work", ValueError("boom")), noting, strict=strict)
    assert drive.invoke(graph, {"log": []}) == {"log": ["work: boom"]}


def test_a_handler_routes_by_command(drive: Drive, journal: Journal, strict: bool) -> None:
    """Only its goto goes on.

    Rules: 192
    """

    def handle(state: State, error: NodeError) -> Command[Literal["mend"]]:
        return Command(update={"log": ["handled"]}, goto="mend")

    builder: Any = StateGraph(State, strict=strict)
    builder.add_node("work", drive.node(failing("work", ValueError("boom"))), error_handler=drive.node(handle))
    builder.add_node("next", drive.node(adding("next"))).add_node("mend", drive.node(adding("mend")))
    graph = builder.add_edge(START, "work").add_edge("work", "next").compile(checkpointer=journal)
    assert drive.invoke(graph, {"log": []}, on("t")) == {"log": ["handled", "mend"]}
    assert drive.get_state(graph, on("t")).values == {"log": ["handled", "mend"]}


def test_retries_come_first(drive: Drive, strict: bool) -> None:
    """Rules: 192, 182"""
    calls = Calls()
    policy = RetryPolicy(initial_interval=0.001, jitter=False, max_attempts=3)
    work = failing("work", NetworkError("down"), calls)
    graph = graph_of(drive, work, noting, strict=strict, retry_policy=policy)
    assert drive.invoke(graph, {"log": []}) == {"log": ["work: down"]}
    assert calls.of("work") == 3


def test_a_refused_write_is_handled_like_any_failure(drive: Drive, journal: Journal) -> None:
    """Rules: 192. Rows: S1-040"""

    def work(state: State) -> Any:
        return {"lgo": ["typing mistake"]}

    def handle(state: State, error: NodeError) -> State:
        return {"log": [type(error.error).__name__]}

    graph = graph_of(drive, work, handle, compiled={"checkpointer": journal})
    assert drive.invoke(graph, {"log": []}, on("t")) == {"log": ["InvalidUpdateError"]}


def test_a_handler_that_fails_ends_the_run(drive: Drive, journal: Journal, strict: bool) -> None:
    """Nothing handles a handler, the default one neither.

    Rules: 193
    """
    calls = Calls()

    def handle(state: State, error: NodeError) -> State:
        calls("handler")
        raise KeyError("in the handler")

    builder: Any = StateGraph(State, strict=strict).set_node_defaults(error_handler=noting)
    builder.add_node("work", drive.node(failing("work", ValueError("boom"))), error_handler=drive.node(handle))
    graph = builder.add_edge(START, "work").compile(checkpointer=journal)
    with pytest.raises(KeyError, match="in the handler"):
        drive.invoke(graph, {"log": []}, on("t"))
    assert calls.of("handler") == 1
    assert drive.get_state(graph, on("t")).next == (HANDLER,)


def test_the_default_handler_takes_those_without_one(drive: Drive, journal: Journal, strict: bool) -> None:
    """Two in one step: each is told its own failure, and their order is that of the nodes.

    Rules: 192, 193, 196, 18
    """
    builder: Any = StateGraph(State, strict=strict).set_node_defaults(error_handler=drive.node(noting))
    for name in ("b", "a", "c"):
        own = {"error_handler": adding("own")} if name == "c" else {}
        builder.add_node(name, drive.node(failing(name, ValueError(name.upper()))), **own).add_edge(START, name)
    graph = builder.compile(checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"))
    assert sorted(name for event in events for name in event) == [DEFAULT, DEFAULT, "__error_handler__c"]
    assert drive.get_state(graph, on("t")).values["log"] == ["a: A", "b: B", "own"]


def test_a_subgraphs_failure_reaches_the_holders_handler(drive: Drive, journal: Journal, strict: bool) -> None:
    """Rules: 194"""
    inner: Any = StateGraph(State, strict=strict).add_node("deep", drive.node(failing("deep", ValueError("inside"))))
    graph = StateGraph(State, strict=strict).add_node("work", inner.add_edge(START, "deep").compile())
    graph.nodes["work"].handler = drive.node(noting)
    compiled = graph.add_edge(START, "work").compile(checkpointer=journal)
    assert drive.invoke(compiled, {"log": []}, on("t")) == {"log": ["work: inside"]}


def test_each_packet_has_its_own_handler_task(drive: Drive, journal: Journal, strict: bool) -> None:
    """With the packet's argument as its input.

    Rules: 192, 67
    """

    def work(state: Any) -> State:
        if state["n"] % 2:
            raise ValueError(f"odd {state['n']}")
        return {"log": [f"even {state['n']}"]}

    def handle(state: Any, error: NodeError) -> State:
        return {"log": [f"{state['n']}: {error.error}"]}

    def spread(state: State) -> list[Send]:
        return [Send("work", {"n": n}) for n in range(4)]

    builder: Any = StateGraph(State, strict=strict)
    builder.add_node("work", drive.node(work), error_handler=drive.node(handle))
    graph = builder.add_conditional_edges(START, spread, ["work"]).compile(checkpointer=journal)
    wanted = ["even 0", "1: odd 1", "even 2", "3: odd 3"]
    assert drive.invoke(graph, {"log": []}, on("t"))["log"] == wanted
    assert drive.get_state(graph, on("t")).values["log"] == wanted


def test_a_handler_can_be_stopped_before(drive: Drive, journal: Journal, strict: bool) -> None:
    """It is a node: `interrupt_before` names it, and the run goes on into it.

    Rules: 196
    """
    calls = Calls()
    options = {"checkpointer": journal, "interrupt_before": [HANDLER]}
    graph = graph_of(drive, failing("work", ValueError("boom"), calls), noting, strict=strict, compiled=options)
    assert drive.invoke(graph, {"log": []}, on("t")) == {"log": []}
    assert drive.get_state(graph, on("t")).next == (HANDLER,)
    assert drive.invoke(graph, None, on("t")) == {"log": ["work: boom"]}
    assert calls.of("work") == 1


def test_a_name_of_no_handler_is_no_breakpoint(strict: bool) -> None:
    """Rules: 196"""
    builder: Any = StateGraph(State, strict=strict).add_node("work", adding("work")).add_edge(START, "work")
    with pytest.raises(ValueError, match=HANDLER):
        builder.compile(interrupt_before=[HANDLER])


def test_names_of_handlers_are_reserved(strict: bool) -> None:
    """Rules: 196"""
    builder: Any = StateGraph(State, strict=strict)
    with pytest.raises(ValueError, match="reserved"):
        builder.add_node("__error_handler__x", adding("x"))
    builder.add_node(DEFAULT, adding("x")).add_edge(START, DEFAULT)
    with pytest.raises(ValueError, match="reserved"):
        builder.set_node_defaults(error_handler=noting).compile()


def test_no_edge_leads_to_a_handler(drive: Drive) -> None:
    """It has nothing to handle there.

    Rules: 196, 45
    """

    def jump(state: State) -> Command[Any]:
        return Command(goto=HANDLER)

    builder: Any = StateGraph(State).add_node("jump", jump).add_node("work", adding("work"), error_handler=noting)
    graph = builder.add_edge(START, "jump").add_edge("jump", "work").compile()
    with pytest.raises(InvalidUpdateError, match=HANDLER):
        drive.invoke(graph, {"log": []})


def of_nothing() -> None:
    """No handler: it takes no input."""


@pytest.mark.parametrize("handler", [3, "noting", of_nothing], ids=["int", "str", "takes nothing"])
def test_what_cannot_handle_is_refused_at_build(handler: Any, strict: bool) -> None:
    """Rules: 192"""
    builder: Any = StateGraph(State, strict=strict).add_node("work", adding("work"), error_handler=handler)
    with pytest.raises(GraphBuildError, match=HANDLER):
        builder.add_edge(START, "work").compile()


def test_a_join_behind_a_handled_node_states_its_rule(strict: bool) -> None:
    """Where the handler takes over, the edge into the join is not followed: strict refuses what could wait for ever.

    Rules: 28, 192
    """

    def build(rule: str | None) -> Any:
        builder: Any = StateGraph(State, strict=strict)
        builder.add_node("a", failing("a", ValueError("boom")), error_handler=noting).add_node("b", adding("b"))
        builder.add_node("end", adding("end")).add_edge(START, "a").add_edge(START, "b")
        return builder.add_edge(["a", "b"], "end", join=rule).compile()

    if strict:
        with pytest.raises(GraphBuildError, match="ambiguous"):
            build(None)
    assert build("activated").invoke({"log": []})["log"] == ["a: boom", "b", "end"]


def test_history_shows_a_handled_step(drive: Drive, journal: Journal, strict: bool) -> None:
    """The planned node ran and wrote nothing; a replay from before it runs it again.

    Rules: 192, 153
    """
    calls = Calls()
    graph = graph_of(
        drive, failing("work", ValueError("boom"), calls), noting, strict=strict, compiled={"checkpointer": journal}
    )
    drive.invoke(graph, {"log": []}, on("t"))
    history = drive.get_state_history(graph, on("t"))
    assert [entry.next for entry in history] == [(), ("work",), ("__start__",)]
    assert [(t.name, t.result) for t in history[1].tasks] == [("work", {})]
    assert drive.invoke(graph, None, history[1].config) == {"log": ["work: boom"]}
    assert calls.of("work") == 2


def test_names_of_the_stream(drive: Drive, strict: bool) -> None:
    """The failure is told as the node's, the result as the handler's.

    Rules: 192
    """
    graph = graph_of(drive, failing("work", ValueError("boom")), noting, strict=strict)
    events = drive.stream(graph, {"log": []}, stream_mode=["tasks", "updates"])
    ends = [(e["name"], type(e["error"]).__name__) for mode, e in events if mode == "tasks" and "error" in e]
    assert ends == [("work", "ValueError"), (HANDLER, "NoneType")]
    assert names([e for mode, e in events if mode == "updates"]) == []


def test_explain_tells_the_policies(strict: bool) -> None:
    """Rules: 192. Rows: S1-003"""

    async def work(state: State) -> State:
        return {}

    builder: Any = StateGraph(State, strict=strict).set_node_defaults(error_handler=noting, retry_policy=RetryPolicy())
    builder.add_node("work", work, timeout=1, cache_policy=CachePolicy()).add_edge(START, "work")
    told = builder.compile().explain()
    assert f"  work (node, retries, time limit, cached, failures go to {DEFAULT})" in told.splitlines()
