"""What people decide where a run asks: unknown outcomes, approvals by role, forks with other arguments; each taken once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypedDict

import pytest

from lawful.core.errors import (
    AlreadyAnswered,
    EffectDenied,
    EffectRefused,
    OperationConflict,
    ValidationError,
)
from lawful.core.events import EffectMoved
from lawful.core.questions import Principal
from lawful.core.retry import RetryPolicy
from lawful.effects import DidNotHappen, GiveUp, Happened, Ledger, Natural, Opaque, effect, recover_sync
from lawful.effects import states as st
from lawful.effects.policy import Policy, RequireApproval
from lawful.graph import END, START, Done, Failed, Paused, StateGraph
from lawful.graph.effects_in import effects_of
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from support.effects import STRONG, Forge, Publish, PullRequest
from support.forks import ended, fork

pytestmark = pytest.mark.integration

OP = "publish:acme@abc"
ALICE = Principal("alice")


class State(TypedDict, total=False):
    repo: str
    title: str
    address: str


def graph(publish: Publish, journal: Journal, **node: Any) -> Any:
    def open_it(state: State) -> State:
        return {"address": publish.sync(PullRequest(state.get("repo", ""), title=state.get("title", "Bump")))}

    built = StateGraph(State).add_node("open", open_it, **node).add_edge(START, "open").add_edge("open", END)
    return built.compile(journal)


def lost(script: list[str] | None = None) -> tuple[Forge, Journal, Any]:
    """A run that waits at an unknown outcome."""
    forge, journal = Forge(script=script or ["lose"]), MemoryJournal()
    built = graph(Publish(forge, Opaque()), journal)
    return forge, journal, built


def asked(result: Any) -> Any:
    assert isinstance(result, Paused), result
    (question,) = result.questions
    return question


@pytest.mark.parametrize(
    ("ruling", "address", "calls"),
    [(Happened("https://forge/seen"), "https://forge/seen", 1), (DidNotHappen(), "https://forge/acme", 2)],
)
def test_a_persons_decision_settles_it_and_the_run_goes_on(ruling: Any, address: str, calls: int) -> None:
    """Rows: S2-019"""
    forge, journal, built = lost()
    question = asked(built.run_sync({"repo": "acme"}, thread="t"))
    assert question.details["next_step"] == "resolve"
    done = built.resume_sync("t", question.answer(ruling), by=ALICE)
    assert isinstance(done, Done)
    assert done.state["address"] == address  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportIndexIssue]
    assert forge.calls == calls
    [decided] = [e for e in Ledger(journal).events(OP) if type(e).__name__ == "OperatorDecided"]
    assert decided.by == "alice"  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


@pytest.mark.parametrize(
    ("ruling", "error", "state"),
    [(DidNotHappen(retry=False), EffectRefused, "Failed"), (GiveUp(), EffectDenied, "Abandoned")],
)
def test_a_decision_that_ends_it_is_an_error_of_the_node(ruling: Any, error: type, state: str) -> None:
    forge, journal, built = lost()
    question = asked(built.run_sync({"repo": "acme"}, thread="t"))
    failed = built.resume_sync("t", question.answer(ruling), by=ALICE)
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, error)
    assert st.name_of(Ledger(journal).state(OP)) == state
    assert forge.calls == 1


def test_a_decision_counts_for_one_attempt_and_is_taken_once() -> None:
    forge, _, built = lost(["lose", "lose"])
    first = asked(built.run_sync({"repo": "acme"}, thread="t"))
    second = asked(built.resume_sync("t", first.answer(DidNotHappen()), by=ALICE))
    assert second.id != first.id
    late = built.resume_sync("t", first.answer(Happened("x")), by=Principal("bob"))
    assert isinstance(late, Failed)
    assert isinstance(late.error, AlreadyAnswered)
    assert "alice answered" in late.error.message
    assert "did_not_happen" in late.error.message
    assert isinstance(built.resume_sync("t", second.answer({"is": "happened", "value": "y"}), by=ALICE), Done)
    assert forge.calls == 2


def test_looking_again_may_be_asked_for_as_often_as_one_likes() -> None:
    forge = Forge(script=["lose"], sight=["none", "none", "none"])
    built = graph(Publish(forge, STRONG), MemoryJournal())
    paused = built.run_sync({"repo": "acme"}, thread="t")
    for _ in range(2):
        paused = built.resume_sync("t", asked(paused).answer("reconcile"))
    assert isinstance(built.resume_sync("t", asked(paused).answer(True)), Done)
    assert (forge.calls, forge.looks) == (1, 4)


def test_a_found_receipt_beats_what_a_person_believed() -> None:
    forge = Forge(script=["lose"], sight=["none"])
    publish = Publish(forge, STRONG)
    journal = MemoryJournal()
    built = graph(publish, journal)
    question = asked(built.run_sync({"repo": "acme"}, thread="t"))
    recover_sync(journal, [publish])  # meanwhile it was looked up
    done = built.resume_sync("t", question.answer(DidNotHappen()), by=ALICE)
    assert isinstance(done, Done)
    assert (forge.calls, forge.applied) == (1, ["acme"])


@pytest.mark.parametrize("given", ["did not happen", 7, {"is": "odd"}, {}])
def test_an_answer_of_another_form_is_refused_and_nothing_is_decided(given: Any) -> None:
    _, _, built = lost()
    question = asked(built.run_sync({"repo": "acme"}, thread="t"))
    failed = built.resume_sync("t", question.answer(given))
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, ValidationError)
    assert "DidNotHappen" in failed.error.message
    assert [q.id for q in built.questions("t")] == [question.id]


def test_no_retry_policy_touches_an_unknown_outcome() -> None:
    """Ledger: L4; Rows: S2-019"""
    forge, journal = Forge(script=["lose"] * 5), MemoryJournal()
    tries: list[int] = []

    def open_it(state: State) -> State:
        tries.append(1)
        return {"address": Publish(forge, Opaque()).sync(PullRequest("acme"))}

    eager = RetryPolicy(initial_interval=0.0, max_attempts=5, retry_on=Exception)
    built = StateGraph(State).add_node("open", open_it, retry_policy=eager).add_edge(START, "open").compile(journal)
    assert isinstance(built.run_sync({}, thread="t"), Paused)
    assert (len(tries), forge.calls) == (1, 1)


# Approvals


def test_an_approval_in_a_role_is_given_by_a_principal_who_has_it() -> None:
    forge, journal = Forge(), MemoryJournal()
    built = graph(Publish(forge, policy=Policy("p", (RequireApproval("release"),))), journal)
    question = asked(built.run_sync({"repo": "acme"}, thread="t"))
    for who in ("release", Principal("eve", ("sales",)), None):
        refused = built.resume_sync("t", question.answer(True), by=who)
        assert isinstance(refused, Failed)
        assert isinstance(refused.error, EffectDenied)
        assert "role 'release'" in refused.error.message
    assert forge.calls == 0
    assert [q.id for q in built.questions(role="release")] == [question.id]
    assert built.questions(role="sales") == ()
    assert isinstance(built.resume_sync("t", question.answer(True), by=Principal("ann", ("release",))), Done)
    given: Any = [e for e in Ledger(journal).events(OP) if type(e).__name__ == "ApprovalGranted"]
    assert [e.approval.approver for e in given] == [Principal("ann", ("release",))]


def test_whoever_asked_for_the_run_cannot_be_its_second_pair_of_eyes() -> None:
    rules = Policy("p", (RequireApproval(count=2, exclude_requester=True),))
    forge = Forge()
    built = graph(Publish(forge, policy=rules), MemoryJournal())
    config = {"configurable": {"thread_id": "t", "requester": Principal("ann")}}
    paused = built.run_sync({"repo": "acme"}, config)
    for who in ("ann", "bob", "bob"):
        paused = built.resume_sync("t", asked(paused).answer(True), by=who)
    assert isinstance(built.resume_sync("t", asked(paused).answer(True), by="cat"), Done)
    assert forge.calls == 1


def test_of_two_processes_that_approve_one_is_told_whose_answer_won(tmp_path: Path) -> None:
    path, sink = tmp_path / "j.db", tmp_path / "sink"

    def built() -> Any:
        @effect("repo", capability=Opaque(), policy=Policy("p", (RequireApproval(),)))
        def publish(repo: str) -> str:
            with sink.open("a") as file:
                file.write("effect\n")
            return repo

        def open_it(state: State) -> State:
            return {"address": publish("acme")}

        journal = SQLiteJournal(path)
        return StateGraph(State).add_node("open", open_it).add_edge(START, "open").compile(journal)

    question = asked(built().run_sync({}, thread="t"))

    def click(who: str) -> None:
        result = built().resume_sync("t", question.answer(True), by=who)
        if isinstance(result, Failed):
            assert isinstance(result.error, AlreadyAnswered), result.error
            assert "answered Approved" in result.error.message or "answered True" in result.error.message
            os._exit(7)
        assert isinstance(result, Done)

    children = [fork(lambda who=who: click(who)) for who in ("ann", "bob")]
    assert sorted(ended(child) for child in children) == [0, 7]
    assert sink.read_text() == "effect\n"


def test_the_inbox_holds_the_questions_of_all_threads() -> None:
    journal = MemoryJournal()
    built = graph(Publish(Forge(), policy=Policy("p", (RequireApproval(),))), journal)
    for name in ("a", "b", "c"):
        built.run_sync({"repo": f"acme-{name}"}, thread=name)
    assert [q.value["args"]["repo"] for q in built.questions()] == ["acme-a", "acme-b", "acme-c"]
    built.resume_sync("b", built.questions("b")[0].answer(True))
    assert len(built.questions()) == 2


# Time travel


def finished(publish: Publish, journal: Journal, title: str = "Bump") -> Any:
    built = graph(publish, journal)
    assert isinstance(built.run_sync({"repo": "acme", "title": title}, thread="t"), Done)
    return built


def before(built: Any) -> Any:
    """The config of the checkpoint before the node."""
    return next(s.config for s in built.get_state_history("t") if s.next == ("open",))


def test_going_back_gives_the_recorded_result_and_sends_nothing() -> None:
    """Ledger: L10"""
    forge = Forge()
    built = finished(Publish(forge), MemoryJournal())
    assert built.invoke(None, before(built))["address"] == "https://forge/acme"
    assert (forge.calls, forge.looks) == (1, 0)


@pytest.mark.parametrize(("answer", "calls"), [("new", 2), ("recorded", 1), ("forbid", 1)])
def test_a_fork_with_other_arguments_asks(answer: str, calls: int) -> None:
    """Ledger: L10"""
    forge, journal = Forge(), MemoryJournal()
    built = finished(Publish(forge), journal)
    config = built.update_state(before(built), {"title": "Other"}, as_node=START)
    question = asked(built.run_sync(None, config))
    assert question.kind == "effect_fork"
    assert (question.value["recorded"]["title"], question.value["now"]["title"]) == ("Bump", "Other")
    assert forge.calls == 1
    result = built.resume_sync("t", question.answer(answer))
    assert forge.calls == calls
    if answer == "forbid":
        assert isinstance(result, Failed)
        assert isinstance(result.error, OperationConflict)
    else:
        assert isinstance(result, Done)
    if answer == "new":
        [made] = [row.op_id for row in journal.read(lambda tx: list(tx.operations())) if row.op_id != OP]
        state = Ledger(journal).state(made)
        assert isinstance(state, st.Succeeded)
        assert state.facts.intent.forked_from == OP


@pytest.mark.parametrize(("mode", "calls"), [("new", 2), ("forbid", 1)])
def test_an_effect_may_say_beforehand_what_a_fork_does(mode: str, calls: int) -> None:
    forge = Forge()
    built = finished(Publish(forge, on_fork=mode), MemoryJournal())
    result = built.run_sync(None, built.update_state(before(built), {"title": "Other"}, as_node=START))
    assert isinstance(result, Done if mode == "new" else Failed)
    assert forge.calls == calls


def test_listeners_hear_of_an_operation_that_a_fork_made_anew() -> None:
    """The fork's own operation, and nothing of the one that it was forked from. Rows: S0-050"""
    built = finished(Publish(Forge(), on_fork="new"), MemoryJournal())
    heard: list[Any] = []
    built.run_sync(None, built.update_state(before(built), {"title": "Other"}, as_node=START), on_event=heard.append)
    moves = [(event.op_id, event.state) for event in heard if isinstance(event, EffectMoved)]
    assert [state for _, state in moves] == ["Planned", "Permitted", "InFlight", "Succeeded"]
    assert {op_id.partition("~")[0] for op_id, _ in moves} == {OP}
    assert len({op_id for op_id, _ in moves} - {OP}) == 1


def test_two_things_under_one_key_are_a_conflict_and_no_question() -> None:
    forge, journal = Forge(), MemoryJournal()
    publish = Publish(forge)

    def twice(state: State) -> State:
        publish.sync(PullRequest("acme"))
        return {}

    def other(state: State) -> State:
        publish.sync(PullRequest("acme", title="Other"))
        return {}

    built = StateGraph(State).add_node(twice).add_node(other).add_edge(START, "twice").add_edge("twice", "other")
    failed = built.compile(journal).run_sync({}, thread="t")
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, OperationConflict)
    assert forge.calls == 1


# Recovery at the start of a run


def test_a_run_first_settles_what_its_thread_left_open() -> None:
    """Rows: S2-029"""
    forge, journal = Forge(script=["lose"], sight=["none"]), MemoryJournal()
    publish = Publish(forge, STRONG)

    def open_it(state: State) -> State:
        return {"address": publish.sync(PullRequest("acme"))} if state.get("repo") == "acme" else {}

    built = StateGraph(State).add_node("open", open_it).add_edge(START, "open").compile(journal)
    assert [each.tool for each in effects_of(built.program)] == ["publish"]
    assert isinstance(built.run_sync({"repo": "acme"}, thread="t"), Paused)
    # New input ends the unfinished step: the node will not run that effect again, and still its outcome is found out.
    assert isinstance(built.run_sync({"repo": "other"}, thread="t"), Done)
    assert st.name_of(Ledger(journal).state(OP)) == "Succeeded"
    assert (forge.calls, forge.looks) == (1, 2)


def test_a_graph_without_effects_reads_and_writes_nothing_for_them() -> None:
    journal = MemoryJournal()

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the ledger was read")

    journal.read = journal.transact = refuse

    def node(state: State) -> State:
        return {"address": "x"}

    built = StateGraph(State).add_node(node).add_edge(START, "node").compile(journal)
    assert built.invoke({}, thread="t") == {"address": "x"}


def test_effects_are_found_where_nodes_name_them() -> None:
    @effect("name", capability=Natural())
    def drop(name: str) -> str:
        return name

    class Steps:
        def __init__(self) -> None:
            self.publish = Publish(Forge())

        def held(self, state: State) -> State:
            return {"address": str(self.publish)}

    def closed(state: State) -> State:
        return {"address": str(drop)}

    inner = StateGraph(State).add_node("closed", closed).add_edge(START, "closed").compile()
    outer = StateGraph(State).add_node("inner", inner).add_node("held", Steps().held).add_edge(START, "inner")
    found = effects_of(outer.add_edge("inner", "held").compile().program)
    assert sorted(each.tool for each in found) == ["drop", "publish"]
