"""An MCP server over HTTP in a process of its own, which a test can kill and start again on the same port."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from support.tree import ROOT, environment


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def start(port: int, log: Path, *more: str) -> subprocess.Popen[bytes]:
    """The server, once it listens."""
    env = {**environment(), "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}"}
    child = subprocess.Popen(
        [sys.executable, str(Path(__file__)), str(port), str(log), *more], env=env, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 20
    while time.monotonic() < until and child.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return child
        time.sleep(0.02)
    child.kill()
    raise AssertionError("the server did not begin to listen")


async def listed(_: Any, __: Any) -> Any:
    import mcp_types as types

    def tool(name: str, reads: bool) -> Any:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        return types.Tool(
            name=name, input_schema=schema, annotations=types.ToolAnnotations(read_only_hint=reads, title=name)
        )

    return types.ListToolsResult(tools=[tool("echo", True), tool("die", False)])


def main() -> None:
    import mcp_types as types
    import uvicorn
    from mcp.server.lowlevel.server import Server

    port, log = int(sys.argv[1]), Path(sys.argv[2])

    async def called(_: Any, params: Any) -> Any:
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{params.name}\n")
        if params.name == "die":
            os._exit(9)
        given: dict[str, Any] = params.arguments or {}
        said = str(given.get("text", ""))
        return types.CallToolResult(content=[types.TextContent(type="text", text=said)])

    server: Any = Server("odd-http", version="1.0", on_list_tools=listed, on_call_tool=called)
    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="error")


if __name__ == "__main__":
    main()
