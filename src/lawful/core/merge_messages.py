"""How messages join a conversation: appended, replaced where one of the same id stands, or removed."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final, TypeAlias, cast

from lawful.core.errors import UnknownMessage
from lawful.core.failure import nearest
from lawful.core.known_list import KnownList
from lawful.core.messages import ROLES, Message, RemoveMessage, coerce, fresh_id
from lawful.core.neighbours import bridge, is_neighbour

REMOVE_ALL_MESSAGES: Final = "__remove_all__"
"""As the id of a RemoveMessage: forget all that came before it."""

_MESSAGE: Final = frozenset({Message})
_ID: Final = attrgetter("id")

Entry: TypeAlias = Any
"""A Message or RemoveMessage, or one of langchain's."""


def prepare_messages(update: Any) -> list[Entry]:
    """An update as messages that all have ids: what is stored, so that each reading of it gives the same.

    ``update`` is one message or a list or tuple of them, each a Message, RemoveMessage, str, (role, text) or dict.

    Raises: ParsingError, which says what in it is no message.
    """
    single = not isinstance(update, list | tuple) or _is_pair(cast("Sequence[Any]", update))
    given: Sequence[Any] = [update] if single else cast("Sequence[Any]", update)
    return [_with_id(entry) for entry in given]


def merge_messages(value: Any, update: Any) -> list[Message] | tuple[Message, ...]:
    """``value`` with ``update`` worked in, in order; a tuple if ``value`` is one, else a list.

    A message whose id is known replaces the one of that id where it stands; of several of one id in ``update`` the
    last wins. ``RemoveMessage(id)`` deletes; one with REMOVE_ALL_MESSAGES forgets all before it, ``value`` included.

    Raises: UnknownMessage (a ValueError) if a message to be removed is not there; ParsingError for what is no message.
    """
    entries = prepare_messages(update)
    if (joined := _joined(value, entries)) is not None:
        return joined
    merged: list[Any] = [entry for entry in prepare_messages(value) if not _removes(entry)]
    clear = max((at for at, entry in enumerate(entries) if entry.id == REMOVE_ALL_MESSAGES), default=-1)
    if clear >= 0:
        merged, entries = [], entries[clear + 1 :]
    places = {message.id: at for at, message in enumerate(merged)}
    gone: set[int] = set()
    for entry in entries:
        at = places.get(entry.id)
        if _removes(entry):
            if at is None:
                known = (message.id for message in merged if message.id is not None)
                raise UnknownMessage(
                    f"there is no message {entry.id!r} to remove.{nearest(entry.id, known)}",
                    component="reducers",
                    operation="add_messages",
                    details={"message": entry.id},
                )
            gone.add(at)
        elif at is None:
            places[entry.id] = len(merged)
            merged.append(entry)
        else:
            gone.discard(at)
            merged[at] = entry
    kept = [message for at, message in enumerate(merged) if at not in gone] if gone else merged
    return tuple(kept) if isinstance(value, tuple) and not _is_pair(cast("Sequence[Any]", value)) else kept


def _joined(value: Any, entries: Sequence[Entry]) -> list[Message] | None:
    """Both one after the other, where that is all there is to do: nothing is removed, no id is known."""
    if not _MESSAGE.issuperset(map(type, entries)):
        return None
    new = {entry.id for entry in cast("Sequence[Message]", entries) if entry.id is not None}
    ids = _ids_in(value)
    if ids is None or len(new) != len(entries) or not ids.isdisjoint(new):
        return None
    ids |= new
    return KnownList([*cast("list[Message]", value), *cast("Sequence[Message]", entries)], ids)


def _ids_in(value: Any) -> set[str] | None:
    """The ids in a list of messages; None where it is another thing, or some have none."""
    if type(value) is KnownList and value.sure():
        return value.ids
    if not isinstance(value, list) or not _MESSAGE.issuperset(map(type, cast("list[Any]", value))):
        return None
    ids: set[str | None] = set(map(_ID, cast("list[Message]", value)))
    return None if None in ids else cast("set[str]", ids)


def _removes(entry: Any) -> bool:
    """Whether it is a removal, ours or langchain's."""
    return isinstance(entry, RemoveMessage) or getattr(entry, "type", None) == "remove"


def _with_id(given: Any) -> Any:
    if type(given) is not Message and is_neighbour(cast("type[Any]", type(given))):
        return bridge().entry(given)
    entry = coerce(given)
    return entry.named(fresh_id()) if isinstance(entry, Message) and entry.id is None else entry


def _is_pair(given: Sequence[Any]) -> bool:
    """Whether a tuple is one message as (role, text), not two messages."""
    return isinstance(given, tuple) and len(given) == 2 and given[0] in ROLES and isinstance(given[1], str | list)
