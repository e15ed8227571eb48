"""Rules of changing a thread from outside: in whose name, how many at once, and what history tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lawful.core.errors import ConfigurationError, InvalidUpdateError
from lawful.graph import END, START, Command, Send, StateGraph, StateUpdate, interrupt
from lawful.journal.port import Journal
from support.graphs import Config, Drive, on
from support.pausing import Calls, Log, asked, by_name, chain, checkpoint_id, fan, steps

pytestmark = pytest.mark.unit


def bulk(drive: Drive, graph: Any, config: Config, supersteps: Sequence[Sequence[Any]]) -> Config:
    if drive.name == "async":
        return drive.wait(graph.abulk_update_state(config, supersteps))
    return graph.bulk_update_state(config, supersteps)


def quick(state: Log) -> Log:
    return {"log": ["quick"]}


def ask(state: Log) -> Log:
    return {"log": [str(interrupt("who?"))]}


def left(state: Log) -> Log:
    return {"log": ["left"]}


def right(state: Log) -> Log:
    return {"log": ["right"]}


def last(state: Log) -> Log:
    return {"log": ["last"], "word": "last"}


def beside(drive: Drive, journal: Journal, strict: bool = True, **options: Any) -> Any:
    """``quick`` and ``ask`` side by side, ``left`` after the one and ``right`` after the other."""
    builder: Any = StateGraph(Log, strict=strict)
    for body in (quick, ask, left, right):
        builder.add_node(body.__name__, drive.node(body))
    builder.add_edge(START, "quick").add_edge(START, "ask").add_edge("quick", "left").add_edge("ask", "right")
    return builder.compile(checkpointer=journal, **options)


def told(drive: Drive, graph: Any, thread: str) -> list[Any]:
    """Of each checkpoint, newest first: step, values, next, and what its tasks wrote."""
    return [
        (e.metadata["step"], e.values, e.next, [(t.name, t.result) for t in e.tasks])
        for e in drive.get_state_history(graph, on(thread))
    ]


# In whose name


def test_an_update_follows_routes_joins_and_sends_of_its_node(drive: Drive, journal: Journal, strict: bool) -> None:
    """As if the node had returned: its conditional edges see the written state, its marks reach a join.

    Rules: 145
    """

    def route(state: Log) -> Any:
        return [Send("left", {"word": "sent"}), "right"] if state.get("n") == 1 else END

    builder: Any = StateGraph(Log, strict=strict)
    for body in (quick, left, right, last):
        builder.add_node(body.__name__, drive.node(body))
    builder.add_edge(START, "quick").add_conditional_edges("quick", route, ["left", "right", END])
    graph = builder.add_edge(["left", "right"], "last", join="all").compile(checkpointer=journal)
    drive.update_state(graph, on("t"), {"n": 1}, as_node="quick")
    assert sorted(drive.get_state(graph, on("t")).next) == ["left", "right"]
    drive.update_state(graph, on("t"), {"n": 2}, as_node="quick")
    assert drive.get_state(graph, on("t")).next == ()
    drive.update_state(graph, on("t"), {"log": ["by hand"]}, as_node="left")
    assert drive.get_state(graph, on("t")).next == ()
    drive.update_state(graph, on("t"), {"log": ["too"]}, as_node="right")
    assert drive.get_state(graph, on("t")).next == ("last",)
    assert drive.invoke(graph, None, on("t"))["log"] == ["by hand", "too", "last"]


def test_an_update_arms_a_deferred_node_when_nothing_else_is_to_run(drive: Drive, journal: Journal) -> None:
    """Rules: 145, 46."""
    builder: Any = StateGraph(Log)
    builder.add_node("left", drive.node(left)).add_node("last", drive.node(last), defer=True)
    graph = builder.add_edge(START, "left").add_edge("left", "last").compile(checkpointer=journal)
    drive.update_state(graph, on("t"), {"log": ["by hand"]}, as_node="left")
    assert drive.get_state(graph, on("t")).next == ("last",)
    assert drive.invoke(graph, None, on("t"))["log"] == ["by hand", "last"]


def test_what_finished_beside_it_counts_and_is_followed(drive: Drive, journal: Journal, strict: bool) -> None:
    """The step that the update completes is closed: nothing that was done is lost.

    Rules: 145, 78
    """
    graph = beside(drive, journal, strict)
    drive.invoke(graph, {"log": []}, on("t"))
    drive.update_state(graph, on("t"), {"log": ["told"]}, as_node="ask")
    head = drive.get_state(graph, on("t"))
    assert (sorted(head.values["log"]), sorted(head.next)) == (["quick", "told"], ["left", "right"])


def test_without_a_name_the_last_writer_is_meant(drive: Drive, journal: Journal, strict: bool) -> None:
    """Through checkpoints that wrote nothing as well; the only node of a graph is always meant.

    Rules: 146
    """
    graph = chain(drive, left, last, strict=strict, checkpointer=journal, interrupt_before=["last"])
    drive.invoke(graph, {"log": []}, on("t"))
    drive.update_state(graph, on("t"), {"log": ["1"]})
    assert drive.get_state(graph, on("t")).next == ("last",)
    drive.update_state(graph, on("t"), None)
    drive.update_state(graph, on("t"), None, as_node="__copy__")
    drive.update_state(graph, on("t"), {"log": ["2"]})
    assert drive.get_state(graph, on("t")).next == ("last",)
    assert drive.invoke(graph, None, on("t"))["log"] == ["left", "1", "2", "last"]
    drive.update_state(graph, on("t"), {"log": ["3"]})
    assert drive.get_state(graph, on("t")).next == (), "last is the writer, and nothing follows it"
    single = chain(drive, left, strict=strict, checkpointer=journal)
    drive.update_state(single, on("s"), {"log": ["3"]}, as_node="__start__")
    drive.update_state(single, on("s"), {"log": ["4"]})
    assert drive.get_state(single, on("s")).next == ()


@pytest.mark.parametrize("where", ["after the input", "after the input task", "fresh"])
def test_before_any_node_ran_the_input_task_is_meant(drive: Drive, journal: Journal, where: str) -> None:
    """Rules: 146."""
    graph = chain(drive, left, last, checkpointer=journal, interrupt_before=["left"])
    at = on("t")
    if where != "fresh":
        drive.invoke(graph, {"log": ["in"]}, on("t"))
        seen = drive.get_state_history(graph, on("t"))
        at = seen[1].config if where == "after the input" else on("t")
    drive.update_state(graph, at, {"log": ["more"]})
    assert drive.get_state(graph, on("t")).next == ("left",)


def test_parallel_writers_make_an_update_ambiguous(drive: Drive, journal: Journal, strict: bool) -> None:
    """Both are named, and nothing is written.

    Rules: 146
    """
    graph = fan(drive, left, right, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    before = told(drive, graph, "t")
    with pytest.raises(InvalidUpdateError, match=r"Ambiguous update, specify as_node.*'left', 'right'"):
        drive.update_state(graph, on("t"), {"log": ["x"]})
    assert told(drive, graph, "t") == before


def test_an_unknown_node_is_refused_by_its_nearest_name(drive: Drive, journal: Journal) -> None:
    """Rules: 146."""
    graph = chain(drive, left, checkpointer=journal)
    for name, nearest in (("lefft", "'left'"), (END, "does not exist")):
        with pytest.raises(InvalidUpdateError, match=nearest):
            drive.update_state(graph, on("t"), {"log": []}, as_node=name)
    assert told(drive, graph, "t") == []


def test_an_update_with_no_values_is_a_checkpoint_that_asks_again(drive: Drive, journal: Journal) -> None:
    """Rules: 147."""
    graph = chain(drive, ask, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    returned = drive.update_state(graph, on("t"), None)
    head = drive.get_state(graph, on("t"))
    assert (head.metadata["source"], head.next, head.interrupts) == ("update", ("ask",), ())
    assert checkpoint_id(head) == returned["configurable"]["checkpoint_id"]
    assert [q.value for q in asked(drive.invoke(graph, None, on("t")))] == ["who?"]
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["ada"]}


def test_an_update_with_no_values_in_a_nodes_name_goes_on_after_it(drive: Drive, journal: Journal) -> None:
    """The node returned nothing.

    Rules: 145, 147
    """
    graph = chain(drive, left, last, checkpointer=journal)
    drive.update_state(graph, on("t"), None, as_node="left")
    assert drive.get_state(graph, on("t")).next == ("last",)


# The forms that stand alone


def test_a_copy_is_a_sibling_with_nothing_done(drive: Drive, journal: Journal, strict: bool) -> None:
    """Made from the same checkpoint; what had finished, was asked or answered there is not copied, and nothing is lost.

    Rules: 148
    """
    graph = beside(drive, journal, strict)
    drive.invoke(graph, {"log": []}, on("t"))
    original = drive.get_state_history(graph, on("t"))[0]
    returned = drive.update_state(graph, on("t"), None, as_node="__copy__")
    head = drive.get_state(graph, on("t"))
    assert returned["configurable"]["checkpoint_id"] == checkpoint_id(head)
    assert (head.metadata["source"], head.metadata["step"]) == ("fork", original.metadata["step"] + 1)
    assert head.parent_config == original.parent_config
    assert (head.values, sorted(head.next), head.interrupts) == ({"log": []}, ["ask", "quick"], ())
    assert all(task.result is None for task in head.tasks)
    assert drive.get_state(graph, original.config) == original
    again = drive.invoke(graph, None, on("t"))
    assert [q.value for q in asked(again)] == ["who?"]


def test_a_copy_can_be_updated_in_one_go(drive: Drive, journal: Journal) -> None:
    """Updates take the places of the copy's tasks, two of one node one after the other.

    Rules: 148, 151
    """

    def spread(state: Log) -> list[Send]:
        return [Send("left", {"word": "1"}), Send("left", {"word": "2"})]

    builder: Any = StateGraph(Log).add_node("quick", drive.node(quick)).add_node("left", drive.node(left))
    builder.add_edge(START, "quick").add_conditional_edges("quick", spread, ["left"])
    graph = builder.compile(checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    at = drive.get_state_history(graph, on("t"))[1]
    updates = [StateUpdate({"log": ["one"]}, "left"), ({"log": ["two"]}, "left")]
    drive.update_state(graph, at.config, updates, as_node="__copy__")
    update, fork = drive.get_state_history(graph, on("t"))[:2]
    assert (fork.metadata["source"], update.metadata["source"]) == ("fork", "update")
    assert fork.parent_config == at.parent_config
    assert update.parent_config == fork.config
    assert [task.result for task in fork.tasks] == [{"log": ["one"]}, {"log": ["two"]}]
    assert update.values["log"] == ["quick", "one", "two"]
    assert drive.get_state(graph, at.config) == at, "the original keeps its own results"


def test_a_copy_of_nothing_is_refused(drive: Drive, journal: Journal) -> None:
    """Rules: 148."""
    with pytest.raises(InvalidUpdateError, match="non-existent"):
        drive.update_state(chain(drive, left, checkpointer=journal), on("t"), None, as_node="__copy__")


def test_an_update_can_be_a_new_input(drive: Drive, journal: Journal, strict: bool) -> None:
    """It is the input's checkpoint, from which the input task is to run; what was pending is over, as with any input.

    Rules: 149, 33, 96
    """
    graph = beside(drive, journal, strict)
    drive.invoke(graph, {"log": []}, on("t"))
    drive.update_state(graph, on("t"), {"log": ["new"]}, as_node="__input__")
    head = drive.get_state(graph, on("t"))
    assert (head.metadata["source"], head.metadata["step"], head.next) == ("input", 1, ("__start__",))
    done = drive.invoke(graph, None, on("t"))
    assert [q.value for q in asked(done)] == ["who?"]
    assert (done["log"], sorted(drive.get_state(graph, on("t")).next)) == (["new", "quick"], ["ask"])
    fresh = chain(drive, left, strict=strict, checkpointer=journal)
    drive.update_state(fresh, on("f"), {"log": ["new"]}, as_node="__input__")
    assert steps(drive, fresh, on("f")) == [("input", -1)]
    assert drive.invoke(fresh, None, on("f")) == {"log": ["new", "left"]}
    with pytest.raises(InvalidUpdateError, match="no input"):
        drive.update_state(fresh, on("f"), None, as_node="__input__")


def test_an_update_as_the_end_leaves_nothing_pending(drive: Drive, journal: Journal) -> None:
    """What had finished counts; the question is gone, and what comes next is a new visit.

    Rules: 149, 128
    """
    graph = beside(drive, journal)
    drive.invoke(graph, {"log": []}, on("t"))
    drive.update_state(graph, on("t"), None, as_node=END)
    head = drive.get_state(graph, on("t"))
    assert (head.values, head.next, head.interrupts, head.tasks) == ({"log": ["quick"]}, (), (), ())
    assert drive.invoke(graph, None, on("t")) == {"log": ["quick"]}


@pytest.mark.parametrize("alone", ["__input__", START, END, "__copy__"])
def test_what_must_stand_alone_does(drive: Drive, journal: Journal, alone: str) -> None:
    """Rules: 149."""
    graph = chain(drive, left, checkpointer=journal)
    values: Any = None if alone in (END, "__copy__") else {"log": []}
    with pytest.raises(InvalidUpdateError, match=r"alone"):
        bulk(drive, graph, on("t"), [[StateUpdate(values, alone), StateUpdate({"log": []}, "left")]])
    assert told(drive, graph, "t") == []


# Many at once


def test_a_history_can_be_rebuilt(drive: Drive, journal: Journal, strict: bool) -> None:
    """Superstep by superstep from what the tasks of a real run wrote, in one commit; all but the sources is the same.

    Rules: 150, 151
    """
    builder: Any = StateGraph(Log, strict=strict)
    for body in (quick, left, right, last):
        builder.add_node(body.__name__, drive.node(body))
    builder.add_edge(START, "quick").add_edge("quick", "left").add_edge("quick", "right")
    graph = builder.add_edge(["left", "right"], "last").compile(checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("real"))
    supersteps = [[StateUpdate({"log": ["in"]}, "__input__")]]
    for entry in reversed(drive.get_state_history(graph, on("real"))[1:]):
        supersteps.append([StateUpdate(task.result, task.name) for task in entry.tasks])
    bulk(drive, graph, on("made"), supersteps)
    assert told(drive, graph, "made") == told(drive, graph, "real")
    assert steps(drive, graph, on("made"))[1:] == [("update", 2), ("update", 1), ("update", 0), ("input", -1)]


def test_updates_show_as_results_of_the_tasks_that_were_about_to_run(drive: Drive, journal: Journal) -> None:
    """By node, or by the id of a task.

    Rules: 151
    """
    graph = fan(drive, left, right, checkpointer=journal, interrupt_before="*")
    for thread in ("t", "u"):
        drive.invoke(graph, {"log": []}, on(thread))
    before = drive.get_state(graph, on("t"))
    drive.update_state(graph, on("t"), {"log": ["by hand"]}, as_node="right")
    after = by_name(drive.get_state(graph, before.config))
    assert {n: (t.id, t.result) for n, t in after.items()} == {
        "left": (by_name(before)["left"].id, None),
        "right": (by_name(before)["right"].id, {"log": ["by hand"]}),
    }
    there = by_name(drive.get_state(graph, on("u")))
    drive.update_state(graph, on("u"), {"log": ["x"]}, as_node="left", task_id=there["left"].id)
    assert drive.get_state_history(graph, on("u"))[1].tasks[0].result == {"log": ["x"]}
    with pytest.raises(InvalidUpdateError, match="was not about to run"):
        drive.update_state(graph, on("u"), {"log": ["x"]}, as_node="left", task_id=there["left"].id)


REFUSED: list[tuple[Any, type[Exception], str]] = [
    ([], ValueError, "No supersteps provided"),
    ([[]], ValueError, "No updates provided"),
    ([[StateUpdate({"n": 1}, "left"), StateUpdate({"n": 1})]], InvalidUpdateError, "as_node is required"),
    ([[5]], InvalidUpdateError, "Expected StateUpdate"),
    ([[StateUpdate({"log": ["ok"]}, "left")], [StateUpdate({"log": ["x"]}, "nope")]], InvalidUpdateError, "'nope'"),
    ([[StateUpdate({"n": 1}, "left"), StateUpdate({"n": 2}, "last")]], InvalidUpdateError, "At key 'n'"),
]


@pytest.mark.parametrize(("supersteps", "error", "says"), REFUSED)
def test_a_bulk_update_is_taken_whole_or_refused(
    drive: Drive, journal: Journal, supersteps: Any, error: type[Exception], says: str
) -> None:
    """Rules: 150."""
    graph = chain(drive, left, last, checkpointer=journal)
    with pytest.raises(error, match=says):
        bulk(drive, graph, on("t"), supersteps)
    assert told(drive, graph, "t") == []


# Forks


def test_a_fork_by_update_takes_nothing_of_the_first_branch(drive: Drive, journal: Journal, strict: bool) -> None:
    """Neither a finished task's writes, nor a Command's that stood beside it.

    Rules: 152
    """
    graph = beside(drive, journal, strict)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    drive.invoke(graph, Command(update={"word": "beside"}), on("t"))
    at = drive.get_state_history(graph, on("t"))[0]
    assert drive.get_state(graph, on("t")).values == {"log": ["in", "quick"], "word": "beside"}
    assert at.values == {"log": ["in"]}, "the bare checkpoint"
    drive.update_state(graph, at.config, {"log": ["told"]}, as_node="ask")
    head = drive.get_state(graph, on("t"))
    assert (head.values, head.next) == ({"log": ["in", "told"]}, ("right",))


def test_an_update_of_a_checkpoint_that_is_not_there_is_refused(drive: Drive, journal: Journal) -> None:
    """Rules: 152."""
    graph = chain(drive, left, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    with pytest.raises(ConfigurationError, match="no checkpoint 'nope'"):
        drive.update_state(graph, on("t", checkpoint="nope"), {"log": ["x"]}, as_node="left")
    assert len(told(drive, graph, "t")) == 3


def test_a_visit_that_was_written_by_hand_is_over(drive: Drive, journal: Journal) -> None:
    """The next one asks a question of its own; one that was finished beside it has had its visit too.

    Rules: 145. Rows: S1-H05
    """
    calls = Calls()

    def watched(state: Log) -> Log:
        calls(f"{interrupt('who?')}")
        return {"log": ["asked"]}

    def again(state: Log) -> str:
        return "watched" if state.get("n", 0) < 2 else END

    builder: Any = StateGraph(Log).add_node("watched", drive.node(watched)).add_edge(START, "watched")
    graph = builder.add_conditional_edges("watched", again, ["watched", END]).compile(checkpointer=journal)
    (first,) = asked(drive.invoke(graph, {"log": []}, on("t")))
    drive.update_state(graph, on("t"), {"log": ["by hand"], "n": 1}, as_node="watched")
    (second,) = asked(drive.invoke(graph, None, on("t")))
    assert first.id != second.id


def test_what_is_written_inside_a_subgraph_reaches_its_holder(drive: Drive, journal: Journal, strict: bool) -> None:
    """Rules: 142, 140, 145."""
    inner = chain(drive, left, last, strict=strict, interrupt_before=["last"])
    builder: Any = StateGraph(Log, strict=strict)
    graph = builder.add_node("hold", inner).add_edge(START, "hold").compile(checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    (task,) = drive.get_state(graph, on("t")).tasks
    drive.update_state(graph, task.state, {"log": ["by hand"], "n": 7})
    done = drive.invoke(graph, None, on("t"))
    assert (done["log"], done["n"]) == (["left", "by hand", "last"], 7)
