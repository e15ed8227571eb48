"""The fetcher calls public addresses only, whatever a name, a redirect or a spelling of an address says."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lawful.core.errors import ConfigurationError, DocumentLoaderError
from lawful.rag import Fetcher
from lawful.rag.web import is_public

pytestmark = pytest.mark.integration


DRIBBLED = 200
"""Bytes that a slow server has, one at a time: ten seconds of them."""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.seen.append((self.headers["Host"], self.path))  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
        match self.path.partition("?")[0]:
            case "/page":
                self._send(200, b"<title>T</title><p>Hello", {"Content-Type": "text/html; charset=utf-8"})
            case "/big":
                self._send(200, b"x" * 5000, {"Content-Type": "text/plain"})
            case "/image":
                self._send(200, b"x", {"Content-Type": "image/png"})
            case "/gzip":
                self._send(200, b"x", {"Content-Type": "text/plain", "Content-Encoding": "gzip"})
            case "/to":
                self._send(302, b"", {"Location": self.path.partition("?")[2]})
            case "/loop":
                self._send(302, b"", {"Location": "/loop"})
            case "/nowhere":
                self._send(302, b"", {})
            case "/slow" | "/headers":
                self.send_response(200)
                if self.path == "/slow":
                    self.end_headers()
                self.flush_headers()
                for _ in range(DRIBBLED):
                    try:
                        self.wfile.write(b"x")
                        self.wfile.flush()
                    except OSError:
                        return
                    self.server.dribbled += 1  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
                    time.sleep(0.05)
            case _:
                self._send(503, b"", {})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Site(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[tuple[str, str]] = []
        self.dribbled = 0

    @property
    def port(self) -> int:
        return self.server_address[1]


@pytest.fixture
def site() -> Iterator[_Site]:
    with _Site() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def allowed(site: _Site, **more: object) -> Fetcher:
    """A fetcher that may call this one address, under the name site.test."""
    names = {"site.test": ["127.0.0.1"], "inside.test": ["127.0.0.2"], "both.test": ["127.0.0.1", "10.0.0.1"]}

    def resolver(host: str, port: int) -> list[str]:
        return names.get(host, [host.strip("[]")])

    return Fetcher(networks=["127.0.0.1/32"], ports=(site.port,), resolver=resolver, **more)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_page_becomes_a_document(site: _Site) -> None:
    """Rows: S0-160."""
    url = f"http://site.test:{site.port}/page?a=1#part"
    [one] = allowed(site).load(url)
    assert (one.text, one.metadata, one.source) == ("Hello", {"title": "T"}, url.removesuffix("#part"))
    assert site.seen == [(f"site.test:{site.port}", "/page?a=1")]
    [again] = allowed(site).load(f"http://site.test:{site.port}/to?/page")
    assert again.source == f"http://site.test:{site.port}/page"


@pytest.mark.parametrize(
    "host", ["127.0.0.2", "inside.test", "both.test", "169.254.169.254", "10.0.0.1", "[::1]", "0.0.0.0"]
)
def test_a_redirect_to_an_address_inside_is_refused(site: _Site, host: str) -> None:
    with pytest.raises(DocumentLoaderError, match="no public address"):
        allowed(site).fetch(f"http://site.test:{site.port}/to?http://{host}:{site.port}/page")
    assert len(site.seen) == 1


def test_nothing_inside_is_called_by_default(site: _Site) -> None:
    """Rows: S0-160."""
    fetcher = Fetcher(ports=(site.port,))
    for host in ("127.0.0.1", "localhost", "2130706433", "0x7f000001", "127.1", "[::ffff:127.0.0.1]", "017700000001"):
        with pytest.raises(DocumentLoaderError):
            fetcher.fetch(f"http://{host}:{site.port}/page")
    assert site.seen == []


def test_the_address_that_was_looked_at_is_the_one_that_is_called(site: _Site) -> None:
    answers = [["127.0.0.1"], ["127.0.0.2"]]
    fetcher = Fetcher(networks=["127.0.0.1"], ports=(site.port,), resolver=lambda host, port: answers.pop(0))
    assert fetcher.fetch(f"http://rebind.test:{site.port}/page").kind == "text/html"
    assert len(answers) == 1
    with pytest.raises(DocumentLoaderError, match=r"127\.0\.0\.2"):
        fetcher.fetch(f"http://rebind.test:{site.port}/page")


@pytest.mark.parametrize(
    "address, public",
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("::ffff:8.8.8.8", True),
        ("64:ff9b::808:808", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("255.255.255.255", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("198.18.0.1", False),
        ("192.0.0.192", False),
        ("192.88.99.1", False),
        ("168.63.129.16", False),
        ("168.63.129.17", True),
        ("::ffff:168.63.129.16", False),
        ("64:ff9b::a83f:8110", False),
        ("3fff::1", False),
        ("::", False),
        ("::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("2002:7f00:1::", False),
        ("fe80::1", False),
        ("fc00::1", False),
        ("fd00:ec2::254", False),
        ("fec0::1", False),
        ("ff02::1", False),
        ("2001:db8::1", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) is public


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://site.test/x",
        "gopher://site.test/x",
        "//site.test/x",
        "http://",
        "http://user:pw@site.test/page",
        "http://site.test@127.0.0.2/page",
        "http://site.test:1/page",
        "http://site.test:99999/",
        "http://site.test/a b",
        "http://site.test/\r\nX: y",
        "http://site.test\\@127.0.0.2/",
        "http://[::1",
        "",
    ],
)
def test_addresses_of_other_kinds_are_refused(site: _Site, url: str) -> None:
    with pytest.raises(DocumentLoaderError):
        allowed(site).fetch(url)
    assert site.seen == []


@pytest.mark.parametrize(
    "path, why", [("/big", "larger"), ("/loop", "redirects"), ("/nowhere", "nowhere"), ("/gzip", "compressed")]
)
def test_answers_that_are_not_taken(site: _Site, path: str, why: str) -> None:
    with pytest.raises(DocumentLoaderError, match=why):
        allowed(site, largest=1000).fetch(f"http://site.test:{site.port}{path}")


def test_errors_say_whether_another_try_may_help(site: _Site) -> None:
    with pytest.raises(DocumentLoaderError, match="image/png"):
        allowed(site).load(f"http://site.test:{site.port}/image")
    with pytest.raises(DocumentLoaderError, match="503") as found:
        allowed(site).fetch(f"http://site.test:{site.port}/none")
    assert found.value.retryable
    with pytest.raises(ConfigurationError):
        Fetcher(networks=["10.0.0.0/99"])


@pytest.mark.parametrize("path", ["/slow", "/headers"])
def test_a_server_that_dribbles_is_cut_off(site: _Site, path: str) -> None:
    with pytest.raises(DocumentLoaderError, match="too long"):
        allowed(site, seconds=0.3).fetch(f"http://site.test:{site.port}{path}")
    assert site.dribbled < DRIBBLED, "it was heard out to its end"


async def test_the_async_form(site: _Site) -> None:
    [one] = await allowed(site).aload(f"http://site.test:{site.port}/page")
    assert one.text == "Hello"


async def test_the_forms_for_asyncio_do_the_same(site: _Site) -> None:
    """Rows: S0-160."""
    url = f"http://site.test:{site.port}/page"
    fetcher = allowed(site)
    assert await fetcher.afetch(url) == fetcher.fetch(url)
    assert await fetcher.aload(url) == fetcher.load(url)
    with pytest.raises(DocumentLoaderError, match="503"):
        await fetcher.aload(f"http://site.test:{site.port}/broken")
