"""`Serving`: tools, agents and graphs as an MCP server, by standard input and output or by HTTP, through the official SDK."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping
from typing import Any, TypeVar

from lawful.core.errors import ConfigurationError
from lawful.core.lazy import late
from lawful.core.questions import Principal
from lawful.core.secret import Secret, redact
from lawful.mcp.guard import Guard, allowed_hosts, loopback, principal_of
from lawful.mcp.serving import LOCAL, Caller, Offer, Said, offers_of
from lawful.tools.gates import Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    import mcp_types as types
    import uvicorn
    from mcp.server.lowlevel.server import Server
    from mcp.server.stdio import stdio_server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.shared.exceptions import MCPError
else:
    types = late("mcp_types", extra="mcp")
    uvicorn = late("uvicorn", extra="mcp")
    Server = late("mcp.server.lowlevel.server", "Server", extra="mcp")
    stdio_server = late("mcp.server.stdio", "stdio_server", extra="mcp")
    StreamableHTTPSessionManager = late(
        "mcp.server.streamable_http_manager", "StreamableHTTPSessionManager", extra="mcp"
    )
    MCPError = late("mcp.shared.exceptions", "MCPError", extra="mcp")

T = TypeVar("T")
_log = logging.getLogger("lawful.mcp")


class Serving:
    """A server of what it is given: tools and functions, effects, toolsets, agents, graphs.

    A tool runs in a run of its own: its effect is claimed in ``journal`` (in memory, if none is given), and what a person
    must agree to waits there. ``tokens`` tell principals apart by a bearer token; each has threads and sessions that no
    other can reach. Without tokens it listens on this machine only.

    Raises: ConfigurationError.
    """

    def __init__(
        self,
        *things: Any,
        name: str = "lawful",
        instructions: str = "",
        journal: Any = None,
        tokens: Mapping[str | Secret, Principal] | None = None,
        hosts: tuple[str, ...] = (),
        origins: tuple[str, ...] = (),
        rules: Rules = Rules(),
    ) -> None:
        self.name = name
        self.instructions = instructions
        self._offers = offers_of(things, journal)
        self._caller = Caller(self._offers, journal, rules)
        self._tokens = dict(tokens) if tokens is not None else None
        self._hosts = hosts
        self._origins = origins

    @property
    def offers(self) -> Mapping[str, Offer]:
        """What a client may call, by name."""
        return dict(self._offers)

    async def stdio(self) -> None:
        """Serve whoever started this process, until standard input ends."""
        server = self._server()
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    async def http(self, host: str = "127.0.0.1", port: int = 8000) -> None:
        """Serve at http://HOST:PORT/mcp until cancelled.

        Raises: ConfigurationError, for an address that others can reach while there are no tokens or hosts, and for one that
        cannot be listened on.
        """
        app = self.app(host)
        config = uvicorn.Config(app, log_level="warning", ws="none", lifespan="on")
        await uvicorn.Server(config).serve([_listening(host, port)])

    def app(self, host: str = "127.0.0.1") -> Any:
        """The ASGI application, for a server of one's own; ``host`` is what that listens on."""
        if not loopback(host):
            if self._tokens is None:
                raise _wrong(f"{host} can be reached by others: give tokens, or serve on 127.0.0.1")
            if not self._hosts:
                raise _wrong(f"{host} can be reached by others: say under which hosts=(...) clients know this server")
        manager = StreamableHTTPSessionManager(app=self._server())
        return Guard(manager, allowed_hosts(self._hosts), frozenset(self._origins), self._tokens)

    # What a client asks

    def _server(self) -> Any:
        return Server(
            self.name,
            version=late("lawful").__version__,
            instructions=self.instructions or None,
            on_list_tools=self._listed,
            on_call_tool=self._called,
        )

    async def _listed(self, context: Any, params: Any) -> Any:
        return types.ListToolsResult(tools=[_told(offer) for offer in self._offers.values()])

    async def _called(self, context: Any, params: Any) -> Any:
        if params.name not in self._offers:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r:.100}")
        by = principal_of(context.request) or LOCAL
        working = asyncio.ensure_future(self._caller.call(params.name, params.arguments or {}, by))
        try:
            await asyncio.wait({working})
        finally:
            working.cancel()
        return _result(self._said(params.name, working))

    def _said(self, name: str, ended: asyncio.Future[Said]) -> Said:
        """What the client is told; of a bug no more than that there is one."""
        error = None if ended.cancelled() else ended.exception()
        if ended.cancelled():
            return Said("it was cancelled", error=True)
        if error is not None:
            _log.error("serving %s failed", name, exc_info=error)
            return Said("it failed for a reason of its own, which its log tells", error=True)
        return ended.result()


def _told(offer: Offer) -> Any:
    notes = types.ToolAnnotations.model_validate(offer.hints) if offer.hints else None
    return types.Tool(name=offer.name, description=offer.description, input_schema=offer.schema, annotations=notes)


def _result(said: Said) -> Any:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=redact(said.text))],
        structured_content=None if said.error else said.value,
        is_error=said.error,
    )


def _listening(host: str, port: int) -> socket.socket:
    # Left to uvicorn, a port that is taken ends the whole process.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = error.strerror or str(error)
        raise _wrong(f"cannot listen on {host}, port {port}: {why.lower()}; take another port") from error


def _wrong(why: str) -> ConfigurationError:
    return ConfigurationError(why, component="mcp", operation="serve")
