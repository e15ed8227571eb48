"""How a value becomes stored bytes: plain data straight through, all else in our extensions, large pieces as chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Raw
from msgspec.msgpack import Ext

from lawful.core.codec_kinds import Codec
from lawful.core.codec_types import FROZENSET, LEAVES, MAP, OBJECT, PARTS, REF, SET, TUPLE, Unstorable, class_of, dump
from lawful.core.known_list import KnownList
from lawful.core.secret import Secret, holds

MIN_CHUNK = 512
"""Bytes from which on a piece is stored as a chunk of its own."""
GROUP = 4096
"""Bytes of encoded elements at which a group of a long list is closed."""
BLOCK = 8
"""Elements of a long list are measured so many at a time."""
MAX_DEPTH = 100
"""Levels of nesting that are written: 1 for a list or dict, 2 for what needs an extension (tuple, set, object)."""

ATOMS: frozenset[type] = frozenset({type(None), bool, int, float})
SCALARS: frozenset[type] = ATOMS | {str, bytes}
TEXT: frozenset[type] = frozenset({str})


class Writer:
    """One encoding; ``chunk`` is called with each piece that is to be stored by itself and gives its digest."""

    __slots__ = ("_chunk", "_find", "_sorted")

    def __init__(
        self, find: Callable[[type], Codec | None], chunk: Callable[[bytes], bytes] | None, *, in_order: bool = False
    ) -> None:
        self._find = find
        self._chunk = chunk
        self._sorted = in_order

    def encode(self, value: Any) -> bytes:
        """The bytes of ``value``. Raises: Unstorable."""
        kind = class_of(value)
        if kind is dict:
            return dump(self._dict(value, 1))
        if kind is list or kind is KnownList:
            return dump(self._list(value, 1))
        return dump(self._pack(value, 0))

    def _pack(self, value: Any, depth: int) -> Any:
        """``value`` as msgspec can write it, with nested large pieces already put away as chunks."""
        kind = class_of(value)
        if kind in ATOMS:
            return value
        if kind is str or kind is bytes:
            return value if self._chunk is None or len(value) < MIN_CHUNK else self._seal(value)
        if depth >= MAX_DEPTH:
            raise Unstorable(value, f"it is nested more than {MAX_DEPTH} levels deep, or contains itself")
        if kind is dict:
            return self._seal(self._dict(value, depth + 1))
        if kind is list or kind is KnownList:
            return self._seal(self._list(value, depth + 1))
        leaf = LEAVES.get(kind)
        return self._seal(self._special(value, kind, depth + 2) if leaf is None else leaf(value))

    def _seal(self, plain: Any) -> Any:
        """A chunk's reference in place of a large piece; a small one encoded, so that it is not encoded again."""
        if self._chunk is None:
            return plain
        data = dump(plain)
        return Raw(data) if len(data) < MIN_CHUNK else Ext(REF, self._chunk(data))

    def _dict(self, value: dict[Any, Any], depth: int) -> Any:
        if not TEXT.issuperset(map(type, value)):
            return self._map(value, depth)
        if self._sorted:
            value = {key: value[key] for key in sorted(value)}
        types = set(map(type, value.values()))
        if types <= ATOMS or (types <= SCALARS and self._chunk is None):
            return value
        pack = self._pack
        return {key: pack(item, depth) for key, item in value.items()}

    def _map(self, value: dict[Any, Any], depth: int) -> Ext:
        pairs = [(dump(self._pack(key, depth + 1)), item) for key, item in value.items()]
        if self._sorted:
            pairs.sort(key=_first)
        flat: list[Any] = []
        for key, item in pairs:
            flat += (Raw(key), self._pack(item, depth + 1))
        return Ext(MAP, dump(flat))

    def _list(self, value: list[Any] | tuple[Any, ...], depth: int) -> Any:
        types = set(map(type, value))
        if types <= ATOMS or (types <= SCALARS and self._chunk is None):
            items: Any = value
        else:
            pack = self._pack
            items = [pack(item, depth) for item in value]
        return items if self._chunk is None or len(items) <= BLOCK else self._grouped(items, self._chunk)

    def _grouped(self, items: Any, chunk: Callable[[bytes], bytes]) -> Any:
        """A long list as groups from the front, which stay the same when the list only grows."""
        if len(dump(items)) < 2 * GROUP:
            return items
        refs, tail = self._cut(items, lambda group: chunk(dump(group)))
        parts: list[Any] = [tail]
        # The references of a very long list are a long list themselves.
        while len(refs) > BLOCK:
            above, rest = self._cut(refs, lambda group: chunk(dump(Ext(PARTS, dump(group)))))
            parts[:0] = rest
            refs = above
        return Ext(PARTS, dump([*refs, *parts]))

    @staticmethod
    def _cut(items: Any, store: Callable[[Any], bytes]) -> tuple[list[Ext], Any]:
        refs: list[Ext] = []
        start = size = 0
        for end in range(BLOCK, len(items) + 1, BLOCK):
            size += len(dump(items[end - BLOCK : end]))
            if size >= GROUP:
                refs.append(Ext(REF, store(items[start:end])))
                start, size = end, 0
        return refs, items[start:]

    def _special(self, value: Any, kind: type, depth: int) -> Ext:
        if kind is tuple:
            return Ext(TUPLE, dump(self._list(value, depth)))
        if kind is set or kind is frozenset:
            # Sorted, so that equal sets give equal bytes whatever the process's hash seed.
            members = sorted(dump(self._pack(item, depth)) for item in value)
            return Ext(SET if kind is set else FROZENSET, dump([Raw(member) for member in members]))
        codec = self._find(kind)
        if kind is Secret:
            raise Unstorable(
                value, "a Secret is never written down; keep it in the run's context, or under an untracked key"
            )
        if codec is None:
            raise Unstorable(
                value,
                f"its class {kind.__module__}:{kind.__qualname__} is not registered; mark the key as untracked, or call"
                " codec.register(cls, encode=..., decode=...)",
            )
        try:
            body = codec.take(value)
        except AttributeError as error:
            raise Unstorable(value, str(error)) from error
        return Ext(OBJECT, dump([codec.id, codec.version, self._pack(body, depth)]))


def _first(pair: tuple[bytes, Any]) -> bytes:
    return pair[0]


def text_with(value: Any, secrets: Sequence[str], find: Callable[[type], Codec | None]) -> object:
    """The first object within ``value`` whose own text holds one of ``secrets``; ``value`` itself if none does."""
    seen: set[int] = set()
    stack: list[tuple[Any, str]] = [(value, "")]
    while stack:
        here, _ = stack.pop()
        if type(here) in (str, bytes, bytearray):
            if holds(here if type(here) is str else bytes(here), secrets):
                return here
            continue
        if id(here) in seen or type(here) in SCALARS:
            continue
        seen.add(id(here))
        stack += _children(here, "", find)
    return value


def path_to(value: Any, culprit: object, find: Callable[[type], Codec | None]) -> str:
    """Where in ``value`` the object ``culprit`` is, such as ``["items"][3].name``; "" for the value itself or unknown."""
    seen: set[int] = set()
    stack: list[tuple[Any, str]] = [(value, "")]
    while stack:
        here, path = stack.pop()
        if here is culprit:
            return path
        if id(here) in seen or type(here) in SCALARS:
            continue
        seen.add(id(here))
        stack += _children(here, path, find)
    return ""


def _children(here: Any, path: str, find: Callable[[type], Codec | None]) -> Iterator[tuple[Any, str]]:
    if type(here) is dict:
        for key, item in cast("dict[Any, Any]", here).items():
            yield key, f"{path}.key({key!r:.40})"
            yield item, f"{path}[{key!r:.40}]"
    elif type(here) in (list, tuple, set, frozenset):
        for index, item in enumerate(cast("list[Any]", here)):
            yield item, f"{path}[{index}]"
    elif (codec := find(class_of(here))) is not None:
        yield from _fields(codec, here, path)


def _fields(codec: Codec, here: Any, path: str) -> Iterator[tuple[Any, str]]:
    try:
        body = codec.take(here)
    except AttributeError:
        return
    if isinstance(body, Mapping):
        fields = cast("Mapping[str, Any]", body)
        inner = fields.get("fields", fields)
        for name, item in cast("Mapping[str, Any]", inner if isinstance(inner, Mapping) else fields).items():
            yield item, f"{path}.{name}"
    else:
        yield body, path
