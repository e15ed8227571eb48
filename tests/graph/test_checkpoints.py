"""Rules of checkpoints: which there are, what they are called, how they are chained, whose thread they belong to."""

from __future__ import annotations

import asyncio
import datetime
import uuid
from typing import Any

import pytest

from lawful.core.errors import Failure, InvalidThreadId, StoreError, StoreFull, ValidationError
from lawful.graph import START, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.journal.records import Batch, DropWrites
from support.faulty import FailingJournal, SlowJournal, WatchfulJournal, puts_step, puts_writes
from support.graphs import Drive, JournalBox, on
from support.pausing import Calls, Log, by_name, chain, checkpoint_id, fan, fan_of, refusal, steps

pytestmark = pytest.mark.unit


def a(state: Log) -> Log:
    return {"log": ["a"]}


def b(state: Log) -> Log:
    return {"log": ["b"], "word": "set"}


def c(state: Log) -> Log:
    return {"log": ["c"]}


def history(drive: Drive, graph: Any, thread: str, **options: Any) -> list[Any]:
    return drive.get_state_history(graph, on(thread), **options)


def test_one_checkpoint_after_the_input_and_one_after_each_step(drive: Drive, journal: Journal, strict: bool) -> None:
    """The input is step -1, its processing step 0, then one for each superstep however many nodes ran in it.

    Rules: 73, 33. Rows: S1-K02
    """
    graph = chain(drive, a, b, c, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    seen = history(drive, graph, "t")
    assert steps(drive, graph, on("t")) == [("loop", 3), ("loop", 2), ("loop", 1), ("loop", 0), ("input", -1)]
    assert [entry.next for entry in seen] == [(), ("c",), ("b",), ("a",), ("__start__",)]
    assert [entry.values.get("log") for entry in seen] == [
        ["in", "a", "b", "c"],
        ["in", "a", "b"],
        ["in", "a"],
        ["in"],
        [],
    ]
    wide = fan(drive, a, b, c, strict=strict, checkpointer=journal)
    drive.invoke(wide, {"log": []}, on("wide"))
    assert steps(drive, wide, on("wide")) == [("loop", 1), ("loop", 0), ("input", -1)]


def test_metadata_holds_source_step_parents_and_the_callers_scalars(drive: Drive, journal: Journal) -> None:
    """Metadata and scalar configurable values of the call are kept with each checkpoint; nested ones are not.

    Rules: 73. Rows: S1-K02
    """
    graph = chain(drive, a, checkpointer=journal)
    config = on("t", metadata={"who": "ada", "attempt": 2})
    config["configurable"] |= {"colour": "red", "blob": {"x": 1}}
    drive.invoke(graph, {"log": []}, config)
    for entry in history(drive, graph, "t"):
        assert entry.metadata["parents"] == {}
        assert (entry.metadata["who"], entry.metadata["attempt"], entry.metadata["colour"]) == ("ada", 2, "red")
        assert "blob" not in entry.metadata
        assert "thread_id" not in entry.metadata


def test_an_update_by_hand_is_a_checkpoint_of_its_own(drive: Drive, journal: Journal, strict: bool) -> None:
    """Its source is "update" and it counts as a step.

    Rules: 73, 145
    """
    graph = chain(drive, a, b, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    before = drive.get_state(graph, on("t"))
    returned = drive.update_state(graph, on("t"), {"log": ["by hand"]}, as_node="a")
    after = drive.get_state(graph, on("t"))
    assert (after.metadata["source"], after.metadata["step"]) == ("update", before.metadata["step"] + 1)
    assert checkpoint_id(after) == returned["configurable"]["checkpoint_id"]
    assert after.values == {"log": ["a", "b", "by hand"], "word": "set"}
    assert after.next == ("b",)


def test_ids_grow_and_history_is_newest_first(drive: Drive, journal: Journal) -> None:
    """Also for steps that take microseconds, and over runs.

    Rules: 74. Rows: S1-K01
    """

    def turn(state: Log) -> Log:
        return {"n": state.get("n", 0) + 1}

    def more(state: Log) -> str:
        return "turn" if state.get("n", 0) % 60 else "__end__"

    builder: Any = StateGraph(Log)
    builder.add_node("turn", drive.node(turn)).add_edge(START, "turn")
    builder.add_conditional_edges("turn", more, ["turn", "__end__"])
    graph = builder.compile(checkpointer=journal)
    for _ in range(2):
        drive.invoke(graph, {"log": []}, on("t"))
    ids = [checkpoint_id(entry) for entry in history(drive, graph, "t")]
    assert len(ids) == 2 * 62
    assert ids == sorted(set(ids), reverse=True)
    assert all(len(one) == 36 and str(uuid.UUID(one)) == one for one in ids)


def test_history_can_be_paged_and_filtered(drive: Drive, journal: Journal) -> None:
    """``limit`` takes the newest, ``before`` goes on from a config, ``filter`` compares metadata.

    Rules: 74. Rows: S1-K05
    """
    graph = chain(drive, a, b, c, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t", metadata={"who": "ada"}))
    drive.invoke(graph, {"log": []}, on("t", metadata={"who": "bob"}))
    everything = [checkpoint_id(entry) for entry in history(drive, graph, "t")]
    assert len(everything) == 10
    pages: list[str] = []
    before: Any = None
    while page := history(drive, graph, "t", before=before, limit=3):
        assert len(page) <= 3
        pages += [checkpoint_id(entry) for entry in page]
        before = page[-1].config
    assert pages == everything
    inputs = history(drive, graph, "t", filter={"source": "input"})
    assert [entry.metadata["step"] for entry in inputs] == [4, -1]
    assert len(history(drive, graph, "t", filter={"who": "bob"})) == 5
    assert len(history(drive, graph, "t", filter={"who": "bob", "source": "loop"}, limit=2)) == 2
    assert history(drive, graph, "t", filter={"who": "eve"}) == []


@pytest.mark.parametrize("key", ["a' OR 1=1 --", "$.who", "a.b", "", "x)", 'who"', "a\x00b", "who; DROP TABLE x"])
def test_a_hostile_filter_key_is_refused(drive: Drive, journal: Journal, key: str) -> None:
    """A key is an identifier and nothing else; the error names it, the thread is as before.

    Rules: 74. Rows: S1-K05
    """
    graph = chain(drive, a, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    with pytest.raises(ValidationError):
        history(drive, graph, "t", filter={key: "x"})
    assert len(history(drive, graph, "t")) == 3


def test_a_filter_value_is_a_scalar(drive: Drive, journal: Journal) -> None:
    """An operator object in place of a value is refused, not interpreted.

    Rules: 74
    """
    graph = chain(drive, a, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    for value in ({"$ne": None}, ["x"], object()):
        with pytest.raises(ValidationError):
            history(drive, graph, "t", filter={"source": value})


def test_a_checkpoint_tells_values_that_exist_its_time_and_its_place(drive: Drive, journal: Journal) -> None:
    """Keys never written are absent; what lives for one step is in none of them; the time is ISO 8601 with its zone.

    Rules: 75, 14, 25. Rows: S1-K01
    """
    graph = chain(drive, a, b, checkpointer=journal)
    began = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=1)
    drive.invoke(graph, {"log": []}, on("t"))
    seen = history(drive, graph, "t")
    assert [set(entry.values) for entry in seen] == [{"log", "word"}, {"log"}, {"log"}, {"log"}]
    for entry, row in zip(seen, journal.history("t"), strict=True):
        at = datetime.datetime.fromisoformat(entry.created_at)
        assert began <= at <= datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1)
        assert (row.id, row.step, row.source, row.ns) == (
            checkpoint_id(entry),
            entry.metadata["step"],
            entry.metadata["source"],
            "",
        )
        assert row.at == pytest.approx(at.timestamp(), abs=0.01)
        assert entry.config["configurable"]["thread_id"] == "t"
        assert entry.config["configurable"]["checkpoint_ns"] == ""


def test_each_checkpoint_names_the_one_it_was_made_from(drive: Drive, journal: Journal, strict: bool) -> None:
    """Within a run, from run to run, and at a fork.

    Rules: 76, 163. Rows: S1-K10
    """
    graph = chain(drive, a, b, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": ["1"]}, on("t"))
    drive.invoke(graph, {"log": ["2"]}, on("t"))
    seen = history(drive, graph, "t")
    assert [entry.parent_config and checkpoint_id_of(entry.parent_config) for entry in seen] == [
        *(checkpoint_id(entry) for entry in seen[1:]),
        None,
    ]
    middle = next(entry for entry in seen if entry.next == ("b",))
    forked = drive.update_state(graph, middle.config, {"log": ["fork"]}, as_node="a")
    head = drive.get_state(graph, on("t"))
    assert checkpoint_id(head) == checkpoint_id_of(forked)
    assert checkpoint_id_of(head.parent_config) == checkpoint_id(middle)
    assert {checkpoint_id(entry) for entry in seen} < {checkpoint_id(entry) for entry in history(drive, graph, "t")}


def checkpoint_id_of(config: Any) -> str:
    return config["configurable"]["checkpoint_id"]


def test_a_thread_that_never_ran_is_empty(drive: Drive, journal: Journal, strict: bool) -> None:
    """No values, nothing next, no metadata; and looking does not make it exist.

    Rules: 77
    """
    graph = chain(drive, a, strict=strict, checkpointer=journal)
    empty = drive.get_state(graph, on("nobody"))
    assert (empty.values, empty.next, empty.metadata, empty.tasks, empty.interrupts) == ({}, (), None, (), ())
    assert (empty.created_at, empty.parent_config) == (None, None)
    assert history(drive, graph, "nobody") == []
    assert list(journal.threads()) == []


def test_without_a_journal_there_is_no_state_to_get(drive: Drive, strict: bool) -> None:
    """Each of the three calls says so.

    Rules: 77
    """
    graph = chain(drive, a, strict=strict)
    with pytest.raises(ValueError, match="No checkpointer set"):
        drive.get_state(graph, on("t"))
    with pytest.raises(ValueError, match="No checkpointer set"):
        drive.get_state_history(graph, on("t"))
    with pytest.raises(ValueError, match="No checkpointer set"):
        drive.update_state(graph, on("t"), {"log": []})


def test_an_unknown_checkpoint_id_is_told(drive: Drive, journal: Journal) -> None:
    """Going on from a checkpoint that does not exist must not start from nothing.

    Rules: 76, 77
    """
    graph = chain(drive, a, checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    stray = str(uuid.uuid4())
    with pytest.raises(Failure, match=stray):
        drive.invoke(graph, None, on("t", checkpoint=stray))
    assert drive.get_state(graph, on("t")).values == {"log": ["in", "a"]}


@pytest.mark.parametrize("given", ["t", 7, uuid.UUID(int=7)], ids=["str", "int", "uuid"])
def test_a_thread_id_is_stored_as_text(drive: Drive, journal: Journal, given: Any) -> None:
    """A number or a UUID names the same thread as its text.

    Rules: 83. Rows: S1-K03
    """
    graph = chain(drive, a, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on(given))
    assert drive.get_state(graph, on(str(given))).values == {"log": ["a"]}
    assert drive.get_state(graph, on(given)).config["configurable"]["thread_id"] == str(given)
    assert [info.thread for info in journal.threads()] == [str(given)]


BAD_THREADS: dict[str, Any] = {
    "empty": "",
    "too long": "x" * 256,
    "newline": "a\nb",
    "nul": "a\x00b",
    "escape": "a\x1bb",
    "delete": "a\x7fb",
    "next line": "a\x85b",
    "lone surrogate": "a\ud800b",
    "bool": True,
    "float": 1.5,
    "bytes": b"t",
    "dict": {"$ne": ""},
    "list": ["t"],
    "object": object(),
}


def named(given: Any) -> Any:
    """How ``questions`` is given a thread: a dict would be taken for a config, so it stands in one."""
    return on(given) if type(given).__name__ == "dict" else given


@pytest.mark.parametrize("given", BAD_THREADS.values(), ids=BAD_THREADS.keys())
def test_other_thread_ids_are_refused(drive: Drive, journal: Journal, given: Any) -> None:
    """At every door, before anything is read, run or written.

    Rules: 83. Rows: S1-K03
    """
    calls = Calls()

    def work(state: Log) -> Log:
        calls("work")
        return {"log": ["work"]}

    graph = chain(drive, work, checkpointer=journal)
    for door in (
        lambda: drive.invoke(graph, {"log": []}, on(given)),
        lambda: drive.stream(graph, {"log": []}, on(given)),
        lambda: drive.get_state(graph, on(given)),
        lambda: drive.get_state_history(graph, on(given)),
        lambda: drive.update_state(graph, on(given), {"log": ["x"]}, as_node="work"),
        lambda: graph.questions(named(given)),
    ):
        with pytest.raises(InvalidThreadId, match="thread"):
            door()
    for result in (
        drive.run(graph, {"log": []}, on(given)),
        drive.run(graph, {"log": []}, thread=given),
        drive.resume(graph, given),
    ):
        assert isinstance(refusal(result), InvalidThreadId)
    assert calls.of("work") == 0
    assert list(journal.threads()) == []


def test_255_characters_are_a_thread_id_in_any_script(drive: Drive, journal: Journal) -> None:
    """The limit counts characters.

    Rules: 83
    """
    graph = chain(drive, a, checkpointer=journal)
    for thread in ("x" * 255, "ж" * 255, "🦉", "a b/c:d|e%_*\\"):
        assert drive.invoke(graph, {"log": []}, on(thread)) == {"log": ["a"]}
        assert drive.get_state(graph, on(thread)).values == {"log": ["a"]}
    assert len(list(journal.threads())) == 4


def test_a_journal_needs_a_thread(drive: Drive, journal: Journal, strict: bool) -> None:
    """The error mentions thread_id.

    Rules: 83
    """
    graph = chain(drive, a, strict=strict, checkpointer=journal)
    with pytest.raises(ValueError, match="thread_id"):
        drive.invoke(graph, {"log": []})
    with pytest.raises(ValueError, match="thread_id"):
        drive.get_state(graph, {"configurable": {}})


def test_threads_do_not_see_each_other(drive: Drive, journal: Journal) -> None:
    """Ids that are patterns, prefixes or paths of each other are still other threads.

    Rules: 83. Rows: S1-K03
    """
    graph = chain(drive, a, checkpointer=journal)
    threads = ["t", "t1", "t%", "t_", "t*", "T", "t:1", "t|1", "t "]
    for thread in threads:
        drive.invoke(graph, {"log": [thread]}, on(thread))
    for thread in threads:
        assert drive.get_state(graph, on(thread)).values == {"log": [thread, "a"]}
    journal.delete_thread("t%")
    assert drive.get_state(graph, on("t1")).values == {"log": ["t1", "a"]}


PLACES = {"input": puts_step(-1), "step": puts_step(0), "writes": puts_writes}


@pytest.mark.parametrize("place", ["input", "step", "writes", "read"])
def test_what_the_store_raises_reaches_the_caller(drive: Drive, place: str) -> None:
    """The same error object, from a first commit, a later one, a task's writes or a read; afterwards the thread works.

    Rules: 84. Rows: S1-K11
    """
    journal = FailingJournal()

    def ask(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    graph = fan(drive, a, ask, checkpointer=journal)
    failure = StoreFull("the disk is full", component="journal")
    if place == "read":
        journal.blind = failure
    else:
        journal.fail = failure
        journal.when = PLACES[place]
    with pytest.raises(StoreFull) as caught:
        drive.invoke(graph, {"log": []}, on("t"))
    assert caught.value is failure
    journal.fail = journal.blind = None
    result = drive.invoke(graph, {"log": ["again"]}, on("t"), busy="reject")
    assert result["log"][-1] == "a"
    assert [question.value for question in result["__interrupt__"]] == ["who?"]


def test_a_refused_commit_leaves_the_thread_where_it_was(drive: Drive) -> None:
    """The second step's record is refused: the state is that of the first, and a resume goes on from there.

    Rules: 84, 92. Rows: S1-K11
    """
    journal = FailingJournal()
    calls = Calls()

    def one(state: Log) -> Log:
        calls("one")
        return {"log": ["one"]}

    def two(state: Log) -> Log:
        calls("two")
        return {"log": ["two"]}

    graph = chain(drive, one, two, checkpointer=journal)
    journal.fail, journal.when = StoreFull("full"), puts_step(2)
    with pytest.raises(StoreFull):
        drive.invoke(graph, {"log": []}, on("t"))
    journal.fail = None
    assert drive.get_state(graph, on("t")).values["log"][0] == "one"
    assert drive.invoke(graph, None, on("t")) == {"log": ["one", "two"]}
    assert calls.of("one") == 1


def test_a_closed_journal_says_so(drive: Drive, journal: Journal) -> None:
    """Not an AttributeError from the depths.

    Rules: 84
    """
    graph = chain(drive, a, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    journal.close()
    with pytest.raises(StoreError):
        drive.invoke(graph, {"log": []}, on("t"))


async def test_a_checkpoint_under_way_is_written_before_the_cancellation_arrives() -> None:
    """The caller is cancelled while the disk is slow: the record is whole when CancelledError comes out.

    Rules: 85, 100
    """
    journal = SlowJournal()
    graph = chain_async(journal)
    journal.delay = 0.0
    await graph.ainvoke({"log": ["before"]}, on("t"))
    steps_before = len(journal.history("t"))
    journal.delay = 0.15
    journal.begun.clear()
    run = asyncio.create_task(graph.ainvoke({"log": ["after"]}, on("t")))
    await asyncio.get_running_loop().run_in_executor(None, journal.begun.wait, 3)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    journal.delay = 0.0
    assert len(journal.history("t")) > steps_before
    assert (await graph.ainvoke({"log": ["again"]}, on("t"), busy="reject"))["log"][-1] == "quick"
    journal.close()


def chain_async(journal: Journal) -> Any:
    async def quick(state: Log) -> Log:
        return {"log": ["quick"]}

    return fan_of(quick, checkpointer=journal)


def test_what_the_store_was_handed_never_changes(drive: Drive, strict: bool) -> None:
    """Neither by later steps nor by a node that changes its input in place.

    Rules: 86. Rows: S1-042
    """
    journal = WatchfulJournal()

    def spoil(state: Log) -> Log:
        state.get("log", []).append("spoilt")
        return {"log": ["spoil"]}

    def ask(state: Log) -> Log:
        state.get("log", []).append("spoilt")
        return {"log": [interrupt("who?")]}

    graph = chain(drive, spoil, ask, strict=strict, checkpointer=journal)
    config = on("t", metadata={"who": "ada"})
    drive.invoke(graph, {"log": ["in"]}, config)
    config["metadata"]["who"] = "eve"
    drive.invoke(graph, {"log": ["in"]}, config)
    assert journal.handed >= 6
    assert journal.changed() == []
    assert "spoilt" not in str([entry.values for entry in history(drive, graph, "t")])
    assert [entry.metadata["who"] for entry in history(drive, graph, "t")] == ["eve"] * 3 + ["ada"] * 3


def test_a_snapshot_can_be_changed_without_harm(drive: Drive, journal: Journal) -> None:
    """What get_state gives out is the reader's own.

    Rules: 86. Rows: S1-042
    """
    graph = chain(drive, a, checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    drive.get_state(graph, on("t")).values["log"].append("spoilt")
    history(drive, graph, "t")[0].values["log"].append("spoilt")
    assert drive.get_state(graph, on("t")).values == {"log": ["in", "a"]}


def test_a_store_that_kept_no_writes_of_the_open_step_runs_it_again(drive: Drive, journal: Journal) -> None:
    """Pending writes are a saving, not a need: without them every task of the step runs.

    Rules: 87, 92
    """
    calls = Calls()

    def good(state: Log) -> Log:
        calls("good")
        return {"log": ["good"]}

    def bad(state: Log) -> Log:
        if calls("bad") == 1:
            raise ValueError("once")
        return {"log": ["bad"]}

    graph = fan(drive, bad, good, checkpointer=journal)
    with pytest.raises(ValueError, match="once"):
        drive.invoke(graph, {"log": []}, on("t"))
    head = checkpoint_id(drive.get_state(graph, on("t")))
    journal.commit(Batch("t", (DropWrites("", head),)))
    stored = journal.chain("t")
    assert stored is not None
    assert stored.writes == ()
    good_before = calls.of("good")
    assert drive.invoke(graph, None, on("t")) == {"log": ["bad", "good"]}
    assert calls.of("good") == good_before + 1


def test_task_ids_are_the_same_in_every_process(drive: Drive, box: JournalBox, strict: bool) -> None:
    """A second opening of the store and a graph built anew compute the ids that the stream showed.

    Rules: 104. Rows: S1-P03
    """

    def ask(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    here = fan(drive, a, ask, strict=strict, checkpointer=box.open())
    started = [e for e in drive.stream(here, {"log": []}, on("t"), stream_mode="tasks") if "input" in e]
    there = fan(drive, a, ask, strict=strict, checkpointer=box.open())
    found = {task.name: task.id for task in drive.get_state(there, on("t")).tasks}
    assert found == {event["name"]: event["id"] for event in started}
    assert len(set(found.values())) == 2


def test_task_ids_differ_between_steps_and_threads(drive: Drive, journal: Journal) -> None:
    """A loop's visits and two threads' runs never share an id.

    Rules: 104
    """

    def turn(state: Log) -> Log:
        return {"n": state.get("n", 0) + 1}

    def more(state: Log) -> str:
        return "turn" if state.get("n", 0) < 5 else "__end__"

    builder: Any = StateGraph(Log)
    builder.add_node("turn", drive.node(turn)).add_edge(START, "turn")
    builder.add_conditional_edges("turn", more, ["turn", "__end__"])
    graph = builder.compile(checkpointer=journal)
    for thread in ("t", "u"):
        drive.invoke(graph, {"log": []}, on(thread))
    seen = [task.id for thread in ("t", "u") for entry in history(drive, graph, thread) for task in entry.tasks]
    assert len(seen) == 2 * 6
    assert len(set(seen)) == len(seen)


def test_every_transition_is_recorded_and_can_be_replayed(drive: Drive, journal: Journal, strict: bool) -> None:
    """From each of the checkpoints of a run a replay ends in the same state, having run only what came after it.

    Rules: 153, 76, 80. Rows: S0-110, S1-K10
    """
    calls = Calls()

    def counted(name: str) -> Any:
        def body(state: Log) -> Log:
            calls(name)
            return {"log": [f"{name}{len(state.get('log', []))}"]}

        body.__name__ = name
        return body

    graph = chain(drive, counted("p"), counted("q"), counted("r"), strict=strict, checkpointer=journal)
    done = drive.invoke(graph, {"log": ["in"]}, on("t"))
    seen = history(drive, graph, "t")
    folded: list[list[str]] = [[]]
    for entry in reversed(seen[1:]):
        (task,) = entry.tasks
        folded.append(folded[-1] + task.result["log"])
    assert folded == [entry.values["log"] for entry in reversed(seen)], "the results fold to the stored states"
    for entry in seen:
        calls.clear()
        assert drive.invoke(graph, None, entry.config) == done
        after = {"__start__": 3, "p": 3, "q": 2, "r": 1}.get(entry.next[0], 0) if entry.next else 0
        assert sum(calls.of(name) for name in "pqr") == after
    for entry in seen:
        assert drive.get_state(graph, entry.config).values == entry.values, "nothing old was changed"


def test_a_memory_journal_serves_many_graphs_and_forgets_a_thread(drive: Drive) -> None:
    """Two graphs of other threads in one journal; deleting one thread leaves the other.

    Rules: 77. Rows: S1-K03, S1-K05
    """
    journal = MemoryJournal()
    first, second = chain(drive, a, checkpointer=journal), chain(drive, b, checkpointer=journal)
    drive.invoke(first, {"log": []}, on("first"))
    drive.invoke(second, {"log": []}, on("second"))
    journal.delete_thread("first")
    assert drive.get_state(first, on("first")).values == {}
    assert drive.get_state(second, on("second")).values == {"log": ["b"], "word": "set"}
    assert by_name(drive.get_state(second, on("second"))) == {}
