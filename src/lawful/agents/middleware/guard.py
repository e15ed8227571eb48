"""Guardrails: checks of what goes in, what comes out and what tools are given, before any effect, streaming or not."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from lawful.agents.aside import aside
from lawful.agents.middleware.base import Middleware, ModelAsk, ModelHandler, ToolAsk, ToolHandler
from lawful.agents.middleware.held import held_back
from lawful.agents.state import this_turn
from lawful.core.errors import ConfigurationError, Failure, ValidationError
from lawful.core.messages import Message, Text
from lawful.models.port import ChatModel
from lawful.models.values import Reply
from lawful.tools.dispatch import Outcome, as_text

Stage: TypeAlias = Literal["input", "output", "tool"]


class Violation(Struct, frozen=True):
    """The text may not pass."""

    reason: str


class Rewrite(Struct, frozen=True):
    """The text passes in this form."""

    text: str


Verdict: TypeAlias = Violation | Rewrite | None


class Rail(Protocol):
    """One check. Gives None where the text may pass."""

    @property
    def name(self) -> str: ...
    async def check(self, text: str) -> Verdict: ...


class RegexRail:
    """No text that the pattern is found in; with ``replace`` what it finds is replaced instead."""

    def __init__(self, pattern: str, *, replace: str | None = None, name: str = "regex") -> None:
        self.name = name
        self._pattern = re.compile(pattern)
        self._replace = replace

    async def check(self, text: str) -> Verdict:
        if self._pattern.search(text) is None:
            return None
        if self._replace is None:
            return Violation(f"{self.name}: it has what {self._pattern.pattern!r} describes")
        return Rewrite(self._pattern.sub(self._replace, text))


class KeywordRail:
    """None of these words, whole and in any case."""

    def __init__(self, *words: str, name: str = "keyword") -> None:
        self.name = name
        self._pattern = (
            re.compile("|".join(rf"\b{re.escape(word)}\b" for word in words), re.IGNORECASE) if words else None
        )

    async def check(self, text: str) -> Verdict:
        found = self._pattern.search(text) if self._pattern is not None else None
        return None if found is None else Violation(f"{self.name}: it has the word {found[0]!r}")


class LengthRail:
    """At most so many characters."""

    def __init__(self, most: int, *, name: str = "length") -> None:
        self.name = name
        self._most = most

    async def check(self, text: str) -> Verdict:
        return (
            None if len(text) <= self._most else Violation(f"{self.name}: {len(text)} characters, at most {self._most}")
        )


class ClassifierRail:
    """A model says yes or no to ``question`` about the text; yes is a violation.

    Whatever else it says, and its failure, is a violation too, unless ``failing="open"``.
    """

    def __init__(
        self,
        model: ChatModel[Any],
        question: str,
        *,
        failing: Literal["closed", "open"] = "closed",
        name: str = "classifier",
    ) -> None:
        self.name = name
        self._model, self._question, self._failing = model, question, failing

    async def check(self, text: str) -> Verdict:
        try:
            asked = f"{self._question}\nAnswer yes or no, with nothing else.\n\n---\n{text}\n---"
            found = await aside(self._model, asked)
        except Failure as error:
            return None if self._failing == "open" else Violation(f"{self.name} failed: {error.message}")
        said = found.text.strip().strip(".!").lower()
        if said == "no":
            return None
        if said == "yes":
            return Violation(f"{self.name}: {self._question}")
        return None if self._failing == "open" else Violation(f"{self.name} answered neither yes nor no")


class Guardrails(Middleware):
    """Runs its rails in order at each stage; the first violation wins and nothing after it runs.

    Input rails see what the user said before the model is asked, output rails the whole answer before it is kept or told or
    a tool is called, tool rails the arguments of each call before it runs. With output rails a stream gives the answer in
    one piece, when it has passed, and not what the model thought aloud. ``advisory=True`` lets the input rails run beside
    the model, whose answer is held back until they are done, so that no word, no tool and no effect comes before.

    Raises: ValidationError with the stage and the rail; a tool rail's violation is told to the model as the call's result.
    """

    gate = True

    def __init__(
        self,
        *,
        input: Sequence[Rail] = (),
        output: Sequence[Rail] = (),
        tool: Sequence[Rail] = (),
        advisory: bool = False,
    ) -> None:
        if not (input or output or tool):
            raise ConfigurationError(
                "Guardrails without a rail guard nothing", component="agents", operation="middleware"
            )
        self._input, self._output, self._tool, self._advisory = input, output, tool, advisory

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        if not self._output:
            return await self._answer(ask, handler)
        return await held_back(ask, lambda quiet: self._answer(quiet, handler), self._out)

    async def _answer(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        if not self._input or ask.round > 1:
            return await handler(ask)
        if not self._advisory:
            return await handler(await self._checked_input(ask))
        return await held_back(ask, lambda quiet: _beside(self._checked_input(quiet), handler(quiet)), _as_it_is)

    async def wrap_tool(self, ask: ToolAsk, handler: ToolHandler) -> Outcome:
        found = await _through(self._tool, as_text(ask.call.args))
        if isinstance(found, Violation):
            return Outcome(ask.call.settled("denied", f"Refused: {found.reason}. It was not run."))
        return await handler(ask)

    async def _checked_input(self, ask: ModelAsk) -> ModelAsk:
        said = next((m for m in this_turn(ask.messages) if m.role == "user"), None)
        if said is None:
            return ask
        found = await _through(self._input, said.text)
        if isinstance(found, Violation):
            raise _refused("input", found)
        if found is None:
            return ask
        shown = tuple(_saying(m, found.text) if m.id == said.id else m for m in ask.request.messages)
        return ask.override(request=msgspec.structs.replace(ask.request, messages=shown))

    async def _out(self, reply: Reply) -> Reply:
        found = await _through(self._output, reply.text) if reply.text else None
        if isinstance(found, Violation):
            raise _refused("output", found)
        if found is None:
            return reply
        return msgspec.structs.replace(reply, message=_saying(reply.message, found.text))


async def _as_it_is(reply: Reply) -> Reply:
    return reply


async def _beside(check: Awaitable[ModelAsk], answer: Awaitable[Reply]) -> Reply:
    """Both at once; a violation cancels the model's call."""
    async with asyncio.TaskGroup() as group:
        guard = group.create_task(_held(check))
        model = group.create_task(_awaited(answer))
        bad = await guard
        if bad is not None:
            model.cancel()
    if bad is not None:
        raise bad
    return model.result()


async def _held(check: Awaitable[ModelAsk]) -> ValidationError | None:
    try:
        await check
    except ValidationError as error:
        return error
    return None


async def _awaited(answer: Awaitable[Reply]) -> Reply:
    return await answer


async def _through(rails: Sequence[Rail], text: str) -> Violation | Rewrite | None:
    """The first violation, or the text as the rails left it if any rewrote it."""
    now = text
    for rail in rails:
        found = await rail.check(now)
        if isinstance(found, Violation):
            return found
        if isinstance(found, Rewrite):
            now = found.text
    return Rewrite(now) if now != text else None


def _saying(message: Message, text: str) -> Message:
    rest = tuple(block for block in message.content if not isinstance(block, Text))
    return msgspec.structs.replace(message, content=(Text(text), *rest))


def _refused(stage: Stage, found: Violation) -> ValidationError:
    return ValidationError(
        f"guardrail on {stage}: {found.reason}", component="guardrails", operation=stage, details={"stage": stage}
    )
