"""Rules of durability: when checkpoints are written, and which of them exist at all."""

from __future__ import annotations

import time
from typing import Any

import pytest

from lawful.core.errors import ConfigurationError, StoreFull
from lawful.graph import START, Command, Send, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.journal.records import Batch, PutCheckpoint
from support.faulty import FailingJournal, SlowJournal, puts_step
from support.graphs import Drive, JournalBox, on
from support.pausing import Calls, Log, asked, by_name, chain, checkpoint_id, fan, steps

pytestmark = pytest.mark.unit

MODES = ("sync", "async", "exit")


@pytest.fixture(params=MODES)
def durability(request: pytest.FixtureRequest) -> str:
    return request.param


def one(state: Log) -> Log:
    return {"log": ["one"]}


def two(state: Log) -> Log:
    return {"log": ["two"], "word": "set"}


def three(state: Log) -> Log:
    return {"log": ["three"]}


class Watched(MemoryJournal):
    """Remembers the steps of the checkpoints of each commit, and what had been entered by then."""

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self.calls = calls
        self.seen: list[tuple[list[int], int]] = []

    def commit(self, batch: Batch) -> None:
        steps = [r.checkpoint.step for r in batch.records if isinstance(r, PutCheckpoint)]
        if steps:
            self.seen.append((steps, self.calls.of("node")))
        super().commit(batch)


def counted(calls: Calls, *names: str) -> list[Any]:
    def body(name: str) -> Any:
        def node(state: Log) -> Log:
            calls("node")
            return {"log": [name]}

        node.__name__ = name
        return node

    return [body(name) for name in names]


def test_by_default_a_step_waits_for_its_checkpoint(drive: Drive) -> None:
    """No node begins before the checkpoint it runs from is stored; LangGraph's default only begins to write it.

    Rules: 105. Rows: S1-P12
    """
    calls = Calls()
    journal = Watched(calls)
    graph = chain(drive, *counted(calls, "a", "b", "c"), checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    assert [(step[-1], entered) for step, entered in journal.seen] == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_in_the_background_a_slow_store_does_not_hold_the_nodes_up(drive: Drive) -> None:
    """All that was written is there when the call returns, in the order in which it was made.

    Rules: 105. Rows: S1-P12
    """
    journal = SlowJournal()
    entered: list[bool] = []

    def first(state: Log) -> Log:
        return {"log": ["first"]}

    def second(state: Log) -> Log:
        entered.append(journal.chain("t") is None)
        return {"log": ["second"]}

    graph = chain(drive, first, second, checkpointer=journal)
    journal.delay = 0.1
    drive.invoke(graph, {"log": []}, on("t"), durability="async")
    journal.delay = 0.0
    assert entered == [True], "the second node ran before anything was stored"
    assert steps(drive, graph, on("t")) == [("loop", 2), ("loop", 1), ("loop", 0), ("input", -1)]


def test_writing_in_the_background_takes_what_came_meanwhile_along(drive: Drive) -> None:
    """A chain of quick nodes is stored while it runs, not all at its end.

    Rules: 105
    """
    calls = Calls()
    journal = SlowJournal()

    def turn(state: Log) -> Log:
        calls("turn")
        time.sleep(0.002)
        return {"n": state.get("n", 0) + 1}

    def more(state: Log) -> str:
        return "turn" if state.get("n", 0) < 30 else "__end__"

    builder: Any = StateGraph(Log).add_node("turn", turn).add_edge(START, "turn")
    graph = builder.add_conditional_edges("turn", more, ["turn", "__end__"]).compile(checkpointer=journal)
    batches: list[int] = []
    commit = journal.commit

    def counting(batch: Batch) -> None:
        batches.append(calls.of("turn"))
        commit(batch)

    journal.commit = counting  # pyright: ignore[reportAttributeAccessIssue]
    drive.invoke(graph, {"n": 0}, on("t"), durability="async")
    assert len([n for n in batches if 0 < n < 30]) >= 3
    assert len(drive.get_state_history(graph, on("t"))) == 32


@pytest.mark.parametrize("step", [1, 3])
def test_a_store_that_fails_in_the_background_fails_the_call(drive: Drive, step: int) -> None:
    """Rules: 105, 84."""
    journal = FailingJournal()
    graph = chain(drive, one, two, three, checkpointer=journal)
    journal.fail, journal.when = StoreFull("the disk is full"), puts_step(step)
    with pytest.raises(StoreFull):
        drive.invoke(graph, {"log": []}, on("t"), durability="async")


def test_at_the_exit_only_the_last_checkpoint_exists(drive: Drive, journal: Journal, strict: bool) -> None:
    """It tells its true step, was made from none, and holds every value; the next run's was made from it.

    Rules: 106. Rows: S1-P12
    """
    graph = chain(drive, one, two, three, strict=strict, checkpointer=journal)
    done = drive.invoke(graph, {"log": ["in"]}, on("t"), durability="exit")
    (only,) = drive.get_state_history(graph, on("t"))
    assert (only.metadata["source"], only.metadata["step"], only.parent_config) == ("loop", 3, None)
    assert only.values == done == {"log": ["in", "one", "two", "three"], "word": "set"}
    assert (only.next, only.tasks) == ((), ())
    drive.invoke(graph, {"log": ["again"]}, on("t"), durability="exit")
    newest, before = drive.get_state_history(graph, on("t"))
    assert newest.parent_config == before.config == only.config
    assert newest.metadata["step"] == 8
    assert newest.values["log"] == ["in", "one", "two", "three", "again", "one", "two", "three"]
    assert drive.get_state(graph, only.config).values == only.values


def test_at_the_exit_there_is_one_commit(drive: Drive) -> None:
    """Rules: 106."""
    calls = Calls()
    journal = Watched(calls)
    graph = chain(drive, *counted(calls, "a", "b", "c"), checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"), durability="exit")
    assert journal.seen == [([3], 3)]


def broken(drive: Drive, journal: Journal, calls: Calls, strict: bool = True) -> Any:
    """``one``, then ``good`` beside ``flaky``, which fails the first time after ``good`` is done."""

    def good(state: Log) -> Log:
        calls("good")
        return {"log": ["good"]}

    def flaky(state: Log) -> Log:
        while not calls.of("good"):
            time.sleep(0.001)
        time.sleep(0.02)
        if calls("flaky") == 1:
            raise ValueError("broken")
        return {"log": ["flaky"]}

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("one", drive.node(one)).add_node("good", drive.node(good)).add_node("flaky", flaky)
    builder.add_edge(START, "one").add_edge("one", "good").add_edge("one", "flaky")
    return builder.compile(checkpointer=journal)


def test_a_failure_is_resumed_alike_in_all_modes(drive: Drive, box: JournalBox, durability: str, strict: bool) -> None:
    """What finished beside the failure is kept and not run again, by another process too.

    Rules: 107, 92, 91. Rows: S1-P12
    """
    calls = Calls()
    graph = broken(drive, box.open(), calls, strict)
    with pytest.raises(ValueError, match="broken"):
        drive.invoke(graph, {"log": ["in"]}, on("t"), durability=durability)
    there = broken(drive, box.open(), calls, strict)
    head = drive.get_state(there, on("t"))
    assert (head.values["log"], head.next) == (["in", "one", "good"], ("flaky",))
    tasks = by_name(head)
    assert tasks["good"].result == {"log": ["good"]}
    assert tasks["flaky"].error == "ValueError('broken')"
    assert len(drive.get_state_history(there, on("t"))) == (1 if durability == "exit" else 3)
    done = drive.invoke(there, None, on("t"), durability=durability)
    assert sorted(done["log"][2:]) == ["flaky", "good"]
    assert (calls.of("good"), calls.of("flaky")) == (1, 2)


def test_a_question_is_answered_alike_in_all_modes(drive: Drive, box: JournalBox, durability: str) -> None:
    """Rules: 107, 98. Rows: S1-P12."""
    calls = Calls()

    def beside(state: Log) -> Log:
        calls("beside")
        return {"log": ["beside"]}

    def ask(state: Log) -> Log:
        return {"log": [interrupt("who?"), interrupt("sure?")]}

    def opened() -> Any:
        return fan(drive, beside, ask, checkpointer=box.open())

    drive.invoke(opened(), {"log": []}, on("t"), durability=durability)
    again = drive.invoke(opened(), Command(resume="ada"), on("t"), durability=durability)
    assert [q.value for q in asked(again)] == ["sure?"]
    done = drive.invoke(opened(), Command(resume="yes"), on("t"), durability=durability)
    assert sorted(done["log"]) == ["ada", "beside", "yes"]
    assert calls.of("beside") == 1


def test_a_breakpoint_at_the_exit_is_gone_on_from(drive: Drive, box: JournalBox) -> None:
    """Rules: 107, 106."""
    graph = chain(drive, one, two, three, checkpointer=box.open(), interrupt_before=["three"])
    drive.invoke(graph, {"log": []}, on("t"), durability="exit")
    assert [(e.metadata["step"], e.next) for e in drive.get_state_history(graph, on("t"))] == [(2, ("three",))]
    there = chain(drive, one, two, three, checkpointer=box.open())
    assert drive.invoke(there, None, on("t"), durability="exit")["log"] == ["one", "two", "three"]


def test_a_run_that_is_resumed_adds_nothing_to_where_it_came_from(drive: Drive, journal: Journal) -> None:
    """The checkpoint stays as it was: what the resumed run wrote from it is in the one at its exit.

    Rules: 108
    """

    def ask(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    graph = chain(drive, one, ask, two, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"), durability="exit")
    before = drive.get_state(graph, on("t"))
    drive.invoke(graph, Command(resume="ada", update={"word": "x"}), on("t"), durability="exit")
    newest, old = drive.get_state_history(graph, on("t"))
    assert newest.values["log"] == ["one", "ada", "two"]
    assert (old.config, old.values) == (before.config, {"log": ["one"]})
    assert [(task.name, task.result) for task in old.tasks] == [("ask", None)]
    stored = journal.chain("t", "", checkpoint_id(old))
    assert stored is not None
    assert [row.kind for row in stored.writes] == ["asked"]


def test_a_command_before_anything_else_is_kept_at_the_exit(drive: Drive, journal: Journal) -> None:
    """Rules: 106, 107, 62."""

    def fail(state: Log) -> Log:
        raise ValueError("broken")

    graph = chain(drive, fail, checkpointer=journal)
    given = Command(update={"word": "given"}, goto="fail")
    with pytest.raises(ValueError, match="broken"):
        drive.invoke(graph, given, on("t"), durability="exit")
    head = drive.get_state(graph, on("t"))
    assert (head.values, head.next) == ({"log": [], "word": "given"}, ("fail",))
    with pytest.raises(ValueError, match="broken"):
        drive.invoke(graph, None, on("t"), durability="exit")


def test_sends_outlive_a_failure_at_the_exit(drive: Drive, box: JournalBox) -> None:
    """Rules: 107, 70."""
    calls = Calls()

    def spread(state: Log) -> list[Send]:
        return [Send("work", {"word": word}) for word in "abc"]

    def work(state: Log) -> Log:
        if state.get("word") == "b" and calls("b") == 1:
            time.sleep(0.05)
            raise ValueError("broken")
        calls("work")
        return {"log": [state.get("word", "")]}

    def opened() -> Any:
        builder: Any = StateGraph(Log).add_node("one", one).add_node("work", work).add_edge(START, "one")
        return builder.add_conditional_edges("one", spread, ["work"]).compile(checkpointer=box.open())

    with pytest.raises(ValueError, match="broken"):
        drive.invoke(opened(), {"log": []}, on("t"), durability="exit")
    assert drive.invoke(opened(), None, on("t"), durability="exit")["log"] == ["one", "a", "b", "c"]
    assert calls.of("work") == 3


def holding(drive: Drive, journal: Journal, *, keeps: bool | None = None, asks: bool = False) -> Any:
    """A graph whose only node is a graph of three nodes."""

    def last(state: Log) -> Log:
        return {"log": [interrupt("who?") if asks else "last"]}

    inner = chain(drive, one, two, last, checkpointer=keeps)
    builder: Any = StateGraph(Log)
    return builder.add_node("hold", inner).add_edge(START, "hold").compile(checkpointer=journal)


def test_subgraphs_store_as_their_caller_does(drive: Drive, journal: Journal) -> None:
    """Twelve checkpoints in all become one; one with a memory of its own keeps its last.

    Rules: 109
    """
    plain = holding(drive, journal)
    drive.invoke(plain, {"log": []}, on("each"))
    drive.invoke(plain, {"log": []}, on("exit"), durability="exit")
    assert sum(len(journal.history("each", ns)) for ns in journal.namespaces("each")) == 3 + 5
    assert list(journal.namespaces("exit")) == [""]
    assert len(journal.history("exit")) == 1
    keeping = holding(drive, journal, keeps=True)
    drive.invoke(keeping, {"log": []}, on("kept"), durability="exit")
    assert [len(journal.history("kept", ns)) for ns in ("", "hold")] == [1, 1]
    (own,) = drive.get_state_history(keeping, on("kept", ns="hold"))
    assert own.values["log"] == ["one", "two", "last"]


def test_a_subgraph_that_pauses_is_stored_at_the_exit(drive: Drive, box: JournalBox) -> None:
    """Rules: 109, 107."""
    drive.invoke(holding(drive, box.open(), asks=True), {"log": []}, on("t"), durability="exit")
    journal = box.open()
    assert [len(journal.history("t", ns)) for ns in journal.namespaces("t")] == [1, 1]
    graph = holding(drive, journal, asks=True)
    done = drive.invoke(graph, Command(resume="ada"), on("t"), durability="exit")
    assert done["log"] == ["one", "two", "ada"]


def test_durability_without_a_journal_only_warns(drive: Drive, strict: bool) -> None:
    """Rules: 110."""
    graph = chain(drive, one, strict=strict)
    with pytest.warns(UserWarning, match="no effect"):
        assert drive.invoke(graph, {"log": []}, durability="exit") == {"log": ["one"]}


def test_an_unknown_durability_is_refused_by_its_nearest_name(drive: Drive, journal: Journal) -> None:
    """Rules: 105."""
    graph = chain(drive, one, checkpointer=journal)
    with pytest.raises(ConfigurationError, match="'async'"):
        drive.invoke(graph, {"log": []}, on("t"), durability="asynch")
    assert drive.get_state_history(graph, on("t")) == []
