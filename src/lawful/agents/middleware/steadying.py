"""Steady a turn that has lost its way: one calm message before the next model call, from a stronger model if there is one."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from lawful.agents.aside import aside
from lawful.agents.middleware.base import Middleware, ModelAsk, ModelHandler
from lawful.agents.middleware.spiral import HONEST, Thresholds, digest_of, due, static
from lawful.agents.state import CHECK, this_turn
from lawful.core.errors import Failure
from lawful.core.messages import Message, Text
from lawful.models.port import ChatModel
from lawful.models.values import Reply

_log = logging.getLogger("lawful.agents")

_ASK = (
    "Another agent has lost its way. {why} The end of its conversation is below. In three to five sentences name the"
    " likely wrong turn and one concrete, different next step. Tell it that "
    + HONEST[0].lower()
    + HONEST[1:]
    + "\n\n{digest}"
)


class Counsel(Middleware):
    """Looks at each turn by the thresholds of `Thresholds` and, when one is passed, adds one message to the next request.

    The message is not kept in the conversation. ``counselor`` is a stronger model that writes it; if it fails or says
    nothing, a fixed text does. What it costs is counted as the thread's.
    """

    def __init__(
        self,
        after: int | None = None,
        *,
        counselor: ChatModel[Any] | None = None,
        thresholds: Thresholds = Thresholds(),
        budget: int = 40,
    ) -> None:
        self._limits = thresholds if after is None else msgspec.structs.replace(thresholds, repeats=after)
        self._counselor = counselor
        self._budget = budget

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        why = due(this_turn(ask.messages), self._budget, self._limits)
        if why is None:
            return await handler(ask)
        text = await self._words(ask, why)
        said = Message("user", (Text(text),), name=CHECK)
        request = msgspec.structs.replace(ask.request, messages=(*ask.request.messages, said))
        return await handler(ask.override(request=request))

    async def _words(self, ask: ModelAsk, why: str) -> str:
        if self._counselor is not None:
            try:
                found = await aside(self._counselor, _ASK.format(why=why, digest=digest_of(ask.messages)))
            except Failure as error:
                _log.warning("counsel: the counselor failed: %s", error.message)
            else:
                if found.text.strip():
                    _log.warning("counsel given (escalated): %s", why)
                    return f"{found.text.strip()} {HONEST}"
        _log.warning("counsel given (static): %s", why)
        return static(why)


def counsel(after: int | None = None, **options: Any) -> Counsel:
    """`Counsel`, as a word in a list of middleware."""
    return Counsel(after, **options)
