"""Capabilities as the ledger drives them: fences, compensations, conflicting keys, what authors assume, secrets."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import (
    ConfigurationError,
    EffectConflicted,
    EffectRefused,
    InvalidTransition,
    NetworkError,
    ToolError,
)
from lawful.effects import (
    Conflicted,
    EffectContext,
    Found,
    Keyed,
    Ledger,
    Lookup,
    Natural,
    NotFound,
    Opaque,
    ResultLost,
    Seen,
    Succeeded,
    Unavailable,
    Unknown,
    effect,
    recover_sync,
)
from lawful.effects import states as st
from lawful.effects.capability import Compensatable, Fence, Pure, Repeatable
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.journal.wrapper import JournalWrapper
from lawful.stores.sqlite import SQLiteJournal
from support.effects import Forge, Publish, PullRequest

pytestmark = pytest.mark.unit

ACME = PullRequest("acme")
OP = "publish:acme@abc"


class Fenced(Publish):
    """A provider that can be told to take no request of earlier attempts any more."""

    capability = Fence() & Lookup("eventual")

    def __init__(self, forge: Forge, **fields: Any) -> None:
        super().__init__(forge, **fields)
        self.barred: list[int] = []

    async def fence(self, command: PullRequest, ctx: EffectContext) -> Seen[str]:
        self.barred.append(ctx.fence)
        seen = self.forge.find(command.repo)
        return seen if isinstance(seen, Found) else NotFound(fenced=True)


def test_a_fence_makes_absence_final_at_once() -> None:
    publish = Fenced(Forge(script=["drop", "ok"]))
    ledger = Ledger(MemoryJournal())
    assert ledger.execute_sync(publish.plan(ACME)) == Succeeded("https://forge/acme", OP)
    assert publish.barred == [1]
    assert publish.forge.applied == ["acme"]


def test_a_fence_that_finds_the_effect_confirms_it() -> None:
    publish = Fenced(Forge(script=["lose"], sight=["none", "true"]))
    outcome = Ledger(MemoryJournal()).execute_sync(publish.plan(ACME))
    assert outcome == Succeeded("https://forge/acme", OP, recorded=True)
    assert (publish.barred, publish.forge.calls) == ([1], 1)


def test_what_a_look_up_settles_is_not_fenced_off() -> None:
    publish = Fenced(Forge(script=["lose"]))
    assert isinstance(Ledger(MemoryJournal()).execute_sync(publish.plan(ACME)), Succeeded)
    assert publish.barred == []


def test_a_fence_that_fails_permits_nothing() -> None:
    class Broken(Fenced):
        async def fence(self, command: PullRequest, ctx: EffectContext) -> Seen[str]:
            raise ConnectionError("no answer")

    publish = Broken(Forge(script=["drop"]))
    assert isinstance(Ledger(MemoryJournal()).execute_sync(publish.plan(ACME)), Unknown)
    assert publish.forge.calls == 1


def test_a_promised_fence_must_exist() -> None:
    with pytest.raises(ConfigurationError, match="no fence method"):
        Publish(Forge(), Fence()).plan(ACME)

    @effect("name", capability=Fence())
    def drop(name: str) -> str:
        raise ConnectionError("lost")

    with pytest.raises(ConfigurationError, match=r"@drop\.fence"):
        drop.plan("x")
    barred: list[str] = []

    @drop.fence
    def _(name: str) -> None:
        barred.append(name)

    ledger = Ledger(MemoryJournal())
    assert isinstance(ledger.execute_sync(drop.plan("x")), Unknown)
    assert barred == ["x"] * 5  # once for each attempt


# Compensation


@effect("charge", capability=Natural() & Compensatable("refund"))
def pay(charge: str, cents: int) -> str:
    return f"paid {charge}"


@effect("charge", capability=Natural())
def refund(charge: str) -> str:
    return f"refunded {charge}"


def test_what_has_happened_is_compensated_by_its_own_operation_once() -> None:
    ledger = Ledger(MemoryJournal(), effects=[pay, refund])
    paid = pay.plan("c1", 5)
    with pytest.raises(ToolError, match="no operation"):
        ledger.compensate(paid.op_id, refund.plan("c1"))
    ledger.plan(paid)
    early = ledger.compensate(paid.op_id, refund.plan("c1"))
    with pytest.raises(InvalidTransition, match="only what has happened"):
        ledger.execute_sync(early)
    ledger.execute_sync(paid)
    undo = ledger.compensate(paid.op_id, refund.plan("c1"))
    assert undo.op_id == "refund:undo pay:c1"
    assert ledger.execute_sync(undo) == Succeeded("refunded c1", undo.op_id)
    assert ledger.execute_sync(undo) == Succeeded("refunded c1", undo.op_id, recorded=True)
    assert ledger.explain(undo.op_id).compensates == "pay:c1"
    assert ledger.explain(paid.op_id).compensated_by == (undo.op_id,)
    with pytest.raises(ToolError, match="by nothing"):
        ledger.compensate(undo.op_id, pay.plan("c1", 5))


# The rest of the table


def test_a_key_that_the_provider_knows_with_other_arguments_is_a_conflict() -> None:
    class Strict(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            ctx.before_send()
            raise EffectConflicted("this key was used with other parameters")

    ledger = Ledger(MemoryJournal())
    outcome = ledger.execute_sync(Strict(Forge(), Keyed(3600.0, 60.0)).plan(ACME))
    assert outcome == Conflicted(OP, "this key was used with other parameters")
    assert [type(event).__name__ for event in ledger.events(OP)][-2:] == ["OutcomeLost", "Conflict"]


@pytest.mark.parametrize("kind", [Pure(), Repeatable()])
def test_what_does_no_harm_is_repeated(kind: Any) -> None:
    forge = Forge(script=["drop", "lose", "ok"])
    publish = Publish(forge, kind)
    forge.sight = ["down"] * 9
    assert isinstance(Ledger(MemoryJournal()).execute_sync(publish.plan(ACME)), Succeeded)
    assert forge.calls == 3


def test_what_the_author_of_an_opaque_effect_says_to_assume() -> None:
    happened = Publish(Forge(script=["drop"]), Opaque("assume_happened"))
    assert Ledger(MemoryJournal()).execute_sync(happened.plan(ACME)) == ResultLost(OP)
    not_so = Publish(Forge(script=["drop", "ok"]), Opaque("assume_not"))
    assert isinstance(Ledger(MemoryJournal()).execute_sync(not_so.plan(ACME)), Succeeded)
    assert (happened.forge.calls, not_so.forge.calls) == (1, 2)
    for told in ("assume_happened", "assume_not"):
        with pytest.raises(ConfigurationError, match="high risk"):
            Publish(Forge(), Opaque(told), risk="high").plan(ACME)  # pyright: ignore[reportArgumentType]


def test_a_lagging_look_up_never_permits_another_attempt_and_in_the_end_a_person_is_asked() -> None:
    clock = FixedClock()
    forge = Forge(script=["lose"], sight=["none"] * 99)
    publish = Publish(forge, Lookup("eventual", lag=5.0, max_in_flight=60.0))
    ledger = Ledger(MemoryJournal(clock=clock), clock=clock)
    outcome: Any = None
    for _ in range(10):
        outcome = ledger.execute_sync(publish.plan(ACME))
        assert isinstance(outcome, Unknown)
        clock.advance(3600.0)
    assert outcome.next_step == "resolve"
    assert forge.calls == 1


def test_a_refusal_while_an_older_attempt_is_unresolved_settles_nothing() -> None:
    """The first request may still have arrived, whatever the provider says of the second. Ledger: L4"""

    class LostThenRefused(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            ctx.before_send()
            if ctx.fence == 1:
                raise NetworkError("the reply was lost")
            raise EffectRefused("no", retryable=False)

    ledger = Ledger(MemoryJournal())
    outcome = ledger.execute_sync(LostThenRefused(Forge(), Natural(), max_attempts=2).plan(ACME))
    assert isinstance(outcome, Unknown)
    state = ledger.state(OP)
    assert isinstance(state, st.Unknown)
    assert [attempt.ended for attempt in state.facts.attempts] == ["lost", "nothing"]
    assert [row.op_id for row in ledger.unresolved()] == [OP]


# Secrets


def test_a_secret_is_in_no_byte_of_the_journal(tmp_path: Path) -> None:
    """Ledger: L12"""
    secret = "hunter2-very-secret"

    @effect("name", capability=Lookup("strong"), secrets=["token"])
    def deploy(name: str, token: str) -> str:
        raise ConnectionError(f"401 for token {token}")

    @deploy.lookup
    def look(name: str, token: str) -> Seen[str]:
        raise ConnectionError(f"503 for token {token}")

    journal = SQLiteJournal(tmp_path / "j.db")
    ledger = Ledger(journal, effects=[deploy])
    intent = deploy.plan("web", secret)
    outcome = ledger.execute_sync(intent)
    assert isinstance(outcome, Unknown)
    assert secret not in str(outcome)
    told = json.dumps([repr(event) for event in ledger.events(intent.op_id)])
    assert "***" in told
    # Whoever settles it later needs the command: no record can give it back.
    with pytest.raises(ToolError, match="needs token"):
        ledger.reconcile_sync(intent.op_id)
    assert "needs token" in recover_sync(journal, [deploy]).left[0].reason
    assert isinstance(ledger.reconcile_sync(intent), Unknown)
    # A token that was renewed meanwhile is not another operation.
    assert isinstance(ledger.execute_sync(deploy.plan("web", "another")), Unknown)
    journal.close()
    for path in tmp_path.iterdir():
        assert secret.encode() not in path.read_bytes()
    db = sqlite3.connect(tmp_path / "j.db")
    assert db.execute("SELECT count(*) FROM event").fetchone()[0] > 3
    db.close()


def test_a_secret_must_be_an_argument_and_no_key() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'token'"):
        effect("name", secrets=["tokn"])(lambda name, token: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(ConfigurationError, match="kept secret"):
        effect("token", secrets=["token"])(lambda token: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]

    class Odd(Publish):
        secrets = ("password",)

    with pytest.raises(ConfigurationError, match="no argument 'password'"):
        Odd(Forge()).plan(ACME)


def test_unavailable_reasons_of_a_fence_are_kept(tmp_path: Path) -> None:
    class Down(Fenced):
        async def fence(self, command: PullRequest, ctx: EffectContext) -> Seen[str]:
            return Unavailable("the fence is down")

    ledger = Ledger(MemoryJournal())
    ledger.execute_sync(Down(Forge(script=["drop"])).plan(ACME))
    state = ledger.state(OP)
    assert isinstance(state, st.Unknown)
    assert "the fence is down" in state.facts.seen


def test_every_transaction_of_an_effect_waits_for_the_disk() -> None:
    """Claim, outcome and what is found out later, however lightly the journal takes the rest. Ledger: L3"""
    asked: list[bool] = []

    class Watched(JournalWrapper):
        inner = MemoryJournal()

        def scoped(self, scope: str) -> Journal:
            return self

        def transact(self, work: Any, *, durable: bool = True) -> Any:
            asked.append(durable)
            return super().transact(work, durable=durable)

    ledger = Ledger(Watched())
    assert isinstance(ledger.execute_sync(Publish(Forge(script=["lose"])).plan(ACME)), Succeeded)
    assert len(asked) >= 3
    assert all(asked)
