"""`Middleware`: what may stand around a model call and a tool call; additive parts fail open, gates fail closed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field

from lawful.core.errors import ConfigurationError
from lawful.core.messages import Message, ToolCall
from lawful.models.port import ChatModel
from lawful.models.values import Reply, Request, Usage
from lawful.tools.definition import AnyTool
from lawful.tools.dispatch import Outcome
from lawful.tools.facts import Facts
from lawful.tools.gates import Ruling

_log = logging.getLogger("lawful.agents")

Ask = TypeVar("Ask")
Answer = TypeVar("Answer")
Handler: TypeAlias = Callable[[Ask], Awaitable[Answer]]


class ModelAsk(Struct, frozen=True):
    """One call of the model that is about to be made."""

    model: ChatModel[Any]
    request: Request
    messages: Sequence[Message]
    """The whole conversation, as the state has it."""
    facts: Facts
    agent: str
    round: int
    """1 for the first call of this turn."""
    usage: Usage = field(default_factory=Usage)
    """What the thread has taken so far."""
    private: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What one middleware tells those inside it."""

    def override(self, **changes: Any) -> ModelAsk:
        """The same with other fields. Raises: TypeError for unknown ones."""
        return msgspec.structs.replace(self, **changes)


class ToolAsk(Struct, frozen=True):
    """One tool call that is about to be carried out, with what the gates said of it."""

    call: ToolCall
    tool: AnyTool | None
    """None where there is no such tool; the ruling then refuses."""
    ruling: Ruling
    facts: Facts
    agent: str
    nth: int = 1
    """Which call of this tool it is in this turn, from 1."""
    nth_of_all: int = 1
    """Which call of any tool."""

    def override(self, **changes: Any) -> ToolAsk:
        """The same with other fields. Raises: TypeError for unknown ones."""
        return msgspec.structs.replace(self, **changes)


ModelHandler: TypeAlias = Callable[[ModelAsk], Awaitable[Reply]]
ToolHandler: TypeAlias = Callable[[ToolAsk], Awaitable[Outcome]]


class Turn(Struct, frozen=True):
    """What the hooks before and after see."""

    messages: Sequence[Message]
    facts: Facts
    agent: str
    round: int


class Middleware:
    """Subclass it and override what you need; the first in the list is the outermost.

    What stands before ``handler`` runs again when a run is resumed inside it, and so must be free of effects. A bug in a
    middleware never ends a turn: it is logged and the turn goes on without it (what the handler raised is no bug of the
    middleware and passes). With ``gate = True`` the opposite holds: whatever goes wrong in it stops the call.
    """

    gate: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Two of one name cannot stand in one list."""
        return type(self).__name__

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        """Around each model call."""
        return await handler(ask)

    async def wrap_tool(self, ask: ToolAsk, handler: ToolHandler) -> Outcome:
        """Around each tool call, those that a gate refused included."""
        return await handler(ask)

    async def before_agent(self, turn: Turn) -> Sequence[Message] | None:
        """Before the first model call of a turn; messages to add to the conversation."""
        return None

    async def before_model(self, turn: Turn) -> Sequence[Message] | None:
        """Before each model call."""
        return None

    async def after_model(self, turn: Turn, reply: Reply) -> Sequence[Message] | None:
        """After each model call."""
        return None

    async def after_agent(self, turn: Turn, reply: Reply) -> Sequence[Message] | None:
        """After the last model call of a turn."""
        return None


def checked(stack: Sequence[Middleware]) -> tuple[Middleware, ...]:
    """Raises: ConfigurationError, for two of one name or for what is no middleware."""
    seen: set[str] = set()
    for one in stack:
        if not isinstance(one, Middleware):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"{one!r:.100} is no Middleware", component="agents", operation="middleware")
        if one.name in seen:
            raise ConfigurationError(
                f"two middlewares are called {one.name!r}: give one another name",
                component="agents",
                operation="middleware",
            )
        seen.add(one.name)
    return tuple(stack)


def overrides(one: Middleware, hook: str) -> bool:
    """Whether a middleware has this hook at all: one that has not costs nothing."""
    return getattr(type(one), hook) is not getattr(Middleware, hook)


def around(
    stack: Sequence[Middleware], hook: str, inner: Callable[[Ask], Awaitable[Answer]]
) -> Callable[[Ask], Awaitable[Answer]]:
    """``inner`` with every middleware that has ``hook`` around it, the first outermost."""
    handler = inner
    for one in reversed(stack):
        if overrides(one, hook):
            handler = _layer(one, hook, handler)
    return handler


def _layer(one: Middleware, hook: str, inner: Callable[[Ask], Awaitable[Answer]]) -> Callable[[Ask], Awaitable[Answer]]:
    wrap: Any = getattr(one, hook)
    if one.gate:

        async def closed(ask: Ask) -> Answer:
            return await wrap(ask, inner)

        return closed

    async def open_(ask: Ask) -> Answer:
        inside = _Inside(inner)
        try:
            return await wrap(ask, inside)
        except Exception as error:
            if inside.raised is error:
                raise
            _log.warning("middleware %s failed in %s, the turn goes on without it: %r", one.name, hook, error)
        if inside.raised is not None:  # what was asked has ended badly: that is told, and it is not asked again
            raise inside.raised
        return inside.gave[-1] if inside.gave else await inner(ask)

    return open_


class _Inside:
    """A handler that remembers what it gave or raised, to tell a middleware's own failure from the handler's."""

    def __init__(self, inner: Callable[[Any], Awaitable[Any]]) -> None:
        self._inner = inner
        self.gave: list[Any] = []
        self.raised: BaseException | None = None

    async def __call__(self, ask: Any) -> Any:
        self.raised = None
        try:
            found = await self._inner(ask)
        except BaseException as error:
            self.raised = error
            raise
        self.gave.append(found)
        return found


async def hooked(stack: Sequence[Middleware], hook: str, turn: Turn, *more: Any) -> list[Message]:
    """What the ``hook`` of each middleware adds, in order; each sees what those before it added."""
    added: list[Message] = []
    for one in stack:
        if not overrides(one, hook):
            continue
        try:
            said = await getattr(one, hook)(msgspec.structs.replace(turn, messages=[*turn.messages, *added]), *more)
        except Exception as error:
            if one.gate:
                raise
            _log.warning("middleware %s failed in %s, the turn goes on without it: %r", one.name, hook, error)
            continue
        added.extend(said or ())
    return added
