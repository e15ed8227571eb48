"""A connection opened in one task and closed in another leaves nothing behind that would hurt later work."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from lawful.core.errors import NetworkError
from lawful.mcp import Connection, connect
from support import mcp_http
from support.mcp_kit import command

pytestmark = pytest.mark.integration


async def _later_work() -> str:
    async with asyncio.TaskGroup() as group:
        first, second = (group.create_task(asyncio.sleep(0.01, n)) for n in (1, 2))
    assert [first.result(), second.result()] == [1, 2]
    assert asyncio.current_task() is not None
    assert not asyncio.current_task().cancelling()  # pyright: ignore[reportOptionalMemberAccess]
    return "done"


async def test_where_nobody_listens() -> None:
    """The error is typed and quick; closing elsewhere succeeds; other work goes on. Cases: A18."""
    connection = connect(f"http://127.0.0.1:{mcp_http.free_port()}/mcp")
    began = time.monotonic()
    with pytest.raises(NetworkError) as caught:
        await asyncio.create_task(connection.open())
    assert time.monotonic() - began < 2
    assert "cannot connect" in caught.value.message
    await asyncio.create_task(connection.close())
    assert await _later_work() == "done"


@pytest.mark.parametrize(
    "program, told", [("/nonexistent/server", "cannot start"), ("false", "exit code 1")], ids=["missing", "fails"]
)
async def test_a_server_that_cannot_be_started(program: str, told: str) -> None:
    """Cases: A18."""
    connection = connect([program])
    with pytest.raises(NetworkError) as caught:
        await connection.open()
    assert told in caught.value.message
    await asyncio.create_task(connection.close())
    assert await _later_work() == "done"


async def _opened_here_closed_there(connection: Connection) -> None:
    await asyncio.create_task(connection.open())
    assert (await asyncio.create_task(connection.call("echo", text="hi"))).text == "hi"
    await asyncio.create_task(connection.close())
    assert await _later_work() == "done"
    await connection.close()


async def test_stdio() -> None:
    """Cases: A18."""
    await _opened_here_closed_there(connect(command()))


async def test_http(tmp_path: Path) -> None:
    """Cases: A18."""
    port = mcp_http.free_port()
    child = mcp_http.start(port, tmp_path / "log")
    try:
        await _opened_here_closed_there(connect(f"http://127.0.0.1:{port}/mcp"))
    finally:
        child.kill()
        child.wait()


def test_opened_in_one_loop_and_closed_in_another() -> None:
    """Cases: A18."""
    connection = connect(command())
    asyncio.run(_open(connection))
    assert asyncio.run(_say(connection)) == "hi"
    connection.close_sync()


async def _open(connection: Connection) -> None:
    await connection.open()


async def _say(connection: Connection) -> str:
    return (await connection.call("echo", text="hi")).text


async def test_a_call_that_is_given_up_leaves_the_session_as_it_is() -> None:
    """Cases: A18."""
    async with connect(command()) as server:
        waiting = asyncio.create_task(server.call("nested", n=1))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await server.call("echo", text="hi")).text == "hi"
        assert server.sessions == 1
    assert await _later_work() == "done"
