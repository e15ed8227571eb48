"""How a page of the web becomes a document: a fetcher that resolves a name once, looks at the address, and calls only that.

Refused: addresses that are not public (private, loopback, link-local, a cloud's metadata service, and these inside IPv6
forms), redirects to such, names that resolve to any such, other schemes and ports, user names in an address, and answers
that are too large, too slow or of another kind.
"""

from __future__ import annotations

import asyncio
import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias
from urllib.parse import SplitResult, urljoin, urlsplit

from msgspec import Struct

from lawful.core.errors import ConfigurationError, DocumentLoaderError
from lawful.rag.documents import Document
from lawful.rag.loaders import Reader, read_html, read_json, read_pdf, read_text

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver: TypeAlias = Callable[[str, int], Sequence[str]]
"""The addresses of a host's name, as text."""

KINDS: Final[dict[str, Reader]] = {
    "text/html": read_html,
    "application/xhtml+xml": read_html,
    "text/plain": read_text,
    "text/markdown": read_text,
    "application/json": read_json,
    "application/pdf": read_pdf,
}
"""What reads an answer, by its media type."""
_REDIRECTS: Final = {301, 302, 303, 307, 308}
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_INSIDE: Final[tuple[Network, ...]] = tuple(
    ipaddress.ip_network(one) for one in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "3fff::/20")
)
"""What not every Python knows to be special, or what a cloud answers at from within: Oracle's and Azure's services."""


class Page(Struct, frozen=True):
    """What an address gave."""

    url: str
    """Where it was in the end, after redirects."""
    kind: str
    """Its media type, without parameters."""
    data: bytes


class Fetcher:
    """Gets pages by GET from public addresses; give it an address from anywhere, it reaches nothing inside your network.

    ``networks`` are further ones that may be called, for an intranet: ("10.20.0.0/16",). ``seconds`` is the time for one
    page with all its redirects. Proxies of the environment are not used. Raises: ConfigurationError for what is no network.
    """

    def __init__(
        self,
        *,
        networks: Iterable[str] = (),
        ports: Iterable[int] = (80, 443),
        largest: int = 10_000_000,
        seconds: float = 30.0,
        redirects: int = 5,
        agent: str = "lawful",
        resolver: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        try:
            self._networks: tuple[Network, ...] = tuple(ipaddress.ip_network(one) for one in networks)
        except ValueError as error:
            raise ConfigurationError(f"{error}", component="rag", operation="fetch") from error
        self._ports = frozenset(ports)
        self._largest, self._seconds, self._redirects, self._agent = largest, seconds, redirects, agent
        self._resolve = resolver or _resolved
        self._tls = tls

    def fetch(self, url: str) -> Page:
        """The page at that address. Raises: DocumentLoaderError, which says why not; ``retryable`` where the network failed."""
        until = time.monotonic() + self._seconds
        for _ in range(self._redirects + 1):
            found = self._once(url, until)
            if isinstance(found, Page):
                return found
            if url.startswith("https:") and not found.startswith("https:"):
                raise _refused(url, "leads from https to plain http")
            url = found
        raise _refused(url, f"has more than {self._redirects} redirects")

    async def afetch(self, url: str) -> Page:
        """As `fetch`, in a thread."""
        return await asyncio.to_thread(self.fetch, url)

    def load(self, url: str) -> list[Document]:
        """The page as documents, read by its media type; their source is its address. Raises: DocumentLoaderError."""
        page = self.fetch(url)
        reader = KINDS.get(page.kind)
        if reader is None:
            raise _refused(url, f"is {page.kind or 'of no kind'}, which no reader takes")
        return reader(page.data, page.url)

    async def aload(self, url: str) -> list[Document]:
        """As `load`, in a thread."""
        return await asyncio.to_thread(self.load, url)

    def _once(self, url: str, until: float) -> Page | str:
        """The page, or the address that it redirects to."""
        parts, host, port = self._checked(url)
        address = self._address(url, host, port)
        connection = _Pinned(host, port, str(address), parts.scheme == "https", _left(url, until), self._tls)
        # A server that sends a byte now and then never runs into a time limit of the socket: this ends it.
        watch = threading.Timer(_left(url, until), connection.cut)
        watch.daemon = True
        watch.start()
        try:
            target = parts.path or "/"
            connection.request(
                "GET",
                f"{target}?{parts.query}" if parts.query else target,
                headers={"User-Agent": self._agent, "Accept": ", ".join(KINDS), "Accept-Encoding": "identity"},
            )
            answer = connection.getresponse()
            connection.answer = answer
            if answer.status in _REDIRECTS:
                return self._redirected(url, answer)
            if answer.status != 200:
                raise _refused(url, f"answers {answer.status}", retryable=answer.status in (429, 502, 503, 504))
            if answer.getheader("Content-Encoding", "identity").lower() != "identity":
                raise _refused(url, "answers compressed, though it was asked not to")
            kind = answer.getheader("Content-Type", "").partition(";")[0].strip().lower()
            return Page(parts._replace(fragment="").geturl(), kind, self._body(url, answer, connection, until))
        except ssl.SSLCertVerificationError as error:
            raise _refused(url, f"has a certificate that does not hold: {error.verify_message}", error) from error
        except (OSError, http.client.HTTPException) as error:
            _left(url, until)
            raise _refused(url, f"cannot be reached: {error or type(error).__name__}", error, retryable=True) from error
        except ValueError as error:
            raise _refused(url, f"is no address: {error}", error) from error
        finally:
            watch.cancel()
            connection.end()

    def _redirected(self, url: str, answer: http.client.HTTPResponse) -> str:
        where = answer.getheader("Location")
        if not where:
            raise _refused(url, "redirects to nowhere")
        return urljoin(url, where)

    def _body(self, url: str, answer: http.client.HTTPResponse, connection: _Pinned, until: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            connection.held.settimeout(_left(url, until))
            part = answer.read1(65536)
            if not part:
                _left(url, until)
                return b"".join(parts)
            size += len(part)
            if size > self._largest:
                raise _refused(url, f"is larger than {self._largest} bytes")
            parts.append(part)
            _left(url, until)

    def _checked(self, url: str) -> tuple[SplitResult, str, int]:
        if not url.isprintable() or " " in url or "\\" in url:
            raise _refused(url, "has characters that no address has")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise _refused(url, f"is no address: {error}", error) from error
        if parts.scheme not in ("http", "https"):
            raise _refused(url, "is neither http nor https")
        if parts.username is not None or parts.password is not None:
            raise _refused(url, "has a user name in it")
        if not parts.hostname:
            raise _refused(url, "names no host")
        port = port if port is not None else 443 if parts.scheme == "https" else 80
        if port not in self._ports:
            raise _refused(url, f"has port {port}, which is not allowed")
        return parts, parts.hostname, port

    def _address(self, url: str, host: str, port: int) -> Address:
        """The one address that is called; every one that the name has must be allowed, so that chance decides nothing."""
        try:
            found = [ipaddress.ip_address(one.partition("%")[0]) for one in self._resolve(host, port)]
        except (OSError, UnicodeError) as error:
            raise _refused(url, f"has a host that cannot be resolved: {error}", error, retryable=True) from error
        if not found:
            raise _refused(url, "has a host without an address")
        for address in found:
            if not is_public(address) and not any(address in network for network in self._networks):
                raise _refused(url, f"leads to {address}, which is no public address")
        return found[0]


def is_public(address: Address) -> bool:
    """Whether it is an address of the open internet, also where an IPv4 address is written within an IPv6 one."""
    inner = _inner(address)
    if (inner is not None and not is_public(inner)) or any(address in network for network in _INSIDE):
        return False
    if isinstance(address, ipaddress.IPv6Address) and (address.is_site_local or address.ipv4_mapped is not None):
        return address.ipv4_mapped is not None
    if inner is not None and isinstance(address, ipaddress.IPv6Address) and address in _NAT64:
        return True
    return address.is_global and not address.is_multicast and not address.is_reserved


def _inner(address: Address) -> ipaddress.IPv4Address | None:
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


class _Pinned(http.client.HTTPConnection):
    """A connection to one address, whatever the host's name resolves to by now; TLS checks the name all the same."""

    def __init__(
        self, host: str, port: int, address: str, secure: bool, seconds: float, tls: ssl.SSLContext | None
    ) -> None:
        super().__init__(host, port, timeout=seconds)
        self._address = address
        self.held: Any = None
        """The socket, which the connection itself lets go of where the server will close it after its answer."""
        self.answer: http.client.HTTPResponse | None = None
        self._secure = (tls or ssl.create_default_context()) if secure else None
        self.default_port = 443 if secure else 80

    def connect(self) -> None:
        made: Any = socket.create_connection((self._address, self.port), self.timeout)
        self.sock = self.held = made
        if self._secure is not None:
            self.sock = self.held = self._secure.wrap_socket(
                made, server_hostname=self.host, do_handshake_on_connect=False
            )
            self.held.do_handshake()

    def cut(self) -> None:
        """End it from another thread: what reads then sees the end."""
        with suppress(OSError, AttributeError):
            self.held.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Close all of it."""
        for one in (self.answer, self, self.held):
            if one is not None:
                one.close()


def _resolved(host: str, port: int) -> list[str]:
    return [str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _left(url: str, until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise _refused(url, "takes too long", retryable=True)
    return left


def _refused(url: str, why: str, cause: BaseException | None = None, *, retryable: bool = False) -> DocumentLoaderError:
    told = url[:200]
    return DocumentLoaderError(
        f"{told!r} {why}", component="rag", operation="fetch", details={"url": told}, retryable=retryable, cause=cause
    )
