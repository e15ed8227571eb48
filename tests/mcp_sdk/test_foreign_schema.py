"""A server's schema may point elsewhere: nothing is ever fetched for it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("mcp")

from lawful.core.errors import ValidationError
from lawful.mcp.tools import valid

pytestmark = pytest.mark.integration


class _Elsewhere(BaseHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012 - of the subclass that the test makes

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = b'{"type": "string"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/schema+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_a_reference_to_an_address_is_refused_and_not_followed() -> None:
    """Rows: S0-172."""
    asked: list[str] = []
    handler = type("Handler", (_Elsewhere,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        schema = {
            "type": "object",
            "properties": {"a": {"$ref": f"http://127.0.0.1:{server.server_address[1]}/s.json"}},
        }
        with pytest.raises(ValidationError, match="schema cannot be used"):
            valid("tool", schema, {"a": "text"})
        server.shutdown()
    assert asked == []
