"""`lawful mcp`: what a module names is served, what a server has is shown, and one that changed is accepted."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from lawful.mcp import Lock, connect
from support.command import Place
from support.mcp_http import free_port
from support.mcp_kit import command, listens, within
from support.tree import ROOT

pytestmark = pytest.mark.integration

CODE = """
from typing import TypedDict
from lawful import START, StateGraph, Toolset, tool

class Sum(TypedDict, total=False):
    numbers: list[int]
    total: int

def add(state: Sum) -> Sum:
    return {"total": sum(state["numbers"])}

graph = StateGraph(Sum, name="total").add_node(add).add_edge(START, "add")

@tool(pure_read=True)
def double(n: int) -> int:
    "Twice a number."
    print("a word that must not get into the protocol")
    return 2 * n

kit = Toolset([double])
"""


@pytest.fixture
def shop(tmp_path: Path) -> Place:
    (tmp_path / "shop.py").write_text(CODE)
    (tmp_path / "broken.py").write_text("kit = 1\ndef x(:\n")
    return Place(tmp_path)


def test_a_toolset_and_a_graph_are_served_by_their_names(shop: Place) -> None:
    words = [sys.executable, "-m", "lawful.cli", "mcp", "serve", "shop:kit", "shop:graph", "--name", "shop"]
    env = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path])}
    with connect(words, cwd=shop.folder, env=env) as server:
        assert server.info["name"] == "shop"
        assert server.tools.names == ("double", "total")
        assert server.call_sync("double", n=21).text == "42"
        assert server.call_sync("total", numbers=[1, 2]).value["total"] == 3


@pytest.mark.parametrize(
    "words, said",
    [
        (("shop:kitt",), "'kit'"),
        (("broken:kit",), "broken.py, line 2: "),
        (("shop:Sum",), "is no tool"),
        (("shop:kit", "--http", "--host", "0.0.0.0"), "give tokens"),
        (("shop:kit", "--tokens", "shop.py"), "is not of the form"),
    ],
)
def test_what_cannot_be_served_is_said(shop: Place, words: tuple[str, ...], said: str) -> None:
    ran = shop.run("mcp", "serve", *words)
    assert ran.code == 1
    assert said in ran.err


def test_a_servers_tools_are_shown_with_what_is_taken_for_granted(shop: Place) -> None:
    told: dict[str, Any] = json.loads(shop.run("mcp", "tools", "--json", "--trusted", "--", *command()).out)
    assert told["server"] == {"name": "odd", "version": "1.0", "protocol": "2025-11-25"}
    assert {one["tool"]: one["effect"] for one in told["tools"]}["echo"] == "read"
    plain = shop.run("mcp", "tools", "--", *command())
    assert "echo" in plain.out
    assert "opaque" in plain.out


def test_a_server_is_accepted_by_its_name(shop: Place) -> None:
    lock = shop.folder / "mcp.lock"
    assert "no lock file" in shop.run("mcp", "accept", "odd").err
    with connect(command(), name="odd", lock=lock):
        pass
    assert "'odd'" in shop.run("mcp", "accept", "od").err
    assert shop.run("mcp", "accept", "odd").code == 0
    assert Lock(lock).servers() == {}


def test_a_port_that_is_taken_is_said(shop: Place) -> None:
    """And is no other exit code than a refusal's: 3 is for unknown outcomes."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = shop.run("mcp", "serve", "shop:kit", "--http", "--port", port)
    assert ran.code == 1
    assert f"cannot listen on 127.0.0.1, port {port}" in ran.err


def test_where_it_serves_is_told(shop: Place) -> None:
    port = free_port()
    words = [sys.executable, "-m", "lawful.cli", "mcp", "serve", "shop:kit", "--http", "--port", str(port)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path])}
    child = subprocess.Popen(words, cwd=shop.folder, env=env, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stderr is not None
        url = f"http://127.0.0.1:{port}/mcp"
        assert child.stderr.readline() == f"lawful: serving double at {url}; Ctrl-C ends it\n"
        assert within(10, lambda: listens(port))
        with connect(url) as server:
            assert server.call_sync("double", n=2).text == "4"
    finally:
        child.send_signal(signal.SIGINT)
        assert child.wait(10) in (0, 130)
        child.stderr.close()  # pyright: ignore[reportOptionalMemberAccess]
