"""`connect`: one server as a value to open, ask and close, from any task, thread or event loop, or from sync code."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, cast

from lawful.core.errors import ConfigurationError, Failure, ToolError, nearest
from lawful.core.lazy import late
from lawful.core.secret import Secret
from lawful.mcp.address import Address, address_of, name_of
from lawful.mcp.content import Answer, answer_of, plain, receipt_of
from lawful.mcp.listing import Listing, changed, pages, subscribed, taken
from lawful.mcp.lock import EffectClass, Lock, LockedServer
from lawful.mcp.owner import Owner
from lawful.mcp.tools import raise_error
from lawful.mcp.transport import Complaints, opened
from lawful.models.portal import Portal
from lawful.tools.toolset import Toolset

TYPE_CHECKING = False
if TYPE_CHECKING:
    import mcp
    import mcp_types as types
    import pydantic
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS
else:
    mcp = late("mcp", extra="mcp")
    types = late("mcp_types", extra="mcp")
    pydantic = late("pydantic")
    MODERN_PROTOCOL_VERSIONS = late("mcp_types.version", "MODERN_PROTOCOL_VERSIONS", extra="mcp")

T = TypeVar("T")
Elicit = Callable[..., Coroutine[Any, Any, Any]]
"""As the SDK's ``elicitation_callback``: context and parameters in, result out; runs in the connection's own loop."""


def connect(
    server: str | Sequence[str],
    *,
    name: str | None = None,
    env: Mapping[str, str | Secret] | None = None,
    cwd: str | Path | None = None,
    headers: Mapping[str, str | Secret] | None = None,
    auth: Any = None,
    trusted: bool = False,
    declare: Mapping[str, EffectClass] | None = None,
    lock: Lock | str | Path | None = None,
    accept: bool = False,
    timeout: float = 60.0,
    connect_timeout: float = 30.0,
    on_change: Callable[[Toolset], object] | None = None,
    on_listing: Callable[[Listing], object] | None = None,
    elicit: Elicit | None = None,
    protocol: Literal["auto", "legacy"] = "auto",
) -> Connection:
    """A connection to an MCP server, not yet opened: use it by ``async with`` or ``with``, or ``open`` and ``close`` it.

    Args:
        server: A URL, a command line (split into words, never given to a shell), or a list of words.
        env: Variables for a server that is started; of ours it gets only PATH, HOME and a few like them.
        auth: An ``httpx2.Auth`` for a URL, such as the SDK's OAuth provider.
        trusted: Believe its hints about which tools only read and which may be repeated. Without it, and without
            ``declare``, every tool is opaque: a call whose answer is lost is put to a person.
        declare: Effect classes by tool name, on your word: "read", "idempotent" or "opaque".
        lock: A file of what was accepted; a server that has changed is refused until ``accept`` or `lawful mcp accept`.
        timeout: Seconds that one call may take. connect_timeout: seconds for starting and greeting the server.
        on_change: Called with the new tools when the server says that they changed; in the connection's own thread.
        on_listing: Called there with "resources" or "prompts" when it says that its list of these changed.

    Raises: ConfigurationError.
    """
    address = address_of(server, env, cwd, headers)
    return Connection(
        address,
        name or name_of(address),
        trusted=trusted,
        declare=dict(declare or {}),
        lock=lock if isinstance(lock, Lock | None) else Lock(lock),
        accept=accept,
        timeout=timeout,
        connect_timeout=connect_timeout,
        on_change=on_change,
        on_listing=on_listing,
        elicit=elicit,
        auth=auth,
        protocol=protocol,
    )


class Connection:
    """One server; made by `connect`.

    The session lives in one task of an event loop of its own. It is opened when it is first needed and again when it has
    ended. A call that was under way then raises CallUnknown, unless a repeat does no harm: then it is made again.
    """

    def __init__(
        self,
        address: Address,
        name: str,
        *,
        trusted: bool,
        declare: dict[str, EffectClass],
        lock: Lock | None,
        accept: bool,
        timeout: float,
        connect_timeout: float,
        on_change: Callable[[Toolset], object] | None,
        on_listing: Callable[[Listing], object] | None,
        elicit: Elicit | None,
        auth: Any,
        protocol: str,
    ) -> None:
        self.address = address
        self.name = name
        self.trusted = trusted
        self.timeout = timeout
        self._declare = declare
        self._lock = lock
        self._accept = accept
        self._on_change = on_change
        self._on_listing = on_listing
        self._elicit = elicit
        self._auth = auth
        self._protocol = protocol
        self._connect_timeout = connect_timeout
        self._portal: Portal | None = None
        self._owner: Owner | None = None
        self._tools: Toolset | None = None
        self._relisting: asyncio.Task[None] | None = None
        self._classes: dict[str, EffectClass] = {}
        self._changed: Failure | None = None
        self._info: dict[str, Any] = {}

    # Opening and closing

    async def open(self) -> Self:
        """Connect and list the tools; at once, if it is open.

        Raises: NetworkError, if the server cannot be started or reached; ConfigurationError; ServerChanged.
        """
        await self._there(self._opened())
        return self

    def open_sync(self) -> Self:
        """As `open`, in sync code."""
        self._here(self._opened())
        return self

    async def close(self) -> None:
        """End the session and, if it was started here, the server with its whole process group. Any task may do so."""
        portal, owner = self._portal, self._owner
        self._portal = self._owner = None
        if portal is not None and portal.usable:
            if owner is not None:
                await asyncio.wrap_future(portal.submit(owner.close()))
            portal.stop()

    def close_sync(self) -> None:
        """As `close`, in sync code."""
        portal, owner = self._portal, self._owner
        self._portal = self._owner = None
        if portal is not None and portal.usable:
            if owner is not None:
                portal.run(owner.close())
            portal.stop()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __enter__(self) -> Self:
        return self.open_sync()

    def __exit__(self, *_: object) -> None:
        self.close_sync()

    # What it has

    @property
    def tools(self) -> Toolset:
        """Its tools as they were last listed, each for an agent. Raises: ConfigurationError, before it was opened."""
        if self._tools is None:
            raise ConfigurationError(
                f"MCP server {self.name!r} was not opened yet: async with connect(...) as server",
                component=f"mcp:{self.name}",
                operation="tools",
            )
        return self._tools

    @property
    def effects(self) -> Mapping[str, EffectClass]:
        """The effect class of each tool, by the name that the server knows it by."""
        return dict(self._classes)

    @property
    def info(self) -> Mapping[str, Any]:
        """What the server says of itself: name, version, protocol, instructions, capabilities."""
        return dict(self._info)

    @property
    def sessions(self) -> int:
        """How many sessions were opened so far."""
        return self._owner.sessions if self._owner is not None else 0

    # Asking

    async def call(self, tool: str, /, arguments: Mapping[str, Any] | None = None, **more: Any) -> Answer:
        """Call a tool directly, without an agent and without the ledger; arguments as a mapping or as keywords.

        Raises: ToolError, where the server tells of an error; CallUnknown, where no answer came; NetworkError, where the
        call did not leave; ConfigurationError, with the nearest name, for a tool that it does not have.
        """
        effect = self._class(tool)
        receipt = await self.receipt(tool, {**(arguments or {}), **more}, effect)
        raise_error(self.name, receipt)
        return answer_of(receipt)

    def call_sync(self, tool: str, /, arguments: Mapping[str, Any] | None = None, **more: Any) -> Answer:
        """As `call`, in sync code."""
        effect = self._class(tool)
        receipt = self._here(self._receipt(tool, {**(arguments or {}), **more}, effect))
        raise_error(self.name, receipt)
        return answer_of(receipt)

    async def resources(self) -> list[dict[str, Any]]:
        """Its resources, as the protocol lists them."""
        return await self._there(self._listing("list_resources", "resources"))

    async def resource_templates(self) -> list[dict[str, Any]]:
        """Its resource templates."""
        return await self._there(self._listing("list_resource_templates", "resource_templates"))

    async def read(self, uri: str) -> list[dict[str, Any]]:
        """The contents of a resource: each with ``uri`` and ``text``, or ``blob`` in base64."""
        found = await self._there(self._ask(f"resource {uri!r}", lambda c: c.read_resource(uri), again=True))
        return [plain(one) for one in found.contents]

    async def prompts(self) -> list[dict[str, Any]]:
        """Its prompts."""
        return await self._there(self._listing("list_prompts", "prompts"))

    async def prompt(
        self, name: str, /, arguments: Mapping[str, str] | None = None, **more: str
    ) -> list[dict[str, Any]]:
        """The messages of a prompt: each with ``role`` and ``content``; arguments as a mapping or as keywords."""
        given = {**(arguments or {}), **more}
        work = self._ask(f"prompt {name!r}", lambda c: c.get_prompt(name, given), again=True)
        return [plain(one) for one in (await self._there(work)).messages]

    async def refresh(self) -> Toolset:
        """List the tools anew. Raises: ServerChanged."""
        await self._there(self._relist())
        return self.tools

    async def receipt(self, tool: str, arguments: Mapping[str, Any], effect: EffectClass) -> dict[str, Any]:
        """One call, its answer as JSON: content, structured, is_error."""
        return await self._there(self._receipt(tool, arguments, effect))

    # Inside, in the loop of its own

    async def _opened(self) -> None:
        await self._owned().session()

    def _owned(self) -> Owner:
        if self._owner is None:
            self._owner = Owner(self.name, self._connect_timeout, self)
        return self._owner

    @asynccontextmanager
    async def session(self, over: asyncio.Event, complaints: Complaints) -> AsyncGenerator[Any]:
        """One session's client."""
        client = mcp.Client(
            cast("Any", opened(self.address, over, complaints, self._auth)),
            message_handler=self._notified,
            elicitation_callback=cast("Any", self._elicit),
            client_info=types.Implementation(name="lawful", version=late("lawful").__version__),
            mode=self._protocol,
            cache=None,
        )
        async with client:
            yield client

    async def begin(self, client: Any) -> None:
        """Look at the server: who it is, which tools it has, whether it is what was accepted. Raises: ServerChanged."""
        info, caps = client.server_info, client.server_capabilities
        self._info = {
            "name": info.name if info is not None else "",
            "version": info.version if info is not None else "",
            "protocol": client.protocol_version,
            "instructions": client.instructions or "",
            "capabilities": plain(caps),
        }
        if caps.tools is None:
            self._take([])
        else:
            self._take(await pages(client, "list_tools", "tools"))

    async def watch(self, client: Any) -> None:
        """Hear of changed lists where the newer protocol asks for a subscription."""
        wanted = subscribed(client.server_capabilities)
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not any(wanted.values()):
            return
        async with client.listen(**wanted) as changes:
            async for change in changes:
                await self._heard(change)

    async def _notified(self, message: Any) -> None:
        # With the newer protocol the SDK gives each change here too: once is enough.
        if self._info.get("protocol") not in MODERN_PROTOCOL_VERSIONS:
            await self._heard(message)

    async def _heard(self, message: Any) -> None:
        which = changed(message)
        if which == "tools":
            # Not awaited here: the answer to our question comes over the stream that this handler would hold up.
            self._relisting = asyncio.create_task(self._relist_quietly())
        elif which is not None and self._on_listing is not None:
            self._on_listing(which)

    async def _relist_quietly(self) -> None:
        try:
            await self._relist()
        except Failure as error:
            self._changed = error
        else:
            if self._on_change is not None:
                self._on_change(self.tools)

    async def _relist(self) -> None:
        work = self._owned().ask
        self._take(await work("tools", lambda c: pages(c, "list_tools", "tools"), timeout=self.timeout, again=True))

    def _take(self, listed: Sequence[dict[str, Any]]) -> None:
        """Hold the listing against the lock, and make tools of it. Raises: ServerChanged; then the old ones stay unusable."""
        found = taken(self, listed, self.trusted, self._declare)
        if self._lock is not None:
            version = f"{self._info['name']} {self._info['version']}".strip()
            self._lock.check(self.name, LockedServer(version, found.entries), accept=self._accept)
            self._accept = False
        self._tools, self._classes, self._changed = found.tools, found.classes, None

    def _class(self, tool: str) -> EffectClass:
        if self._tools is not None and tool not in self._classes:
            raise ConfigurationError(
                f"MCP server {self.name!r} has no tool {tool!r}.{nearest(tool, self._classes)}",
                component=f"mcp:{self.name}",
                operation="call",
            )
        return self._classes.get(tool, "opaque")

    async def _receipt(self, tool: str, arguments: Mapping[str, Any], effect: EffectClass) -> dict[str, Any]:
        what = f"tool {tool!r}"
        try:
            found = await self._ask(what, lambda c: c.call_tool(tool, dict(arguments)), again=effect != "opaque")
        except (RuntimeError, pydantic.ValidationError) as error:
            # The SDK holds a result against the schema that the server gave: it was done, and what it says is unfit.
            raise ToolError(
                f"MCP server {self.name!r}: {what}: the answer is not of the form that it promised: {error}",
                component=f"mcp:{self.name}",
                operation="call",
                details={"server": self.name, "outcome": "answered"},
            ) from error
        return receipt_of(found)

    async def _ask(self, what: str, work: Callable[[Any], Any], *, again: bool = False) -> Any:
        owner = self._owned()
        await owner.session()
        if self._changed is not None:
            raise self._changed
        return await owner.ask(what, work, timeout=self.timeout, again=again)

    async def _listing(self, verb: str, field: str) -> list[dict[str, Any]]:
        return await self._ask(field, lambda client: pages(client, verb, field), again=True)

    # Between loops

    def _loop(self) -> Portal:
        if self._portal is None or not self._portal.usable:
            self._owner = None
            # An empty context: what lives as long as the connection must not hold on to the run that opened it.
            self._portal = contextvars.Context().run(Portal, f"mcp {self.name}")
        return self._portal

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(contextvars.Context().run(self._loop().submit, work))

    def _here(self, work: Coroutine[Any, Any, T]) -> T:
        return contextvars.Context().run(self._loop().run, work)
