"""Rules of time travel: replays, forks, branches by new input, and the past of graphs inside graphs."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.core.errors import ConfigurationError, ValidationError
from lawful.graph import START, Command, Done, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Config, Drive, JournalBox, on
from support.pausing import Calls, Log, asked, by_name, chain, checkpoint_id, steps

pytestmark = pytest.mark.unit


@pytest.fixture
def calls() -> Calls:
    return Calls()


def counting(calls: Calls, *names: str) -> list[Any]:
    """Nodes that each write their name and how often they have run by then."""

    def body(name: str) -> Any:
        def node(state: Log) -> Log:
            return {"log": [f"{name}{calls(name)}"]}

        node.__name__ = name
        return node

    return [body(name) for name in names]


def at_step(drive: Drive, graph: Any, thread: str, step: int, ns: str | None = None) -> Any:
    """The oldest checkpoint of that step."""
    seen = drive.get_state_history(graph, on(thread, ns=ns))
    return next(entry for entry in reversed(seen) if entry.metadata["step"] == step)


def everything(drive: Drive, graph: Any, thread: str) -> dict[str, Any]:
    return {checkpoint_id(entry): entry for entry in drive.get_state_history(graph, on(thread))}


# Replays


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_replay_runs_what_follows_on_a_branch(
    drive: Drive, journal: Journal, calls: Calls, durability: str, strict: bool
) -> None:
    """Nothing before runs, everything after does; all that was is as it was, the thread's state is the branch's.

    Rules: 153, 154, 163, 106
    """
    graph = chain(drive, *counting(calls, "a", "b", "c"), strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    before = everything(drive, graph, "t")
    point = at_step(drive, graph, "t", 1)
    done = drive.invoke(graph, None, point.config, durability=durability)
    assert done["log"] == ["in", "a1", "b2", "c2"]
    after = everything(drive, graph, "t")
    assert {id: after[id] for id in before} == before
    new = [entry for id, entry in after.items() if id not in before]
    if durability == "exit":
        assert [(e.metadata["source"], e.metadata["step"]) for e in new] == [("loop", 4)]
    else:
        assert [(e.metadata["source"], e.metadata["step"]) for e in new] == [("loop", 4), ("loop", 3), ("fork", 2)]
    assert new[-1].parent_config == point.config
    assert drive.get_state(graph, on("t")).values["log"] == ["in", "a1", "b2", "c2"]
    assert drive.invoke(graph, None, on("t"))["log"] == ["in", "a1", "b2", "c2"], "and there is nothing left to do"


def test_a_replay_from_the_input_runs_everything(drive: Drive, journal: Journal, calls: Calls) -> None:
    """Rules: 153."""
    graph = chain(drive, *counting(calls, "a", "b"), checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    assert drive.invoke(graph, None, at_step(drive, graph, "t", -1).config)["log"] == ["in", "a2", "b2"]


def test_a_replay_can_be_typed(drive: Drive, journal: Journal, calls: Calls) -> None:
    """``replay`` takes a snapshot or its config and gives Done, Paused or Failed.

    Rules: 153. Rows: S0-110
    """
    graph = chain(drive, *counting(calls, "a", "b"), checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    point = at_step(drive, graph, "t", 1)
    for n, at in enumerate((point, point.config), start=2):
        done = drive.wait(graph.replay(at)) if drive.name == "async" else graph.replay_sync(at)
        assert done == Done({"log": ["a1", f"b{n}"]}, "t")
    with pytest.raises(ConfigurationError, match="StateSnapshot"):
        graph.replay_sync("t")


def ask_after(drive: Drive, journal: Journal | None, calls: Calls) -> Any:
    def ask(state: Log) -> Log:
        return {"log": [f"{interrupt('who?')}{calls('ask')}"]}

    first, last = counting(calls, "a", "z")
    return chain(drive, first, ask, last, checkpointer=journal)


def test_a_replay_asks_again_each_time_and_an_answer_goes_on_from_the_branch(
    drive: Drive, journal: Journal, calls: Calls
) -> None:
    """The old answer is never used; the fork is there though the run paused at once; answers without an id reach it.

    Rules: 156, 158, 154
    """
    graph = ask_after(drive, journal, calls)
    drive.invoke(graph, {"log": []}, on("t"))
    drive.invoke(graph, Command(resume="ada"), on("t"))
    point = at_step(drive, graph, "t", 1)
    for n, name in enumerate(("bob", "cy"), start=2):
        assert [q.value for q in asked(drive.invoke(graph, None, point.config))] == ["who?"]
        head = drive.get_state(graph, on("t"))
        assert (head.metadata["source"], head.parent_config) == ("fork", point.config)
        done = drive.invoke(graph, Command(resume=name), on("t"))
        assert done["log"] == ["a1", f"{name}{n}", f"z{n}"]


def test_an_answer_with_the_id_of_the_head_is_no_replay(drive: Drive, journal: Journal, calls: Calls) -> None:
    """Also with the config of the nested graph that asks.

    Rules: 157
    """
    graph = ask_after(drive, journal, calls)
    drive.invoke(graph, {"log": []}, on("t"))
    done = drive.invoke(graph, Command(resume="ada"), drive.get_state(graph, on("t")).config)
    assert done["log"] == ["a1", "ada1", "z1"]
    assert "fork" not in [source for source, _ in steps(drive, graph, on("t"))]
    builder: Any = StateGraph(Log).add_node("hold", ask_after(drive, None, Calls())).add_edge(START, "hold")
    outer = builder.compile(checkpointer=journal)
    drive.invoke(outer, {"log": []}, on("u"))
    (task,) = drive.get_state(outer, on("u"), subgraphs=True).tasks
    assert drive.invoke(outer, Command(resume="bob"), task.state.config)["log"] == ["a1", "bob1", "z1"]
    assert "fork" not in [source for source, _ in steps(drive, outer, on("u"))]


def test_a_fork_by_hand_needs_no_further_fork(drive: Drive, journal: Journal, calls: Calls, strict: bool) -> None:
    """Of two branches made by hand the older one runs from its own checkpoint; once it was run from, it is forked.

    Rules: 155
    """
    graph = chain(drive, *counting(calls, "a", "b", "c"), strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    point = at_step(drive, graph, "t", 1)
    one = drive.update_state(graph, point.config, {"log": ["one"]}, as_node="a")
    two = drive.update_state(graph, point.config, {"log": ["two"]}, as_node="a")
    assert drive.invoke(graph, None, one)["log"] == ["a1", "one", "b2", "c2"]
    assert drive.invoke(graph, None, two)["log"] == ["a1", "two", "b3", "c3"]
    assert [source for source, _ in steps(drive, graph, on("t"))][:6] == ["loop"] * 4 + ["update"] * 2
    assert drive.invoke(graph, None, one)["log"] == ["a1", "one", "b4", "c4"]
    assert [source for source, _ in steps(drive, graph, on("t"))][:3] == ["loop", "loop", "fork"]


def test_an_answered_fork_by_hand_asks_again(drive: Drive, journal: Journal, calls: Calls) -> None:
    """Rules: 155, 156."""
    graph = ask_after(drive, journal, calls)
    drive.invoke(graph, {"log": []}, on("t"))
    fork = drive.update_state(graph, at_step(drive, graph, "t", 1).config, {"word": "x"}, as_node="a")
    for name in ("ada", "bob"):
        assert [q.value for q in asked(drive.invoke(graph, None, fork))] == ["who?"]
        assert name in drive.invoke(graph, Command(resume=name), on("t"))["log"][1]


def test_new_input_at_an_old_checkpoint_begins_a_branch_there(drive: Drive, box: JournalBox, calls: Calls) -> None:
    """Later turns are not in it, and what was stored beside that checkpoint stays.

    Rules: 162
    """

    def ask(state: Log) -> Log:
        return {"log": [f"{interrupt('who?')}"]}

    graph = chain(drive, *counting(calls, "a"), ask, checkpointer=box.open())
    drive.invoke(graph, {"log": ["1"]}, on("t"))
    point = drive.get_state(graph, on("t"))
    drive.update_state(graph, on("t"), {"log": ["later"]}, as_node="a")
    old = drive.get_state_history(graph, on("t"))
    done = drive.invoke(graph, {"log": ["3"]}, point.config)
    assert done["log"] == ["1", "a1", "3", "a2"]
    assert drive.get_state_history(graph, on("t"))[3:] == old
    assert [q.value for q in by_name(drive.get_state(graph, point.config))["ask"].interrupts] == ["who?"]


def test_a_checkpoint_that_is_not_there_is_refused(drive: Drive, journal: Journal, calls: Calls) -> None:
    """Rules: 153, 162."""
    graph = chain(drive, *counting(calls, "a"), checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    inputs: list[Any] = [None, {"log": []}, Command(update={"word": "x"})]
    for given in inputs:
        with pytest.raises(ConfigurationError, match="no checkpoint 'nope'"):
            drive.invoke(graph, given, on("t", checkpoint="nope"))
    with pytest.raises(ConfigurationError, match="no checkpoint"):
        drive.invoke(graph, None, on("nobody", checkpoint="nope"))


# Forks


def fork(drive: Drive, graph: Any, at: Any, *args: Any, **options: Any) -> Config:
    return drive.wait(graph.afork(at, *args, **options)) if drive.name == "async" else graph.fork(at, *args, **options)


def test_a_thread_can_be_forked(drive: Drive, journal: Journal, calls: Calls) -> None:
    """As a copy or with other values, on the thread itself or into another, which leaves the first as it is.

    Rules: 148, 152, 155. Rows: S1-K10
    """
    graph = chain(drive, *counting(calls, "a", "b"), checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    point = at_step(drive, graph, "t", 1)
    before = everything(drive, graph, "t")
    elsewhere = fork(drive, graph, point, {"log": ["there"]}, "a", into="u")
    assert drive.invoke(graph, None, elsewhere)["log"] == ["a1", "there", "b2"]
    assert everything(drive, graph, "t") == before
    assert drive.get_state(graph, on("u")).values["log"] == ["a1", "there", "b2"]
    here = fork(drive, graph, point.config)
    assert drive.get_state(graph, on("t")).next == ("b",)
    assert drive.invoke(graph, None, here)["log"] == ["a1", "b3"]
    with pytest.raises(ValidationError):
        fork(drive, graph, point, into="u")
    with pytest.raises(ConfigurationError, match="needs a checkpoint"):
        fork(drive, graph, on("t"))
    with pytest.raises(ConfigurationError, match="no checkpoint"):
        fork(drive, graph, on("t", checkpoint="nope"), into="v")
    assert journal.info("v") is None


# Graphs with a memory inside


def remembering(drive: Drive, calls: Calls, journal: Journal, *, asks: bool = False) -> Any:
    """``hold``, a graph that keeps its state over visits, between ``a`` and ``z``, in a loop of two turns a run."""

    def inside(state: Log) -> Log:
        seen = [word for word in state.get("log", []) if word.startswith("in")]
        if asks:
            interrupt("who?")
        return {"log": [f"in{len(seen)}"]}

    def report(state: Log) -> Log:
        return {"n": len(state.get("log", []))}

    def more(state: Log) -> str:
        return "hold" if sum(word.startswith("z") for word in state.get("log", [])) % 2 else "__end__"

    inner = chain(drive, inside, report, checkpointer=True)

    async def held(state: Log) -> Log:
        return {"log": [f"hold sees {(await inner.ainvoke({'log': ['x']}))['log']}"]}

    def held_sync(state: Log) -> Log:
        return {"log": [f"hold sees {inner.invoke({'log': ['x']})['log']}"]}

    a, z = counting(calls, "a", "z")
    builder: Any = StateGraph(Log).add_node("a", drive.node(a)).add_node("z", drive.node(z))
    builder.add_node("hold", held if drive.name == "async" else held_sync)
    builder.add_edge(START, "a").add_edge("a", "hold").add_edge("hold", "z")
    return builder.add_conditional_edges("z", more, ["hold", "__end__"]).compile(checkpointer=journal)


SEES = [f"hold sees {['x', 'in0'] + [w for n in range(1, k) for w in ('x', f'in{n}')]}" for k in range(1, 8)]


def seen(result: Any) -> list[str]:
    return [word for word in result["log"] if word.startswith("hold")]


@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_a_graph_with_a_memory_remembers_what_its_branch_did(
    drive: Drive, box: JournalBox, calls: Calls, durability: str
) -> None:
    """The first visit of a replay begins from before the replay point, the next one from the first; later runs go on.

    Rules: 160
    """
    graph = remembering(drive, calls, box.open())
    for _ in range(2):
        drive.invoke(graph, {"log": []}, on("t"), durability=durability)
    assert seen(drive.get_state(graph, on("t")).values) == SEES[:4]
    points = [e for e in drive.get_state_history(graph, on("t")) if e.next == ("hold",)]
    if durability == "exit":
        assert points == []
        newest, first = drive.get_state_history(graph, on("t"))
        there = remembering(drive, calls, box.open())
        assert seen(drive.invoke(there, {"log": []}, first.config, durability=durability)) == SEES[:4]
        assert seen(drive.invoke(there, {"log": []}, newest.config, durability=durability)) == SEES[:6]
        return
    fourth, third, second, first = points
    for point, remembered in ((second, 1), (third, 2), (first, 0), (fourth, 3)):
        there = remembering(drive, calls, box.open())
        replayed = drive.invoke(there, None, point.config)
        turns = 4 - remembered if point is third or point is fourth else 2 - remembered
        assert seen(replayed) == SEES[: remembered + turns]
        assert seen(drive.invoke(there, {"log": []}, on("t"))) == SEES[: remembered + turns + 2]


def test_a_replay_that_paused_goes_on_with_its_own_memory(drive: Drive, box: JournalBox, calls: Calls) -> None:
    """In another process, and where the pause came before the graph with a memory was visited at all.

    Rules: 160, 158
    """
    graph = remembering(drive, calls, box.open())
    for _ in range(2):
        drive.invoke(graph, {"log": []}, on("t"))
    first = [e for e in drive.get_state_history(graph, on("t")) if e.next == ("hold",)][-1]
    drive.invoke(graph, None, first.config, interrupt_before=["hold"])
    there = remembering(drive, calls, box.open())
    assert seen(drive.invoke(there, None, on("t"))) == SEES[:2]


def test_a_graph_without_a_memory_starts_empty_in_a_replay(drive: Drive, journal: Journal, calls: Calls) -> None:
    """Rules: 160, 134."""
    inner = chain(drive, *counting(calls, "i"))
    builder: Any = StateGraph(Log).add_node("hold", inner).add_edge(START, "hold")
    graph = builder.compile(checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    assert drive.invoke(graph, None, at_step(drive, graph, "t", 0).config)["log"] == ["i2"]


# Into the past of a graph inside


def deep(drive: Drive, calls: Calls, journal: Journal, *, levels: int = 1, keeps: bool | None = None) -> Any:
    """``before``, ``hold`` and ``after``; ``hold`` is a graph of i, j and k, or holds one that is."""
    inner = chain(drive, *counting(calls, "i", "j", "k"), checkpointer=keeps)
    for _ in range(levels - 1):
        builder: Any = StateGraph(Log).add_node("mid", drive.node(counting(calls, "mid")[0])).add_node("hold", inner)
        inner = builder.add_edge(START, "mid").add_edge("mid", "hold").compile(checkpointer=keeps)
    before, after = counting(calls, "before", "after")
    builder = StateGraph(Log).add_node("before", drive.node(before)).add_node("after", drive.node(after))
    builder.add_node("hold", inner).add_edge(START, "before").add_edge("before", "hold").add_edge("hold", "after")
    return builder.compile(checkpointer=journal)


def inner_ns(journal: Journal, thread: str = "t") -> str:
    return max((ns for ns in journal.namespaces(thread)), key=lambda ns: ns.count("hold"))


@pytest.mark.parametrize("keeps", [None, True], ids=["fresh", "remembering"])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_nested_checkpoint_is_gone_on_from_inside(
    drive: Drive, box: JournalBox, calls: Calls, levels: int, keeps: bool | None
) -> None:
    """Every level branches off at its ancestor: nothing before runs again, the rest does, and the parents go on.

    Rules: 161
    """
    journal = box.open()
    graph = deep(drive, calls, journal, levels=levels, keeps=keeps)
    whole = drive.invoke(graph, {"log": []}, on("t"))
    before = everything(drive, graph, "t")
    point = at_step(drive, graph, "t", 1, ns=inner_ns(journal))
    assert (point.next, point.values["log"][-1]) == (("j",), "i1")
    there = deep(drive, calls, box.open(), levels=levels, keeps=keeps)
    done = drive.invoke(there, None, point.config)
    renamed = {"j1": "j2", "k1": "k2", "after1": "after2"}
    assert done["log"] == [renamed.get(word, word) for word in whole["log"]]
    after = everything(drive, there, "t")
    assert {id: after[id] for id in before} == before
    assert "fork" in [source for source, _ in steps(drive, there, on("t"))]
    again = drive.invoke(there, {"log": []}, on("t"))
    assert again["log"][len(done["log"]) :][0] == "before2", "and the thread goes on"


def test_a_nested_checkpoint_named_without_its_map_is_found(drive: Drive, journal: Journal, calls: Calls) -> None:
    """Its ancestors are written down beside it.

    Rules: 161, 89
    """
    graph = deep(drive, calls, journal, levels=2)
    drive.invoke(graph, {"log": []}, on("t"))
    ns = inner_ns(journal)
    point = at_step(drive, graph, "t", 2, ns=ns)
    assert drive.invoke(graph, None, on("t", ns=ns, checkpoint=checkpoint_id(point)))["log"][-2:] == ["k2", "after2"]
    with pytest.raises(ConfigurationError, match="no checkpoint 'nope'"):
        drive.invoke(graph, None, on("t", ns=ns, checkpoint="nope"))


def test_an_edited_past_of_a_nested_graph_is_gone_on_from(drive: Drive, journal: Journal, calls: Calls) -> None:
    """update_state inside, then the run from its config.

    Rules: 161, 142, 155
    """
    graph = deep(drive, calls, journal)
    drive.invoke(graph, {"log": []}, on("t"))
    point = at_step(drive, graph, "t", 1, ns=inner_ns(journal))
    edited = drive.update_state(graph, point.config, {"log": ["edited"]}, as_node="i")
    assert drive.invoke(graph, None, edited)["log"] == ["before1", "i1", "edited", "j2", "k2", "after2"]


def test_a_question_inside_is_asked_again_and_answered(drive: Drive, box: JournalBox) -> None:
    """The branch's own nested graph is paused; its answer goes on there.

    Rules: 161, 156, 158
    """

    def first(state: Log) -> Log:
        return {"log": ["first"]}

    def ask(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    def opened() -> Any:
        builder: Any = StateGraph(Log).add_node("hold", chain(drive, first, ask)).add_edge(START, "hold")
        return builder.compile(checkpointer=box.open())

    drive.invoke(opened(), {"log": []}, on("t"))
    drive.invoke(opened(), Command(resume="ada"), on("t"))
    point = at_step(drive, opened(), "t", 1, ns=inner_ns(box.open()))
    assert point.next == ("ask",)
    assert [q.value for q in asked(drive.invoke(opened(), None, point.config))] == ["who?"]
    (task,) = drive.get_state(opened(), on("t"), subgraphs=True).tasks
    assert (task.state.values["log"], task.state.next) == (["first"], ("ask",))
    assert drive.invoke(opened(), Command(resume="bob"), on("t"))["log"] == ["first", "bob"]


def test_the_past_of_a_graph_with_a_memory_is_shown_as_it_was(drive: Drive, journal: Journal, calls: Calls) -> None:
    """An old snapshot nests what its own task made of the graph inside, not what came of it later.

    Rules: 88, 160
    """

    def count(state: Log) -> Log:
        return {"n": state.get("n", 0) + 1}

    builder: Any = StateGraph(Log).add_node("hold", chain(drive, count, checkpointer=True)).add_edge(START, "hold")
    graph = builder.compile(checkpointer=journal)
    for _ in range(3):
        drive.invoke(graph, {"log": []}, on("t"))
    points = [entry for entry in drive.get_state_history(graph, on("t")) if entry.next == ("hold",)]
    inside = [drive.get_state(graph, point.config, subgraphs=True).tasks[0].state for point in points]
    assert [state.values["n"] for state in reversed(inside)] == [1, 2, 3]
