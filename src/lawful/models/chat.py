"""A model as a step of a pipeline: text in, text out; the model itself is made when the step first runs."""

from __future__ import annotations

from typing import Any, cast

from lawful.core.errors import Error, Failure
from lawful.core.result import Err, Ok, Result
from lawful.models.port import ChatModel
from lawful.models.select import ALONE, model, split
from lawful.pipeline.build import prim
from lawful.pipeline.nodes import Pipeline


class Chat:
    """The component of `chat`."""

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
