"""The demo's graph: a dependency update from the pinned line to a commit on a branch, one node a step."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lawful.cli.update_checks import apply_and_test, base_of, read_pins
from lawful.cli.update_rules import (
    RULES,
    Checked,
    Pin,
    Proposed,
    Request,
    Scoped,
    check_scope,
    pins_of,
    propose,
)
from lawful.core.errors import EffectDenied, EffectRefused, ToolError
from lawful.core.questions import Approved, Principal
from lawful.core.result import Err, Ok
from lawful.effects import EffectContext, Ledger
from lawful.effects.branch_commit import BranchCommit, BranchMove, Committed
from lawful.effects.digests import digest
from lawful.effects.evidence import Approval, Evidence, binding
from lawful.effects.policy import Matter, NeedsApproval
from lawful.effects.states import Facts, Planned, Unplanned, name_of
from lawful.graph import END, START, UNSET, CompiledStateGraph, StateGraph, StreamWriter, interrupt
from lawful.journal.port import Journal

NAME = "demo"
"""The graph's name, which its threads carry in the journal."""


class Stopped(Struct, frozen=True):
    """The update ended without a commit."""

    step: str
    why: str
    code: str = "stopped"


class Found(Struct, frozen=True):
    """One rule of the policy and what it found."""

    rule: str
    holds: bool
    why: str


class Judged(Struct, frozen=True):
    """What the policy says of the checked patch, and the digest that an approval is bound to."""

    op_id: str
    binding: str
    findings: tuple[Found, ...]


@dataclass(frozen=True)
class Update:
    """The state: every step adds what it found out, and nothing is overwritten."""

    request: Request = UNSET
    base: str = UNSET
    """The commit to build on."""
    branch_exists: bool = UNSET
    at: int = UNSET
    """When the update began, in seconds since 1970 UTC; it dates the commit."""
    pins: tuple[Pin, ...] = UNSET
    proposed: Proposed = UNSET
    scoped: Scoped = UNSET
    checked: Checked = UNSET
    judged: Judged = UNSET
    approved_by: str = UNSET
    committed: Committed = UNSET
    stopped: Stopped = UNSET


class Fatal(BranchCommit):
    """A branch commit whose process kills itself when the branch has moved and nobody has written that down."""

    def __init__(self, last_words: Callable[[Committed], None]) -> None:
        super().__init__(policy=RULES)
        self._last_words = last_words

    async def perform(self, command: BranchMove, ctx: EffectContext) -> Committed:
        committed = await super().perform(command, ctx)
        self._last_words(committed)
        os.kill(os.getpid(), signal.SIGKILL)
        return committed


class Steps:
    """The nodes, each a function of the state; what they share is the journal and the one effect."""

    def __init__(self, journal: Journal, effect: BranchCommit) -> None:
        self.journal = journal
        self.effect = effect
        self.ledger = Ledger(journal, effects=[effect])

    def _now(self) -> float:
        return self.journal.read(lambda tx: tx.now())

    def read(self, state: Update) -> Update:
        """Which lines pin the package, at which commit?"""
        asked = state.request
        base, exists = base_of(asked)
        found = Update(base=base, branch_exists=exists, at=int(self._now()))
        match pins_of(asked.package, read_pins(asked.repo, base)):
            case Err(error):
                return _with(found, stopped=Stopped("read", error.message, error.code))
            case Ok(pins) if all(pin.version == asked.to for pin in pins):
                why = f"{asked.package} is at {asked.to} already, nothing is to be done"
                return _with(found, pins=pins, stopped=Stopped("read", why, "up_to_date"))
            case Ok(pins):
                return _with(found, pins=pins)

    def propose(self, state: Update) -> Update:
        """A patch as data. A model may stand here; the demo has a script."""
        return Update(proposed=propose(state.request, state.pins))

    def scope(self, state: Update) -> Update:
        """Pure rules: does the patch do what was asked, and nothing else?"""
        match check_scope(state.request, state.pins, state.proposed):
            case Ok(scoped):
                return Update(scoped=scoped)
            case Err(error):
                return Update(stopped=Stopped("scope", error.message, error.code))

    def test(self, state: Update, writer: StreamWriter) -> Update:
        """Apply it in a checkout of its own and run the repository's tests there: evidence about that very commit."""
        asked = state.request
        writer(("test", f"in a checkout of its own: {' '.join(asked.test)}"))
        got = apply_and_test(asked, state.base, state.scoped, state.at)
        now = self._now()

        def seen(kind: str, verdict: bool, issuer: str, of: str) -> Evidence:
            return Evidence(
                digest("evidence", [kind, got.commit, of])[:32], kind, got.commit, verdict, issuer, now, digest=of
            )

        exact = got.changed == state.scoped.paths
        evidence = (
            seen("scope", exact, "git diff", digest("paths", list(got.changed))),
            seen("tests", got.tests.passed, f"{' '.join(asked.test)}: {got.tests.why}", got.tests.digest),
        )
        return Update(checked=Checked(got.commit, got.tree, evidence, got.tests.seconds, got.tests.last))

    def judge(self, state: Update) -> Update:
        """Ask the pure policy; where only an approval is missing, write the intent and its evidence down."""
        intent = self.effect.plan(move_of(state))
        record = replace(intent.record, policy=RULES.id, policy_hash=RULES.hash)
        matter = Matter(record, state.checked.evidence, now=self._now())
        told = tuple(Found(each.rule, each.holds, each.why) for each in RULES.explain(matter))
        judged = Judged(intent.op_id, binding(record), told)
        if not isinstance(RULES.decide(matter), NeedsApproval):
            failed = [each for each in state.checked.evidence if not each.verdict]
            why = "; ".join(f"{each.kind}: {each.issuer}" for each in failed) or "the policy says no"
            return Update(judged=judged, stopped=Stopped("judge", f"{why}; nobody is asked", "checks_failed"))
        self.ledger.plan(intent)
        known = {each.id for each in self._facts(intent.op_id).evidence}
        for each in state.checked.evidence:
            if each.id not in known:
                self.ledger.add_evidence(intent.op_id, each)
        return Update(judged=judged)

    def approve(self, state: Update) -> Update:
        """Wait for a person, who is shown the patch, its evidence, and the digest that the answer is bound to."""
        answer = interrupt(question_of(state), name="approve", answer=Approved)
        judged, who = state.judged, answer.by or "unnamed"
        given = Approval(
            digest("approval", [judged.binding, who, answer.granted])[:32],
            judged.binding,
            Principal(who),
            granted=answer.granted,
            granted_at=self._now(),
        )
        standing = self.ledger.state(judged.op_id)
        if given.id not in {each.id for each in self._facts(judged.op_id).approvals} and isinstance(standing, Planned):
            self.ledger.approve(judged.op_id, given)
        if answer.granted:
            return Update(approved_by=who)
        if isinstance(self.ledger.state(judged.op_id), Planned):
            self.ledger.cancel(judged.op_id, reason=f"{who} said no", by=Principal(who))
        return Update(stopped=Stopped("approve", f"{who} said no; no branch was touched", "declined"))

    def commit(self, state: Update) -> Update:
        """Move the branch: a claimed effect, done once however often this node runs."""
        try:
            return Update(committed=self.effect.sync(move_of(state)))
        except EffectRefused as error:
            if error.retryable:
                raise
            return Update(stopped=Stopped("commit", f"{error.message}; nothing was committed", error.code))
        except EffectDenied as error:
            return Update(stopped=Stopped("commit", f"{error.message}; nothing was committed", error.code))

    def _facts(self, op_id: str) -> Facts:
        standing = self.ledger.state(op_id)
        if isinstance(standing, Unplanned):
            raise ToolError(f"operation {op_id} is {name_of(standing)}", component="demo", operation="facts")
        return standing.facts


def move_of(state: Update) -> BranchMove:
    """The one effect of an update, as data."""
    expected = state.base if state.branch_exists else None
    return BranchMove(state.request.repo, state.request.branch, expected, state.checked.commit)


def question_of(state: Update) -> dict[str, Any]:
    """What a person is shown before anything happens."""
    checked = state.checked
    return {
        "do": f"{state.scoped.summary}: commit to branch {state.request.branch}",
        "repository": state.request.repo,
        "patch": [[e.path, e.line, e.before, e.after] for e in state.scoped.edits],
        "commit": checked.commit,
        "on": state.base,
        "evidence": [[e.kind, e.verdict, e.issuer, e.digest] for e in checked.evidence],
        "operation": state.judged.op_id,
        "digest": state.judged.binding,
    }


def _with(found: Update, **more: Any) -> Update:
    known = {name: value for name, value in vars(found).items() if value is not UNSET}
    return Update(**{**known, **more})


def build(journal: Journal, effect: BranchCommit | None = None) -> CompiledStateGraph[Update]:
    """The graph over ``journal``; ``effect`` is what commits."""
    steps = Steps(journal, effect or effect_of())
    nodes: Sequence[Any] = [
        steps.read,
        steps.propose,
        steps.scope,
        steps.test,
        steps.judge,
        steps.approve,
        steps.commit,
    ]
    graph = StateGraph(Update, name=NAME)
    for node in nodes:
        graph.add_node(node)
    graph.add_edge(START, "read").add_edge("propose", "scope").add_edge("test", "judge").add_edge("commit", END)
    for source, target in (("read", "propose"), ("scope", "test"), ("judge", "approve"), ("approve", "commit")):
        graph.add_conditional_edges(source, _unless_stopped(target), {target: target, "stopped": END})
    return graph.compile(checkpointer=journal)


def effect_of() -> BranchCommit:
    """The one effect of the demo, under its policy."""
    return BranchCommit(policy=RULES)


def _unless_stopped(target: str) -> Callable[[Update], str]:
    def route(state: Update) -> str:
        return target if state.stopped is UNSET else "stopped"

    return route
