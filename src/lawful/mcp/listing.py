"""A server's listing: read to its last page, and made into tools with their effect classes and entries for a lock file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from lawful.core.errors import ConfigurationError, ToolError, nearest
from lawful.mcp.content import plain
from lawful.mcp.lock import EffectClass, LockedTool, locked_tool
from lawful.mcp.tools import Calls, class_of, tool_of
from lawful.tools.toolset import Toolset

Listing: TypeAlias = Literal["tools", "resources", "prompts"]
_CHANGED: Final[Mapping[str, Listing]] = {
    "ToolListChangedNotification": "tools",
    "ToolsListChanged": "tools",
    "ResourceListChangedNotification": "resources",
    "ResourcesListChanged": "resources",
    "PromptListChangedNotification": "prompts",
    "PromptsListChanged": "prompts",
}
"""By the SDK's class: the older protocol's notifications, and the newer one's events."""
PAGES = 1000
"""Pages of one listing that are read at most."""


class Taken(Struct, frozen=True):
    """What a listing of tools comes to."""

    tools: Toolset
    classes: dict[str, EffectClass]
    """By the name that the server knows a tool by."""
    entries: dict[str, LockedTool]


def taken(
    calls: Calls, listed: Sequence[Mapping[str, Any]], trusted: bool, declare: Mapping[str, EffectClass]
) -> Taken:
    """The tools of a listing. Raises: ConfigurationError, for a declared one that is not in it."""
    classes: dict[str, EffectClass] = {}
    for one in listed:
        name = str(one["name"])
        classes[name] = class_of(one, trusted, declare.get(name))
    for name in declare:
        if name not in classes:
            raise ConfigurationError(
                f"MCP server {calls.name!r} has no tool {name!r} to declare.{nearest(name, classes)}",
                component=f"mcp:{calls.name}",
                operation="declare",
            )
    entries = {str(one["name"]): locked_tool(one, classes[str(one["name"])]) for one in listed}
    tools = Toolset(
        tool_of(calls, one, classes[name], known=trusted or name in declare, version=entries[name].schema[:16])
        for name, one in ((str(one["name"]), one) for one in listed)
    )
    return Taken(tools, classes, entries)


def changed(message: object) -> Listing | None:
    """Which listing a message of the server says has changed."""
    return _CHANGED.get(type(message).__name__)


def subscribed(capabilities: Any) -> dict[str, bool]:
    """Of which listings the server says that it tells changes, as the SDK's ``listen`` takes it."""
    offers = {one: getattr(capabilities, one) for one in ("tools", "resources", "prompts")}
    return {f"{one}_list_changed": bool(offer and offer.list_changed) for one, offer in offers.items()}


async def pages(client: Any, verb: str, field: str) -> list[dict[str, Any]]:
    """A listing, page by page. Raises: ToolError, for a server whose pages never end."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    seen: set[str] = set()
    while True:
        page = await getattr(client, verb)(cursor=cursor)
        found.extend(plain(one) for one in getattr(page, field))
        cursor = page.next_cursor
        if cursor is None:
            return found
        if cursor in seen or len(seen) >= PAGES:
            raise ToolError(f"the pages of {field} never end", component="mcp", operation="list")
        seen.add(cursor)
