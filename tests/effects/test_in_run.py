"""An effect inside a running node: its receipt, its errors, and pauses that no handler can swallow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from lawful.core.clock import FixedClock
from lawful.core.context import Run, Slot, current_task
from lawful.core.errors import ConfigurationError, EffectConflicted, EffectDenied, EffectRefused, NotInRun
from lawful.core.questions import Approved, Question
from lawful.core.signals import ControlSignal, GraphInterrupt, OutcomeUnknown
from lawful.effects import HERE, EffectContext, Ledger, Natural, Opaque, effect
from lawful.effects.policy import Policy, RequireApproval, RequireEvidence
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.journal.records import Lease
from support.effects import STRONG, Forge, Publish, PullRequest

pytestmark = pytest.mark.unit

ACME = PullRequest("acme")
APPROVAL = Policy("p", (RequireApproval("release"),))


@dataclass
class Base:
    """What the graph's tasks know of their step, as far as answers go."""

    answers: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    ns: str = ""
    checkpoint: str = "c1"


class Asking(Slot):
    """A slot that can hold answers, as the graph's tasks do."""

    def __init__(self, run: Run, answers: dict[str, list[Any]]) -> None:
        super().__init__(run, "node", "node", 1)
        self.base = Base(answers)


@contextmanager
def node(journal: Journal | None, *, step_key: str = "node", visit: int = 1, **run: Any) -> Generator[Slot]:
    """A bare attempt of a node on thread t1."""
    settled: dict[str, Any] = {"run_id": "r1", "thread": "t1", "lineage": "t1", **run}
    slot = Slot(Run(journal=journal, **settled), "node", step_key, visit)
    token = current_task.set(slot)
    try:
        yield slot
    finally:
        current_task.reset(token)


async def test_awaiting_it_gives_the_receipt_once_over_every_repeat() -> None:
    journal, forge = MemoryJournal(), Forge()
    for _ in range(3):
        with node(journal) as slot:
            assert await Publish(forge)(ACME) == "https://forge/acme"
            assert slot.planned
            assert slot.signal is None
    assert forge.calls == 1


def test_sync_code_uses_sync() -> None:
    forge = Forge()
    with node(MemoryJournal()):
        assert Publish(forge).sync(ACME) == "https://forge/acme"


async def test_outside_a_run_it_is_not_in_run() -> None:
    with pytest.raises(NotInRun, match="outside a running node"):
        await Publish(Forge())(ACME)
    with pytest.raises(NotInRun):
        Publish(Forge()).sync(ACME)


async def test_left_over_work_of_an_ended_attempt_is_not_in_run() -> None:
    with node(MemoryJournal()) as slot:
        slot.closed = True
        with pytest.raises(NotInRun, match="whose attempt is over"):
            await Publish(Forge())(ACME)


async def test_a_run_without_a_journal_refuses_effects() -> None:
    with node(None), pytest.raises(ConfigurationError, match="checkpointer"):
        await Publish(Forge())(ACME)


async def test_errors_are_typed() -> None:
    journal = MemoryJournal()
    with node(journal):
        with pytest.raises(EffectDenied, match="not our repository"):
            await Publish(Forge())(PullRequest("elsewhere"))
        with pytest.raises(EffectRefused) as refused:
            await Publish(Forge(script=["busy"]))(PullRequest("acme-busy"))
        assert refused.value.retryable
        with pytest.raises(EffectConflicted):
            await Publish(Forge(script=["lose"], applied=["acme-twice"]))(PullRequest("acme-twice"))
        with pytest.raises(EffectDenied, match="lacks evidence: tests"):
            await Publish(Forge(), policy=Policy("p", (RequireEvidence("tests"),)))(ACME)


SWALLOWERS = ["bare except", "finally return", "gather", "thread"]


@pytest.mark.parametrize("how", SWALLOWERS)
async def test_an_unknown_outcome_is_latched_though_user_code_swallows_it(how: str) -> None:
    """Rows: S2-019"""
    forge = Forge(script=["drop"])
    publish = Publish(forge, Opaque())

    async def swallow() -> str:
        match how:
            case "bare except":
                try:
                    return await publish(ACME)
                except:  # noqa: E722
                    return "fallback"
            case "finally return":
                try:
                    return await publish(ACME)
                finally:
                    return "fallback"  # noqa: B012, SIM107
            case "gather":
                await asyncio.gather(publish(ACME), return_exceptions=True)
                return "fallback"
            case _:
                import contextvars

                context = contextvars.copy_context()

                def work() -> None:
                    with suppress(BaseException):
                        context.run(publish.sync, ACME)

                thread = threading.Thread(target=work)
                thread.start()
                thread.join(10)
                return "fallback"

    journal = MemoryJournal()
    with node(journal) as slot:
        assert await swallow() == "fallback"
        assert isinstance(slot.signal, OutcomeUnknown)
        assert slot.signal.op_id == "publish:acme@abc"
    assert forge.calls == 1
    with node(journal) as again, pytest.raises(OutcomeUnknown) as raised:
        await publish(ACME)
    assert again.signal is raised.value
    assert forge.calls == 1


async def test_a_missing_approval_asks_and_its_answer_lets_it_through() -> None:
    journal, forge = MemoryJournal(), Forge()
    publish = Publish(forge, policy=APPROVAL)
    with node(journal) as slot, pytest.raises(GraphInterrupt):
        await publish(ACME)
    question = _asked(slot.signal)
    assert (question.kind, question.answer_type, question.name) == ("approval", "approved", "approve publish")
    assert question.value["args"]["repo"] == "acme"
    assert question.value["role"] == "release"
    with node(journal) as again, pytest.raises(GraphInterrupt):
        await publish(ACME)
    assert _asked(again.signal).id == question.id
    assert forge.calls == 0
    answers = {question.id: [True, question.digest, "alice", ["release"]]}
    token = current_task.set(Asking(Run(run_id="r2", thread="t1", lineage="t1", journal=journal), answers))
    try:
        assert await publish(ACME) == "https://forge/acme"
    finally:
        current_task.reset(token)
    given = [e for e in Ledger(journal).events("publish:acme@abc") if type(e).__name__ == "ApprovalGranted"]
    assert [e.approval.approver.id for e in given] == ["alice"]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


@pytest.mark.parametrize("answer", [False, Approved(False, "bob"), "no", None, 1])
async def test_any_other_answer_than_a_yes_denies(answer: Any) -> None:
    journal, forge = MemoryJournal(), Forge()
    publish = Publish(forge, policy=APPROVAL)
    with node(journal) as slot, pytest.raises(GraphInterrupt):
        await publish(ACME)
    answers = {_asked(slot.signal).id: [answer, "", "bob", ["release"]]}
    token = current_task.set(Asking(Run(run_id="r2", thread="t1", lineage="t1", journal=journal), answers))
    try:
        with pytest.raises(EffectDenied, match="bob said no"):
            await publish(ACME)
    finally:
        current_task.reset(token)
    assert forge.calls == 0


def _asked(signal: ControlSignal | None) -> Question:
    assert isinstance(signal, GraphInterrupt)
    (question,) = signal.interrupts
    assert isinstance(question, Question)
    return question


async def test_ids_without_a_key_follow_the_place_in_the_run() -> None:
    journal = MemoryJournal()
    sent: list[str] = []

    @effect(capability=Natural())
    async def note(text: str, ctx: EffectContext = HERE) -> str:
        sent.append(ctx.op_id)
        return text

    for _ in range(2):
        with node(journal):
            assert [await note("a"), await note("b")] == ["a", "b"]
    with node(journal, visit=2):
        await note("a")
    with node(journal, step_key="other"):
        await note("a")
    with node(journal, lineage="t2", thread="t2"):
        await note("a")
    assert len(sent) == len(set(sent)) == 5


async def test_unnamed_effects_at_once_are_refused_and_named_ones_are_not() -> None:
    @effect(capability=Natural())
    async def note(text: str) -> str:
        await asyncio.sleep(0.01)
        return text

    with node(MemoryJournal()):
        results = await asyncio.gather(note("a"), note("b"), return_exceptions=True)
        assert results[0] == "a"
        assert isinstance(results[1], ConfigurationError)
        assert "named" in results[1].message
    with node(MemoryJournal()):
        assert await asyncio.gather(note.named("one")("a"), note.named("two")("b")) == ["a", "b"]


async def test_the_next_holder_of_the_thread_reconciles_a_claim_at_once() -> None:
    clock = FixedClock()
    journal = MemoryJournal(clock=clock)
    forge = Forge(applied=["acme"])

    class Dying(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            raise AssertionError("the claim of a dead run stays as it is")

    first = journal.acquire("t1", "p1/r1", 30.0)
    assert isinstance(first, Lease)
    with node(journal, lease=first, clock=clock):
        intent = Publish(forge, STRONG).plan(ACME)
        _claim(journal, intent, first)
        with pytest.raises(OutcomeUnknown, match="is at it"):
            await Publish(forge, STRONG)(ACME)
    journal.release(first)
    second = journal.acquire("t1", "p2/r2", 30.0)
    assert isinstance(second, Lease)
    with node(journal, lease=second, clock=clock, run_id="r2"):
        assert await Dying(forge, STRONG)(ACME) == "https://forge/acme"
    assert forge.calls == 0


def _claim(journal: Journal, intent: Any, lease: Lease) -> None:
    from lawful.effects.log import load, write
    from lawful.effects.moves import Claimant, claim, join
    from lawful.effects.policy import OPEN, Decision

    def work(tx: Any) -> None:
        from msgspec.structs import replace

        record = replace(intent.record, policy_hash=OPEN.hash, policy=OPEN.id)
        state = write(tx, load(tx, intent.op_id), join(load(tx, intent.op_id), record, tx.now()))
        who = Claimant(lease.owner, 30.0, lease.thread, lease.fence)
        write(tx, state, claim(state, OPEN, Decision.allow(), who, tx.now())[0])

    journal.transact(work)
