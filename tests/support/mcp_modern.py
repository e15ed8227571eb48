"""A server of the newest protocol, by the official SDK: tools, resources and prompts, of which its tool `grow` makes more."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ToolsListChanged,
)

bus = InMemorySubscriptionBus()
server = MCPServer("modern", subscriptions=bus)


@server.resource("note://first")
def first() -> str:
    """The first note."""
    return "buy tea"


@server.resource("note://of/{day}")
def of(day: str) -> str:
    """The note of a day."""
    return f"nothing on {day}"


@server.prompt()
def greet(name: str) -> str:
    """A greeting."""
    return f"Greet {name}."


@server.tool()
async def grow() -> str:
    """Make more of everything, and say so."""

    @server.tool()
    def more() -> str:  # pyright: ignore[reportUnusedFunction]
        """One more."""
        return "more"

    @server.resource("note://second")
    def second() -> str:  # pyright: ignore[reportUnusedFunction]
        """The second note."""
        return "buy milk"

    @server.prompt()
    def part() -> str:  # pyright: ignore[reportUnusedFunction]
        """A farewell."""
        return "Say goodbye."

    for event in (ToolsListChanged(), ResourcesListChanged(), PromptsListChanged()):
        await bus.publish(event)
    return "grown"


if __name__ == "__main__":
    server.run()
