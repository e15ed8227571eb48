"""How a call of a server's tool may fail beside being refused: nobody knows, or the server is not the one that was accepted."""

from __future__ import annotations

from lawful.core.errors import ConfigurationError, ToolError


class CallUnknown(ToolError):
    """The call left and no answer came: the server may have done it or not. ``details["outcome"]`` is "unknown".

    Never sent again by itself, unless the tool is known to do no harm when repeated.
    """

    code = "mcp_call_unknown"


class ServerChanged(ConfigurationError):
    """The server is not what the lock file says: another version, other tools, other schemas, other effect classes."""

    code = "mcp_server_changed"
