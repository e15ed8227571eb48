"""The demo's graph: a dependency update from the pinned line to a commit and its pull request, one node a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lawful.cli.proposing import Models, model_named, proposed
from lawful.cli.publishing import RULES as PUBLISHING
from lawful.cli.publishing import DemoCommit, DemoPull, Place, Play, push_by_somebody
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
)
from lawful.core.errors import EffectDenied, EffectRefused, EffectStale, ToolError
from lawful.core.questions import Approved, Principal
from lawful.core.result import Err, Ok
from lawful.effects import Ledger
from lawful.effects.branch_commit import BranchCommit, BranchMove, Committed
from lawful.effects.contract import Intent
from lawful.effects.digests import digest
from lawful.effects.evidence import Approval, Evidence, binding
from lawful.effects.policy import Matter, NeedsApproval, Policy
from lawful.effects.references import OpenPull, Pull
from lawful.effects.states import Facts, Permitted, Planned, Unplanned, name_of
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
    publication: str = ""
    """The operation that opens the pull request; "" where there is no forge."""
    publication_binding: str = ""

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """Operation and digest of everything that one yes is about."""
        every = ((self.op_id, self.binding), (self.publication, self.publication_binding))
        return tuple(part for part in every if part[0])


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
    published: Pull = UNSET
    stopped: Stopped = UNSET


class Steps:
    """The nodes, each a function of the state; what they share is the journal and the two effects."""

    def __init__(
        self, journal: Journal, commit: BranchCommit, pull: DemoPull | None, play: Play, models: Models = model_named
    ) -> None:
        self.journal = journal
        self.models = models
        self.effect = commit
        self.pull = pull
        self.play = play
        self.ledger = Ledger(journal, effects=[commit] if pull is None else [commit, pull])

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
        """A patch as data, by the script or by the model that the request names."""
        return Update(proposed=proposed(state.request, state.pins, self.models))

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
        self._written_down(intent, state.checked.evidence)
        if self.pull is None:
            return Update(judged=judged)
        after = self.pull.plan(pull_of(state))
        self._written_down(after, state.checked.evidence)
        return Update(judged=replace(judged, publication=after.op_id, publication_binding=_bound(after, PUBLISHING)))

    def _written_down(self, intent: Intent[Any, Any], evidence: Sequence[Evidence]) -> None:
        self.ledger.plan(intent)
        known = {each.id for each in self._facts(intent.op_id).evidence}
        for each in evidence:
            if each.id not in known:
                self.ledger.add_evidence(intent.op_id, each)

    def approve(self, state: Update) -> Update:
        """Wait for a person, who is shown the patch, its evidence, and the digests that the answer is bound to."""
        answer = interrupt(question_of(state), name="approve", answer=Approved)
        who = answer.by or "unnamed"
        for op_id, bound in state.judged.parts:
            self._decided(op_id, bound, Principal(who), answer)
        if answer.granted:
            return Update(approved_by=who)
        return Update(stopped=Stopped("approve", f"{who} said no; no branch was touched", "declined"))

    def _decided(self, op_id: str, bound: str, who: Principal, answer: Approved) -> None:
        """Write a person's decision down, once however often the node runs."""
        name = digest("approval", [bound, who.id, answer.granted])[:32]
        given = Approval(name, bound, who, granted=answer.granted, granted_at=self._now())
        known = {each.id for each in self._facts(op_id).approvals}
        if name not in known and isinstance(self.ledger.state(op_id), Planned):
            self.ledger.approve(op_id, given)
        if not answer.granted and isinstance(self.ledger.state(op_id), Planned):
            self.ledger.cancel(op_id, reason=f"{who.id} said no", by=who)

    def commit(self, state: Update) -> Update:
        """Move the branch: a claimed effect, done once however often this node runs."""
        try:
            return Update(committed=self.effect.sync(move_of(state)))
        except EffectRefused as error:
            if error.retryable:
                raise
            return self._without_commit(state, error)
        except EffectDenied as error:
            return self._without_commit(state, error)

    def _without_commit(self, state: Update, error: EffectRefused | EffectDenied) -> Update:
        """The branch was not moved, so there is nothing to publish either."""
        if state.judged.publication:
            self._withdrawn(state.judged.publication, "nothing was committed")
        return Update(stopped=Stopped("commit", f"{error.message}; nothing was committed", error.code))

    def _withdrawn(self, op_id: str, why: str) -> None:
        if isinstance(self.ledger.state(op_id), (Planned, Permitted)):
            self.ledger.cancel(op_id, reason=why)

    def publish(self, state: Update) -> Update:
        """Open the pull request: the second effect. Its claim looks whether the branch is where it was approved."""
        assert self.pull is not None
        effect = self.pull.of(state.request.repo)
        intent = effect.plan(pull_of(state))
        if self.play.moved:
            self.play.tell("publish", push_by_somebody(state.request.repo, state.request.branch))
        try:
            return Update(published=effect.sync(pull_of(state)))
        except EffectRefused as error:
            if error.retryable:
                raise
            return Update(stopped=Stopped("publish", f"{error.message}; nothing was published", error.code))
        except EffectDenied as error:
            why = error.message if not isinstance(error, EffectStale) else _moved(state.request.branch, error)
            self._withdrawn(intent.op_id, why)
            return Update(stopped=Stopped("publish", f"{why}; nothing was published", error.code))

    def _facts(self, op_id: str) -> Facts:
        standing = self.ledger.state(op_id)
        if isinstance(standing, Unplanned):
            raise ToolError(f"operation {op_id} is {name_of(standing)}", component="demo", operation="facts")
        return standing.facts


def _moved(branch: str, error: EffectStale) -> str:
    present, approved = (error.details[name][:12] for name in ("present", "approved"))
    return (
        f"the claim is refused: branch {branch} stands at {present or 'nothing'}, not at {approved}, which was approved"
    )


def move_of(state: Update) -> BranchMove:
    """The one effect of an update, as data."""
    expected = state.base if state.branch_exists else None
    return BranchMove(state.request.repo, state.request.branch, expected, state.checked.commit)


def pull_of(state: Update) -> OpenPull:
    """The second effect of an update, as data."""
    asked = state.request
    return OpenPull(forge_name(asked.repo), asked.branch, "main", state.scoped.summary, state.checked.commit)


def forge_name(repo: str) -> str:
    """A repository's name at the forge: the folder's, and a digest of where it lies, since two may bear one name."""
    return f"local/{Path(repo).name or 'repository'}-{digest('repository', repo)[:8]}"


def _bound(intent: Intent[Any, Any], rules: Policy) -> str:
    return binding(replace(intent.record, policy=rules.id, policy_hash=rules.hash))


def question_of(state: Update) -> dict[str, Any]:
    """What a person is shown before anything happens."""
    checked = state.checked
    then = " and open its pull request" if state.judged.publication else ""
    return {
        "do": f"{state.scoped.summary}: commit to branch {state.request.branch}{then}",
        "repository": state.request.repo,
        "patch": [[e.path, e.line, e.before, e.after] for e in state.scoped.edits],
        "commit": checked.commit,
        "on": state.base,
        "evidence": [[e.kind, e.verdict, e.issuer, e.digest] for e in checked.evidence],
        "operation": state.judged.op_id,
        "digest": state.judged.binding,
        "operations": [list(part) for part in state.judged.parts],
    }


def _with(found: Update, **more: Any) -> Update:
    known = {name: value for name, value in vars(found).items() if value is not UNSET}
    return Update(**{**known, **more})


def build(
    journal: Journal,
    play: Play | None = None,
    commit: BranchCommit | None = None,
    *,
    folder: Path | None = None,
    models: Models = model_named,
) -> CompiledStateGraph[Update]:
    """The graph over ``journal``; ``commit`` is what moves the branch, ``models`` make of a name who proposes.

    The forge lies in ``folder``, or beside the journal's file; where there is neither, nothing is published.
    """
    play = play if play is not None else Play()
    first, *more = effects_of(journal, play, folder)
    pull = more[0] if more else None
    steps = Steps(journal, commit or first, pull, play, models)
    nodes: Sequence[Any] = [
        steps.read,
        steps.propose,
        steps.scope,
        steps.test,
        steps.judge,
        steps.approve,
        steps.commit,
        *([steps.publish] if pull is not None else []),
    ]
    graph = StateGraph(Update, name=NAME)
    for node in nodes:
        graph.add_node(node)
    graph.add_edge(START, "read").add_edge("propose", "scope").add_edge("test", "judge")
    onward = [("read", "propose"), ("scope", "test"), ("judge", "approve"), ("approve", "commit")]
    last = "publish" if pull is not None else "commit"
    graph.add_edge(last, END)
    for source, target in (*onward, *([("commit", "publish")] if pull is not None else [])):
        graph.add_conditional_edges(source, _unless_stopped(target), {target: target, "stopped": END})
    return graph.compile(checkpointer=journal)


def effects_of(
    journal: Journal, play: Play | None = None, folder: Path | None = None
) -> tuple[BranchCommit, *tuple[DemoPull, ...]]:
    """What the demo does to the world: move a branch and, where there is a forge, open a pull request."""
    play = play if play is not None else Play()
    path = getattr(journal, "path", None)
    if folder is None and path is not None:
        folder = forge_folder(path)
    commit = DemoCommit(play, RULES)
    return (commit,) if folder is None else (commit, DemoPull(Place(folder), play))


def forge_folder(path: str | Path) -> Path:
    """Where the forge of a journal lies: beside its file."""
    return Path(path).resolve().parent / "demo-forge"


def _unless_stopped(target: str) -> Callable[[Update], str]:
    def route(state: Update) -> str:
        return target if state.stopped is UNSET else "stopped"

    return route
