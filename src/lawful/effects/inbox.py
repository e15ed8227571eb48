"""What a scope's operations ask of people: approvals by role, and outcomes that nobody knows."""

from __future__ import annotations

from typing import Any

import msgspec

from lawful.core.errors import ValidationError
from lawful.core.questions import Question
from lawful.effects import states as st
from lawful.effects.digests import digest
from lawful.effects.events import DidNotHappen, GiveUp, Happened, Ruling
from lawful.effects.evidence import binding
from lawful.effects.moves import matter_of
from lawful.effects.policy import NeedsApproval, Policy, joined

RECONCILE = "reconcile"
"""The answer to an unknown outcome that decides nothing: look again."""
_FORMS = f"{RECONCILE!r}, Happened(receipt), DidNotHappen(retry=True | False) or GiveUp()"


def approvals_of(state: st.Planned | st.Permitted, rules: Policy, now: float, totals: Any) -> list[Question]:
    """One question for each conjunct that waits for people, where nothing else is missing."""
    facts = state.facts
    matter = matter_of(facts, rules, now, totals)
    findings = rules.explain(matter)
    if not isinstance(joined(finding.verdict for finding in findings), NeedsApproval):
        return []
    bound = binding(matter.intent)
    return [
        approval_question(matter.intent, bound, finding.verdict.role, finding.verdict.count)
        for finding in findings
        if isinstance(finding.verdict, NeedsApproval)
    ]


def approval_question(record: Any, bound: str, role: str, count: int, **where: Any) -> Question:
    """What a person in ``role`` is asked about an operation; the answer counts for exactly what ``bound`` names."""
    given: dict[str, Any] = {"id": digest("question", [record.op_id, bound, role])[:32], **where}
    return Question(
        value={
            "effect": record.tool,
            "op_id": record.op_id,
            "args": record.args,
            "revision": record.revision,
            "role": role,
        },
        name=f"approve {record.tool}",
        kind="approval",
        answer_type="approved",
        digest=bound[:32],
        details={
            "op_id": record.op_id,
            "binding": bound,
            "role": role,
            "count": count,
            "requester": record.requester,
        },
        **given,
    )


def recovery_of(state: st.Unknown) -> Question:
    """The question that an unknown outcome is; `ruling_of` reads its answer."""
    facts = state.facts
    intent = facts.intent
    return Question(
        value={"operation": facts.op_id, "effect": intent.tool, "args": intent.args, "reason": state.cause},
        id=digest("question", [facts.op_id, facts.fence, "recovery"])[:32],
        name=f"what became of {intent.tool}",
        kind="effect_recovery",
        details={"op_id": facts.op_id, "tool": intent.tool, "fence": facts.fence, "version": facts.version},
    )


def ruling_of(given: Any) -> Ruling | None:
    """What a person's answer to an unknown outcome decides; None for "look again". Raises: ValidationError."""
    if given is None or given is True or given == RECONCILE:
        return None
    if isinstance(given, (Happened, DidNotHappen, GiveUp)):
        return given
    try:
        return msgspec.convert(given, Ruling)
    except msgspec.ValidationError as error:
        raise ValidationError(
            f"an unknown outcome is answered by {_FORMS}, not by {given!r:.100}",
            component="effects",
            operation="answer",
        ) from error
