"""One HTTP request as an effect sends it: connected first, announced, sent once, and never again by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from msgspec import Struct

from lawful.core.errors import ConfigurationError, EffectRefused, NetworkError
from lawful.effects.contract import EffectContext

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


class Answer(Struct, frozen=True):
    """What came back."""

    status: int
    headers: dict[str, str]
    """By lower-case name."""
    body: bytes

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:
        """The body as JSON. Raises: NetworkError, if it is none: then nobody knows what it says."""
        try:
            return json.loads(self.body or b"null")
        except ValueError as error:
            raise NetworkError(f"the answer ({self.status}) is no JSON", component="http") from error

    def said(self) -> str:
        """Status and the beginning of the body, for an error's text."""
        return f"{self.status}: {self.body[:200].decode(errors='replace')}"


def fetch(
    method: str,
    url: str,
    *,
    ctx: EffectContext | None = None,
    headers: Mapping[str, str] | None = None,
    form: Mapping[str, str] | None = None,
    data: bytes | None = None,
    timeout: float = 10.0,
) -> Answer:
    """Send one request and wait for its answer, at most ``timeout`` seconds for each part of it.

    With ``ctx`` it is a request that does something: `EffectContext.before_send` is called once the connection stands and
    right before the request leaves. Redirects are not followed, proxies are not used, and nothing is sent a second time.

    Raises: EffectRefused, retryable, if there is no connection, so that nothing has left; NetworkError, if no answer came.
    """
    place = urlsplit(url)
    if place.scheme not in ("http", "https") or place.hostname is None:
        raise ConfigurationError(f"{url!r} is no http or https URL", component="http")
    kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
    line = kind(place.hostname, place.port, timeout=timeout)
    more = {"Content-Type": FORM} if form is not None else {}
    body = urlencode(form).encode() if form is not None else data
    try:
        try:
            line.connect()
        except OSError as error:
            raise EffectRefused(f"{place.netloc} is not reached: {error}", component="http", retryable=True) from error
        if ctx is not None:
            ctx.before_send()
        target = (place.path or "/") + (f"?{place.query}" if place.query else "")
        line.request(method, target, body, {**more, **(headers or {})})
        got = line.getresponse()
        return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
    except (OSError, HTTPException) as error:
        raise NetworkError(f"no answer of {place.netloc}: {error}", component="http") from error
    finally:
        line.close()
