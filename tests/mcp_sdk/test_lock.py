"""The lock file: what was accepted is written down, and a server that became another is refused until it is accepted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("mcp")

from lawful.core.errors import ConfigurationError, ParsingError
from lawful.mcp import Lock, ServerChanged, connect
from lawful.mcp.lock import LockedServer, LockedTool, differences
from support.mcp_kit import calls, command, within

pytestmark = pytest.mark.integration


async def _met(lock: Path, how: str = "plain", log: Path | None = None, **more: Any) -> None:
    async with connect(command(how, log), name="odd", lock=lock, **more) as server:
        await server.call("echo", text="x")


async def test_a_server_is_written_down_and_met_again(tmp_path: Path) -> None:
    lock = tmp_path / "mcp.lock"
    await _met(lock)
    first = lock.read_bytes()
    known = Lock(lock).servers()["odd"]
    assert known.version == "odd 1.0"
    assert known.tools["echo"].effect == "opaque"
    await _met(lock)
    assert lock.read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["mcp.lock"]


async def test_a_description_that_changed_is_refused_until_it_is_accepted(tmp_path: Path) -> None:
    """A tool that says something else at the second meeting, as a poisoned one does."""
    lock, log = tmp_path / "mcp.lock", tmp_path / "log"
    await _met(lock, "changing", log)
    for _ in range(2):
        with pytest.raises(ServerChanged, match="tool 'echo' has another description"):
            await _met(lock, "changing", log)
    await _met(lock, "changing", log, accept=True)
    await _met(lock, "changing", log)
    assert calls(log) == ["echo"] * 3, "nothing was called of the server that was refused"


@pytest.mark.parametrize(
    "how, told", [("newer", "version 'odd 1.0' became 'odd 2.0'"), ("reshaped", "tool 'echo' has another schema")]
)
async def test_a_version_or_schema_that_changed_is_refused_until_it_is_accepted(
    tmp_path: Path, how: str, told: str
) -> None:
    lock, log = tmp_path / "mcp.lock", tmp_path / "log"
    await _met(lock)
    with pytest.raises(ServerChanged, match=told) as caught:
        await _met(lock, how, log)
    assert caught.value.details["changes"] == told
    assert calls(log) == []
    await _met(lock, how, log, accept=True)
    await _met(lock, how, log)


async def test_an_effect_class_that_changed_is_refused(tmp_path: Path) -> None:
    """Trusting a server later on is a change too."""
    lock = tmp_path / "mcp.lock"
    await _met(lock)
    with pytest.raises(ServerChanged, match="tool 'echo' was opaque and is read"):
        await _met(lock, trusted=True)
    Lock(lock).remove("odd")
    await _met(lock, trusted=True)


async def test_a_change_in_the_middle_stops_every_further_call(tmp_path: Path) -> None:
    lock, log = tmp_path / "mcp.lock", tmp_path / "log"
    async with connect(command("changing", log), name="odd", lock=lock) as server:
        await server.call("send")

        async def refused() -> bool:
            try:
                await server.call("echo", text="x")
            except ServerChanged:
                return True
            return False

        for _ in range(200):
            if await refused():
                break
            await asyncio.sleep(0.02)
        assert await refused()
        before = calls(log)
        assert await refused()
        assert calls(log) == before
        Lock(lock).remove("odd")
        await server.refresh()
        assert (await server.call("echo", text="x")).text == "x"


async def test_a_server_that_came_back_as_another_is_refused(tmp_path: Path) -> None:
    """It died, and what is started in its place has another tool."""
    lock, log = tmp_path / "mcp.lock", tmp_path / "log"
    async with connect(command("changing", log), name="odd", lock=lock) as server:
        with pytest.raises(Exception, match="not known"):
            await server.call("die")
        with pytest.raises(ServerChanged):
            await server.call("echo", text="x")
    assert calls(log) == ["die"]


def test_a_file_that_is_no_lock_is_refused_and_kept(tmp_path: Path) -> None:
    lock = tmp_path / "mcp.lock"
    for text in (b"{}", b"not json", b'{"lock": 2, "servers": {}}'):
        lock.write_bytes(text)
        with pytest.raises(ParsingError, match="is no lock file"):
            connect(command(), name="odd", lock=lock).open_sync()
        assert lock.read_bytes() == text


def test_forgetting_names_the_nearest(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "mcp.lock")
    with connect(command(), name="files", lock=lock):
        pass
    with pytest.raises(ConfigurationError, match="'files'"):
        lock.remove("filse")


def test_each_difference_is_named() -> None:
    old = LockedServer("a 1", {"x": LockedTool("s", "d", "read"), "y": LockedTool("s", "d", "read")})
    new = LockedServer("a 2", {"x": LockedTool("t", "e", "opaque"), "z": LockedTool("s", "d", "read")})
    assert differences(old, new) == [
        "version 'a 1' became 'a 2'",
        "tool 'z' is new",
        "tool 'y' is gone",
        "tool 'x' has another schema",
        "tool 'x' has another description",
        "tool 'x' was read and is opaque",
    ]
    assert differences(old, old) == []
    assert msgspec.json.decode(msgspec.json.encode(old), type=LockedServer) == old
    assert within(0, lambda: True)
