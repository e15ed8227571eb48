"""An answer that is held back: it is told to who listens only when it may be, whole, or not at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from lawful.agents.middleware.base import ModelAsk
from lawful.core.messages import Text, ToolCall
from lawful.core.telling import ModelCall, model_call
from lawful.models.transcript import as_text
from lawful.models.values import Reply


async def held_back(
    ask: ModelAsk, handler: Callable[[ModelAsk], Awaitable[Reply]], passed: Callable[[Reply], Awaitable[Reply]]
) -> Reply:
    """The answer as ``passed`` leaves it; not before is a word of it told, and nothing at all if that raises."""
    if ask.request.quiet:
        return await passed(await handler(ask))
    quietly = ask.override(request=msgspec.structs.replace(ask.request, quiet=True))
    with model_call(ask.model.component_id, tags=ask.model.tags) as told:
        reply = await passed(await handler(quietly))
        reply = msgspec.structs.replace(reply, message=reply.message.named(told.id))
        if told.heard:
            _tell(told, reply)
            await told.room()
    return reply


def _tell(told: ModelCall, reply: Reply) -> None:
    """Text and calls; what the model thought aloud was not passed and is not told."""
    for at, block in enumerate(reply.message.content):
        if isinstance(block, Text):
            told.text(block.text)
        elif isinstance(block, ToolCall) and block.id is not None:
            told.tool(block.id, name=block.name, args=as_text(block.args), index=at)
            told.called(block.id)
    told.end(reply.message, reply.usage)
