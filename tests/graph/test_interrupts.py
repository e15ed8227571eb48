"""Rules of `interrupt` and `Command(resume=...)`: what runs again, which answer goes where, what is told when."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.core.errors import Failure, QuestionChanged, UnknownQuestion
from lawful.core.questions import Approved, Principal
from lawful.graph import END, START, Command, RetryPolicy, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from support.graphs import Drive, JournalBox, names, on
from support.pausing import HEX32, Calls, Log, asked, by_name, chain, checkpoint_id, fan, ids, steps, values

pytestmark = pytest.mark.unit


def test_a_resumed_node_runs_again_from_its_start(drive: Drive, journal: Journal, strict: bool) -> None:
    """The node is entered twice, the second time its question returns the answer.

    Rules: 111, 122. Rows: S1-H02
    """
    calls = Calls()

    def ask(state: Log) -> Log:
        calls("ask")
        return {"log": [interrupt("who?")]}

    graph = chain(drive, ask, strict=strict, checkpointer=journal)
    first = drive.invoke(graph, {"log": ["in"]}, on("t"))
    assert values(first) == {"log": ["in"]}
    assert [question.value for question in asked(first)] == ["who?"]
    assert calls.of("ask") == 1
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["in", "ada"]}
    assert calls.of("ask") == 2


def test_the_kth_question_of_a_task_gets_the_kth_answer(drive: Drive, journal: Journal, strict: bool) -> None:
    """Three questions of one node, answered one at a time; earlier answers are sent again on each run.

    Rules: 111, 112, 118. Rows: S1-H03
    """
    seen: list[list[str]] = []

    def ask(state: Log) -> Log:
        got: list[str] = []
        seen.append(got)
        for question in ("first?", "second?", "third?"):
            got.append(interrupt(question))
        return {"log": got}

    graph = chain(drive, ask, strict=strict, checkpointer=journal)
    results = [drive.invoke(graph, {"log": []}, on("t"))]
    results += [drive.invoke(graph, Command(resume=answer), on("t")) for answer in ("A", "B", "C")]
    assert [[question.value for question in asked(result)] for result in results] == [
        ["first?"],
        ["second?"],
        ["third?"],
        [],
    ]
    assert seen == [[], ["A"], ["A", "B"], ["A", "B", "C"]]
    assert results[-1] == {"log": ["A", "B", "C"]}


def test_a_node_may_ask_until_it_is_content(drive: Drive, journal: Journal, strict: bool) -> None:
    """What is asked next may depend on the answers so far.

    Rules: 111, 112
    """

    def ask(state: Log) -> Log:
        age = interrupt("age?")
        while not isinstance(age, int):
            age = interrupt(f"{age!r} is no age; age?")
        return {"n": age}

    graph = chain(drive, ask, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    assert [q.value for q in asked(drive.invoke(graph, Command(resume="x"), on("t")))] == ["'x' is no age; age?"]
    assert [q.value for q in asked(drive.invoke(graph, Command(resume="y"), on("t")))] == ["'y' is no age; age?"]
    assert drive.invoke(graph, Command(resume=7), on("t")) == {"log": [], "n": 7}


def test_strict_refuses_an_answer_to_a_question_that_has_changed(drive: Drive, journal: Journal) -> None:
    """The person said yes to the test system, so the node may not take it as a yes for production.

    Rules: 112
    """
    asks = {"text": "deploy to test?"}

    def deploy(state: Log) -> Log:
        return {"log": [interrupt(asks["text"])]}

    graph = chain(drive, deploy, checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    asks["text"] = "deploy to production?"
    with pytest.raises(QuestionChanged, match="deploy"):
        drive.invoke(graph, Command(resume="yes"), on("t"))
    assert drive.get_state(graph, on("t")).values == {"log": ["in"]}
    asks["text"] = "deploy to test?"
    again = drive.invoke(graph, {"log": ["again"]}, on("t"))
    assert [question.value for question in asked(again)] == ["deploy to test?"]
    assert drive.invoke(graph, Command(resume="yes"), on("t")) == {"log": ["in", "again", "yes"]}


def test_lenient_matches_answers_by_order_alone(drive: Drive, journal: Journal) -> None:
    """As LangGraph: the question may differ between the runs.

    Rules: 112
    """
    asks = {"text": "deploy to test?"}

    def deploy(state: Log) -> Log:
        return {"log": [interrupt(asks["text"])]}

    graph = chain(drive, deploy, strict=False, checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    asks["text"] = "deploy to production?"
    assert drive.invoke(graph, Command(resume="yes"), on("t")) == {"log": ["in", "yes"]}


def test_each_question_has_an_id_of_its_own(drive: Drive, journal: Journal, strict: bool) -> None:
    """Unlike LangGraph's, ids tell the questions of one task apart; also those of two nodes, two visits and two threads.

    Rules: 113. Rows: S1-H02
    """
    seen: list[str] = []

    def left(state: Log) -> Log:
        return {"log": [interrupt("left, first?"), interrupt("left, second?")]}

    def right(state: Log) -> Log:
        return {"log": [interrupt("right?")]}

    graph = fan(drive, left, right, strict=strict, checkpointer=journal)
    for thread in ("t", "u"):
        first = ids(asked(drive.invoke(graph, {"log": []}, on(thread))))
        second = ids(asked(drive.invoke(graph, Command(resume={first["left, first?"]: "1"}), on(thread))))
        assert second["right?"] == first["right?"], "an open question keeps its id"
        drive.invoke(graph, Command(resume={second["left, second?"]: "2", second["right?"]: "3"}), on(thread))
        again = ids(asked(drive.invoke(graph, {"log": []}, on(thread))))
        seen += [*first.values(), second["left, second?"], *again.values()]
    assert all(HEX32.fullmatch(one) for one in seen)
    assert len(set(seen)) == len(seen)


def test_ids_come_from_place_and_visit_never_from_what_is_asked(drive: Drive, strict: bool) -> None:
    """Two stores, one thread name, other words: the same id, so that a process elsewhere can work it out.

    Rules: 113
    """
    found: list[str] = []

    def asking(text: str) -> Any:
        def ask(state: Log) -> Log:
            return {"log": [interrupt(text)]}

        return ask

    for text in ("here?", "there?"):
        graph = chain(drive, asking(text), strict=strict, checkpointer=MemoryJournal())
        found += ids(asked(drive.invoke(graph, {"log": []}, on("t")))).values()
    assert found[0] == found[1]


def test_every_visit_of_a_loop_asks_under_a_new_id(drive: Drive, journal: Journal, strict: bool) -> None:
    """A late answer to the first round cannot be taken for the second.

    Rules: 113
    """

    def ask(state: Log) -> Log:
        return {"log": [interrupt("more?")]}

    def more(state: Log) -> str:
        return "ask" if state.get("log", [])[-1] == "yes" else END

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("ask", drive.node(ask)).add_edge(START, "ask").add_conditional_edges("ask", more, ["ask", END])
    graph = builder.compile(checkpointer=journal)
    first = drive.invoke(graph, {"log": []}, on("t"))
    second = drive.invoke(graph, Command(resume="yes"), on("t"))
    assert asked(first)[0].id != asked(second)[0].id
    assert drive.invoke(graph, Command(resume="no"), on("t")) == {"log": ["yes", "no"]}


def test_a_question_has_the_same_id_in_another_process(drive: Drive, box: JournalBox) -> None:
    """Another opening of the store and a graph built anew see the question and can answer it.

    Rules: 113, 104. Rows: S0-103, S1-H07
    """

    def ask(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    here = chain(drive, ask, checkpointer=box.open())
    question = asked(drive.invoke(here, {"log": []}, on("t")))[0]
    there = chain(drive, ask, checkpointer=box.open())
    assert [(one.id, one.value) for one in drive.get_state(there, on("t")).interrupts] == [(question.id, "who?")]
    assert drive.invoke(there, Command(resume={question.id: "ada"}), on("t")) == {"log": ["ada"]}
    assert drive.get_state(here, on("t")).values == {"log": ["ada"]}


def test_a_dict_of_ids_is_a_map_and_any_other_dict_a_plain_answer(drive: Drive, journal: Journal, strict: bool) -> None:
    """Only where all keys look like ids is the dict taken apart.

    Rules: 114. Rows: S1-H04
    """

    def ask(state: Log) -> Log:
        answer = interrupt("what?")
        return {"log": [repr(answer)]}

    graph = chain(drive, ask, strict=strict, checkpointer=journal)
    first = asked(drive.invoke(graph, {"log": []}, on("map")))[0].id
    assert drive.invoke(graph, Command(resume={first: "x"}), on("map")) == {"log": ["'x'"]}
    second = asked(drive.invoke(graph, {"log": []}, on("mixed")))[0].id
    mixed = {second: "x", "other": "y"}
    assert drive.invoke(graph, Command(resume=mixed), on("mixed")) == {"log": [repr(mixed)]}
    drive.invoke(graph, {"log": []}, on("plain"))
    plain = {"type": "accept", "args": [1]}
    assert drive.invoke(graph, Command(resume=plain), on("plain")) == {"log": [repr(plain)]}


def test_falsy_answers_are_answers(drive: Drive, journal: Journal, strict: bool) -> None:
    """False, 0 and the empty text are things a person may say.

    Rules: 114, 119
    """

    def ask(state: Log) -> Log:
        return {"log": [repr(interrupt("what?"))]}

    graph = chain(drive, ask, strict=strict, checkpointer=journal)
    answers: list[Any] = [False, 0, "", [], {}]
    for answer in answers:
        thread = f"t{answer!r}"
        drive.invoke(graph, {"log": []}, on(thread))
        assert drive.invoke(graph, Command(resume=answer), on(thread)) == {"log": [repr(answer)]}


def left_ask(state: Log) -> Log:
    return {"log": ["left " + interrupt("left?")]}


def right_ask(state: Log) -> Log:
    return {"log": ["right " + interrupt("right?")]}


def test_a_plain_answer_to_several_questions_is_refused(drive: Drive, journal: Journal, strict: bool) -> None:
    """Nobody can say which one it is for; nothing runs, and the thread can still be answered.

    Rules: 115
    """
    graph = fan(drive, left_ask, right_ask, strict=strict, checkpointer=journal)
    found = ids(asked(drive.invoke(graph, {"log": []}, on("t"))))
    with pytest.raises(RuntimeError, match=r"multiple pending interrupts.*specify the interrupt id"):
        drive.invoke(graph, Command(resume="x"), on("t"))
    assert ids(drive.get_state(graph, on("t")).interrupts) == found
    answers = {found["left?"]: "1", found["right?"]: "2"}
    assert drive.invoke(graph, Command(resume=answers), on("t")) == {"log": ["left 1", "right 2"]}


def test_a_map_may_answer_some_of_the_questions(drive: Drive, journal: Journal, strict: bool) -> None:
    """The answered task finishes and is kept, the other asks again; then a plain answer is enough.

    Rules: 116, 95, 78, 81. Rows: S1-H03
    """
    calls = Calls()

    def left(state: Log) -> Log:
        calls("left")
        return left_ask(state)

    def right(state: Log) -> Log:
        calls("right")
        return right_ask(state)

    graph = fan(drive, left, right, strict=strict, checkpointer=journal)
    found = ids(asked(drive.invoke(graph, {"log": ["in"]}, on("t"))))
    second = drive.invoke(graph, Command(resume={found["left?"]: "1"}), on("t"))
    assert values(second) == {"log": ["in", "left 1"]}
    assert ids(asked(second)) == {"right?": found["right?"]}
    paused = drive.get_state(graph, on("t"))
    assert paused.next == ("right",)
    assert paused.values == {"log": ["in", "left 1"]}
    assert drive.invoke(graph, Command(resume="2"), on("t")) == {"log": ["in", "left 1", "right 2"]}
    assert calls.of("left") == 2, "once to ask, once to answer"


def test_strict_refuses_an_answer_to_nobodys_question(drive: Drive, journal: Journal) -> None:
    """LangGraph asks again without a word; here the mistake has a name, and nothing has run or been stored.

    Rules: 117. Rows: S1-H04
    """
    calls = Calls()

    def ask(state: Log) -> Log:
        calls("ask")
        return {"log": [interrupt("who?")]}

    graph = chain(drive, ask, checkpointer=journal)
    question = asked(drive.invoke(graph, {"log": []}, on("t")))[0]
    stray = ("0" if question.id[0] != "0" else "1") + question.id[1:]
    before = steps(drive, graph, on("t"))
    with pytest.raises(UnknownQuestion, match=stray) as refused:
        drive.invoke(graph, Command(resume={stray: "x"}), on("t"))
    assert question.id in str(refused.value) + str(dict(refused.value.details)), "the nearest open question is named"
    assert calls.of("ask") == 1
    assert steps(drive, graph, on("t")) == before
    assert drive.invoke(graph, Command(resume={question.id: "ada"}), on("t")) == {"log": ["ada"]}


def test_strict_takes_no_answer_of_a_map_with_one_unknown_id(drive: Drive, journal: Journal) -> None:
    """All or nothing: the good half of a bad reply is not stored either.

    Rules: 117
    """
    graph = fan(drive, left_ask, right_ask, checkpointer=journal)
    found = ids(asked(drive.invoke(graph, {"log": []}, on("t"))))
    with pytest.raises(UnknownQuestion):
        drive.invoke(graph, Command(resume={found["left?"]: "1", "0" * 32: "2"}), on("t"))
    assert ids(drive.get_state(graph, on("t")).interrupts) == found
    answers = {found["left?"]: "3", found["right?"]: "4"}
    assert drive.invoke(graph, Command(resume=answers), on("t")) == {"log": ["left 3", "right 4"]}


def test_lenient_asks_again_when_no_id_is_known(drive: Drive, journal: Journal) -> None:
    """As LangGraph.

    Rules: 117
    """
    graph = chain(drive, left_ask, strict=False, checkpointer=journal)
    question = asked(drive.invoke(graph, {"log": []}, on("t")))[0]
    again = drive.invoke(graph, Command(resume={"0" * 32: "x"}), on("t"))
    assert [(one.id, one.value) for one in asked(again)] == [(question.id, "left?")]


def test_none_is_no_answer(drive: Drive, journal: Journal, strict: bool) -> None:
    """With an update beside it the update is made and the question stays open.

    Rules: 117, 62
    """
    graph = chain(drive, left_ask, strict=strict, checkpointer=journal)
    question = asked(drive.invoke(graph, {"log": []}, on("t")))[0]
    again = drive.invoke(graph, Command(resume=None, update={"word": "noted"}), on("t"))
    assert values(again) == {"log": [], "word": "noted"}
    assert [one.value for one in asked(again)] == [question.value]
    assert drive.invoke(graph, Command(resume="1"), on("t")) == {"log": ["left 1"], "word": "noted"}


def test_answer_update_and_goto_go_together(drive: Drive, journal: Journal, strict: bool) -> None:
    """One command may answer, edit and send on.

    Rules: 62, 63
    """

    def other(state: Log) -> Log:
        return {"log": ["other"]}

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("left", drive.node(left_ask)).add_node("other", drive.node(other)).add_edge(START, "left")
    graph = builder.compile(checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    command = Command(resume="1", update={"word": "edited"}, goto="other")
    assert drive.invoke(graph, command, on("t")) == {"log": ["left 1", "other"], "word": "edited"}


def test_a_plain_answer_is_used_once(drive: Drive, journal: Journal, strict: bool) -> None:
    """The next question, in the same task or the next node, waits for its own answer.

    Rules: 119
    """

    def twice(state: Log) -> Log:
        return {"log": [interrupt("one?"), interrupt("two?")]}

    def once(state: Log) -> Log:
        return {"log": [interrupt("three?")]}

    graph = chain(drive, twice, once, strict=strict, checkpointer=journal)
    told = [[q.value for q in asked(drive.invoke(graph, {"log": []}, on("t")))]]
    told += [[q.value for q in asked(drive.invoke(graph, Command(resume=x), on("t")))] for x in "12"]
    assert told == [["one?"], ["two?"], ["three?"]]
    assert drive.invoke(graph, Command(resume="3"), on("t")) == {"log": ["1", "2", "3"]}


def test_a_plain_answer_reaches_into_a_subgraph_and_no_further(drive: Drive, journal: Journal, strict: bool) -> None:
    """The question of the inner node takes it; the outer node's question stays open.

    Rules: 119, 129. Rows: S1-H08
    """

    def inner_ask(state: Log) -> Log:
        return {"word": interrupt("inner, first?") + interrupt("inner, second?")}

    def outer_ask(state: Log) -> Log:
        return {"log": [interrupt("outer?")]}

    inner = chain(drive, inner_ask, strict=strict)
    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("inner", inner).add_node("outer_ask", drive.node(outer_ask))
    builder.add_edge(START, "inner").add_edge("inner", "outer_ask")
    graph = builder.compile(checkpointer=journal)
    told = [[q.value for q in asked(drive.invoke(graph, {"log": []}, on("t")))]]
    told += [[q.value for q in asked(drive.invoke(graph, Command(resume=x), on("t")))] for x in "12"]
    assert told == [["inner, first?"], ["inner, second?"], ["outer?"]]
    assert drive.invoke(graph, Command(resume="3"), on("t"))["word"] == "12"


def test_without_a_journal_a_graph_can_ask_but_not_be_resumed(drive: Drive, strict: bool) -> None:
    """It pauses as ever; the answer has nowhere to go and says so.

    Rules: 120. Rows: S1-H02
    """
    graph = chain(drive, left_ask, strict=strict)
    result = drive.invoke(graph, {"log": ["in"]})
    assert values(result) == {"log": ["in"]}
    assert [question.value for question in asked(result)] == ["left?"]
    with pytest.raises(RuntimeError, match=r"Cannot use Command\(resume=\.\.\.\) without checkpointer"):
        drive.invoke(graph, Command(resume="x"))


def test_a_question_is_never_retried(drive: Drive, journal: Journal, strict: bool) -> None:
    """A retry policy that retries everything is not even asked.

    Rules: 121, 186. Rows: S0-104
    """
    calls = Calls()

    def ask(state: Log) -> Log:
        calls("ask")
        return left_ask(state)

    def everything(error: BaseException) -> bool:
        calls("judged")
        return True

    policy = RetryPolicy(max_attempts=5, initial_interval=0.001, jitter=False, retry_on=everything)
    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("ask", drive.node(ask), retry_policy=policy).add_edge(START, "ask")
    graph = builder.compile(checkpointer=journal)
    assert [q.value for q in asked(drive.invoke(graph, {"log": []}, on("t")))] == ["left?"]
    assert (calls.of("ask"), calls.of("judged")) == (1, 0)
    assert by_name(drive.get_state(graph, on("t")))["ask"].error is None
    assert drive.invoke(graph, Command(resume="1"), on("t")) == {"log": ["left 1"]}


def test_a_graph_over_a_bare_list_returns_only_its_questions(drive: Drive, journal: Journal, strict: bool) -> None:
    """Where the output is no dict there is no state to put the questions into.

    Rules: 122, 8
    """

    def ask(state: list[str]) -> list[str]:
        return [*state, interrupt("who?")]

    builder: Any = StateGraph(list[str], strict=strict)
    graph = builder.add_node("ask", drive.node(ask)).add_edge(START, "ask").compile(checkpointer=journal)
    result = drive.invoke(graph, ["in"], on("t"))
    assert set(result) == {"__interrupt__"}
    assert [question.value for question in result["__interrupt__"]] == ["who?"]
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == ["in", "ada"]


def test_the_state_of_a_paused_thread_can_be_read_and_edited(drive: Drive, journal: Journal, strict: bool) -> None:
    """After update_state the node asks again, seeing the edited state.

    Rules: 127. Rows: S0-102, S1-H05
    """

    def first(state: Log) -> Log:
        return {"word": "draft"}

    def ask(state: Log) -> Log:
        answer = interrupt(f"publish {state.get('word')}?")
        return {"log": [f"{state.get('word')}: {answer}"]}

    graph = chain(drive, first, ask, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    assert drive.get_state(graph, on("t")).values == {"log": [], "word": "draft"}
    drive.update_state(graph, on("t"), {"word": "final"}, as_node="first")
    again = drive.invoke(graph, None, on("t"))
    assert [question.value for question in asked(again)] == ["publish final?"]
    assert drive.invoke(graph, Command(resume="yes"), on("t")) == {"log": ["final: yes"], "word": "final"}


def test_end_clears_what_waits(drive: Drive, journal: Journal, strict: bool) -> None:
    """``update_state(config, None, as_node=END)`` gives up the question and the node.

    Rules: 128
    """
    graph = chain(drive, left_ask, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    drive.update_state(graph, on("t"), None, as_node=END)
    after = drive.get_state(graph, on("t"))
    assert (after.next, after.tasks, after.interrupts) == ((), (), ())
    assert drive.invoke(graph, None, on("t")) == {"log": ["in"]}


def test_a_question_inside_a_subgraph_is_told_once(drive: Drive, journal: Journal, strict: bool) -> None:
    """Not by the inner task and again by the node that holds the graph.

    Rules: 129
    """
    inner = chain(drive, left_ask, strict=strict)
    builder: Any = StateGraph(Log, strict=strict)
    graph = builder.add_node("inner", inner).add_edge(START, "inner").compile(checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"), stream_mode="updates")
    assert [[q.value for q in event["__interrupt__"]] for event in events if "__interrupt__" in event] == [["left?"]]
    assert [q.value for q in drive.get_state(graph, on("t")).interrupts] == ["left?"]
    again = drive.invoke(graph, None, on("t"))
    assert [q.value for q in asked(again)] == ["left?"]


def test_each_asking_task_has_an_event_and_the_result_holds_all(drive: Drive, journal: Journal, strict: bool) -> None:
    """Three tasks ask: three events of one question each, one list of three.

    Rules: 130
    """

    def middle(state: Log) -> Log:
        return {"log": [interrupt("middle?")]}

    graph = fan(drive, left_ask, middle, right_ask, strict=strict, checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"), stream_mode="updates")
    told = [[q.value for q in event["__interrupt__"]] for event in events if "__interrupt__" in event]
    assert sorted(told) == [["left?"], ["middle?"], ["right?"]]
    assert sorted(q.value for q in drive.get_state(graph, on("t")).interrupts) == ["left?", "middle?", "right?"]
    assert sorted(q.value for q in asked(drive.invoke(graph, None, on("t")))) == ["left?", "middle?", "right?"]


def test_a_resume_with_nothing_open_runs_nothing(drive: Drive, journal: Journal, strict: bool) -> None:
    """A plain answer on a finished thread gives back the state as it is.

    Rules: 131
    """
    calls = Calls()

    def work(state: Log) -> Log:
        calls("work")
        return {"log": ["work"]}

    graph = chain(drive, work, strict=strict, checkpointer=journal)
    done = drive.invoke(graph, {"log": []}, on("t"))
    head = checkpoint_id(drive.get_state(graph, on("t")))
    assert drive.invoke(graph, Command(resume="x"), on("t")) == done
    assert calls.of("work") == 1
    assert checkpoint_id(drive.get_state(graph, on("t"))) == head
    assert names(drive.stream(graph, Command(resume="x"), on("t"), stream_mode="updates")) == []


def test_an_approval_is_a_typed_yes_or_no_with_a_name(drive: Drive, journal: Journal) -> None:
    """``answer=Approved`` turns a yes into a record of who said so.

    Rows: S1-H06
    """

    def release(state: Log) -> Log:
        answer = interrupt("Release 1.2?", answer=Approved)
        assert isinstance(answer, Approved)
        return {"log": [f"{'yes' if answer else 'no'} by {answer.by}"]}

    graph = chain(drive, release, checkpointer=journal)
    for thread, granted, told in (("y", True, "yes by ada"), ("n", False, "no by ada")):
        paused = drive.run(graph, {"log": []}, on(thread))
        (question,) = paused.questions
        done = drive.resume(graph, thread, question.answer(granted), by=Principal("ada"))
        assert done.state == {"log": [told]}


def test_an_approval_takes_only_a_yes_or_no(drive: Drive, journal: Journal) -> None:
    """A text is not an approval, whatever it says; the question stays open.

    Rows: S1-H06
    """

    def release(state: Log) -> Log:
        answer: Any = interrupt("Release 1.2?", answer=Approved)
        return {"log": [str(bool(answer))]}

    graph = chain(drive, release, checkpointer=journal)
    paused = drive.run(graph, {"log": []}, on("t"))
    (question,) = paused.questions
    with pytest.raises(Failure):
        drive.invoke(graph, Command(resume={question.id: "sure, go ahead"}), on("t"))
    assert [q.id for q in drive.get_state(graph, on("t")).interrupts] == [question.id]
    assert drive.resume(graph, "t", question.answer(True), by=Principal("ada")).state == {"log": ["True"]}


def test_the_order_of_answers_does_not_change_the_result(drive: Drive, journal: Journal) -> None:
    """Answers given in any order still fold in the order of the tasks' names.

    Rules: 116, 35
    """
    graph = fan(drive, left_ask, right_ask, checkpointer=journal)
    found = ids(asked(drive.invoke(graph, {"log": ["in"]}, on("t"))))
    drive.invoke(graph, Command(resume={found["right?"]: "2"}), on("t"))
    assert drive.invoke(graph, Command(resume={found["left?"]: "1"}), on("t")) == {"log": ["in", "left 1", "right 2"]}
