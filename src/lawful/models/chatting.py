"""A model as a step of a pipeline: text in, text out; the model itself is made when the step first runs."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

from lawful.core.errors import ConfigurationError, Error, Failure, ParsingError
from lawful.core.result import Err, Ok, Result
from lawful.models.port import ChatModel
from lawful.models.select import ALONE, model, split
from lawful.pipeline.build import prim
from lawful.pipeline.explaining import explain
from lawful.pipeline.machine import run
from lawful.pipeline.nodes import Pipeline, name_of

T = TypeVar("T")


class Chat:
    """The component of `chat`."""

    kind = "model"

    def __init__(self, name: str | ChatModel[Any], system: str, settings: dict[str, Any]) -> None:
        self._model = name if isinstance(name, ChatModel) else None
        self._name = name if isinstance(name, str) else name.component_id
        self._system = system
        self._settings = settings

    @property
    def component_id(self) -> str:
        return self._name

    async def __call__(self, value: str, /) -> Result[str, Error]:
        try:
            if self._model is None:
                self._model = model(self._name, **self._settings)
            prompt = [("system", self._system), ("user", value)] if self._system else value
            return Ok((await self._model.ainvoke(prompt)).text)
        except Failure as error:
            return Err(cast("Error", error))


def chat(name: str | ChatModel[Any], /, *, system: str = "", **settings: Any) -> Pipeline[str, str]:
    """The model as a pipeline: ``answer = pure(prompt) >> (chat("openai:gpt-5") | chat("ollama:qwen3"))``.

    Building it needs neither the provider's package nor a key; a script answers for it under its name.

    Raises: ConfigurationError for a name without a known provider.
    """
    if isinstance(name, str) and name not in ALONE:
        split(name)
    return prim(Chat(name, system, settings))


class Repaired(Generic[T]):
    """The component of `repaired`."""

    def __init__(self, parser: Pipeline[str, T], repairer: Pipeline[str, str], attempts: int) -> None:
        self.parser = parser
        self.repairer = repairer
        self.attempts = attempts

    @property
    def model_calls(self) -> int | None:
        """How many calls of models it makes at most."""
        calls = explain(self.repairer).model_calls
        return None if calls is None else calls * self.attempts

    @property
    def component_id(self) -> str:
        return f"{name_of(self.parser) or 'parser'} repaired by {name_of(self.repairer) or 'a pipeline'}"

    async def __call__(self, value: str, /) -> Result[T, Error]:
        found = await run(self.parser, value)
        for _ in range(self.attempts):
            if isinstance(found, Ok) or not isinstance(found.error, ParsingError):
                return found
            told = f"This text:\n{value}\nis not of the form asked for: {found.error.message}\nGive it in that form, alone."
            again = await run(self.repairer, told)
            if isinstance(again, Err):
                return again
            value = again.value
            found = await run(self.parser, value)
        return found


def repaired(parser: Pipeline[str, T], repairer: Pipeline[str, str], *, attempts: int = 1) -> Pipeline[str, T]:
    """``parser``, whose errors go to ``repairer`` (a `chat` step) with the text, and what that says is parsed again.

    Raises: ConfigurationError, if ``attempts`` is less than 1.
    """
    if attempts < 1:
        raise ConfigurationError(
            f"attempts must be at least 1, not {attempts}", component="models", operation="repaired"
        )
    return prim(Repaired(parser, repairer, attempts))
