"""The library's own classes that state may hold: a closed table of their ids, whatever module they live in later."""

from __future__ import annotations

from typing import Any

from lawful.core.lazy import late
from lawful.core.neighbours import CORE, IDS, bridge

_MESSAGES = (
    "Message",
    "RemoveMessage",
    "Private",
    "Text",
    "Reasoning",
    "ToolCall",
    "InvalidToolCall",
    "Image",
    "Audio",
    "Video",
    "File",
    "NonStandard",
)
_OWN: dict[str, tuple[str, str]] = {
    **{f"lawful:{name}": ("lawful.core.messages", name) for name in _MESSAGES},
    **{f"lawful:{name}": ("lawful.core.questions", name) for name in ("Principal", "Approved", "Reply", "Question")},
    **{
        f"lawful:{name}": ("lawful.core.crdt", name)
        for name in ("GSet", "PNCounter", "LWW", "MaxRegister", "VersionVector")
    },
}
"""Id to module and name. The modules are loaded when the first value of theirs is written or read, to keep import light."""

_IDS = {place: type_id for type_id, place in _OWN.items()}


def own_id(cls: type) -> str | None:
    """The id of one of our own classes, or of langchain's; None for any other."""
    found = _IDS.get((cls.__module__, cls.__qualname__))
    return bridge().type_id(cls) if found is None and cls.__module__.startswith(CORE) else found


def own_class(type_id: str) -> Any:
    """The class of one of our own ids, or None; only what the table above says is ever imported."""
    if type_id.startswith(IDS):
        return bridge().class_of(type_id)
    place = _OWN.get(type_id)
    return None if place is None else late(place[0], place[1])
