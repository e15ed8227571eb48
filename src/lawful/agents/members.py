"""How one agent is asked inside another's work: what is known there goes in with the question, what it has seen comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from lawful.agents.aside import spend
from lawful.core.errors import Failure
from lawful.core.events import Usage
from lawful.core.messages import Message
from lawful.graph.compiled import CompiledStateGraph
from lawful.graph.outcome import Done, Failed
from lawful.tools.facts import NOTHING, Facts, flowing
from lawful.tools.members import MemberFailed
from lawful.tools.sources import Learnt


def facts_of(state: Any) -> Facts:
    """What a state says was seen; nothing, where it has no such key."""
    if not isinstance(state, Mapping):
        return NOTHING
    found: Facts = cast("Mapping[str, Any]", state).get("facts", NOTHING)
    return found


def usage_of(state: Any) -> Usage:
    """Tokens that a state says were used; none, where it has no such key."""
    if not isinstance(state, Mapping):
        return Usage()
    found: Usage = cast("Mapping[str, Any]", state).get("usage", Usage())
    return found


async def ask_member(
    graph: CompiledStateGraph[Any], task: str, seen: Facts, read: Callable[[Sequence[Message]], Any]
) -> Learnt[Any]:
    """What an agent's loop answers to ``task``, as ``read`` reads its messages, with all that was seen by then.

    What it took is counted as its caller's too.

    Raises: MemberFailed, which tells what had been seen; the signals of a question or an unknown outcome.
    """
    ended: Any = await graph.run({"messages": [task], "facts": flowing(seen)})
    known = flowing(facts_of(ended.state))
    spend(usage_of(ended.state))
    if isinstance(ended, Failed):
        raise MemberFailed(ended.error, known) from ended.error
    try:
        return Learnt(read(cast("Done[Any]", ended).state["messages"]), known)
    except Failure as error:
        raise MemberFailed(error, known) from error
