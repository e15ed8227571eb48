"""A model that fails as told, for tests: before its answer, in the midst of it, or with an answer that is not of the form."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import ClassVar, TypeAlias, TypeVar

from msgspec import Struct

from lawful.core.failure import Failure
from lawful.core.retry import RetryPolicy
from lawful.models.failures import broken, refused
from lawful.models.pieces import CallPiece, FinishPiece, Piece, TextPiece
from lawful.models.port import ChatModel
from lawful.models.settings import ModelConfig
from lawful.models.values import Request

ConfigT = TypeVar("ConfigT", bound=ModelConfig)


class Status(Struct, frozen=True):
    """The provider refuses with this status, as 429 with the seconds that it asks to wait."""

    status: int
    retry_after: float | None = None
    code: str = ""


class Drop(Struct, frozen=True):
    """The connection is lost after so many pieces of the answer."""

    after: int = 1


class Malformed(Struct, frozen=True):
    """Every text loses its last character, and so does every call's JSON: a form that is cut."""


class Refuse(Struct, frozen=True):
    """This error is raised."""

    error: Failure


Fault: TypeAlias = Status | Drop | Malformed | Refuse | None
"""None: this call goes well."""


class Faulty(ChatModel[ConfigT]):
    """``inner``, whose calls fail in the order of ``faults``; after these all goes well."""

    immediate: ClassVar[bool] = False

    def __init__(self, inner: ChatModel[ConfigT], *faults: Fault, retry: RetryPolicy | None = None) -> None:
        self.inner = inner
        self.provider, self.name = inner.provider, inner.name
        self.config, self.config_class, self.profile = inner.config, inner.config_class, inner.profile
        self.retry = retry
        self.calls = 0
        """How often it was asked."""
        self._faults = faults

    async def pieces(self, request: Request, config: ConfigT) -> AsyncIterator[Piece]:
        fault = self._faults[self.calls] if self.calls < len(self._faults) else None
        self.calls += 1
        if isinstance(fault, Status):
            wait = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
            raise refused(self.component_id, fault.status, "as scripted", code=fault.code, headers=wait)
        if isinstance(fault, Refuse):
            raise fault.error
        said: list[str] = []
        count = 0
        async for piece in self.inner.pieces(request, config):
            if isinstance(fault, Drop) and (count >= fault.after or isinstance(piece, FinishPiece)):
                raise broken(self.component_id, True, "as scripted", text="".join(said))
            count += 1
            made = _cut(piece) if isinstance(fault, Malformed) else piece
            if isinstance(made, TextPiece):
                said.append(made.text)
            yield made


def _cut(piece: Piece) -> Piece:
    if isinstance(piece, TextPiece):
        return TextPiece(piece.text[:-1], piece.key)
    if isinstance(piece, CallPiece):
        return CallPiece(piece.index, piece.id, piece.name, piece.text[:-1])
    return piece
