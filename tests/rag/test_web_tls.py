"""The fetcher under TLS: the certificate must be the name's, the connection goes to the address that was looked at."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lawful.core.errors import DocumentLoaderError
from lawful.rag import Fetcher

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority's certificate, and one that it signed for site.test and rebind.test with its key.

    These names exist nowhere.
    """
    folder = tmp_path_factory.mktemp("tls")
    own, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    usage = {name: False for name in _USES}
    issuer = _named("the authority of these tests")
    authority = (
        _dated(issuer, issuer, own)
        .add_extension(x509.BasicConstraints(True, None), critical=True)
        .add_extension(x509.KeyUsage(**{**usage, "key_cert_sign": True}), critical=True)
        .sign(own, hashes.SHA256())
    )
    names = x509.SubjectAlternativeName([x509.DNSName("site.test"), x509.DNSName("rebind.test")])
    site = (
        _dated(_named("site.test"), issuer, key)
        .add_extension(x509.BasicConstraints(False, None), critical=True)
        .add_extension(x509.KeyUsage(**{**usage, "digital_signature": True}), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(own.public_key()), critical=False)
        .add_extension(names, critical=False)
        .sign(own, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form, locked = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "authority.pem").write_bytes(authority.public_bytes(pem))
    (folder / "site.pem").write_bytes(site.public_bytes(pem) + key.private_bytes(pem, form, locked))
    return folder


_USES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _dated(name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
    subject = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return made.not_valid_after(now + timedelta(days=1)).add_extension(subject, critical=False)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.seen.append((self.headers["Host"], self.path))  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
        path, _, to = self.path.partition("?")
        self.send_response(302 if path == "/to" else 200)
        if to:
            self.send_header("Location", to)
        body = b"" if to else b"Hello"
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Site(ThreadingHTTPServer):
    """Speaks TLS with the certificate of site.test on 127.0.0.1, and knows by which names it was called."""

    daemon_threads = True

    def __init__(self, made: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.authority = made / "authority.pem"
        self.seen: list[tuple[str, str]] = []
        self.named: list[str | None] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made / "site.pem")
        context.sni_callback = lambda _, name, __: self.named.append(name)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.port: int = self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that does not trust us hangs up in the handshake


@pytest.fixture
def site(made: Path) -> Iterator[_Site]:
    with _Site(made) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def fetcher(site: _Site, **more: Any) -> Fetcher:
    names = {"inside.test": ["127.0.0.2"], "metadata.test": ["169.254.169.254"]}

    def resolver(host: str, port: int) -> list[str]:
        return names.get(host, ["127.0.0.1"])

    given: dict[str, Any] = {"tls": ssl.create_default_context(cafile=site.authority), "resolver": resolver, **more}
    return Fetcher(networks=["127.0.0.1/32"], ports=(site.port,), **given)


def test_the_certificate_is_the_names_and_the_connection_the_addresss(site: _Site) -> None:
    """No such name exists: a connection by name would go nowhere. Rows: S0-160."""
    page = fetcher(site).fetch(f"https://site.test:{site.port}/page")
    assert page.data == b"Hello"
    assert site.named == ["site.test"]
    assert site.seen == [(f"site.test:{site.port}", "/page")]


@pytest.mark.parametrize("host", ["other.test", "127.0.0.1", "xsite.test", "a.site.test"])
def test_a_certificate_of_another_name_is_refused(site: _Site, host: str) -> None:
    with pytest.raises(DocumentLoaderError, match="certificate") as found:
        fetcher(site).fetch(f"https://{host}:{site.port}/page")
    assert not found.value.retryable
    assert site.seen == []


def test_a_certificate_of_nobody_known_is_refused(site: _Site) -> None:
    with pytest.raises(DocumentLoaderError, match="certificate"):
        fetcher(site, tls=None).fetch(f"https://site.test:{site.port}/page")
    assert site.seen == []


@pytest.mark.parametrize("host", ["inside.test", "metadata.test"])
def test_a_redirect_under_tls_to_an_address_inside_is_refused(site: _Site, host: str) -> None:
    with pytest.raises(DocumentLoaderError, match="no public address"):
        fetcher(site).fetch(f"https://site.test:{site.port}/to?https://{host}:{site.port}/page")
    assert len(site.seen) == 1


def test_a_redirect_to_another_name_needs_that_names_certificate(site: _Site) -> None:
    with pytest.raises(DocumentLoaderError, match="certificate"):
        fetcher(site).fetch(f"https://site.test:{site.port}/to?https://other.test:{site.port}/page")
    page = fetcher(site).fetch(f"https://site.test:{site.port}/to?https://rebind.test:{site.port}/page")
    assert page.url == f"https://rebind.test:{site.port}/page"


def test_no_redirect_leads_out_of_tls(site: _Site) -> None:
    with pytest.raises(DocumentLoaderError, match="plain http"):
        fetcher(site).fetch(f"https://site.test:{site.port}/to?http://site.test:{site.port}/page")


def test_a_name_that_turns_to_an_address_inside_after_it_was_looked_at(
    site: _Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the connection the name's answer changes; the name is not asked for again."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def changing(host: str, port: int, *more: Any, **given: Any) -> Any:
        asked.append(host)
        if host != "rebind.test":
            return real(host, port, *more, **given)
        address = "127.0.0.1" if asked.count(host) == 1 else "127.0.0.2"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr("socket.getaddrinfo", changing)
    page = fetcher(site, resolver=None).fetch(f"https://rebind.test:{site.port}/page")
    assert page.data == b"Hello"
    assert asked.count("rebind.test") == 1
    assert site.named == ["rebind.test"]
    with pytest.raises(DocumentLoaderError, match=r"127\.0\.0\.2"):
        fetcher(site, resolver=None).fetch(f"https://rebind.test:{site.port}/page")
