"""`Tainted`: a value with the mark that outsiders wrote it; the mark is data beside it that no text can forge or drop."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from msgspec import Struct

from lawful.core import codec

T = TypeVar("T")


class Tainted(Struct, Generic[T], frozen=True):
    """What a tool returns when it hands on what outsiders wrote, however it came by it: a file that was fetched yesterday,
    a row that a mail went into. State and stores keep the mark, so a value that is saved and read again still bears it.
    """

    value: T
    source: str = ""
    """Where it came from, for the reader: "https://...", "inbox"."""


def untainted(value: Any) -> tuple[Any, str | None]:
    """The value itself, and its source if it bore the mark."""
    if isinstance(value, Tainted):
        return value.value, value.source or "outside"  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return value, None


codec.register(Tainted, id="lawful.tools.Tainted", version=1)
