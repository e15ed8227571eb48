"""Schema formats: how a class that is no TypedDict, dataclass or pydantic model comes to be a state, by a small port."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from msgspec import Struct

from lawful.graph.channels import MISSING


class Field(Struct, frozen=True):
    """One field of a state class."""

    annotation: Any
    """Its type, ``Annotated`` kept: a reducer or channel stands there."""
    default: Any = MISSING
    """Its plain default; MISSING for none, or for one that is made anew each time."""
    required: bool = True
    """Whether an instance cannot be made without it."""


class SchemaFormat(Protocol):
    """What a format of state classes tells; register one by `register_format`."""

    def recognises(self, typ: type) -> bool:
        """Whether ``typ`` is a class of this format."""
        ...

    def fields(self, typ: Any) -> Mapping[str, Field]:
        """The fields in order. Raises: NameError, for an annotation that does not resolve."""
        ...

    def make(self, typ: Any, values: Mapping[str, Any]) -> Any:
        """An instance from those of its fields that have a value, as a node gets it. Raises: TypeError, ValueError."""
        ...

    def written(self, value: Any) -> Mapping[str, Any]:
        """What an instance that a node returned writes: the fields that were set."""
        ...


_formats: list[SchemaFormat] = []


def register_format(format: SchemaFormat) -> SchemaFormat:
    """Let classes of this format be states, inputs, outputs and private schemas of nodes; one registered later is asked first.

    Registered once, where the program begins, before graphs are built. Gives ``format`` back.
    """
    if format not in _formats:
        _formats.insert(0, format)
    return format


@contextmanager
def registered(format: SchemaFormat) -> Generator[SchemaFormat]:
    """As `register_format`, for the time of a ``with`` block: for tests."""
    new = format not in _formats
    register_format(format)
    try:
        yield format
    finally:
        if new:
            _formats.remove(format)


def format_of(typ: Any) -> SchemaFormat | None:
    """The registered format that recognises ``typ``, or None."""
    if not _formats or not isinstance(typ, type):
        return None
    return next((f for f in _formats if f.recognises(typ)), None)
