"""Local servers that speak the wires of real providers: payments with keys, webhooks, and mail."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@contextmanager
def running(server: socketserver.BaseServer) -> Generator[None]:
    """Serve in a thread while the block runs."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


class Web(ThreadingHTTPServer):
    """An HTTP server on a free port, without a look at the resolver."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Speaking(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", "0")))

    def answer(self, status: int, value: Any, **headers: str) -> None:
        text = json.dumps(value).encode()
        self.close_connection = True
        self.send_response(status)
        for name, told in {"Content-Length": str(len(text)), "Connection": "close", **headers}.items():
            self.send_header(name.replace("_", "-"), told)
        self.end_headers()
        self.wfile.write(text)


# Payments, as Stripe's API takes them: form bodies, keys, saved answers


class Stripe(Web):
    """Payment intents: first answers are saved under their key for ``retention`` seconds, errors 500 too."""

    def __init__(self) -> None:
        super().__init__(_Payments)
        self.lock = threading.Lock()
        self.payments: list[dict[str, Any]] = []
        self.saved: dict[str, tuple[float, dict[str, list[str]], int, Any]] = {}
        self.busy: set[str] = set()
        self.answers: list[int] = []
        """The status of each answer to a POST; 0 where none was sent."""
        self.retention = 86_400.0
        self.passed = 0.0
        """Seconds that have passed here beside those of the real clock."""
        self.lag = 0.0
        """Seconds by which the list is behind."""
        self.script: list[str] = []
        """What happens to the next requests: "lose" (carried out, no answer), "slow" (the same, after 0.2 s), "500", "402"."""

    def now(self) -> float:
        return time.monotonic() + self.passed


class _Payments(_Speaking):
    server: Stripe  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        wanted = parse_qs(place.query)["customer"][0]
        until = self.server.now() - self.server.lag
        rows = [p for p in self.server.payments if p["customer"] == wanted and p["at"] <= until]
        self.answer(200, {"object": "list", "data": rows[::-1]})

    def do_POST(self) -> None:
        form = parse_qs(self.body().decode(), strict_parsing=True)
        key, server = self.headers["Idempotency-Key"], self.server
        if self.headers["Authorization"] != "Bearer sk_test":
            self.told(401, {"error": {"type": "invalid_request_error"}})
            return
        with server.lock:
            if key in server.busy:
                self.told(409, {"error": {"type": "invalid_request_error", "code": "idempotency_key_in_use"}})
                return
            held = server.saved.get(key)
            if held is not None and held[0] + server.retention > server.now():
                if held[1] != form:
                    self.told(400, {"error": {"type": "idempotency_error"}})
                else:
                    self.told(held[2], held[3], Idempotent_Replayed="true")
                return
            trouble = server.script.pop(0) if server.script else ""
            server.busy.add(key)
        if trouble == "slow":
            server.answers.append(0)
            threading.Thread(target=self.late, args=(key, form), daemon=True).start()
            self.close_connection = True
            return
        status, value = self.carried_out(key, form, trouble)
        if trouble == "lose":
            server.answers.append(0)
            self.close_connection = True
            return
        self.told(status, value)

    def late(self, key: str, form: dict[str, list[str]]) -> None:
        time.sleep(0.2)
        self.carried_out(key, form, "")

    def carried_out(self, key: str, form: dict[str, list[str]], trouble: str) -> tuple[int, Any]:
        server = self.server
        with server.lock:
            status, value = 402, {"error": {"type": "card_error", "code": "card_declined"}}
            if trouble != "402":
                name = f"pi_{len(server.payments) + 1}"
                told = {place[9:-1]: form[place][0] for place in form if place.startswith("metadata[")}
                amount, customer = int(form["amount"][0]), form["customer"][0]
                status, value = 200, {"id": name, "amount": amount, "customer": customer, "metadata": told}
                server.payments.append({**value, "at": server.now()})
            if trouble == "500":
                status, value = 500, {"error": {"type": "api_error"}}
            server.saved[key] = (server.now(), form, status, value)
            server.busy.discard(key)
        return status, value

    def told(self, status: int, value: Any, **headers: str) -> None:
        self.server.answers.append(status)
        self.answer(status, value, **headers)


# Webhooks


class Receiver(Web):
    """Takes webhooks, and drops one whose id it has seen if it ``remembers``."""

    def __init__(self, *, remembers: bool) -> None:
        super().__init__(_Hook)
        self.remembers = remembers
        self.arrived: list[tuple[dict[str, str], bytes]] = []
        self.done: list[str] = []
        """The ids of the events that were acted on."""
        self.lose = 0
        self.status = 204


class _Hook(_Speaking):
    server: Receiver  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        server, name = self.server, headers["webhook-id"]
        server.arrived.append((headers, self.body()))
        if server.status < 300 and not (server.remembers and name in server.done):
            server.done.append(name)
        if server.lose:
            server.lose -= 1
            self.close_connection = True
            return
        self.answer(server.status, None)


# Mail


class Mailbox(socketserver.ThreadingTCPServer):
    """An SMTP server that keeps what it accepts."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Smtp)
        self.mails: list[bytes] = []
        self.refused: set[str] = set()
        """Recipients that it does not know."""
        self.lose = 0
        self.after_data = b"250 2.0.0 accepted"

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Smtp(socketserver.StreamRequestHandler):
    server: Mailbox  # pyright: ignore[reportIncompatibleVariableOverride]

    def handle(self) -> None:
        self.say(b"220 localhost ESMTP")
        while line := self.rfile.readline():
            verb = line.strip().upper()
            if verb.startswith((b"EHLO", b"HELO")):
                self.say(b"250 localhost")
            elif verb.startswith(b"RCPT TO:"):
                known = line.partition(b"<")[2].partition(b">")[0].decode() not in self.server.refused
                self.say(b"250 2.1.5 ok" if known else b"550 5.1.1 no such mailbox")
            elif verb == b"DATA":
                self.say(b"354 go ahead")
                if not self.take():
                    return
            elif verb == b"QUIT":
                self.say(b"221 bye")
                return
            else:
                self.say(b"250 2.0.0 ok")

    def take(self) -> bool:
        """Read a mail to its last line; whether the connection goes on."""
        lines: list[bytes] = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b".") else line)
        if self.server.after_data.startswith(b"250"):
            self.server.mails.append(b"".join(lines))
        if self.server.lose:
            self.server.lose -= 1
            return False
        self.say(self.server.after_data)
        return True

    def say(self, text: bytes) -> None:
        self.wfile.write(text + b"\r\n")
