"""Effects that read their target's revision: the claim refuses any but the one that was tested and approved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import pytest

from lawful.core.errors import ConfigurationError, EffectStale
from lawful.core.questions import Principal
from lawful.core.result import Err
from lawful.effects import (
    HERE,
    AwaitingApproval,
    Denied,
    Effect,
    EffectContext,
    Ledger,
    Natural,
    NotFound,
    RevisionMoved,
    Seen,
    Succeeded,
    effect,
)
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.evidence import Approval
from lawful.effects.moves import Claimant, Moved, Present, Taken, Unread, claim
from lawful.effects.policy import OPEN, Decision, Policy, RequireApproval
from lawful.effects.transitions import step
from lawful.graph import START, StateGraph
from lawful.journal.memory import MemoryJournal
from support.effects import LOST, OP, PERMITTED, claimed, past

pytestmark = pytest.mark.unit

WHO = Claimant("me", 30.0)


class Page:
    """A page that is published at the revision it stands at; whoever publishes can be told to fail."""

    def __init__(self, revision: str | None = "r1") -> None:
        self.revision = revision
        self.reads = 0
        self.published: list[str | None] = []
        self.lost = 0

    def read(self) -> str | None:
        self.reads += 1
        return self.revision

    def publish(self, ctx: EffectContext) -> str:
        ctx.before_send()
        self.published.append(ctx.revision)
        if self.lost:
            self.lost -= 1
            raise ConnectionError("no reply")
        return "live"


def whole(page: Page, rules: Policy | None = None) -> Any:
    class Publish(Effect[str, str]):
        capability = Natural()
        policy = rules

        def key(self, command: str) -> str:
            return command

        def revision(self, command: str) -> str:
            return "r1"

        async def current_revision(self, command: str, ctx: EffectContext) -> str | None:
            return page.read()

        async def perform(self, command: str, ctx: EffectContext) -> str:
            return page.publish(ctx)

        async def lookup(self, command: str, ctx: EffectContext) -> Seen[str]:
            return NotFound()

    publish = Publish()
    return lambda: publish.plan("home")


def short(page: Page, rules: Policy | None = None) -> Any:
    @effect("name", revision="at", capability=Natural(), policy=rules)
    def publish(name: str, at: str, ctx: EffectContext = HERE) -> str:
        return page.publish(ctx)

    @publish.current_revision
    def _(name: str) -> str | None:
        return page.read()

    return lambda: publish.plan("home", "r1")


def short_async(page: Page, rules: Policy | None = None) -> Any:
    @effect("name", revision="at", capability=Natural(), policy=rules)
    async def publish(name: str, at: str, ctx: EffectContext = HERE) -> str:
        return page.publish(ctx)

    @publish.current_revision
    async def _(name: str) -> str | None:
        return page.read()

    return lambda: publish.plan("home", "r1")


def mixed(page: Page, rules: Policy | None = None) -> Any:
    """A plain function whose target is read by a coroutine."""

    @effect("name", revision="at", capability=Natural(), policy=rules)
    def publish(name: str, at: str, ctx: EffectContext = HERE) -> str:
        return page.publish(ctx)

    @publish.current_revision
    async def _(name: str) -> str | None:
        return page.read()

    return lambda: publish.plan("home", "r1")


FORMS = [whole, short, short_async, mixed]
Form = Callable[..., Any]


@pytest.mark.parametrize("form", FORMS)
def test_what_stands_at_its_revision_is_claimed_and_the_claim_says_what_was_seen(form: Form) -> None:
    page, ledger = Page(), Ledger(MemoryJournal())
    intent = form(page)()
    assert ledger.execute_sync(intent) == Succeeded("live", intent.op_id)
    assert (page.reads, page.published) == (1, ["r1"])
    [claim] = [event for event in ledger.events(intent.op_id) if isinstance(event, ev.Claimed)]
    assert claim.seen == "r1"
    assert isinstance(ledger.execute_sync(intent), Succeeded)
    assert page.reads == 1, "nothing is read where nothing is to be claimed"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("present", ["r2", None])
async def test_what_has_moved_on_is_not_sent(form: Form, present: str | None) -> None:
    """Rows: S2-045"""
    page, ledger = Page(present), Ledger(MemoryJournal())
    intent = form(page)()
    assert await ledger.execute(intent) == RevisionMoved(intent.op_id, "r1", present)
    assert page.published == []
    assert isinstance(ledger.state(intent.op_id), st.Planned)
    kinds = [type(event) for event in ledger.events(intent.op_id)]
    assert kinds == [ev.Planned, ev.Authorized, ev.AuthorityLost]
    await ledger.execute(intent)
    assert len(ledger.events(intent.op_id)) == 3, "the same finding is noted once"
    page.revision = "r1"
    assert isinstance(await ledger.execute(intent), Succeeded)


def test_what_was_approved_at_another_revision_waits_for_its_own() -> None:
    """The approval stands, the target does not: nothing is read before the policy says yes."""
    page = Page("r2")
    form = whole(page, Policy("p", (RequireApproval(),)))
    ledger, intent = Ledger(MemoryJournal()), form()
    assert isinstance(ledger.execute_sync(intent), AwaitingApproval)
    assert page.reads == 0
    state = ledger.state(intent.op_id)
    assert isinstance(state, st.Planned)
    ledger.approve(intent.op_id, Approval.of(state.facts.intent, Principal("ann"), at=0.0))
    assert isinstance(ledger.execute_sync(intent), RevisionMoved)
    page.revision = "r1"
    assert isinstance(ledger.execute_sync(intent), Succeeded)


@pytest.mark.parametrize("form", FORMS)
def test_a_revision_that_cannot_be_read_keeps_it_from_being_sent(form: Form) -> None:
    class Down(Page):
        def read(self) -> str | None:
            raise ConnectionError("no route")

    page, ledger = Down(), Ledger(MemoryJournal())
    outcome = ledger.execute_sync(form(page)())
    assert isinstance(outcome, Denied)
    assert not outcome.lasting
    assert "no route" in outcome.reason
    assert page.published == []


def test_what_is_no_revision_is_none() -> None:
    class Odd(Page):
        def read(self) -> Any:
            return True

    outcome = Ledger(MemoryJournal()).execute_sync(short(Odd())())
    assert isinstance(outcome, Denied)
    assert "must give a text" in outcome.reason


def test_nothing_is_read_for_whoever_may_not_send() -> None:
    page, ledger = Page(), Ledger(MemoryJournal())
    intent = whole(page)()
    assert isinstance(ledger.worker().execute_sync(intent), Denied)
    ledger.freeze("*", by=Principal("ann"), reason="incident")
    assert isinstance(ledger.execute_sync(intent), Denied)
    assert page.reads == 0


def test_a_second_attempt_is_refused_too_where_the_target_has_moved_meanwhile() -> None:
    ledger = Ledger(MemoryJournal())

    class Moves(Page):
        def read(self) -> str | None:
            self.revision = "r1" if self.reads == 0 else "r2"
            return super().read()

    page = Moves()
    page.lost = 1
    intent = whole(page)()
    assert isinstance(ledger.execute_sync(intent), RevisionMoved)
    assert page.published == ["r1"]
    state = ledger.state(intent.op_id)
    assert isinstance(state, st.Unknown)
    assert "r2" in state.cause


def test_in_a_node_it_is_an_error_that_names_both_revisions() -> None:
    class State(TypedDict, total=False):
        out: str

    page = Page("r2")

    class Publish(Effect[str, str]):
        capability = Natural()

        def key(self, command: str) -> str:
            return command

        def revision(self, command: str) -> str:
            return "r1"

        async def current_revision(self, command: str, ctx: EffectContext) -> str | None:
            return page.read()

        async def perform(self, command: str, ctx: EffectContext) -> str:
            return page.publish(ctx)

        async def lookup(self, command: str, ctx: EffectContext) -> Seen[str]:
            return NotFound()

    publish = Publish()

    def node(state: State) -> State:
        return {"out": publish.sync("home")}

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile(MemoryJournal())
    with pytest.raises(EffectStale) as told:
        graph.invoke({}, thread="t")
    assert (told.value.details["approved"], told.value.details["present"]) == ("r1", "r2")
    assert not told.value.retryable


def test_whoever_reads_a_revision_must_say_which_one_is_meant() -> None:
    @effect("name", capability=Natural())
    def publish(name: str) -> str:
        return name

    def read(name: str) -> str:
        return name

    with pytest.raises(ConfigurationError, match="declares no revision"):
        publish.current_revision(read)

    @effect("name", revision="name", capability=Natural())
    def other(name: str) -> str:
        return name

    def wrong(nane: str) -> str:
        return nane

    with pytest.raises(ConfigurationError, match=r"takes 'nane', which the effect does not.*'name'"):
        other.current_revision(wrong)

    class Publish(Effect[str, str]):
        capability = Natural()

        def key(self, command: str) -> str:
            return command

        async def current_revision(self, command: str, ctx: EffectContext) -> str | None:
            return None

        async def perform(self, command: str, ctx: EffectContext) -> str:
            return ""

        async def lookup(self, command: str, ctx: EffectContext) -> Seen[str]:
            return NotFound()

    with pytest.raises(ConfigurationError, match="declares no revision"):
        Publish()


# The pure rules


def test_the_rule_of_the_claim() -> None:
    """``past()`` is planned for revision "abc"."""
    planned, allowed = past(), Decision.allow()

    def moved(state: st.State, present: Present | None) -> Any:
        events, move = claim(state, OPEN, allowed, WHO, 20.0, None, present)
        return [type(event) for event in events], move

    assert moved(planned, None) == ([ev.Authorized, ev.Claimed], Taken(1))
    assert moved(planned, Present(read=False)) == ([], Unread())
    assert moved(planned, Present("abc")) == ([ev.Authorized, ev.Claimed], Taken(1))
    assert moved(planned, Present("xyz")) == ([ev.Authorized, ev.AuthorityLost], Moved("xyz"))
    assert moved(past(PERMITTED), Present("xyz")) == ([ev.AuthorityLost], Moved("xyz"))
    granted = past(PERMITTED, claimed(), LOST, ev.RetryGranted(OP, 13.0, "same_key", 100.0))
    assert moved(granted, Present("xyz")) == ([ev.AuthorityLost], Moved("xyz"))
    refused = past(PERMITTED, claimed(), ev.Refused(OP, 11.0, 1, "busy", "try later", True))
    assert moved(refused, Present("xyz")) == ([], Moved("xyz"))
    assert moved(refused, Present("abc")) == ([ev.Claimed], Taken(2))


def test_a_claim_of_another_revision_cannot_be_written_at_all() -> None:
    seen = ev.Claimed(OP, 10.0, fence=1, owner="w", lease_until=40.0, send_deadline=20.0, seen="xyz")
    got = step(past(PERMITTED), seen)
    assert isinstance(got, Err)
    assert "xyz" in got.error.message


def test_what_was_lost_is_forgotten_once_it_is_claimed() -> None:
    state = past(PERMITTED, ev.AuthorityLost(OP, 2.0, "moved"))
    assert isinstance(state, st.Planned)
    assert state.facts.lost == "moved"
    again = step(step(state, ev.Authorized(OP, 3.0, "b")).unwrap(), claimed()).unwrap()
    assert isinstance(again, st.InFlight)
    assert again.facts.lost == ""
