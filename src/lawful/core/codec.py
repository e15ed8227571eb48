"""`Registry`: the closed map from type ids to codecs, by which values become stored bytes and bytes become values again.

Bytes are msgpack, with extensions of our own for what it has no form for. Nothing is imported or run by a stored name:
a type id that is not registered is an error that keeps the bytes.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Any, TypeVar, cast

from lawful.core.codec_kinds import Codec, Misfit, kind_of
from lawful.core.codec_own import own_class, own_id
from lawful.core.codec_read import Reader
from lawful.core.codec_scan import Unfit, classes_in
from lawful.core.codec_types import Unstorable
from lawful.core.codec_write import Writer, path_to, text_with
from lawful.core.errors import ConfigurationError, ValidationError
from lawful.core.secret import holds, texts

C = TypeVar("C", bound=type)
_ROOTS = ("pydantic.main", "pydantic.root_model", "msgspec", "enum", "builtins")
"""Modules whose classes are every model's base: naming one of them names no subclass."""
_NONE: Mapping[bytes, bytes] = {}


def digest16(data: bytes) -> bytes:
    """The digest that a chunk is kept under: BLAKE2b, 16 bytes."""
    return blake2b(data, digest_size=16).digest()


class Registry:
    """Which classes may be stored, and how.

    Plain data (None, bool, int, float, str, bytes, list, dict, tuple, set, frozenset, bytearray, complex, datetime, date,
    time, timedelta, Decimal, UUID; exact types) needs no registration.
    """

    __slots__ = ("_classes", "_ids", "_parent")

    def __init__(self, parent: Registry | None = None) -> None:
        self._parent = parent
        self._classes: dict[type, Codec] = {}
        self._ids: dict[str, Codec] = {}

    def child(self) -> Registry:
        """A new registry that also knows all that this one does, now and later."""
        return Registry(self)

    def register(
        self,
        cls: C,
        *,
        id: str | None = None,
        version: int = 1,
        upcast: Mapping[int, Callable[[Any], Any]] | None = None,
        encode: Callable[[Any], Any] | None = None,
        decode: Callable[[Any], Any] | None = None,
    ) -> C:
        """Let values of exactly this class be stored; gives ``cls`` back, so that it may be used as a decorator.

        Dataclasses, pydantic models, msgspec Structs, NamedTuples and Enums need no more; any other class gives
        ``encode`` (value -> storable value) and ``decode`` (the reverse). ``upcast[n]`` turns the plain form of version
        n (a dict of fields) into that of version n + 1.

        Raises: ConfigurationError, if the class needs ``encode`` and ``decode``, or another class has the id.
        """
        type_id = f"{cls.__module__}:{cls.__qualname__}" if id is None else id
        if (encode is None) != (decode is None):
            raise _configuration(f"{type_id}: encode and decode are given both or neither", type_id)
        if encode is not None and decode is not None:
            kind = encode, decode
        else:
            found = kind_of(cls)
            if found is None:
                raise _configuration(
                    f"{type_id} is neither a dataclass, pydantic model, msgspec Struct, NamedTuple nor Enum:"
                    " give encode= and decode=",
                    type_id,
                )
            kind = found
        self._add(Codec(type_id, version, cls, dict(upcast or {}), *kind))
        return cls

    def retired(self, type_id: str, read: Callable[[Any], Any], *, version: int = 1) -> None:
        """Let values of a class that has gone be read: ``read`` gets their fields as a dict and gives what replaces them."""
        self._add(Codec(type_id, version, None, {}, _unwritable, read))

    def _add(self, codec: Codec) -> None:
        old = self._ids.get(codec.id)
        if old is not None and old.cls is not codec.cls:
            if not _same_name(old.cls, codec.cls):
                raise _configuration(f"the type id {codec.id!r} belongs to {old.cls!r} already", codec.id)
            # The same class defined again, as a notebook does.
            self._classes.pop(cast("type", old.cls), None)
        if codec.version < 1 or any(not 1 <= version < codec.version for version in codec.upcast):
            raise _configuration(f"{codec.id}: up-casters are for versions from 1 to below {codec.version}", codec.id)
        self._ids[codec.id] = codec
        if codec.cls is not None:
            self._classes[codec.cls] = codec

    def register_annotation(self, annotation: Any, *, where: str = "") -> None:
        """Register every class that a value of this type may hold, fields and known subclasses included.

        A class that this registry or its parent knows already stays as it is.

        Raises: ConfigurationError, which names ``where`` (a state's key), for what cannot be stored.
        """
        place = f"{where}: " if where else ""
        named: list[type] = []
        try:
            for cls in classes_in(annotation):
                if self.codec_of(cls) is None and not self._implied(cls):
                    raise Unfit(f"values of {cls.__module__}:{cls.__qualname__} cannot be stored without a codec")
                named.append(cls)
        except Unfit as error:
            raise _configuration(
                f"{place}{error}; mark the key as untracked, or call codec.register(cls, encode=..., decode=...)", where
            ) from error
        self._subclasses(named)

    def _subclasses(self, named: list[type]) -> None:
        """Register what is below the named classes by now: where a base is named, a subclass may stand.

        One that cannot be stored is passed over here and refused when a value of it is written.
        """
        seen = set(named)
        for base in named:
            if base.__module__ in _ROOTS:
                continue
            below = cast("list[type]", cast("Any", base).__subclasses__())
            for sub in below:
                if sub in seen:
                    continue
                seen.add(sub)
                named.append(sub)
                with suppress(Unfit):
                    for cls in classes_in(sub):
                        if self.codec_of(cls) is None:
                            self._implied(cls)

    def _implied(self, cls: type) -> bool:
        """Register a class that an annotation names; whether values of it, or at least of its subclasses, can be stored."""
        kind = kind_of(cls)
        if kind is None:
            return bool(getattr(cls, "__abstractmethods__", False)) or _has_heirs(cls)
        type_id = f"{cls.__module__}:{cls.__qualname__}"
        if self.by_id(type_id) is None:
            self._add(Codec(type_id, 1, cls, {}, *kind))
        return True

    def codec_of(self, cls: type) -> Codec | None:
        """The codec for values of exactly this class."""
        found = self._classes.get(cls)
        return found if found is not None or self._parent is None else self._parent.codec_of(cls)

    def by_id(self, type_id: str) -> Codec | None:
        """The codec of a stored type id."""
        found = self._ids.get(type_id)
        return found if found is not None or self._parent is None else self._parent.by_id(type_id)

    def ids(self) -> list[str]:
        """Every type id known here, sorted."""
        return sorted({*self._ids, *(self._parent.ids() if self._parent is not None else ())})

    def encode(self, value: Any, *, chunk: Callable[[bytes], bytes] | None = None, where: str = "") -> bytes:
        """The bytes of ``value``, from which ``decode`` makes an equal value of the same types.

        ``chunk``, where given, is called with each nested piece of 512 bytes or more; it keeps the piece, returns its
        16-byte digest, and that digest alone stands in the result. It is called for every digest that the bytes refer to,
        directly or through other chunks, each time that it is referred to.

        Raises: ValidationError, which names the class and the place in the value, for what is not registered.
        """
        return self._write(value, chunk, where, in_order=False)

    def encode_sorted(self, value: Any, *, where: str = "") -> bytes:
        """As ``encode``, with dicts in the order of their keys: equal values give equal bytes."""
        return self._write(value, None, where, in_order=True)

    def _write(self, value: Any, chunk: Callable[[bytes], bytes] | None, where: str, *, in_order: bool) -> bytes:
        try:
            return self._written(value, chunk, in_order)
        except Unstorable as error:
            culprit, why = error.value, error.why
        except RecursionError:
            culprit, why = value, "it is nested too deeply for what is left of the stack"
        path = (where or "value") + path_to(value, culprit, self.codec_of)
        name = f"{type(culprit).__module__}:{type(culprit).__qualname__}"
        raise ValidationError(
            f"{path} cannot be stored: {why}",
            component="codec",
            operation="encode",
            details={"path": path, "type": name},
        )

    def _written(self, value: Any, chunk: Callable[[bytes], bytes] | None, in_order: bool) -> bytes:
        secrets = texts()
        if not secrets:
            return Writer(self.codec_of, chunk, in_order=in_order).encode(value)
        keep = chunk

        def watched(piece: bytes) -> bytes:
            self._guard(piece, value, secrets)
            return b"" if keep is None else keep(piece)

        blob = Writer(self.codec_of, watched if keep else None, in_order=in_order).encode(value)
        self._guard(blob, value, secrets)
        return blob

    def _guard(self, data: bytes, value: Any, secrets: tuple[str, ...]) -> None:
        if holds(data, secrets):
            raise Unstorable(text_with(value, secrets, self.codec_of), "it holds the text of a Secret")

    def decode(self, blob: bytes, *, chunks: Mapping[bytes, bytes] | None = None, where: str = "") -> Any:
        """The value that ``encode`` wrote; ``chunks`` holds the pieces that were put away, by digest.

        Raises: UnknownType, for a type id or version that is not registered; CorruptRecord, for anything that ``encode``
        would not have written. Both name ``where`` and carry the bytes in ``raw``.
        """
        return Reader(self.by_id, self.ids, blob, _NONE if chunks is None else chunks, where).read()


def _configuration(message: str, where: str) -> ConfigurationError:
    return ConfigurationError(message, component="codec", operation="register", details={"where": where})


def _same_name(old: type | None, new: type | None) -> bool:
    return old is None or new is None or (old.__module__, old.__qualname__) == (new.__module__, new.__qualname__)


def _has_heirs(cls: Any) -> bool:
    """Whether any class below this one can be stored, so that naming it makes sense."""
    below: list[Any] = type.__subclasses__(cls)
    return any(kind_of(sub) is not None or _has_heirs(sub) for sub in below)


def _unwritable(value: Any) -> Any:
    raise AttributeError(f"{type(value).__qualname__} is read only")


class _Program(Registry):
    """The registry of the whole program, which knows the library's own classes without loading them."""

    __slots__ = ()

    def codec_of(self, cls: type) -> Codec | None:
        found = super().codec_of(cls)
        if found is None and (type_id := own_id(cls)) is not None:
            self.register(cls, id=type_id)
            found = super().codec_of(cls)
        return found

    def by_id(self, type_id: str) -> Codec | None:
        found = super().by_id(type_id)
        return found if found is not None or (cls := own_class(type_id)) is None else self.codec_of(cls)


default: Registry = _Program()
"""What is registered for the whole program; every compiled graph's own registry is a child of it."""

register = default.register
"""`Registry.register` of the program's registry."""
retired = default.retired
"""`Registry.retired` of the program's registry."""
encode = default.encode
decode = default.decode


def _pairs(value: Any) -> dict[Any, Any]:
    if type(value) is not dict:
        raise Misfit("is not stored as a mapping")
    return cast("dict[Any, Any]", value)


register(deque, id="deque", encode=lambda v: [v.maxlen, list(v)], decode=lambda told: deque(told[1], told[0]))
register(OrderedDict, id="ordereddict", encode=dict, decode=lambda told: OrderedDict(_pairs(told)))
register(Counter, id="counter", encode=dict, decode=lambda told: Counter(_pairs(told)))
__all__ = ["Codec", "Registry", "decode", "default", "digest16", "encode", "register", "retired"]
