"""The library's own classes that state may hold, and langchain's messages: a closed table of their ids."""

from __future__ import annotations

from typing import Any

from lawful.core.lazy import late

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
_LANGCHAIN = {
    "messages.human": ("HumanMessage", "HumanMessageChunk"),
    "messages.ai": ("AIMessage", "AIMessageChunk"),
    "messages.system": ("SystemMessage", "SystemMessageChunk"),
    "messages.chat": ("ChatMessage", "ChatMessageChunk"),
    "messages.tool": ("ToolMessage", "ToolMessageChunk"),
    "messages.function": ("FunctionMessage", "FunctionMessageChunk"),
    "messages.modifier": ("RemoveMessage",),
    "documents.base": ("Document",),
}
"""langchain_core's modules and what of theirs states hold: a thread of messages is read wherever that package is."""
_OWN: dict[str, tuple[str, str]] = {
    **{f"lawful:{name}": ("lawful.core.messages", name) for name in _MESSAGES},
    **{f"lawful:{name}": ("lawful.core.questions", name) for name in ("Principal", "Approved", "Reply", "Question")},
    **{
        f"lawful:{name}": ("lawful.core.crdt", name)
        for name in ("GSet", "PNCounter", "LWW", "MaxRegister", "VersionVector")
    },
    **{
        f"langchain:{name}": (f"langchain_core.{module}", name)
        for module, names in _LANGCHAIN.items()
        for name in names
    },
}
"""Id to module and name. The modules are loaded when the first value of theirs is written or read, to keep import light."""

_IDS = {place: type_id for type_id, place in _OWN.items()}


def own_id(cls: type) -> str | None:
    """The id of one of our own classes, or None."""
    return _IDS.get((cls.__module__, cls.__qualname__))


def own_class(type_id: str) -> Any:
    """The class of one of our own ids, or None; only what the table above says is ever imported."""
    place = _OWN.get(type_id)
    return None if place is None else late(place[0], place[1])
