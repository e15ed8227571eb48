"""Model calls that are not the answer: asked aside, so that no word of them reaches who reads the answer."""

from __future__ import annotations

from typing import Any

from lawful.core.context import current_task
from lawful.core.events import Usage
from lawful.core.messages import user
from lawful.core.telling import NOSTREAM, model_call
from lawful.models.port import ChatModel
from lawful.models.values import Reply, Request


async def aside(model: ChatModel[Any], prompt: str) -> Reply:
    """The model's answer to a question of the agent's own machinery; listeners hear that it was asked and what it took."""
    with model_call(model.component_id, tags=(NOSTREAM,)) as told:
        reply = await model.ainvoke(Request((user(prompt),), quiet=True))
        told.end(None, reply.usage)
    spend(reply.usage)
    return reply


def spend(usage: Usage) -> None:
    """Tokens that the node which runs now has used beside its own answer: the thread's usage, and its limits, count them."""
    slot = current_task.get()
    if slot is not None:
        slot.spent = usage if slot.spent is None else slot.spent + usage


def spent() -> Usage | None:
    """What was spent so in the node that runs now."""
    slot = current_task.get()
    return None if slot is None else slot.spent
