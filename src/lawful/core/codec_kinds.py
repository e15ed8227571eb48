"""How a value of each kind of class (dataclass, pydantic model, Struct, NamedTuple, Enum) is taken apart and put together.

Every kind gives a dict of fields (an Enum: the member's name), which is what up-casters see. Putting together sets the
fields and runs neither ``__init__`` nor validators, so that what comes back is what was stored; only a msgspec Struct
is built by its constructor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import Enum, Flag
from typing import Any, NamedTuple, TypeAlias, cast

from msgspec import Struct
from msgspec import UnsetType as Unset

from lawful.core.lazy import late

Take: TypeAlias = Callable[[Any], Any]
Make: TypeAlias = Callable[[Any], Any]

MISSING: Any = object()
_HOLDERS = (dict, list, tuple, set, frozenset, str, bytes, bytearray, int, float, complex, BaseException, type)


class Misfit(Exception):
    """Inside this package: stored fields do not fit the class as it is now; becomes an UnknownType."""


class Codec(NamedTuple):
    """How values of one class are stored."""

    id: str
    version: int
    cls: type | None
    """None for a type that has gone and is read only."""
    upcast: Mapping[int, Callable[[Any], Any]]
    """From an old version's plain form to that of the next one."""
    take: Take
    make: Make


def kind_of(cls: type[Any]) -> tuple[Take, Make] | None:
    """How values of ``cls`` are taken apart and put together, or None if that must be told by its author."""
    if issubclass(cls, Enum):
        return _flag_kind(cls) if issubclass(cls, Flag) else _enum_kind(cls)
    if is_pydantic(cls):
        return _pydantic_kind(cls)
    if issubclass(cls, Struct):
        return _struct_kind(cls)
    if issubclass(cls, tuple):
        return _namedtuple_kind(cast("Any", cls)) if hasattr(cast("Any", cls), "_fields") else None
    # A dataclass that is also a dict, a str or an exception holds more than its fields.
    if hasattr(cls, "__dataclass_fields__") and not issubclass(cls, _HOLDERS):
        return _dataclass_kind(cls)
    return None


def is_pydantic(cls: type[Any]) -> bool:
    """Whether it is a pydantic model; pydantic is never imported for this: a class of its needs it loaded already."""
    module = sys.modules.get("pydantic.main")
    base = getattr(module, "BaseModel", None)
    return base is not None and issubclass(cls, base)


def _fit(
    cls: type[Any], names: tuple[str, ...], defaults: Mapping[str, Callable[[], Any]], body: Any
) -> dict[str, Any]:
    """The stored fields, with defaults for those that were added since. Raises: Misfit."""
    if type(body) is not dict:
        raise Misfit(f"is stored as {type(body).__name__}, not as fields")
    stored = cast("dict[Any, Any]", body)
    for name in stored:
        if name not in names:
            raise Misfit(f"is stored with the field {name!r}, which {cls.__qualname__} does not have")
    out: dict[str, Any] = {}
    for name in names:
        value = stored.get(name, MISSING)
        if value is MISSING:
            if name not in defaults:
                raise Misfit(f"is stored without the field {name!r}, which has no default")
            value = defaults[name]()
        out[name] = value
    return out


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _dataclass_kind(cls: type[Any]) -> tuple[Take, Make]:
    dataclasses = late("dataclasses")
    fields = dataclasses.fields(cls)
    names = tuple(field.name for field in fields)
    defaults: dict[str, Callable[[], Any]] = {}
    for field in fields:
        if field.default is not dataclasses.MISSING:
            defaults[field.name] = _constant(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = field.default_factory

    def take(value: Any) -> dict[str, Any]:
        return {name: getattr(value, name) for name in names}

    def make(body: Any) -> Any:
        made: Any = cast("Any", cls).__new__(cls)
        for name, item in _fit(cls, names, defaults, body).items():
            object.__setattr__(made, name, item)
        return made

    return take, make


def _pydantic_kind(cls: Any) -> tuple[Take, Make]:
    def take(value: Any) -> dict[str, Any]:
        body: dict[str, Any] = {"fields": dict(value.__dict__), "set": sorted(value.__pydantic_fields_set__)}
        if value.__pydantic_extra__:
            body["extra"] = value.__pydantic_extra__
        if value.__pydantic_private__:
            body["private"] = value.__pydantic_private__
        return body

    def make(body: Any) -> Any:
        if type(body) is not dict or not {"fields", "set"} <= set(cast("dict[str, Any]", body)):
            raise Misfit("is not stored as a pydantic model is")
        told = cast("dict[str, Any]", body)
        fields = cls.__pydantic_fields__
        names = tuple(fields)
        defaults = {
            name: (lambda field=field: field.get_default(call_default_factory=True))
            for name, field in fields.items()
            if not field.is_required()
        }
        values = _fit(cls, names, defaults, told["fields"])
        extra: Any = told.get("extra")
        if extra is None and cls.model_config.get("extra") == "allow":
            extra = {}
        private: Any = told.get("private")
        if private is None and cls.__private_attributes__:
            private = {}
        made = cls.__new__(cls)
        for slot, item in (
            ("__dict__", values),
            ("__pydantic_fields_set__", set(told["set"])),
            ("__pydantic_extra__", extra),
            ("__pydantic_private__", private),
        ):
            object.__setattr__(made, slot, item)
        return made

    return take, make


def _struct_kind(cls: type[Struct]) -> tuple[Take, Make]:
    names = cls.__struct_fields__

    def take(value: Any) -> dict[str, Any]:
        return {name: item for name in names if type(item := getattr(value, name)) is not Unset}

    def make(body: Any) -> Any:
        if type(body) is not dict:
            raise Misfit("is not stored as fields")
        try:
            return cls(**cast("dict[str, Any]", body))
        except TypeError as error:
            raise Misfit(f"does not fit {cls.__qualname__}: {error}") from error

    return take, make


def _namedtuple_kind(cls: Any) -> tuple[Take, Make]:
    names: tuple[str, ...] = cls._fields
    defaults = {name: _constant(value) for name, value in cls._field_defaults.items()}

    def take(value: Any) -> dict[str, Any]:
        return dict(zip(names, value, strict=True))

    def make(body: Any) -> Any:
        return cast("Any", tuple).__new__(cls, _fit(cls, names, defaults, body).values())

    return take, make


def _enum_kind(cls: type[Enum]) -> tuple[Take, Make]:
    def make(body: Any) -> Any:
        if type(body) is not str or body not in cls.__members__:
            raise Misfit(f"is stored as {body!r}, which is no member of {cls.__qualname__}")
        return cls.__members__[body]

    return (lambda member: member.name), make


def _flag_kind(cls: type[Flag]) -> tuple[Take, Make]:
    def make(body: Any) -> Any:
        if type(body) is not int:
            raise Misfit(f"is stored as {body!r}, which is no value of {cls.__qualname__}")
        try:
            return cls(body)
        except ValueError as error:
            raise Misfit(str(error)) from error

    return (lambda member: member.value), make
