"""Who may do what with a thread is asked before each call, of a journal and of a graph, and a no changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import pytest

from lawful import START, MemoryJournal, Principal, StateGraph, interrupt
from lawful.core.clock import Clock
from lawful.core.errors import AccessDenied, ConfigurationError
from lawful.effects import Natural, effect
from lawful.journal.guard import Access, GuardedJournal
from lawful.journal.port import Journal
from lawful.journal.records import Lease
from lawful.testing.conformance import JournalConformance
from lawful.testing.conformance_kit import answer, events, grow, operation, send
from support.graphs import Drive, on
from support.places import Place

pytestmark = [pytest.mark.integration]

ANN, BOB = Principal("ann"), Principal("bob", ("auditor",))


class State(TypedDict, total=False):
    said: str
    n: int


class Rules:
    """Threads belong to whom they are named after; an auditor reads all of them; more can be given and taken."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Access]] = []
        self.given: set[tuple[str, str, Access]] = set()
        self.taken: set[Access] = set()

    def __call__(self, principal: Principal, thread: str, access: Access) -> bool:
        self.asked.append((principal.id, thread, access))
        if access in self.taken:
            return False
        own = thread.partition("-")[0] == principal.id
        return (
            own or (access == "read" and "auditor" in principal.roles) or (principal.id, thread, access) in self.given
        )


class Scoping(GuardedJournal):
    """For the suite, which goes from tenant to tenant."""

    def scoped(self, scope: str) -> Any:
        return Scoping(self.inner.scoped(scope), self.authorize, self.principal)


class TestGuarded(JournalConformance):
    """Behind a hook that allows all it is the journal that it guards. Rows: S1-082."""

    def make_journal(self, clock: Clock) -> Journal:
        return Scoping(MemoryJournal(clock=clock), lambda principal, thread, access: True, ANN)


@pytest.fixture
def rules() -> Rules:
    return Rules()


@pytest.fixture
def guarded(place: Place, rules: Rules) -> GuardedJournal:
    return GuardedJournal(place.journal(), rules)


def asking(journal: Any, drive: Drive) -> Any:
    def ask(state: State) -> State:
        return {"said": interrupt("which?")}

    return StateGraph(State).add_node("ask", drive.node(ask)).add_edge(START, "ask").compile(checkpointer=journal)


CALLS: dict[str, tuple[Access, Callable[[Any, Drive, str], Any]]] = {
    "invoke": ("write", lambda graph, drive, thread: drive.invoke(graph, {"n": 2}, on(thread))),
    "stream": ("write", lambda graph, drive, thread: drive.stream(graph, {"n": 2}, on(thread))),
    "update_state": ("write", lambda graph, drive, thread: drive.update_state(graph, on(thread), {"n": 3})),
    "get_state": ("read", lambda graph, drive, thread: drive.get_state(graph, on(thread))),
    "get_state_history": ("read", lambda graph, drive, thread: drive.get_state_history(graph, on(thread))),
    "questions": ("read", lambda graph, drive, thread: graph.questions(thread)),
    "delete": ("delete", lambda graph, drive, thread: graph.checkpointer.delete_thread(thread)),
    "prune": ("delete", lambda graph, drive, thread: graph.checkpointer.prune(thread)),
    "fork": ("fork", lambda graph, drive, thread: graph.checkpointer.copy_thread(thread, thread + "-copy")),
    "cancel": ("write", lambda graph, drive, thread: graph.checkpointer.cancel(thread)),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_call_is_asked_for_and_a_no_changes_nothing(
    guarded: GuardedJournal, rules: Rules, drive: Drive, name: str
) -> None:
    """Rows: S1-082."""
    access, call = CALLS[name]
    graph = asking(guarded, drive)
    ann, bob = graph.acting(ANN), graph.acting(Principal("bob"))
    drive.invoke(ann, {"n": 1}, on("ann-1"))
    before = list(guarded.inner.history("ann-1"))
    with pytest.raises(AccessDenied, match="'bob' may not") as caught:
        call(bob, drive, "ann-1")
    assert caught.value.details["thread"] == "ann-1"
    assert list(guarded.inner.history("ann-1")) == before
    assert not isinstance(guarded.inner.acquire("ann-1", "p/1", 0.0), AccessDenied)
    rules.asked.clear()
    call(ann, drive, "ann-1")
    assert ("ann", "ann-1", access) in rules.asked


def test_without_a_principal_everything_is_refused(guarded: GuardedJournal, drive: Drive) -> None:
    """Rows: S1-082."""
    graph = asking(guarded, drive)
    for _, call in CALLS.values():
        with pytest.raises(AccessDenied, match="acting"):
            call(graph, drive, "ann-1")
    for work in (lambda: guarded.threads(), lambda: guarded.read(lambda tx: 1), lambda: guarded.transact(lambda tx: 1)):
        with pytest.raises(AccessDenied, match="acting"):
            work()


def test_an_answer_is_a_right_of_its_own(guarded: GuardedJournal, rules: Rules, drive: Drive) -> None:
    """Who may run may not therefore answer; the question stays open. Rows: S1-082."""
    graph = asking(guarded, drive)
    paused = drive.run(graph.acting(ANN), {"n": 1}, on("ann-1"))
    reply = paused.questions[0].answer("this")
    rules.given.add(("carl", "ann-1", "write"))
    rules.given.add(("carl", "ann-1", "read"))
    carl = graph.acting(Principal("carl"))
    refused = drive.resume(carl, "ann-1", reply)
    assert isinstance(refused.error, AccessDenied)
    assert refused.error.details["access"] == "answer"
    assert len(graph.acting(ANN).questions("ann-1")) == 1
    rules.given.add(("carl", "ann-1", "answer"))
    assert drive.resume(carl, "ann-1", reply).state["said"] == "this"


def test_a_right_that_is_taken_away_ends_the_run(guarded: GuardedJournal, rules: Rules, drive: Drive) -> None:
    """Each commit is asked for: what was committed stays."""

    def first(state: State) -> State:
        return {"n": 1}

    def second(state: State) -> State:
        rules.taken.add("write")
        return {"n": 2}

    builder: Any = StateGraph(State).add_node("first", drive.node(first)).add_node("second", drive.node(second))
    graph = builder.add_edge(START, "first").add_edge("first", "second").compile(checkpointer=guarded).acting(ANN)
    with pytest.raises(AccessDenied):
        drive.invoke(graph, {"n": 0}, on("ann-1"))
    rules.taken.clear()
    assert drive.get_state(graph, on("ann-1")).values["n"] == 1


def test_listings_leave_out_what_may_not_be_read(guarded: GuardedJournal, rules: Rules) -> None:
    """Page after page. Rows: S1-082."""
    for n in range(4):
        for who in ("ann", "carl", "dora"):
            grow(guarded.inner, f"{who}-{n}", 1)
    carl = guarded.acting(Principal("carl"))
    assert [info.thread for info in carl.threads()] == [f"carl-{n}" for n in range(4)]
    assert [info.thread for info in carl.threads(limit=2, after="carl-0")] == ["carl-1", "carl-2"]
    assert len(guarded.acting(BOB).threads(limit=11)) == 11
    assert carl.prune() == 0
    assert {thread for _, thread, access in rules.asked if access == "delete"} == {f"carl-{n}" for n in range(4)}


def test_a_guarded_handle_stays_in_its_tenant(guarded: GuardedJournal) -> None:
    """Rows: S1-082."""
    mine = guarded.acting(ANN)
    assert mine.scoped("local") is mine
    with pytest.raises(AccessDenied, match="acme"):
        mine.scoped("acme")


def test_effects_are_guarded_by_their_thread(guarded: GuardedJournal, rules: Rules) -> None:
    """Sums that policies read within a transaction stay whole. Rows: S1-082."""
    for who in ("ann", "carl"):
        act = guarded.acting(Principal(who))
        act.transact(lambda tx, who=who: tx.append(operation(f"op-{who}", thread=f"{who}-1"), events(f"op-{who}")))
    carl = guarded.acting(Principal("carl"))
    assert [op.op_id for op in carl.read(lambda tx: list(tx.operations()))] == ["op-carl"]
    assert carl.read(lambda tx: (tx.operation("op-ann"), list(tx.events("op-ann")))) == (None, [])
    assert carl.transact(lambda tx: len(list(tx.operations()))) == 2
    with pytest.raises(AccessDenied):
        carl.transact(lambda tx: tx.append(operation("op-ann", 2, thread="ann-1"), events("op-ann", 2)))
    assert len(guarded.inner.read(lambda tx: tx.events("op-ann"))) == 1


def test_an_effect_of_a_run_goes_through(guarded: GuardedJournal, drive: Drive) -> None:
    @effect("line", capability=Natural(), tool="write_line")
    def write_line(line: str) -> str:
        return f"wrote {line}"

    def act(state: State) -> State:
        return {"said": write_line("x")}

    builder: Any = StateGraph(State).add_node("act", act).add_edge(START, "act")
    graph = builder.compile(checkpointer=guarded).acting(ANN)
    assert drive.invoke(graph, {"n": 1}, on("ann-1"))["said"] == "wrote x"


def test_a_lease_can_be_kept_and_given_up_without_being_asked(guarded: GuardedJournal, rules: Rules) -> None:
    mine = guarded.acting(ANN)
    lease = mine.acquire("ann-1", "p/1", 30)
    assert isinstance(lease, Lease)
    rules.taken |= {"read", "write"}
    mine.release(mine.renew(lease, 30))
    with pytest.raises(AccessDenied):
        send(mine, "bob-1", answer("c", "q"))


def test_the_hooks_own_error_reaches_the_caller(place: Place, drive: Drive) -> None:
    def broken(principal: Principal, thread: str, access: Access) -> bool:
        raise LookupError("the directory is down")

    graph = asking(GuardedJournal(place.journal(), broken), drive).acting(ANN)
    with pytest.raises(LookupError, match="directory"):
        drive.invoke(graph, {"n": 1}, on("ann-1"))
    assert list(place.journal().threads()) == []


def test_a_graph_without_a_guard_cannot_act_for_anybody(place: Place, drive: Drive) -> None:
    with pytest.raises(ConfigurationError, match="GuardedJournal"):
        asking(place.journal(), drive).acting(ANN)
