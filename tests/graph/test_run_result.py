"""The typed face: `run` and `resume` end in Done, Paused or Failed; what is a value and what is raised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from lawful.core.errors import EmptyInputError, GraphRecursionError, InvalidUpdateError, NetworkError
from lawful.graph import START, UNSET, Done, Failed, Paused, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on
from support.pausing import Calls, Log, chain, finished, refusal

pytestmark = pytest.mark.unit


@dataclass(frozen=True)
class Essay:
    """A state class whose updates are deltas of itself."""

    topic: str = UNSET
    drafts: Annotated[list[str], concat] = UNSET


def test_a_finished_run_is_done_with_its_state(drive: Drive, journal: Journal, strict: bool) -> None:
    """With a TypedDict the state is the dict that invoke returns.

    Rows: S0-061, S1-007
    """

    def work(state: Log) -> Log:
        return {"log": ["work"]}

    graph = chain(drive, work, strict=strict, checkpointer=journal)
    for done in (drive.run(graph, {"log": ["in"]}, on("t")), drive.run(graph, {"log": ["in"]}, thread="keyword")):
        assert finished(done) == {"log": ["in", "work"]}
    assert drive.get_state(graph, on("keyword")).values == {"log": ["in", "work"]}


def test_the_state_of_a_class_is_an_instance_of_it(drive: Drive, journal: Journal) -> None:
    """Done carries an Essay; what is not finished, and what invoke returns, is a plain dict.

    Rules: 9. Rows: S1-S04
    """

    def write(essay: Essay) -> Essay:
        assert isinstance(essay, Essay)
        return Essay(drafts=[f"on {essay.topic}"])

    def ask(essay: Essay) -> Essay:
        return Essay(drafts=[interrupt("enough?")])

    graph = chain(drive, write, ask, reads=Essay, checkpointer=journal)
    paused = drive.run(graph, Essay(topic="owls"), on("t"))
    assert isinstance(paused, Paused)
    assert paused.state == {"topic": "owls", "drafts": ["on owls"]}
    done = drive.resume(graph, "t", paused.questions[0].answer("yes"))
    assert finished(done) == Essay(topic="owls", drafts=["on owls", "yes"])
    assert drive.invoke(graph, None, on("t")) == {"topic": "owls", "drafts": ["on owls", "yes"]}


def test_an_expected_failure_is_a_value(drive: Drive, journal: Journal, strict: bool) -> None:
    """An error of the thirteen ends in Failed with the last good state; invoke raises the same one.

    Rules: 91. Rows: S0-061, S2-009, S1-046
    """
    error = NetworkError("the forge is down", component="forge")

    def first(state: Log) -> Log:
        return {"log": ["first"]}

    def call(state: Log) -> Log:
        raise error

    graph = chain(drive, first, call, strict=strict, checkpointer=journal)
    failed = drive.run(graph, {"log": []}, on("t"))
    assert isinstance(failed, Failed)
    assert failed.error == error
    assert failed.state == {"log": ["first"]}
    with pytest.raises(NetworkError) as caught:
        drive.invoke(graph, None, on("t"))
    assert caught.value == error
    assert "the forge is down" in drive.get_state(graph, on("t")).tasks[0].error


def test_a_bug_is_raised_from_the_typed_run_too(drive: Drive, journal: Journal, strict: bool) -> None:
    """An ordinary exception is not a result; it comes out unchanged and is on record.

    Rules: 91
    """
    bug = ZeroDivisionError("by the author")

    def call(state: Log) -> Log:
        raise bug

    graph = chain(drive, call, strict=strict, checkpointer=journal)
    with pytest.raises(ZeroDivisionError) as caught:
        drive.run(graph, {"log": []}, on("t"))
    assert caught.value is bug
    assert drive.get_state(graph, on("t")).tasks[0].error == "ZeroDivisionError('by the author')"


def test_a_refused_write_and_a_spent_limit_are_failures(drive: Drive, journal: Journal) -> None:
    """Both are of the thirteen.

    Rules: 30, 50. Rows: S1-040, S1-045
    """

    def wrong(state: Log) -> Any:
        return {"lgo": ["typo"]}

    refused = drive.run(chain(drive, wrong, checkpointer=journal), {"log": []}, on("t"))
    assert isinstance(refused, Failed)
    assert isinstance(refused.error, InvalidUpdateError)
    assert refused.state == {"log": []}

    def turn(state: Log) -> Log:
        return {"n": state.get("n", 0) + 1}

    builder: Any = StateGraph(Log)
    builder.add_node("turn", drive.node(turn)).add_edge(START, "turn").add_edge("turn", "turn")
    spent = drive.run(builder.compile(checkpointer=journal), {"log": []}, on("u", limit=4))
    assert isinstance(spent, Failed)
    assert isinstance(spent.error, GraphRecursionError)
    assert spent.state["n"] == 4


def test_a_failed_run_can_be_taken_up_again(drive: Drive, journal: Journal, strict: bool) -> None:
    """``run(None)`` on its thread runs only what failed.

    Rules: 92
    """
    calls = Calls()

    def call(state: Log) -> Log:
        if calls("call") == 1:
            raise NetworkError("once")
        return {"log": ["call"]}

    graph = chain(drive, call, strict=strict, checkpointer=journal)
    assert isinstance(drive.run(graph, {"log": []}, on("t")), Failed)
    assert drive.run(graph, None, on("t")).state == {"log": ["call"]}


def test_a_mistake_of_the_caller_is_a_failure_too(drive: Drive, journal: Journal) -> None:
    """Nothing to go on from, input that the state refuses: told as `Failed`, and nothing was stored.

    Rules: 97. Rows: S1-080
    """

    def work(state: Log) -> Log:
        return {"log": ["work"]}

    graph = chain(drive, work, checkpointer=journal)
    assert isinstance(refusal(drive.resume(graph, "nobody")), EmptyInputError)
    assert isinstance(refusal(drive.run(graph, {"n": "seven"}, on("t"))), InvalidUpdateError)
    assert list(journal.threads()) == []


def test_without_a_journal_a_run_may_pause_but_says_where_it_is(drive: Drive) -> None:
    """The questions are told even though nobody can answer them later.

    Rules: 120
    """

    def ask(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    paused = drive.run(chain(drive, ask), {"log": ["in"]})
    assert isinstance(paused, Paused)
    assert [question.value for question in paused.questions] == ["who?"]
    assert paused.state == {"log": ["in"]}


def test_the_union_is_closed(drive: Drive, journal: Journal) -> None:
    """Three shapes and no fourth: a match over them is complete.

    Rows: S2-009, S1-007
    """

    def work(state: Log) -> Log:
        return {"log": ["work"]}

    def tell(result: Done[Any] | Paused | Failed) -> str:
        match result:
            case Done(state):
                return f"done {state}"
            case Paused(questions):
                return f"waits for {len(questions)}"
            case Failed(error):
                return error.message

    assert tell(drive.run(chain(drive, work, checkpointer=journal), {"log": []}, on("t"))) == "done {'log': ['work']}"
