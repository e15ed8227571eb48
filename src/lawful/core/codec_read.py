"""How stored bytes become a value again: only our own extensions and registered classes, and no byte chooses what runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast

from msgspec import MsgspecError
from msgspec.msgpack import Decoder

from lawful.core.codec_kinds import Codec, Misfit
from lawful.core.codec_types import FROZENSET, MAP, OBJECT, PARTS, READERS, REF, SEALED, SET, TUPLE
from lawful.core.errors import CorruptRecord, UnknownType
from lawful.core.failure import Failure, nearest

MAX_NESTED = 250
"""Extensions within extensions that are followed; more than any value that is written needs."""
MAX_LOADED = 1 << 30
"""Bytes of chunks that one value may be read from, each counted as often as it is referred to."""

_BAD = (
    MsgspecError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    MemoryError,
    Failure,
    RecursionError,
    RuntimeError,
    OSError,
)


class _Extended(Exception):
    """The bytes hold an extension, so the plain decoder does not do."""


def _refuse(code: int, data: memoryview) -> NoReturn:
    raise _Extended


_plain = Decoder(ext_hook=_refuse).decode


class Reader:
    """One decoding of ``blob``."""

    __slots__ = ("_blob", "_chunks", "_decode", "_depth", "_find", "_ids", "_loaded", "_where")

    def __init__(
        self,
        find: Callable[[str], Codec | None],
        ids: Callable[[], list[str]],
        blob: bytes,
        chunks: Mapping[bytes, bytes],
        where: str,
    ) -> None:
        self._find = find
        self._ids = ids
        self._blob = blob
        self._chunks = chunks
        self._where = where
        self._depth = 0
        self._loaded = 0

    def read(self) -> Any:
        """The value. Raises: CorruptRecord, UnknownType; both carry the bytes in ``raw``."""
        try:
            try:
                return _plain(self._blob)
            except _Extended:
                self._decode = Decoder(ext_hook=self._extension).decode
                return self._decode(self._blob)
        except (CorruptRecord, UnknownType):
            raise
        except _BAD as error:
            if self._blob[:1] == SEALED:
                raise self._error(CorruptRecord, "are encrypted: open the journal with its cipher", error) from error
            raise self._error(CorruptRecord, f"do not decode: {error}", error) from error

    def _error(
        self, kind: type[CorruptRecord] | type[UnknownType], what: str, cause: BaseException | None = None
    ) -> Any:
        place = f" of {self._where}" if self._where else ""
        error = kind(
            f"the stored bytes{place} {what}",
            component="codec",
            operation="decode",
            details={"where": self._where} if self._where else {},
            cause=cause,
        )
        error.raw = self._blob
        return error

    def _extension(self, code: int, view: memoryview) -> Any:
        data = bytes(view)
        reader = READERS.get(code)
        if reader is not None:
            return reader(data)
        self._depth += 1
        if self._depth > MAX_NESTED:
            raise self._error(CorruptRecord, "are nested too deeply")
        if code == REF:
            value = self._decode(self._chunk(data))
        elif code == OBJECT:
            value = self._object(self._decode(data))
        else:
            value = self._container(code, self._decode(data))
        self._depth -= 1
        return value

    def _chunk(self, digest: bytes) -> bytes:
        data = self._chunks.get(digest)
        if data is None:
            raise self._error(CorruptRecord, f"refer to the chunk {digest.hex()}, which is missing")
        self._loaded += len(data)
        if self._loaded > MAX_LOADED:
            raise self._error(CorruptRecord, f"expand to more than {MAX_LOADED} bytes")
        return data

    def _container(self, code: int, items: Any) -> Any:
        if type(items) is not list:
            raise self._error(CorruptRecord, f"hold {type(items).__name__} where a list is due")
        parts = cast("list[Any]", items)
        if code == TUPLE:
            return tuple(parts)
        if code == SET:
            return set(parts)
        if code == FROZENSET:
            return frozenset(parts)
        if code == MAP:
            if len(parts) % 2:
                raise self._error(CorruptRecord, "hold a key without its value")
            return dict(zip(parts[::2], parts[1::2], strict=True))
        if code != PARTS:
            raise self._error(CorruptRecord, f"use the extension {code}, which is not ours")
        whole: list[Any] = []
        for part in parts:
            if type(part) is not list:
                raise self._error(CorruptRecord, f"hold {type(part).__name__} as part of a list")
            whole += cast("list[Any]", part)
        return whole

    def _object(self, told: Any) -> Any:
        match told:
            case [str() as type_id, int() as version, body] if type(version) is int:
                pass
            case _:
                raise self._error(CorruptRecord, "hold an object that is not [type id, version, fields]")
        codec = self._find(type_id)
        if codec is None:
            raise self._error(
                UnknownType, f"hold the type {type_id!r}, which is not registered.{nearest(type_id, self._ids())}"
            )
        if version > codec.version:
            raise self._error(
                UnknownType, f"hold version {version} of {type_id!r}; registered here is only version {codec.version}"
            )
        for old in range(version, codec.version):
            upcast = codec.upcast.get(old)
            if upcast is None:
                raise self._error(
                    UnknownType, f"hold version {version} of {type_id!r} and no up-caster leads on from {old}"
                )
            body = upcast(body)
        try:
            return codec.make(body)
        except Misfit as error:
            raise self._error(
                UnknownType, f"hold a {type_id!r} that {error}; raise its version and register an up-caster", error
            ) from error
