"""Where an operation stands and why, each conjunct of its policy with what it found, and the one thing that can be done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from lawful.effects import states as st
from lawful.effects.capability import Opaque, promise
from lawful.effects.evidence import approval_stale, evidence_stale
from lawful.effects.moves import matter_of
from lawful.effects.policy import Finding, Policy, Verdict, joined
from lawful.effects.states import State, name_of
from lawful.effects.words import in_words


class Explanation(Struct, frozen=True):
    """Where an operation stands and why."""

    op_id: str
    tool: str
    state: str
    version: int
    args: Any
    revision: str | None
    verdict: Verdict
    """What the policy says now."""
    findings: tuple[Finding, ...]
    """One for each conjunct, stale evidence and approvals with their reasons."""
    stale: tuple[str, ...]
    """Every piece of evidence and every approval that does not count, asked for or not."""
    attempts: int
    seen: str
    """What the newest look-up reported."""
    next_step: str
    """The one thing that can be done, in words."""
    held: str = ""
    """A freeze that keeps it from being sent; "" where there is none."""
    compensates: str = ""
    """The operation that it undoes."""
    compensated_by: tuple[str, ...] = ()
    """The operations that undo it."""
    promised: str = ""
    """What its provider promises, in words; of an opaque one, that a person is asked."""


def explained(
    state: st.State, rules: Policy, now: float, totals: Mapping[str, float], held: str, undone_by: tuple[str, ...]
) -> Explanation:
    """The explanation of a planned operation at ``now``."""
    assert not isinstance(state, st.Unplanned)
    facts = state.facts
    matter = matter_of(facts, rules, now, totals)
    findings = rules.explain(matter)
    old = [evidence_stale(each, matter.intent, now) for each in facts.evidence]
    old += [approval_stale(each, matter.intent, now) for each in facts.approvals]
    return Explanation(
        op_id=facts.op_id,
        tool=facts.intent.tool,
        state=name_of(state),
        version=facts.version,
        args=facts.intent.args,
        revision=facts.intent.revision,
        verdict=joined(finding.verdict for finding in findings),
        findings=findings,
        stale=tuple(why for why in old if why is not None),
        attempts=len(facts.attempts),
        seen=facts.seen,
        next_step=next_step(state),
        held=held,
        compensates=facts.intent.compensates or "",
        compensated_by=undone_by,
        promised=in_words(facts.intent.capability),
    )


def next_step(state: State) -> str:
    """The one thing that can be done about an operation, in words."""
    match state:
        case st.Unplanned():
            return "plan it"
        case st.Planned():
            return "add what its policy asks for, then execute it"
        case st.Permitted() | st.Granted():
            return "execute it"
        case st.InFlight(facts):
            return f"wait for {facts.attempts[-1].owner}, or reconcile it once that is gone"
        case st.Unknown(facts) if promise(facts.intent.capability, Opaque) is not None:
            return "resolve it: nobody can look it up"
        case st.Unknown():
            return "reconcile it; if that stays without result, resolve it"
        case st.Refused(retryable=retryable):
            return "execute it again" if retryable else "nothing: it was refused"
        case st.Conflicted():
            return "look at the provider: what is known contradicts itself"
        case st.Succeeded() | st.Failed() | st.Cancelled() | st.Abandoned():
            return "nothing: it has ended"
