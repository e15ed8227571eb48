"""Pure: how a dry run tells an effect that it does not perform."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lawful.core.replay import IntendedCall
from lawful.effects import states as st
from lawful.effects.contract import Intent
from lawful.effects.decisions import Allowed, verdict
from lawful.effects.policy import Conjunct, Policy, RequireApproval
from lawful.effects.states import State


def intended(intent: Intent[Any, Any], rules: Policy, state: State, node: str, why: str) -> IntendedCall:
    """The effect as it would be planned, where its operation stands, and what its policy asks for."""
    record = intent.record
    held = None if isinstance(state, st.Unplanned) else state.facts.intent
    return IntendedCall(
        "effect",
        record.tool,
        node=node,
        args=record.args,
        op_id=record.op_id,
        capability=type(record.capability).__name__,
        needs=(*(_told(rule) for rule in rules.rules), *_own(intent)),
        stands=st.name_of(state),
        recorded=held.args if held is not None and held.args_hash != record.args_hash else None,
        why=why,
    )


def _told(rule: Conjunct) -> str:
    if isinstance(rule, RequireApproval) and rule.count > 1:
        return f"{rule.name} x{rule.count}"
    return rule.name


def _own(intent: Intent[Any, Any]) -> Iterator[str]:
    found = verdict(intent.effect.judge(intent.command))
    if not isinstance(found, Allowed):
        yield f"own rule: {found}"
