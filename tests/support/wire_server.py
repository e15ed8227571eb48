"""A loopback server that speaks providers' wires from a script, keeps a journal of what arrived, and can fail in every way."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One response: its pieces are sent one by one."""

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    kind: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=lambda: {})
    cut: bool = False
    """Whether the connection is dropped where the end should be."""
    hang: bool = False
    """Whether it stays open after the last piece until the client goes."""


def sse(*events: Any, done: bool = False, **more: Any) -> Answer:
    """Server-sent events; an event with a ``type`` bears it as its name too."""
    pieces = [_event(event) for event in events]
    return Answer((*pieces, b"data: [DONE]\n\n") if done else tuple(pieces), **more)


def _event(event: Any) -> bytes:
    name = event.get("type") if isinstance(event, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    data = event if isinstance(event, str) else json.dumps(event)
    return (f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode()


def lines(*chunks: Any, **more: Any) -> Answer:
    """JSON lines."""
    return Answer(tuple(json.dumps(chunk).encode() + b"\n" for chunk in chunks), kind="application/x-ndjson", **more)


def refusal(status: int, body: Any, **headers: str) -> Answer:
    """An error's response."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer((json.dumps(body).encode(),), status, "application/json", named)


def plain(body: Any) -> Answer:
    """One JSON body."""
    return Answer((json.dumps(body).encode(),), kind="application/json")


class WireServer:
    """Answers the requests that come, in order, as its script says; a context manager."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.journal: list[tuple[str, Any]] = []
        """Path and JSON body of each request."""
        self.headers: list[dict[str, str]] = []
        self.left_early = threading.Event()
        """Set when a client goes while an answer hangs."""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> WireServer:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await _read(reader)) is not None:
                path, headers, body = asked
                self.journal.append((path, body))
                self.headers.append(headers)
                answer = self.answers.pop(0) if self.answers else refusal(500, {"error": {"message": "script over"}})
                await self._answer(answer, reader, writer)
                if answer.cut or answer.hang:
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = [f"HTTP/1.1 {answer.status} Scripted", f"content-type: {answer.kind}", "transfer-encoding: chunked"]
        head += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write(("\r\n".join(head) + "\r\n\r\n").encode())
        try:
            for piece in answer.pieces:
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                await writer.drain()
                await asyncio.sleep(0)
            if answer.hang:
                await reader.read(1)
        except ConnectionError:  # it went while there was still something to say
            self.left_early.set()
            raise
        if answer.hang:
            self.left_early.set()
        elif answer.cut:
            writer.transport.abort()
        else:
            writer.write(b"0\r\n\r\n")
            await writer.drain()


async def _read(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], Any] | None:
    first = await reader.readline()
    if not first:
        return None
    path = first.split()[1].decode()
    headers: dict[str, str] = {}
    while (line := await reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("transfer-encoding") == "chunked":
        data = b""
        while size := int(await reader.readline(), 16):
            data += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    else:
        data = await reader.readexactly(int(headers.get("content-length", "0")))
    return path, headers, json.loads(data) if data else None
