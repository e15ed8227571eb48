"""Models that record what a real one answered, and that answer from such a record: a cassette, JSON lines without secrets."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar, cast

import msgspec

from lawful.core.cassettes import SECRETS, Line, NotRecorded, add_line, lines_of, no_cassette
from lawful.core.errors import Failure, from_json
from lawful.core.messages import message_json
from lawful.core.retry import RetryPolicy
from lawful.models.pieces import Piece
from lawful.models.port import ChatModel
from lawful.models.settings import ModelConfig
from lawful.models.values import Request

ConfigT = TypeVar("ConfigT", bound=ModelConfig)


class Recorder(ChatModel[ConfigT]):
    """``inner``, each of whose answers and errors is added to the file ``path``.

    What looks like a key is blotted out, and so are ``secrets``.
    """

    def __init__(self, inner: ChatModel[ConfigT], path: str | os.PathLike[str], *, secrets: Iterable[str] = ()) -> None:
        self.inner = inner
        self.provider, self.name = inner.provider, inner.name
        self.config, self.config_class, self.profile = inner.config, inner.config_class, inner.profile
        self.retry = inner.retry
        self._path = Path(path)
        self._secrets = tuple(secrets)

    async def pieces(self, request: Request, config: ConfigT) -> AsyncIterator[Piece]:
        heard: list[Piece] = []
        line: Line = {"model": self.component_id, "asked": asked(request), "request": _request_json(request)}
        try:
            async for piece in self.inner.pieces(request, config):
                heard.append(piece)
                yield piece
        except Failure as error:
            line["error"] = error.to_json()
            raise
        finally:
            line["pieces"] = [_piece_json(piece) for piece in heard]
            if heard or "error" in line:
                add_line(self._path, line, self._secrets)

    async def aclose(self) -> None:
        await self.inner.aclose()


class Replayer(ChatModel[ModelConfig]):
    """Answers from the file ``path``: each request gets the answers that it got when it was recorded, in their order.

    Raises: NotRecorded for a request that is not in the record; ConfigurationError for a file that is no cassette.
    """

    immediate: ClassVar[bool] = True
    config_class = ModelConfig

    def __init__(self, path: str | os.PathLike[str], *, retry: RetryPolicy | None = None) -> None:
        lines = lines_of(Path(path), "asked", "pieces")
        provider, _, name = str(lines[0].get("model", "")).partition(":") if lines else ("", "", "")
        self.provider, self.name = provider or "cassette", name or Path(path).stem
        self.config = ModelConfig()
        self.retry = retry
        self._left: dict[str, list[Line]] = {}
        for line in lines:
            self._left.setdefault(line["asked"], []).append(line)

    @property
    def left(self) -> int:
        """Answers that were not given yet."""
        return sum(map(len, self._left.values()))

    async def pieces(self, request: Request, config: ModelConfig) -> AsyncIterator[Piece]:
        key = asked(request)
        found = self._left.get(key)
        if not found:
            raise NotRecorded(f"no answer is recorded for {request.messages[-1].text[:200]!r}, or all were given")
        line = found.pop(0)
        for told in line["pieces"]:
            yield _piece_from(told)
        if "error" in line:
            raise from_json(line["error"])


def asked(request: Request) -> str:
    """What tells requests apart: their content, without the ids that differ from run to run."""
    told = _request_json(request)
    names: dict[str, str] = {}
    for message in told["messages"]:
        message.pop("id", None)
        for block in message["content"]:
            _renamed(block, "id", names)
        _renamed(message, "tool_call_id", names)
    return hashlib.sha256(json.dumps(_redacted(told), sort_keys=True).encode()).hexdigest()[:32]


def _renamed(facts: Line, key: str, names: dict[str, str]) -> None:
    if isinstance(facts.get(key), str):
        facts[key] = names.setdefault(facts[key], f"#{len(names)}")


def _redacted(told: Line) -> Any:
    return json.loads(SECRETS.sub("***", json.dumps(told)))


def _request_json(request: Request) -> Line:
    told: Line = msgspec.to_builtins(request)
    del told["quiet"]  # whoever listens, the question is the same
    told["messages"] = [json.loads(msgspec.json.encode(message_json(message))) for message in request.messages]
    return told


def _piece_json(piece: Piece) -> Line:
    return {"piece": type(piece).__name__, **json.loads(msgspec.json.encode(piece))}


_KINDS: Final[Mapping[str, type[Any]]] = {kind.__name__: kind for kind in Piece.__args__}


def _piece_from(told: Line) -> Piece:
    facts = dict(told)
    try:
        return cast("Piece", msgspec.convert(facts, _KINDS[facts.pop("piece")]))
    except (KeyError, msgspec.ValidationError) as error:
        raise no_cassette(f"a piece is not of a cassette's form: {error}") from error
