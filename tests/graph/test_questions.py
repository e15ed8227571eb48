"""Questions of the typed face: the inbox, replies by id, an answer accepted once, and what a replay does about old answers."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from lawful.core.errors import AlreadyAnswered, Failure, NotInRun, UnknownQuestion
from lawful.core.questions import Principal, Reply
from lawful.graph import START, Command, Done, Paused, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, JournalBox, on
from support.pausing import (
    HEX32,
    Calls,
    Log,
    asked,
    chain,
    checkpoint_id,
    fan,
    fan_of,
    finished,
    ids,
    refusal,
    steps,
    values,
)

pytestmark = pytest.mark.unit


def left(state: Log) -> Log:
    return {"log": ["left " + interrupt("left?")]}


def right(state: Log) -> Log:
    return {"log": ["right " + interrupt("right?")]}


def texts(questions: Any) -> list[str]:
    return sorted(question.value for question in questions)


def test_a_paused_run_hands_over_its_questions(drive: Drive, journal: Journal, strict: bool) -> None:
    """Each with its id, its node and what it asks; a reply made from it finishes the run.

    Rules: 113, 114. Rows: S1-H02, S0-101
    """
    graph = fan(drive, left, right, strict=strict, checkpointer=journal)
    paused = drive.run(graph, {"log": ["in"]}, on("t"))
    assert isinstance(paused, Paused)
    assert {question.node: question.value for question in paused.questions} == {"left": "left?", "right": "right?"}
    assert all(HEX32.fullmatch(question.id) for question in paused.questions)
    assert paused.state == {"log": ["in"]}
    replies = [question.answer(question.node.upper()) for question in paused.questions]
    done = drive.resume(graph, "t", *replies)
    assert finished(done) == {"log": ["in", "left LEFT", "right RIGHT"]}


def test_ids_are_the_same_at_every_window(drive: Drive, journal: Journal) -> None:
    """invoke, get_state, the inbox and the typed run all show one id for one question.

    Rules: 113
    """
    graph = chain(drive, left, checkpointer=journal)
    shown = {asked(drive.invoke(graph, {"log": []}, on("t")))[0].id}
    shown |= {question.id for question in drive.get_state(graph, on("t")).interrupts}
    shown |= {question.id for task in drive.get_state(graph, on("t")).tasks for question in task.interrupts}
    shown |= {question.id for question in graph.questions("t")}
    assert len(shown) == 1


def test_the_inbox_shows_what_is_open_and_nothing_else(drive: Drive, box: JournalBox) -> None:
    """From another process too; empty before the run, after the answer, and for threads that never ran.

    Rules: 113, 116. Rows: S1-H05, S1-H07
    """
    here = fan(drive, left, right, checkpointer=box.open())
    assert list(here.questions("t")) == []
    drive.run(here, {"log": []}, on("t"))
    there = fan(drive, left, right, checkpointer=box.open())
    assert texts(there.questions("t")) == ["left?", "right?"]
    assert list(there.questions("other")) == []
    one = next(question for question in there.questions("t") if question.value == "left?")
    drive.resume(there, "t", one.answer("1"))
    assert texts(here.questions("t")) == ["right?"]
    drive.resume(here, "t", *(question.answer("2") for question in here.questions("t")))
    assert list(there.questions("t")) == []


def test_questions_of_a_subgraph_are_in_the_inbox(drive: Drive, journal: Journal) -> None:
    """Their namespace tells where they are asked; the reply goes through the outer graph.

    Rules: 129, 133. Rows: S1-H08
    """
    inner = chain(drive, left)
    builder: Any = StateGraph(Log)
    graph = builder.add_node("inner", inner).add_edge(START, "inner").compile(checkpointer=journal)
    drive.run(graph, {"log": []}, on("t"))
    (question,) = graph.questions("t")
    assert question.node == "left"
    assert question.ns.startswith("inner:")
    assert drive.resume(graph, "t", question.answer("1")).state == {"log": ["left 1"]}


def test_a_second_answer_to_one_question_is_refused(drive: Drive, journal: Journal) -> None:
    """While the run still waits for another question: the first answer stands, nothing runs.

    Rules: 114, 118. Rows: S1-H04
    """
    calls = Calls()

    def counted(state: Log) -> Log:
        calls("right")
        return right(state)

    graph = fan(drive, left, counted, checkpointer=journal)
    paused = drive.run(graph, {"log": []}, on("t"))
    by_text = {question.value: question for question in paused.questions}
    drive.resume(graph, "t", by_text["left?"].answer("first"))
    before, entered = steps(drive, graph, on("t")), calls.of("right")
    second = refusal(drive.resume(graph, "t", by_text["left?"].answer("second")))
    assert isinstance(second, AlreadyAnswered)
    assert by_text["left?"].id in str(second)
    with pytest.raises(AlreadyAnswered):
        drive.invoke(graph, Command(resume={by_text["left?"].id: "third"}), on("t"))
    assert (steps(drive, graph, on("t")), calls.of("right")) == (before, entered)
    done = drive.resume(graph, "t", by_text["right?"].answer("2"))
    assert sorted(done.state["log"]) == ["left first", "right 2"]


def test_an_answer_that_comes_after_the_end_changes_nothing(drive: Drive, journal: Journal) -> None:
    """The thread has moved on: a typed error, whatever the late answer says.

    Rules: 117, 131
    """
    graph = chain(drive, left, checkpointer=journal)
    (question,) = drive.run(graph, {"log": []}, on("t")).questions
    drive.resume(graph, "t", question.answer("1"))
    head = checkpoint_id(drive.get_state(graph, on("t")))
    assert isinstance(refusal(drive.resume(graph, "t", question.answer("2"))), (AlreadyAnswered, UnknownQuestion))
    with pytest.raises((AlreadyAnswered, UnknownQuestion)):
        drive.invoke(graph, Command(resume={question.id: "2"}), on("t"))
    assert drive.get_state(graph, on("t")).values == {"log": ["left 1"]}
    assert checkpoint_id(drive.get_state(graph, on("t"))) == head


def test_an_unknown_id_among_good_replies_spoils_all(drive: Drive, journal: Journal) -> None:
    """Nothing half-written: the good reply may be given again.

    Rules: 117
    """
    graph = fan(drive, left, right, checkpointer=journal)
    paused = drive.run(graph, {"log": []}, on("t"))
    stray = Reply("f" * 32, "x")
    refused = refusal(drive.resume(graph, "t", paused.questions[0].answer("1"), stray))
    assert isinstance(refused, UnknownQuestion)
    assert stray.question in str(refused)
    assert texts(graph.questions("t")) == ["left?", "right?"]
    assert isinstance(drive.resume(graph, "t", *(one.answer("2") for one in paused.questions)), Done)


def test_a_reply_to_another_threads_question_is_unknown_here(drive: Drive, journal: Journal) -> None:
    """Ids are bound to their thread.

    Rules: 113, 117
    """
    graph = chain(drive, left, checkpointer=journal)
    (mine,) = drive.run(graph, {"log": []}, on("mine")).questions
    drive.run(graph, {"log": []}, on("yours"))
    assert isinstance(refusal(drive.resume(graph, "yours", mine.answer("x"))), UnknownQuestion)
    assert texts(graph.questions("mine")) == texts(graph.questions("yours")) == ["left?"]


def test_of_many_answerers_exactly_one_is_heard(box: JournalBox) -> None:
    """Six at once, each over its own opening of the store: one run goes on, the others are told.

    Rules: 114. Rows: S1-H04
    """
    calls = Calls()

    def ask(state: Log) -> Log:
        answer = interrupt("who?")
        calls("answered")
        return {"log": [answer]}

    (question,) = fan_of(ask, checkpointer=box.open()).run_sync({"log": []}, on("t")).questions
    told: list[Any] = []

    def answer(name: str) -> None:
        graph = fan_of(ask, checkpointer=box.open())
        told.append(graph.resume_sync("t", question.answer(name)))

    people = [threading.Thread(target=answer, args=(f"p{i}",)) for i in range(6)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    heard: list[Any] = [finished(one)["log"] for one in told if type(one) is Done]
    assert (len(told), len(heard)) == (6, 1)
    refused = [refusal(one) for one in told if type(one) is not Done]
    assert all(isinstance(error, (AlreadyAnswered, UnknownQuestion)) for error in refused)
    assert calls.of("answered") == 1
    assert fan_of(ask, checkpointer=box.open()).get_state(on("t")).values == {"log": heard[0]}


def test_the_journal_knows_who_answered(drive: Drive, journal: Journal) -> None:
    """The principal's id is stored with the answer, at the checkpoint that the question was asked from.

    Rules: 118. Rows: S1-H05
    """
    graph = chain(drive, left, checkpointer=journal)
    (question,) = drive.run(graph, {"log": []}, on("t")).questions
    asking = checkpoint_id(drive.get_state(graph, on("t")))
    drive.resume(graph, "t", question.answer("1"), by=Principal("ada", roles=("release",)))
    stored = journal.chain("t", "", asking)
    assert stored is not None
    assert [(answer.question, answer.by, answer.checkpoint) for answer in stored.answers] == [
        (question.id, "ada", asking)
    ]


def test_named_questions_find_their_answers_whatever_their_order(drive: Drive, journal: Journal) -> None:
    """A name, not the call's index, binds the answer, so that the node may ask in another order when it runs again.

    Rules: 112, 113. Rows: S1-H03
    """
    order = ["size", "colour"]

    def ask(state: Log) -> Log:
        got = {name: interrupt(f"{name}?", name=name) for name in list(order)}
        return {"log": [f"{name}={got[name]}" for name in sorted(got)]}

    graph = chain(drive, ask, checkpointer=journal)
    (size,) = drive.run(graph, {"log": []}, on("t")).questions
    assert size.name == "size"
    order.reverse()
    (colour,) = drive.resume(graph, "t", size.answer("big")).questions
    assert colour.name == "colour"
    order.reverse()
    assert drive.resume(graph, "t", colour.answer("red")).state == {"log": ["colour=red", "size=big"]}


async def ask_named(name: str) -> Any:
    return interrupt(f"{name}?", name=name)


async def ask_unnamed(text: str) -> Any:
    return interrupt(text)


async def test_named_questions_may_be_asked_at_once(journal: Journal, strict: bool) -> None:
    """Two in one attempt: both are told in the first pause, either may be answered first.

    Rules: 113, 116. Rows: S1-H03
    """

    async def both(state: Log) -> Log:
        a, b = await asyncio.gather(ask_named("a"), ask_named("b"))
        return {"log": [a, b]}

    graph = fan_of(both, strict=strict, checkpointer=journal)
    paused = await graph.run({"log": []}, thread="t")
    by_name = {question.name: question for question in paused.questions}
    assert set(by_name) == {"a", "b"}
    again = await graph.resume("t", by_name["b"].answer("B"))
    assert [question.id for question in again.questions] == [by_name["a"].id]
    assert (await graph.resume("t", by_name["a"].answer("A"))).state == {"log": ["A", "B"]}


async def test_unnamed_questions_at_once_are_refused(journal: Journal, strict: bool) -> None:
    """Their order would be chance, so their answers could go astray: the error asks for names.

    Rules: 113. Rows: S1-H03
    """

    async def both(state: Log) -> Log:
        a, b = await asyncio.gather(ask_unnamed("a?"), ask_unnamed("b?"))
        return {"log": [a, b]}

    graph = fan_of(both, strict=strict, checkpointer=journal)
    with pytest.raises(Failure, match="name="):
        await graph.ainvoke({"log": []}, on("t"))
    assert list(graph.questions("t")) == []


def test_outside_a_node_there_is_nobody_to_ask() -> None:
    """The error says what was called and what to do.

    Rules: 120
    """
    with pytest.raises(NotInRun, match=r"interrupt.*inside a running node"):
        interrupt("who?")


def test_a_replay_asks_again(drive: Drive, journal: Journal, strict: bool) -> None:
    """From the very checkpoint that the question was asked from: the old answer is not used, the old branch stays.

    Rules: 156, 163, 114. Rows: S0-110
    """
    graph = chain(drive, left, right, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    asking = checkpoint_id(drive.get_state(graph, on("t")))
    drive.invoke(graph, Command(resume="1"), on("t"))
    old = checkpoint_id(drive.get_state(graph, on("t")))
    for _ in range(2):
        replayed = drive.invoke(graph, None, on("t", checkpoint=asking))
        assert [question.value for question in asked(replayed)] == ["left?"]
        assert values(replayed) == {"log": []}
    assert drive.get_state(graph, on("t")).values == {"log": []}, "the replay's branch is the head"
    assert drive.get_state(graph, on("t", checkpoint=old)).values == {"log": ["left 1"]}
    again = drive.invoke(graph, Command(resume="one"), on("t"))
    assert values(again) == {"log": ["left one"]}
    assert [question.value for question in asked(again)] == ["right?"]
    assert drive.invoke(graph, Command(resume="two"), on("t")) == {"log": ["left one", "right two"]}


def test_a_fork_between_two_questions_asks_only_the_later(drive: Drive, journal: Journal, strict: bool) -> None:
    """The earlier answer is in the state already.

    Rules: 159, 156
    """
    graph = chain(drive, left, right, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    drive.invoke(graph, Command(resume="1"), on("t"))
    between = checkpoint_id(drive.get_state(graph, on("t")))
    drive.invoke(graph, Command(resume="2"), on("t"))
    replayed = drive.invoke(graph, None, on("t", checkpoint=between))
    assert [question.value for question in asked(replayed)] == ["right?"]
    assert drive.invoke(graph, Command(resume="zwei"), on("t")) == {"log": ["left 1", "right zwei"]}


def test_an_answer_that_names_the_head_is_a_resume(drive: Drive, journal: Journal, strict: bool) -> None:
    """An explicit checkpoint_id of the newest checkpoint does not make a replay of it.

    Rules: 157
    """
    graph = chain(drive, left, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    head = checkpoint_id(drive.get_state(graph, on("t")))
    assert drive.invoke(graph, Command(resume="1"), on("t", checkpoint=head)) == {"log": ["left 1"]}
    assert [source for source, _ in steps(drive, graph, on("t"))].count("fork") == 0


def test_new_input_takes_the_question_back(drive: Drive, journal: Journal) -> None:
    """The paused task is discarded; an answer to the old question is refused, the new one can be given.

    Rules: 96, 117
    """
    graph = chain(drive, left, checkpointer=journal)
    (old,) = drive.run(graph, {"log": ["one"]}, on("t")).questions
    (new,) = drive.run(graph, {"log": ["two"]}, on("t")).questions
    assert old.id != new.id
    assert isinstance(refusal(drive.resume(graph, "t", old.answer("late"))), (UnknownQuestion, AlreadyAnswered))
    assert drive.resume(graph, "t", new.answer("1")).state == {"log": ["one", "two", "left 1"]}


def test_an_answer_that_cannot_be_stored_is_refused(drive: Drive, journal: Journal) -> None:
    """A lock is nothing to resume with tomorrow; the question stays open.

    Rules: 118
    """
    graph = chain(drive, left, checkpointer=journal)
    (question,) = drive.run(graph, {"log": []}, on("t")).questions
    refusal(drive.resume(graph, "t", question.answer(threading.Lock())))
    assert texts(graph.questions("t")) == ["left?"]
    assert drive.resume(graph, "t", question.answer("1")).state == {"log": ["left 1"]}


def test_a_question_that_cannot_be_stored_fails_its_node(drive: Drive, journal: Journal) -> None:
    """The run says which node asked; nothing waits for an answer that could never be shown.

    Rules: 113
    """

    def ask(state: Log) -> Log:
        return {"log": [interrupt(threading.Lock())]}

    graph = chain(drive, ask, checkpointer=journal)
    with pytest.raises(Failure, match="ask"):
        drive.invoke(graph, {"log": ["in"]}, on("t"))
    assert list(graph.questions("t")) == []
    assert drive.get_state(graph, on("t")).values == {"log": ["in"]}


def test_replies_of_one_pause_reach_their_nodes(drive: Drive, journal: Journal, strict: bool) -> None:
    """Eight nodes ask at once and are answered in the reverse order: each gets its own.

    Rules: 114, 116. Rows: S1-H03
    """

    def asker(number: int) -> Any:
        def body(state: Log) -> Log:
            return {"log": [f"{number}:{interrupt(f'q{number}')}"]}

        body.__name__ = f"ask{number}"
        return body

    graph = fan(drive, *(asker(i) for i in range(8)), strict=strict, checkpointer=journal)
    found = ids(asked(drive.invoke(graph, {"log": []}, on("t"))))
    answers = {found[f"q{i}"]: f"a{i}" for i in reversed(range(8))}
    assert drive.invoke(graph, Command(resume=answers), on("t")) == {"log": [f"{i}:a{i}" for i in range(8)]}
