"""Read a state class: its keys, the channel of each, and how instances are made from and turned into writes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from lawful.core.errors import GraphBuildError, InvalidUpdateError
from lawful.core.known_list import KnownList
from lawful.core.lazy import face
from lawful.graph.channel_forms import channel_of_form
from lawful.graph.channels import LAST, MISSING, BinaryOperatorAggregate, Channel, LastValue
from lawful.graph.command import ROOT, UNSET
from lawful.graph.formats import SchemaFormat, format_of
from lawful.graph.managed import Managed
from lawful.graph.signature import takes_two

Kind: TypeAlias = Literal["dict", "dataclass", "pydantic", "root"]
View: TypeAlias = Callable[[Mapping[str, Any]], Any]

_COPIED: dict[type, Callable[[Any], Any]] = {
    list: list[Any].copy,
    dict: dict[Any, Any].copy,
    set: set[Any].copy,
    KnownList: list,
}


class Schema:
    """One state class, read once; ``view`` makes what a node gets, ``writes`` what a returned instance writes."""

    __slots__ = (
        "annotations", "channels", "defaults", "format", "keys", "kind", "managed", "optional", "required", "typ",
    )  # fmt: skip

    def __init__(self, typ: Any, kind: Kind) -> None:
        self.typ = typ
        self.kind: Kind = kind
        self.keys: tuple[str, ...] = ()
        self.channels: dict[str, Channel] = {}
        self.managed: dict[str, type[Managed]] = {}
        self.annotations: dict[str, Any] = {}
        """Each key's own type, without markers."""
        self.defaults: dict[str, Any] = {}
        """Plain defaults of a class's fields; MISSING where a factory makes it."""
        self.required: tuple[str, ...] = ()
        self.optional: set[str] = set()
        """Keys that a TypedDict does not require."""
        self.format: SchemaFormat | None = None
        """How a class of a registered format is read and made; such a class has the kind "dataclass"."""

    def taken(self, value: Any) -> dict[str, Any]:
        """The fields of an instance that have a value."""
        return {key: getattr(value, key) for key in self.keys if hasattr(value, key)}

    def make(self, values: Mapping[str, Any]) -> Any:
        """An instance of the class. Raises: TypeError, ValueError."""
        return self.typ(**values) if self.format is None else self.format.make(self.typ, values)

    @property
    def name(self) -> str:
        return getattr(self.typ, "__name__", str(self.typ))


def kind_of(typ: Any) -> Kind:
    """What sort of state class ``typ`` is."""
    if is_typeddict(typ):
        return "dict"
    if isinstance(typ, type):
        if hasattr(typ, "__dataclass_fields__"):
            return "dataclass"
        if "pydantic" in sys.modules and hasattr(typ, "__pydantic_fields__"):
            return "pydantic"
        if hasattr(typ, "__annotations__") and issubclass(typ, dict):
            return "dict"
        if format_of(typ) is not None:
            return "dataclass"
    return "root"


_read: dict[Any, Schema] = {}


def read_schema(typ: Any) -> Schema:
    """The schema of a TypedDict, dataclass, pydantic model, or bare type (one root channel).

    Raises: GraphBuildError, for a reducer that does not take two arguments or hints that do not resolve.
    """
    kind = kind_of(typ)
    schema = Schema(typ, kind)
    if kind == "root":
        schema.keys = (ROOT,)
        _add_key(schema, ROOT, typ)
        return schema
    if kind == "dataclass" and not hasattr(typ, "__dataclass_fields__"):
        return _by_format(schema)
    for key, hint in _hints(typ).items():
        _add_key(schema, key, hint)
        if kind == "dict" and _is_optional(typ, hint):
            schema.optional.add(key)
    schema.keys = tuple(k for k in schema.channels)
    schema.defaults = _defaults(typ, kind)
    schema.required = _required(schema)
    return schema


def _by_format(schema: Schema) -> Schema:
    """The schema of a class whose format was registered."""
    schema.format = format_of(schema.typ)
    assert schema.format is not None
    try:
        fields = schema.format.fields(schema.typ)
    except NameError as error:
        raise _unresolved(schema.typ, error) from error
    for key, field in fields.items():
        _add_key(schema, key, field.annotation)
        if field.default is not MISSING or not field.required:
            schema.defaults[key] = field.default
    schema.keys = tuple(schema.channels)
    schema.required = tuple(k for k in schema.keys if fields[k].required)
    return schema


def _unresolved(typ: Any, error: NameError) -> GraphBuildError:
    return GraphBuildError(
        f"A type hint of {typ.__name__} does not resolve: {error}. Define what it names at module level.",
        component="graph",
        operation="StateGraph",
        cause=error,
    )


def _hints(typ: Any) -> dict[str, Any]:
    try:
        found = get_type_hints(typ, include_extras=True)
    except NameError as error:
        raise _unresolved(typ, error) from error
    wanted = getattr(typ, "__dataclass_fields__", None) or getattr(typ, "__pydantic_fields__", None)
    if wanted is None:
        return found
    return {key: found[key] for key in wanted if key in found}


def _is_optional(typ: Any, hint: Any) -> bool:
    while get_origin(hint) is Annotated:
        hint = hint.__origin__
    origin = get_origin(hint)
    return origin is NotRequired or (origin is not Required and not getattr(typ, "__total__", True))


_RESERVED = ("__root__", "__start__", "__end__", "__interrupt__", "__overwrite__", "__pregel_tasks", "__metadata__")


def _add_key(schema: Schema, key: str, hint: Any) -> None:
    if schema.kind != "root" and (key in _RESERVED or key.startswith(("branch:to:", "join:"))):
        raise GraphBuildError(
            f"State key {key!r} of {schema.name} is reserved for the engine", component="graph", operation="StateGraph"
        )
    plain, channel, managed = channel_of(hint, key)
    schema.annotations[key] = plain
    if managed is not None:
        schema.managed[key] = managed
    elif channel is not None:
        schema.channels[key] = channel


def _bare(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The hint without Required, NotRequired and Annotated, and what Annotated held."""
    held: tuple[Any, ...] = ()
    while True:
        origin = get_origin(hint)
        if origin in (Required, NotRequired):
            hint = get_args(hint)[0]
        elif origin is Annotated:
            held = (*hint.__metadata__, *held)
            hint = hint.__origin__
        else:
            return hint, held


def channel_of(hint: Any, key: str) -> tuple[Any, Channel | None, type[Managed] | None]:
    """The key's own type and either its channel or its managed kind."""
    plain, held = _bare(hint)
    for item in reversed(held):
        if isinstance(item, type) and issubclass(item, Managed):
            return plain, None, item
        made = _made(item, plain, key)
        if made is not None:
            return plain, made, None
    return plain, LastValue(plain, key), None


def _made(item: Any, plain: Any, key: str) -> Channel | None:
    found = channel_of_form(item, plain, key)
    if found is not None or isinstance(item, type):
        return found
    if callable(item):
        if not takes_two(item):
            raise GraphBuildError(
                f"The reducer of key {key!r} must take two positional arguments (state, write) -> state,"
                f" which {getattr(item, '__name__', item)!r} does not",
                component="graph",
                operation="StateGraph",
                details={"key": key},
            )
        return BinaryOperatorAggregate(plain, item, key)
    return None


def _defaults(typ: Any, kind: Kind) -> dict[str, Any]:
    if kind == "dataclass":
        found: dict[str, Any] = {}
        for name, field in typ.__dataclass_fields__.items():
            if type(field.default).__name__ != "_MISSING_TYPE":
                found[name] = field.default
            elif type(field.default_factory).__name__ != "_MISSING_TYPE":
                found[name] = MISSING
        return found
    if kind == "pydantic":
        return {
            name: (MISSING if field.default_factory is not None else field.default)
            for name, field in typ.__pydantic_fields__.items()
            if not field.is_required()
        }
    return {}


def _required(schema: Schema) -> tuple[str, ...]:
    """Fields that must be given: no default (``...`` counts as none), not NotRequired, and their type does not allow None."""
    out: list[str] = []
    for key in schema.keys:
        if key in schema.optional or schema.defaults.get(key, ...) is not ...:
            continue
        args = get_args(schema.annotations[key])
        if type(None) in args or schema.annotations[key] is type(None):
            continue
        out.append(key)
    return tuple(out)


def fresh(value: Any) -> Any:
    """A shallow copy of a list, dict or set; any other value as it is."""
    copy = _COPIED.get(type(value))  # pyright: ignore[reportUnknownArgumentType]
    return copy(value) if copy is not None else value


def make_view(schema: Schema, channels: Mapping[str, Channel], *, strict: bool) -> View:
    """The function from stored values to what a node with this input schema gets: fresh containers in a fresh state."""
    if schema.kind == "root":
        return _root_view(channels[ROOT])
    simple = all(_is_plain(channels[k]) for k in schema.keys)
    collect = _plain_collect(schema.keys) if simple else _collect(schema.keys, channels)
    if schema.kind == "dict":
        return collect
    make = schema.make

    def instance(values: Mapping[str, Any]) -> Any:
        known = collect(values)
        try:
            return make(known)
        except TypeError as error:
            missing = [k for k in schema.required if k not in known]
            if not missing:
                raise
            raise InvalidUpdateError(
                f"{schema.name} cannot be made: {', '.join(map(repr, missing))} has no value yet and no default",
                component="graph",
                operation="read state",
                details={"keys": ", ".join(missing)},
                cause=error,
            ) from error

    return instance


def _is_plain(channel: Channel) -> bool:
    return type(channel).get is Channel.get


def _plain_collect(keys: tuple[str, ...]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    copied = _COPIED

    def collect(values: Mapping[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key in keys:
            if key in values:
                value = values[key]
                copy = copied.get(type(value))  # pyright: ignore[reportUnknownArgumentType]
                out[key] = value if copy is None else copy(value)
        return out

    return collect


def _collect(keys: tuple[str, ...], channels: Mapping[str, Channel]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    def collect(values: Mapping[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key in keys:
            if key in values:
                value = channels[key].get(values[key])
                if value is not MISSING:
                    out[key] = fresh(value)
        return out

    return collect


def _root_view(channel: Channel) -> View:
    def root(values: Mapping[str, Any]) -> Any:
        value = channel.get(values[ROOT]) if ROOT in values else MISSING
        return None if value is MISSING else fresh(value)

    return root


def one_channel_a_key(schemas: Sequence[Schema]) -> tuple[dict[str, Channel], dict[str, Schema]]:
    """The channel of each key over several schemas, and the schema that gave it; a plain view of a key adds nothing.

    Raises: GraphBuildError, where two schemas give one key different channels.
    """
    channels: dict[str, Channel] = {}
    origin: dict[str, Schema] = {}
    for schema in schemas:
        for key, channel in schema.channels.items():
            held = channels.get(key)
            if held is None or (held.kind == LAST and channel.kind != LAST):
                channels[key] = channel
                origin[key] = schema
            elif channel.kind != LAST and not held.same_as(channel):
                raise GraphBuildError(
                    f"Key {key!r} has a channel {channel!r} in {schema.name} and another, {held!r}, in {origin[key].name}",
                    component="graph",
                    operation="StateGraph",
                    details={"key": key},
                )
    return channels, origin


def instance_writes(schema: Schema, value: Any, *, strict: bool) -> list[tuple[str, Any]]:
    """What a returned or given instance of the schema's class writes.

    Strict: the fields that were set (pydantic), or are not UNSET (dataclass). Lenient: every field, but for a None of a
    pydantic model that was not set.
    """
    if schema.format is not None:
        return [(k, v) for k, v in schema.format.written(value).items() if k in schema.channels and v is not UNSET]
    fields_set: Any = getattr(value, "model_fields_set", None)
    out: list[tuple[str, Any]] = []
    for key in schema.keys:
        got = getattr(value, key, UNSET)
        if got is UNSET:
            continue
        if fields_set is not None and key not in fields_set and (strict or got is None):
            continue
        out.append((key, got))
    return out


# LangGraph has these two in a module of this name.
_FACE = {"StateGraph": "lawful.graph.builder", "CompiledStateGraph": "lawful.graph.compiled"}
if TYPE_CHECKING:
    from lawful.graph.builder import StateGraph as StateGraph
    from lawful.graph.compiled import CompiledStateGraph as CompiledStateGraph
else:
    __getattr__, __dir__ = face(globals(), _FACE)
