"""The server: a real client calls tools, agents and graphs; strangers, other principals and bad requests are refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("mcp")

import httpx2
import uvicorn

from lawful import END, START, Agent, MemoryJournal, Principal, StateGraph, append, effect, tool
from lawful.core.errors import ConfigurationError, ToolError
from lawful.core.messages import Message, ToolCall
from lawful.mcp import Serving, connect
from lawful.models.fake import Scripted
from support.mcp_http import free_port

pytestmark = pytest.mark.integration

ANN, BEN = Principal("ann"), Principal("ben")


class Sum(TypedDict):
    numbers: list[int]
    log: Annotated[list[str], append]


def add(state: Sum) -> Any:
    return {"log": [f"sum {sum(state['numbers'])}"]}


@tool(pure_read=True)
def weather(city: str, days: int = 1) -> dict[str, Any]:
    """The weather.

    Args:
        city: Where.
    """
    return {"city": city, "days": days}


@tool
def broken() -> str:
    """Fails."""
    raise RuntimeError("no luck")


def graph() -> StateGraph[Sum]:
    return StateGraph(Sum, name="total").add_node(add).add_edge(START, "add").add_edge("add", END)


@asynccontextmanager
async def served(serving: Serving, host: str = "127.0.0.1") -> AsyncGenerator[str]:
    """Its address while it is served by a real server."""
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(serving.app(host), host=host, port=port, log_level="error", ws="none", lifespan="on")
    )
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
        assert not running.done()
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        await running


async def test_tools_and_graphs_are_served() -> None:
    sent: list[str] = []

    @effect("to", tool="letter")
    def letter(to: str, text: str) -> str:
        sent.append(f"{to}: {text}")
        return "sent"

    journal = MemoryJournal()
    serving = Serving(weather, broken, letter, graph(), name="desk", instructions="Be brief.", journal=journal)
    async with served(serving) as url, connect(url) as client:
        assert client.info["name"] == "desk"
        assert client.info["instructions"] == "Be brief."
        assert client.tools.names == ("weather", "broken", "letter", "total")
        assert client.tools["weather"].parameters == weather.parameters
        answer = await client.call("weather", city="Lyon", days=2)
        assert (answer.value, json.loads(answer.text)) == ({"city": "Lyon", "days": 2},) * 2
        with pytest.raises(ToolError, match="days"):
            await client.call("weather", city="Lyon", days="many")
        with pytest.raises(ToolError, match="no luck"):
            await client.call("broken")
        assert (await client.call("letter", to="ann", text="hi")).text == "sent"
        assert (await client.call("total", numbers=[1, 2, 3], log=[])).value["log"] == ["sum 6"]
    assert sent == ["ann: hi"]
    [row] = journal.read(lambda tx: list(tx.operations()))
    assert (row.tool, row.state) == ("letter", "Succeeded"), "the effect went through the ledger"


async def test_hints_say_only_what_was_declared() -> None:
    async with served(Serving(weather, broken)) as url, connect(url, trusted=True) as client:
        assert client.effects == {"weather": "read", "broken": "opaque"}


async def test_an_agent_is_served_with_threads_that_are_each_principals_own() -> None:
    """The same thread's name is another thread for another principal."""
    seen: list[int] = []

    def answer(request: Any) -> str:
        seen.append(len(request.messages))
        return f"heard {len(request.messages)}"

    agent = Agent(Scripted(*[answer] * 3), name="helper", journal=MemoryJournal())
    serving = Serving(agent, tokens={"token-of-ann": ANN, "token-of-ben": BEN})
    async with served(serving) as url:
        async with connect(url, headers={"Authorization": "Bearer token-of-ann"}) as ann:
            assert (await ann.call("helper", task="one", thread="t")).text == "heard 1"
            assert (await ann.call("helper", task="two", thread="t")).text == "heard 3"
            with pytest.raises(ToolError, match="takes a task"):
                await ann.call("helper", task=3)
        async with connect(url, headers={"Authorization": "Bearer token-of-ben"}) as ben:
            assert (await ben.call("helper", task="three", thread="t")).text == "heard 1"


async def test_a_call_that_needs_a_yes_says_where_it_waits() -> None:
    journal = MemoryJournal()
    serving = Serving(weather.with_(approval=True), journal=journal)
    async with served(serving) as url, connect(url) as client:
        with pytest.raises(ToolError, match="waits for a person's answer: thread mcp-"):
            await client.call("weather", city="Lyon")
    assert len(list(journal.threads())) == 1


async def test_a_call_of_what_is_not_there_is_refused() -> None:
    async with served(Serving(weather)) as url, connect(url) as client:
        with pytest.raises(ConfigurationError):
            await client.call("wether")
        with pytest.raises(ToolError, match="there is no tool"):
            await client.receipt("wether", {}, "opaque")


HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "127.0.0.1:1234"}, 200),
        ({"Host": "[::1]:80"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:8000"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "localhost@evil.example"}, 403),
        ({"Host": "127.0.0.1:80.evil.example"}, 403),
        ({"Host": "localhost/evil"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "http://127.0.0.1"}, 200),
        ({"Origin": "https://app.example"}, 200),
        ({"Origin": "http://app.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "http://localhost@evil.example"}, 403),
        ({"Origin": "file://localhost"}, 403),
        ({"Host": "evil.example", "Origin": "http://localhost"}, 403),
    ],
)
async def test_foreign_hosts_and_origins_are_refused(headers: dict[str, str], status: int) -> None:
    """DNS rebinding: a page of another site that a browser on this machine shows."""
    app = Serving(weather, origins=("https://app.example",)).app()
    async with _living(app), httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app)) as http:
        answer = await http.post("http://127.0.0.1/mcp", json=HELLO, headers={**JSON, **headers})
        assert answer.status_code == status, answer.text


@asynccontextmanager
async def _living(app: Any) -> AsyncGenerator[None]:
    """The application between its start and its end."""
    told: asyncio.Queue[str] = asyncio.Queue()
    asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def send(message: dict[str, Any]) -> None:
        await told.put(message["type"])

    asked.put_nowait({"type": "lifespan.startup"})
    running = asyncio.create_task(app({"type": "lifespan"}, asked.get, send))
    assert await told.get() == "lifespan.startup.complete"
    try:
        yield
    finally:
        asked.put_nowait({"type": "lifespan.shutdown"})
        await running


async def test_a_websocket_is_refused() -> None:
    told: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        told.append(message)

    await Serving(weather).app()({"type": "websocket", "headers": [], "path": "/mcp"}, None, send)
    assert told == [{"type": "websocket.close", "code": 1008}]


async def test_a_session_is_its_openers_alone() -> None:
    """With another's token, or with none, it is as if it were not there."""
    app = Serving(weather, tokens={"token-of-ann": ANN, "token-of-ben": BEN}).app()
    async with _living(app), httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app)) as http:

        async def post(token: str | None, message: Any, **more: str) -> httpx2.Response:
            bearer = {"authorization": f"Bearer {token}"} if token is not None else {}
            return await http.post("http://127.0.0.1/mcp", json=message, headers={**JSON, **bearer, **more})

        opened = await post("token-of-ann", HELLO)
        assert opened.status_code == 200
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert (await post("token-of-ann", listing, **session)).status_code == 200
        assert (await post("token-of-ben", listing, **session)).status_code == 404
        assert (await post(None, listing, **session)).status_code == 401
        assert (await post("token-of-eve", listing, **session)).status_code == 401
        gone = await http.delete(
            "http://127.0.0.1/mcp", headers={**JSON, **session, "authorization": "Bearer token-of-ben"}
        )
        assert gone.status_code == 404
        assert (await post("token-of-ann", listing, **session)).status_code == 200


@pytest.mark.parametrize(
    "method, path, content, more",
    [
        ("POST", "/mcp", b"{", {}),
        ("POST", "/mcp", b"[" * 100_000, {}),
        ("POST", "/mcp", b"\xff\xfe", {}),
        ("POST", "/mcp", b'{"jsonrpc":"2.0","id":{},"method":1}', {}),
        ("POST", "/mcp", b"{}", {"content-type": "text/plain"}),
        ("POST", "/mcp", json.dumps(HELLO).encode(), {"mcp-session-id": "x" * 5000}),
        ("POST", "/mcp", json.dumps(HELLO).encode(), {"mcp-protocol-version": "9"}),
        ("GET", "/mcp", b"", {}),
        ("GET", "/etc/passwd", b"", {}),
        ("PATCH", "/mcp", b"", {}),
    ],
    ids=lambda value: repr(value)[:30],
)
async def test_a_bad_request_hurts_nobody_else(method: str, path: str, content: bytes, more: dict[str, str]) -> None:
    app = Serving(weather).app()
    async with _living(app), httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app)) as http:
        answer = await http.request(method, f"http://127.0.0.1{path}", content=content, headers={**JSON, **more})
        assert 400 <= answer.status_code < 500
        assert (await http.post("http://127.0.0.1/mcp", json=HELLO, headers=JSON)).status_code == 200


def test_what_others_can_reach_needs_tokens_and_a_name() -> None:
    with pytest.raises(ConfigurationError, match="give tokens"):
        Serving(weather).app("0.0.0.0")
    with pytest.raises(ConfigurationError, match="hosts"):
        Serving(weather, tokens={"t": ANN}).app("0.0.0.0")
    assert Serving(weather, tokens={"t": ANN}, hosts=("desk.example",)).app("0.0.0.0") is not None
    for host in ("localhost", "127.0.0.1", "127.1.2.3", "::1"):
        assert Serving(weather).app(host) is not None


def test_what_cannot_be_served_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="two things"):
        Serving(weather, weather)
    with pytest.raises(ConfigurationError, match="nothing"):
        Serving()
    with pytest.raises(ConfigurationError, match="no tool"):
        Serving(3)


async def test_an_agent_uses_what_is_served() -> None:
    """The whole way: an agent calls a tool of a server of ours."""
    model = Scripted(Message("assistant", (ToolCall(id="a", name="weather", args={"city": "Lyon"}),)), "Sunny.")
    async with served(Serving(weather)) as url, connect(url, trusted=True) as client:
        assert (await Agent(model, tools=client.tools).ainvoke("?")).text == "Sunny."
