"""What of a long conversation the model is shown: old results cut, the beginning summed up, the head marked for a cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from lawful.agents.aside import aside
from lawful.agents.middleware.base import Middleware, ModelAsk, ModelHandler
from lawful.core.canonical import digest
from lawful.core.messages import Message, Text, message_json, system
from lawful.models.port import ChatModel
from lawful.models.values import Reply, Request


def characters(messages: Sequence[Message]) -> int:
    """Of text, calls' arguments included: a rough measure that needs no tokenizer (about four to a token)."""
    return sum(len(m.text) + sum(len(str(call.args)) for call in m.calls) for m in messages)


class ContextEdit(Middleware):
    """Cuts the oldest tool results, once the request is longer than ``over`` characters, and keeps the newest ``keep``.

    Each cut result stays in its place, so that no call is without one; the state is not touched.
    """

    def __init__(self, over: int = 100_000, *, keep: int = 3, text: str = "[cut: an older result]") -> None:
        self._over, self._keep, self._text = over, keep, text

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        messages = list(ask.request.messages)
        results = [at for at, message in enumerate(messages) if message.role == "tool"]
        size = characters(messages)
        for at in results[: max(len(results) - self._keep, 0)]:
            if size <= self._over:
                break
            size -= len(messages[at].text) - len(self._text)
            messages[at] = msgspec.structs.replace(messages[at], content=(Text(self._text),))
        return await handler(ask.override(request=_with(ask.request, messages)))


class Summarize(Middleware):
    """Sums up all but the newest ``keep`` messages once the request is longer than ``over`` characters.

    A call is never parted from its result. The summary is made by ``model`` (the agent's own, if none is given) and used
    again as long as the beginning that it sums up is the same; the state keeps the whole conversation.
    """

    def __init__(self, over: int = 100_000, *, keep: int = 20, model: ChatModel[Any] | None = None) -> None:
        self._over, self._keep, self._model = over, keep, model
        self._known: dict[str, str] = {}

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        head = [m for m in ask.request.messages if m.role in ("system", "developer")]
        rest = [m for m in ask.request.messages if m.role not in ("system", "developer")]
        cut = closed_cut(rest, len(rest) - self._keep)
        if characters(rest) <= self._over or cut <= 0:
            return await handler(ask)
        told = await self._summary(ask, rest[:cut])
        said = system(f"What was said before, summed up:\n{told}")
        return await handler(ask.override(request=_with(ask.request, [*head, said, *rest[cut:]])))

    async def _summary(self, ask: ModelAsk, messages: Sequence[Message]) -> str:
        key = digest("lawful.agents/summary", [message_json(m) for m in messages]).hex()
        if key not in self._known:
            text = "\n".join(f"{m.role}: {m.text}" for m in messages if m.text)
            model = self._model or ask.model
            found = await aside(
                model, f"Sum up this conversation. Keep names, numbers, decisions and open points.\n\n{text}"
            )
            if len(self._known) >= 256:
                self._known.pop(next(iter(self._known)))
            self._known[key] = found.text
        return self._known[key]


class PromptCache(Middleware):
    """Marks the system message for the provider's prompt cache (Anthropic's ``cache_control``); put it last in the list."""

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        if ask.model.provider != "anthropic":
            return await handler(ask)
        messages = list(ask.request.messages)
        last = max((at for at, m in enumerate(messages) if m.role == "system"), default=None)
        if last is not None and messages[last].content:
            *before, block = messages[last].content
            extras = {**(block.extras or {}), "cache_control": {"type": "ephemeral"}}
            marked = msgspec.structs.replace(block, extras=extras)
            messages[last] = msgspec.structs.replace(messages[last], content=(*before, marked))
        return await handler(ask.override(request=_with(ask.request, messages)))


def closed_cut(messages: Sequence[Message], at: int) -> int:
    """The last place up to ``at`` where the conversation may be cut: before no tool result whose call is cut away."""
    at = min(max(at, 0), len(messages))
    while at > 0 and at < len(messages) and messages[at].role in ("tool", "function"):
        at -= 1
    return at


def _with(request: Request, messages: Sequence[Message]) -> Request:
    return msgspec.structs.replace(request, messages=tuple(messages))
