"""`Tainted`: a value with the mark that outsiders wrote it; the mark is data beside it that no text can forge or drop."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar, cast

from msgspec import Struct

from lawful.core import codec

T = TypeVar("T")

_MARK: Final = "lawful.tools.Tainted"


class Tainted(Struct, Generic[T], frozen=True):
    """What a tool returns when it hands on what outsiders wrote, however it came by it: a file that was fetched yesterday,
    a row that a mail went into. State and stores keep the mark, so a value that is saved and read again still bears it.
    """

    value: T
    source: str = ""
    """Where it came from, for the reader: "https://...", "inbox"."""

    def stored(self) -> dict[str, Any]:
        """The same as JSON, for a store or a file; a tool that returns it as it was read gives the mark back."""
        return {_MARK: self.value, "source": self.source}


def untainted(value: Any) -> tuple[Any, str | None]:
    """The value itself, and its source if it bore the mark."""
    if isinstance(value, Tainted):
        return value.value, value.source or "outside"  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    kept = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if kept.keys() == {_MARK, "source"}:
        return kept[_MARK], str(kept["source"]) or "outside"
    return cast("Any", value), None


codec.register(Tainted, id="lawful.tools.Tainted", version=1)
