"""What a look-up gave back, held to what it may report: only an observation that can be read again is believed."""

from __future__ import annotations

from typing import Any, cast, get_args

from lawful.core.errors import ValidationError
from lawful.effects.capability import Found, NotFound, Pending, Seen, Unavailable
from lawful.effects.contract import Performer


def believed(effect: Performer[Any, Any], seen: Any) -> Seen[Any]:
    """``seen``, or `Unavailable` that says what is wrong with it: nothing is concluded from a mistake in a look-up."""
    match seen:
        case NotFound() | Pending() | Unavailable():
            return seen
        case Found():
            return _readable(effect, cast("Found[Any]", seen))
        case _:
            told = f"{seen!r:.80}".encode(errors="replace").decode()
            return Unavailable(
                f"the look-up of {effect.tool} must report Found(receipt), NotFound(), Pending() or Unavailable(), not {told}"
            )


def _readable(effect: Performer[Any, Any], found: Found[Any]) -> Seen[Any]:
    for receipt in (found.receipt, *found.others):
        try:
            told = effect.told_receipt(receipt)
        except ValidationError:
            continue  # kept as the bare fact that it happened
        try:
            effect.read_receipt(told)
        except ValidationError as error:
            return Unavailable(f"the look-up of {effect.tool} found what is no receipt of it: {error.message}")
    return found


def stands(effect: Performer[Any, Any], seen: Any) -> Seen[str | None]:
    """The revision that was read, as `Found`; anything but a text or None is `Unavailable`."""
    if isinstance(seen, Unavailable):
        return seen
    if seen is None or isinstance(seen, str):
        return Found(seen)
    told = f"{seen!r:.80}".encode(errors="replace").decode()
    return Unavailable(
        f"current_revision of {effect.tool} must give a text, or None where there is nothing, not {told}"
    )


def reported(found: Any, receipt: Any, tool: str) -> Seen[Any]:
    """What the look-up function of a short form reports: None is `NotFound`, a value of the receipt's type `Found`.

    A bare truth value is neither, unless receipts are truth values: taken as found, "it is not there" would be a receipt.
    """
    if isinstance(found, (Found, NotFound, Pending, Unavailable)):
        return cast("Seen[Any]", found)
    if found is None:
        return NotFound()
    if isinstance(found, bool) and not says_bool(receipt):
        return Unavailable(
            f"the look-up of {tool} said {found}: it returns the receipt, or Found(receipt), of what is there, and None"
            " where nothing is"
        )
    return Found(found)


def says_bool(kind: Any) -> bool:
    """Whether an annotation is bool, or a union that has it."""
    return kind is bool or bool in get_args(kind)
