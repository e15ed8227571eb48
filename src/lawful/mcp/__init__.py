"""MCP: use the tools of any server (`connect`), and serve one's own tools, agents and graphs; extra ``mcp``."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.mcp.client import Connection as Connection
    from lawful.mcp.client import connect as connect
    from lawful.mcp.content import Answer as Answer
    from lawful.mcp.errors import CallUnknown as CallUnknown
    from lawful.mcp.errors import ServerChanged as ServerChanged
    from lawful.mcp.lock import Lock as Lock
    from lawful.mcp.server import Serving as Serving
else:
    _TABLE = {
        "connect": "lawful.mcp.client",
        "Connection": "lawful.mcp.client",
        "Answer": "lawful.mcp.content",
        "CallUnknown": "lawful.mcp.errors",
        "ServerChanged": "lawful.mcp.errors",
        "Lock": "lawful.mcp.lock",
        "Serving": "lawful.mcp.server",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
