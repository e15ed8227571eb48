"""Who may speak to an HTTP server of ours: known hosts and origins only, and bearers of a token where there are tokens."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from lawful.core.lazy import late
from lawful.core.questions import Principal
from lawful.core.secret import Secret
from lawful.mcp.address import shown

PATH = "/mcp"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def allowed_hosts(more: tuple[str, ...]) -> frozenset[str]:
    """The names, without ports, under which a request may address this server."""
    return _LOOPBACK | {host.lower() for host in more}


class Guard:
    """The ASGI application around the SDK's: it looks at Host, Origin and token before anything is read of a request.

    A page of another site that a browser on this machine shows (DNS rebinding) is answered 403, whoever has no token 401.
    A session is its opener's: with another's token it does not exist.
    """

    def __init__(
        self,
        manager: Any,
        hosts: frozenset[str],
        origins: frozenset[str],
        tokens: Mapping[str | Secret, Principal] | None,
    ) -> None:
        self._manager = manager
        self._hosts = hosts
        self._origins = origins
        self._tokens = tokens

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._request(scope, receive, send)

    async def _lifespan(self, receive: Any, send: Any) -> None:
        await receive()
        async with self._manager.run():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _request(self, scope: Any, receive: Any, send: Any) -> None:
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == "host"]
        origins = [value for name, value in headers if name == "origin"]
        if len(hosts) != 1 or not self._known_host(hosts[0]) or not all(self._known_origin(one) for one in origins):
            await _answer(send, 403, b"this host or origin is not served")
            return
        if self._tokens is not None:
            who = self._who([value for name, value in headers if name == "authorization"])
            if who is None:
                await _answer(send, 401, b"a bearer token is needed", ((b"www-authenticate", b"Bearer"),))
                return
            scope = {**scope, "user": _user(who)}
        if scope["path"].rstrip("/") != PATH:
            await _answer(send, 404, b"there is only /mcp")
            return
        await self._manager.handle_request(scope, receive, send)

    def _known_host(self, host: str) -> bool:
        return _name(f"//{host}") in self._hosts

    def _known_origin(self, origin: str) -> bool:
        if origin in self._origins:
            return True
        parts = origin.partition("://")
        return parts[0] in ("http", "https") and _name(origin) in _LOOPBACK

    def _who(self, given: list[str]) -> Principal | None:
        """The principal whose token it is; every token is compared, so that the time tells nothing."""
        if self._tokens is None or len(given) != 1 or given[0][:7].lower() != "bearer ":
            return None
        told = given[0][7:].strip().encode("latin-1", "replace")
        found: Principal | None = None
        for token, who in self._tokens.items():
            if hmac.compare_digest(shown(token).encode(), told):
                found = who
        return found


def _name(url: str) -> str | None:
    """The host of a URL or of ``//host:port``; None for what is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    if "@" in parts.netloc or parts.path or parts.query or parts.fragment:
        return None
    return parts.hostname


def _user(who: Principal) -> Any:
    """The principal as the SDK's session manager compares it with a session's owner."""
    access = late("mcp.server.auth.provider", "AccessToken", extra="mcp")
    user = late("mcp.server.auth.middleware.bearer_auth", "AuthenticatedUser", extra="mcp")
    made = user(access(token="-", client_id=who.id, subject=who.id, scopes=list(who.roles)))
    made.principal = who
    return made


def principal_of(request: Any) -> Principal | None:
    """Who sent a request, if it came by HTTP with a token."""
    user = getattr(request, "scope", {}).get("user") if request is not None else None
    found = getattr(user, "principal", None)
    return found if isinstance(found, Principal) else None


async def _answer(send: Any, status: int, text: bytes, more: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
