"""A server that dies in a call: the caller learns that nobody knows, and the next call works."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from lawful import Agent, Done, MemoryJournal, Paused
from lawful.core.messages import Message, ToolCall
from lawful.effects.events import DidNotHappen
from lawful.mcp import CallUnknown, connect
from lawful.models.fake import Scripted
from support import mcp_http
from support.mcp_kit import calls, command

pytestmark = pytest.mark.integration


def asking(*named: tuple[str, dict[str, Any]]) -> Message:
    return Message(
        "assistant", tuple(ToolCall(id=f"c{n}", name=name, args=args) for n, (name, args) in enumerate(named))
    )


async def test_stdio(tmp_path: Path) -> None:
    """A typed error at once, marked unknown; one call arrived; the next call has a new session. Cases: A17."""
    log = tmp_path / "log"
    async with connect(command("plain", log), name="odd") as server:
        began = time.monotonic()
        with pytest.raises(CallUnknown) as caught:
            await server.call("die")
        assert time.monotonic() - began < 2
        assert caught.value.details["outcome"] == "unknown"
        assert "exit code 7" in caught.value.message
        assert (await server.call("echo", text="again")).text == "again"
        assert server.sessions == 2
    assert calls(log) == ["die", "echo"]


async def test_http(tmp_path: Path) -> None:
    """Over HTTP, with a server that somebody starts again. Cases: A17."""
    port, log = mcp_http.free_port(), tmp_path / "log"
    child = mcp_http.start(port, log)
    try:
        async with connect(f"http://127.0.0.1:{port}/mcp", name="odd") as server:
            began = time.monotonic()
            with pytest.raises(CallUnknown):
                await server.call("die")
            assert time.monotonic() - began < 2
            child.wait()
            child = mcp_http.start(port, log)
            assert (await server.call("echo", text="again")).text == "again"
        assert calls(log) == ["die", "echo"]
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("declare, tool", [({"die": "idempotent"}, "die"), ({"die": "read"}, "die")])
async def test_what_may_be_repeated_is_called_again(tmp_path: Path, declare: Any, tool: str) -> None:
    """Only on somebody's word: the first session dies, the second answers. Cases: A17."""
    log = tmp_path / "log"
    async with connect(command("plain", log), name="odd", declare=declare) as server:
        assert (await server.call(tool, once=str(tmp_path / "mark"))).text == "alive again"
    assert calls(log) == ["die", "die"]


async def test_hints_of_a_stranger_permit_no_repeat(tmp_path: Path) -> None:
    """The tool says that it only reads; the server is not trusted, so it is not called again. Cases: A17."""
    log = tmp_path / "log"
    async with connect(command("plain", log), name="odd") as server:
        with pytest.raises(CallUnknown):
            await server.call("die_reading", once=str(tmp_path / "mark"))
    assert calls(log) == ["die_reading"]


async def test_an_agent_pauses_and_a_person_decides(tmp_path: Path) -> None:
    """The run does not crash: it asks what became of the call, and goes on with the answer. Cases: A17."""
    log = tmp_path / "log"
    model = Scripted(asking(("die", {"once": str(tmp_path / "mark")})), "It is done.")
    async with connect(command("plain", log), name="odd") as server:
        agent = Agent(model, tools=server.tools, journal=MemoryJournal())
        ended = await agent.run("go", thread="t")
        assert isinstance(ended, Paused), ended
        assert calls(log) == ["die"]
        [question] = ended.questions
        ended = await agent.resume("t", question.answer(DidNotHappen(retry=True)), by="ann")
        assert isinstance(ended, Done), ended
        assert ended.state == "It is done."
    assert calls(log) == ["die", "die"]


async def test_an_idempotent_tool_of_an_agent_is_called_again(tmp_path: Path) -> None:
    """The ledger claims it anew, since twice is once. Cases: A17."""
    log = tmp_path / "log"
    model = Scripted(asking(("die", {"once": str(tmp_path / "mark")})), "It is done.")
    async with connect(command("plain", log), name="odd", declare={"die": "idempotent"}) as server:
        ended = await Agent(model, tools=server.tools).run("go")
        assert isinstance(ended, Done), ended
        assert ended.state == "It is done."
    assert calls(log) == ["die", "die"]
