"""Rules of what get_state and get_state_history tell: values, next, tasks, results, errors and questions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lawful.core.errors import InvalidUpdateError
from lawful.graph import START, Command, Send, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, JournalBox, on
from support.pausing import Calls, Log, asked, by_name, chain, checkpoint_id, fan, ids

pytestmark = pytest.mark.unit


def good(state: Log) -> Log:
    return {"log": ["good"]}


def idle(state: Log) -> None:
    return None


def bad(state: Log) -> Log:
    raise ValueError("broken")


def failed(drive: Drive, journal: Journal, strict: bool = True) -> Any:
    """A thread "t" whose first step is unfinished: one node wrote, one returned nothing, one failed."""
    # Under asyncio a failure cancels its siblings, so there it comes last.
    graph = (
        late(drive, journal, strict)
        if drive.name == "async"
        else fan(drive, good, idle, bad, strict=strict, checkpointer=journal)
    )
    with pytest.raises(ValueError, match="broken"):
        drive.invoke(graph, {"log": ["in"]}, on("t"))
    return graph


def late(drive: Drive, journal: Journal, strict: bool) -> Any:
    """As ``failed`` needs it: the failing node waits until the others are done."""

    async def bad_late(state: Log) -> Log:
        await asyncio.sleep(0.05)
        raise ValueError("broken")

    builder: Any = StateGraph(Log, strict=strict)
    for name, body in (("good", drive.node(good)), ("idle", drive.node(idle)), ("bad", bad_late)):
        builder.add_node(name, body).add_edge(START, name)
    return builder.compile(checkpointer=journal)


def test_the_newest_snapshot_includes_what_finished_tasks_wrote(drive: Drive, journal: Journal, strict: bool) -> None:
    """And ``next`` names only what is still to run.

    Rules: 78. Rows: S1-P15
    """
    graph = failed(drive, journal, strict)
    head = drive.get_state(graph, on("t"))
    assert head.values == {"log": ["in", "good"]}
    assert head.next == ("bad",)


def test_a_snapshot_by_id_is_the_bare_checkpoint(drive: Drive, journal: Journal, strict: bool) -> None:
    """Its values are those before the step, and all of the step's tasks are next.

    Rules: 78
    """
    graph = failed(drive, journal, strict)
    bare = drive.get_state(graph, drive.get_state(graph, on("t")).config)
    assert bare.values == {"log": ["in"]}
    assert sorted(bare.next) == ["bad", "good", "idle"]


def test_tasks_tell_result_error_and_silence(drive: Drive, journal: Journal, strict: bool) -> None:
    """A dict of writes, {} for a task that wrote nothing, None and the error's repr for one that failed.

    Rules: 79
    """
    graph = failed(drive, journal, strict)
    for snapshot in (drive.get_state(graph, on("t")), drive.get_state_history(graph, on("t"))[0]):
        tasks = by_name(snapshot)
        assert {name: task.result for name, task in tasks.items()} == {
            "good": {"log": ["good"]},
            "idle": {},
            "bad": None,
        }
        assert {name: task.error for name, task in tasks.items()} == {
            "good": None,
            "idle": None,
            "bad": "ValueError('broken')",
        }
        assert {task.path for task in snapshot.tasks} == {("__pregel_pull", name) for name in tasks}
        assert all(task.interrupts == () and task.state is None for task in snapshot.tasks)
        assert len({task.id for task in snapshot.tasks}) == 3


def test_a_task_that_has_not_run_has_neither_result_nor_error(drive: Drive, journal: Journal) -> None:
    """A breakpoint before it leaves it untouched.

    Rules: 79
    """
    graph = chain(drive, good, idle, checkpointer=journal, interrupt_before=["idle"])
    drive.invoke(graph, {"log": []}, on("t"))
    (task,) = drive.get_state(graph, on("t")).tasks
    assert (task.name, task.result, task.error, task.interrupts) == ("idle", None, None, ())


def test_several_writes_to_one_key_are_told_as_several(drive: Drive, journal: Journal, strict: bool) -> None:
    """``{"$writes": [...]}`` keeps them apart.

    Rules: 79, 54
    """

    def twice(state: Log) -> Any:
        return Command(update=[("log", ["1"]), ("log", ["2"]), ("word", "x")])

    graph = chain(drive, twice, strict=strict, checkpointer=journal)
    assert drive.invoke(graph, {"log": []}, on("t")) == {"log": ["1", "2"], "word": "x"}
    (task,) = drive.get_state_history(graph, on("t"))[1].tasks
    assert task.result == {"log": {"$writes": [["1"], ["2"]]}, "word": "x"}


def test_paths_tell_edges_from_sends(drive: Drive, journal: Journal, strict: bool) -> None:
    """A task of an edge is (PULL, name), a task of a Send (PUSH, index, False).

    Rules: 79, 70
    """

    def ask(state: Log) -> Log:
        return {"log": [f"{state.get('word')} {interrupt(state.get('word'))}"]}

    def spread(state: Log) -> list[Send]:
        return [Send("ask", {"word": "x"}), Send("ask", {"word": "y"})]

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("good", drive.node(good)).add_node("ask", drive.node(ask)).add_edge(START, "good")
    graph = builder.add_conditional_edges("good", spread, ["ask"]).compile(checkpointer=journal)
    first = ids(asked(drive.invoke(graph, {"log": []}, on("t"))))
    paused = drive.get_state(graph, on("t"))
    assert paused.next == ("ask", "ask")
    assert {task.path: [q.value for q in task.interrupts] for task in paused.tasks} == {
        ("__pregel_push", 0, False): ["x"],
        ("__pregel_push", 1, False): ["y"],
    }
    done = drive.invoke(graph, Command(resume={first["x"]: "1", first["y"]: "2"}), on("t"))
    assert done == {"log": ["good", "x 1", "y 2"]}


def test_history_tells_what_ran_from_each_checkpoint(drive: Drive, journal: Journal, strict: bool) -> None:
    """The results of the tasks stand at the checkpoint they ran from, the input's among them.

    Rules: 80, 34
    """

    def both(state: Log) -> Log:
        return {"log": ["both"], "n": 3}

    graph = chain(drive, good, idle, both, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": ["in"], "word": "x"}, on("t"))
    told = [[(task.name, task.result) for task in entry.tasks] for entry in drive.get_state_history(graph, on("t"))]
    assert told == [
        [],
        [("both", {"log": ["both"], "n": 3})],
        [("idle", {})],
        [("good", {"log": ["good"]})],
        [("__start__", {"log": ["in"], "word": "x"})],
    ]


def test_next_stays_truthful_after_one_of_two_answers(drive: Drive, journal: Journal, strict: bool) -> None:
    """The node still waits for its second question; LangGraph shows nothing next here.

    Rules: 81, 220
    """

    def ask(state: Log) -> Log:
        return {"log": [interrupt("one?"), interrupt("two?")]}

    graph = chain(drive, ask, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    drive.invoke(graph, Command(resume="1"), on("t"))
    for snapshot in (drive.get_state(graph, on("t")), drive.get_state_history(graph, on("t"))[0]):
        assert snapshot.next == ("ask",)
        assert [question.value for question in snapshot.interrupts] == ["two?"]
        assert [question.value for question in snapshot.tasks[0].interrupts] == ["two?"]
        assert snapshot.tasks[0].result is None


def test_next_is_truthful_when_a_failure_follows_an_answer(drive: Drive, journal: Journal, strict: bool) -> None:
    """The node took its answer and then failed: it is next, its question is no longer open, a resume uses the answer.

    Rules: 81, 118, 220
    """
    calls = Calls()

    def ask(state: Log) -> Log:
        answer = interrupt("who?")
        if calls("answered") == 1:
            raise ValueError("after the answer")
        return {"log": [answer]}

    graph = chain(drive, ask, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    with pytest.raises(ValueError, match="after the answer"):
        drive.invoke(graph, Command(resume="ada"), on("t"))
    snapshot = drive.get_state(graph, on("t"))
    assert snapshot.next == ("ask",)
    assert snapshot.tasks[0].error == "ValueError('after the answer')"
    assert list(graph.questions("t")) == []
    assert drive.invoke(graph, None, on("t")) == {"log": ["ada"]}


def left(state: Log) -> Log:
    return {"word": "left", "log": ["left"]}


def right(state: Log) -> Log:
    return {"word": "right", "log": ["right"]}


def test_after_a_conflict_the_last_good_state_is_shown(drive: Drive, journal: Journal, strict: bool) -> None:
    """Two nodes wrote one plain key: nothing of the step is shown, and reading does not raise again.

    Rules: 82, 19, 220. Rows: S1-041
    """
    graph = fan(drive, left, right, strict=strict, checkpointer=journal)
    with pytest.raises(InvalidUpdateError, match="At key 'word'"):
        drive.invoke(graph, {"log": ["in"], "word": "before"}, on("t"))
    head = drive.get_state(graph, on("t"))
    assert head.values == {"log": ["in"], "word": "before"}
    assert sorted(head.next) == ["left", "right"], "the step that they ended is not closed"
    assert drive.get_state_history(graph, on("t"))[0].values == {"log": ["in"], "word": "before"}


def test_a_conflict_stays_until_something_else_is_said(drive: Drive, journal: Journal) -> None:
    """A resume runs nothing again and meets the same conflict; an update as END gets past it.

    Rules: 82, 92, 128
    """
    calls = Calls()

    def counted(state: Log) -> Log:
        calls("left")
        return left(state)

    counted.__name__ = "left"
    graph = fan(drive, counted, right, checkpointer=journal)
    for given in ({"log": ["in"]}, None):
        with pytest.raises(InvalidUpdateError, match="At key 'word'"):
            drive.invoke(graph, given, on("t"))
    assert calls.of("left") == 1
    drive.update_state(graph, on("t"), None, as_node="__end__")
    assert drive.get_state(graph, on("t")).next == ()
    assert drive.get_state(graph, on("t")).values == {"log": ["in"]}


def test_an_error_is_kept_until_its_task_runs_again(drive: Drive, journal: Journal, strict: bool) -> None:
    """History still tells of it from the other process; after a good resume the task shows its result.

    Rules: 79, 91
    """
    calls = Calls()

    def flaky(state: Log) -> Log:
        if calls("flaky") == 1:
            raise KeyError("gone")
        return {"log": ["flaky"]}

    graph = chain(drive, flaky, strict=strict, checkpointer=journal)
    with pytest.raises(KeyError):
        drive.invoke(graph, {"log": []}, on("t"))
    assert drive.get_state(graph, on("t")).tasks[0].error == "KeyError('gone')"
    drive.invoke(graph, None, on("t"))
    (task,) = drive.get_state_history(graph, on("t"))[1].tasks
    assert (task.error, task.result) == (None, {"log": ["flaky"]})


def test_a_snapshot_reads_the_same_from_another_process(drive: Drive, box: JournalBox) -> None:
    """Everything a snapshot tells is in the store: nothing depends on the run that made it.

    Rules: 78, 79. Rows: S0-103
    """

    def ask(state: Log) -> Log:
        return {"log": [interrupt({"question": "who?", "choices": ["ada", "bob"]})]}

    here = fan(drive, good, ask, checkpointer=box.open())
    drive.invoke(here, {"log": ["in"]}, on("t"))
    there = fan(drive, good, ask, checkpointer=box.open())
    assert drive.get_state(there, on("t")) == drive.get_state(here, on("t"))
    assert drive.get_state_history(there, on("t")) == drive.get_state_history(here, on("t"))


def test_reading_does_not_run_or_write(drive: Drive, journal: Journal) -> None:
    """Any number of looks leaves head, history and counts alone.

    Rules: 78, 93
    """
    calls = Calls()

    def ask(state: Log) -> Log:
        calls("ask")
        return {"log": [interrupt("who?")]}

    graph = chain(drive, ask, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    head = checkpoint_id(drive.get_state(graph, on("t")))
    for _ in range(3):
        drive.get_state_history(graph, on("t"))
        graph.questions("t")
        assert checkpoint_id(drive.get_state(graph, on("t"))) == head
    assert calls.of("ask") == 1
    assert len(drive.get_state_history(graph, on("t"))) == 2


def test_state_can_be_asked_for_by_thread_alone(journal: Journal) -> None:
    """``get_state("t")`` is the same as with LangGraph's config.

    Rules: 77. Rows: S1-008
    """

    def only(state: Log) -> Log:
        return {"log": ["only"]}

    builder: Any = StateGraph(Log)
    graph = builder.add_node("only", only).add_edge(START, "only").compile(checkpointer=journal)
    assert graph.invoke({"log": []}, thread="t") == {"log": ["only"]}
    assert graph.get_state("t") == graph.get_state(on("t"))
    assert list(graph.get_state_history("t")) == list(graph.get_state_history(on("t")))
