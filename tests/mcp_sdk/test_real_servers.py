"""Servers that others wrote: listed, called, refused and reconnected, over standard input and output and over HTTP.

They are fetched when the tests run (npm, PyPI) into pytest's cache folder; part of the whole matrices, since that needs
Node and a network.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import subprocess
import time
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest

pytest.importorskip("mcp")

from lawful import Agent, MemoryJournal
from lawful.core.errors import ToolError, ValidationError
from lawful.core.messages import Message, ToolCall
from lawful.mcp import CallUnknown, Connection, connect
from lawful.models.fake import Scripted
from support.mcp_http import free_port
from support.mcp_kit import listens, running, within

pytestmark = [pytest.mark.integration, pytest.mark.full]

NODE = {"server-everything": "2026.8.31", "server-filesystem": "2026.8.31", "server-memory": "2026.8.31"}
PYTHON = {"mcp-server-time": "2026.10.19", "mcp-server-git": "2026.10.19"}
"""Fixed, so that a run says something of this library and not of what others released last night."""


def unfit(why: str) -> NoReturn:
    """Nothing to test with: a failure where everything must be there, else a skip."""
    if os.environ.get("LAWFUL_CI"):
        pytest.fail(why)
    pytest.skip(why)


def folder_for(request: pytest.FixtureRequest, name: str, versions: Mapping[str, str]) -> Path:
    """A folder that is kept for exactly these versions."""
    told = hashlib.sha256(repr(sorted(versions.items())).encode()).hexdigest()[:12]
    return Path(request.config.cache.mkdir(f"{name}-{told}"))  # pyright: ignore[reportOptionalMemberAccess]


@pytest.fixture(scope="module")
def node(request: pytest.FixtureRequest) -> Path:
    """The folder of commands of the Node servers."""
    if shutil.which("npm") is None:
        unfit("npm is not on the path")
    folder = folder_for(request, "mcp-node", NODE)
    if not all((folder / "node_modules" / "@modelcontextprotocol" / name).exists() for name in NODE):
        wanted = [f"@modelcontextprotocol/{name}@{version}" for name, version in NODE.items()]
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *wanted],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            unfit(f"npm could not fetch the servers: {done.stderr[-200:]}")
    return folder / "node_modules" / ".bin"


@pytest.fixture(scope="module")
def python(request: pytest.FixtureRequest) -> Path:
    """The folder of commands of an environment with the Python servers."""
    folder = folder_for(request, "mcp-python", PYTHON)
    if not all((folder / "bin" / name).exists() for name in PYTHON):
        venv.create(folder, with_pip=True, clear=True)
        done = subprocess.run(
            [str(folder / "bin" / "pip"), "install", "-q", *(f"{name}=={one}" for name, one in PYTHON.items())],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            unfit(f"pip could not fetch the servers: {done.stderr[-200:]}")
    return folder / "bin"


@pytest.fixture
def everything(node: Path) -> Iterator[str]:
    """The server that has something of everything, over HTTP."""
    port = free_port()
    env = {**os.environ, "PORT": str(port)}
    child = subprocess.Popen(
        [str(node / "mcp-server-everything"), "streamableHttp"],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert within(20, lambda: listens(port))
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        child.kill()
        child.wait()


async def _everything(server: Any) -> None:
    assert {"echo", "get-sum"} <= set(server.tools.names)
    assert "hello" in (await server.call("echo", message="hello")).text
    assert "5" in (await server.call("get-sum", a=2, b=3)).text
    with pytest.raises(ToolError):
        await server.call("get-sum", a="two", b=3)
    with pytest.raises(ValidationError):
        server.tools["get-sum"].checked({"a": "two", "b": 3})
    assert await server.resources()
    assert (await server.read((await server.resources())[0]["uri"]))[0]
    [simple, *_] = [one for one in await server.prompts() if not one.get("arguments")]
    assert (await server.prompt(simple["name"]))[0]["role"] == "user"


async def test_everything_over_stdio(node: Path) -> None:
    async with connect([str(node / "mcp-server-everything")]) as server:
        await _everything(server)


async def test_everything_over_http(everything: str) -> None:
    async with connect(everything) as server:
        await _everything(server)


async def test_filesystem(node: Path, tmp_path: Path) -> None:
    """Hints of a trusted server; a file is written through the ledger; what lies outside its folder is refused."""
    async with connect([str(node / "mcp-server-filesystem"), str(tmp_path)], name="files", trusted=True) as server:
        assert server.effects["read_text_file"] == "read"
        assert server.effects["write_file"] in ("idempotent", "opaque")
        path = str(tmp_path / "a.txt")
        call = Message("assistant", (ToolCall(id="w", name="write_file", args={"path": path, "content": "written"}),))
        journal = MemoryJournal()
        await Agent(Scripted(call, "Done."), tools=server.tools, journal=journal).ainvoke("write", thread="t")
        assert Path(path).read_text("utf-8") == "written"
        [row] = journal.read(lambda tx: list(tx.operations()))
        assert (row.tool, row.state) == ("mcp.files.write_file", "Succeeded")
        assert "written" in (await server.call("read_text_file", path=path)).text
        with pytest.raises(ToolError):
            await server.call("read_text_file", path="/etc/passwd")


async def test_memory(node: Path, tmp_path: Path) -> None:
    env = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    entity = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
    for _ in range(2):
        async with connect([str(node / "mcp-server-memory")], env=env) as server:
            await server.call("create_entities", entities=[entity])
            assert "likes tea" in (await server.call("search_nodes", query="Ann")).text
            with pytest.raises(ToolError, match="Nobody"):
                await server.call("add_observations", observations=[{"entityName": "Nobody", "contents": ["x"]}])


async def test_time(python: Path) -> None:
    async with connect([str(python / "mcp-server-time"), "--local-timezone", "UTC"]) as server:
        assert "UTC" in (await server.call("get_current_time", timezone="UTC")).text
        with pytest.raises(ToolError):
            await server.call("get_current_time", timezone="Nowhere/Land")


async def test_git(python: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    async with connect([str(python / "mcp-server-git"), "--repository", str(tmp_path)]) as server:
        (tmp_path / "new.txt").write_text("x")
        assert "new.txt" in (await server.call("git_status", repo_path=str(tmp_path))).text
        with pytest.raises(ToolError):
            await server.call("git_status", repo_path="/")


async def test_a_real_server_that_is_killed_in_a_call(node: Path) -> None:
    """Cases: A17."""
    async with connect([str(node / "mcp-server-everything")], name="everything") as server:
        tool = next(
            name for name in ("trigger-long-running-operation", "longRunningOperation") if name in server.effects
        )
        calling = asyncio.create_task(server.call(tool, duration=30, steps=3))
        await asyncio.sleep(0.5)
        for pid in running("mcp-server-everything"):
            if "keeper.py" not in Path(f"/proc/{pid}/cmdline").read_text("utf-8"):
                os.kill(pid, 9)
        began = time.monotonic()
        with pytest.raises(CallUnknown):
            await calling
        assert time.monotonic() - began < 2
        assert "again" in (await server.call("echo", message="again")).text


async def _opened_here_closed_there(connection: Connection) -> None:
    for _ in range(2):
        await asyncio.create_task(connection.open())
        assert "hi" in (await asyncio.create_task(connection.call("echo", message="hi"))).text
        await asyncio.create_task(connection.close())
        async with asyncio.TaskGroup() as group:
            later = group.create_task(asyncio.sleep(0.01, "done"))
        assert later.result() == "done"


async def test_a_real_server_opened_in_one_task_and_closed_in_another(node: Path) -> None:
    """Cases: A18."""
    await _opened_here_closed_there(connect([str(node / "mcp-server-everything")]))


async def test_the_same_over_http(everything: str) -> None:
    """Cases: A18."""
    await _opened_here_closed_there(connect(everything))


def test_twenty_reconnects_of_a_real_server_leave_no_process(node: Path) -> None:
    for _ in range(20):
        with connect([str(node / "mcp-server-memory")]) as server:
            assert len(server.tools) > 3
            assert running("mcp-server-memory")
    assert within(2, lambda: running("mcp-server-memory") == [])
