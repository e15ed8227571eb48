"""One turn of an agent with three parallel tool calls, one of them an effect, killed in whichever phase it is told."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from lawful.agents import build_agent_loop
from lawful.core.messages import Message, ToolCall, assistant, user
from lawful.effects import EffectContext
from lawful.models.fake import Scripted, refuse_unmatched
from lawful.models.values import Request
from lawful.testing.crash import TO_A_PERSON, run_to_end
from lawful.testing.crash_server import Life
from lawful.testing.provider import FakeCommand, FakeEffect, FakeProvider
from lawful.tools import AnyTool, as_tool, tool

PHASES = ("asked", "reading", "searching", "unsent", "sent", "read", "answering")
"""Within the first answer, within each call, before and after the effect arrived, after a read, within the last answer."""

CALLS = (
    ToolCall(id="c1", name="pay", args={"key": "order-1", "value": "7"}),
    ToolCall(id="c2", name="weather", args={"city": "Lyon"}),
    ToolCall(id="c3", name="search", args={"words": "coat"}),
)


class Mortal(FakeEffect):
    """Dies just before or just after its command arrived."""

    at = ""

    async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
        _die_at("unsent", self.at)
        ctx.before_send()
        receipt = self.provider.apply(command.key, command.value, ctx.idempotency_key)
        _die_at("sent", self.at)
        return receipt


def _die_at(here: str, at: str) -> None:
    if here == at:
        os.kill(os.getpid(), signal.SIGKILL)


def provider_of(folder: Path) -> FakeProvider:
    return FakeProvider(folder / "provider.db", keyed=3600.0, lookup="strong", max_in_flight=1.0)


def model_of(at: str) -> Scripted:
    """Answers by what it is shown, so that any process can go on; strict, as a provider is."""

    def answer(request: Request) -> Message | str:
        results = [message for message in request.messages if message.role == "tool"]
        _die_at("answering" if results else "asked", at)
        return "Paid; no coat." if results else assistant("I will see.", *CALLS)

    return Scripted(*[answer] * 8)


def tools_of(folder: Path, at: str) -> list[AnyTool]:
    @tool
    async def weather(city: str) -> str:
        """Today's weather in one city."""
        _die_at("reading", at)
        _noted(folder, "weather")
        _die_at("read", at)
        return f"fair in {city}"

    @tool
    def search(words: str) -> str:
        """Search the shop."""
        _die_at("searching", at)
        _noted(folder, "search")
        return f"none for {words}"

    pay = Mortal(provider_of(folder), "pay", None, {"send_budget": 0.15, "timeout": 5.0})
    pay.at = at
    return [as_tool(pay), weather, search]


def _noted(folder: Path, what: str) -> None:
    with (folder / "read.txt").open("a") as notes:
        notes.write(f"{what}\n")


def turn(life: Life, at: str, driver: Literal["sync", "async"] = "async") -> Any:
    """The turn to its end: the transcript without its ids, checked as a provider would check it."""
    graph = build_agent_loop(model_of(at), tools_of(life.folder, at), checkpointer=life.journal)
    values = run_to_end(graph, {"messages": [user("Pay order 1. Do I need a coat?")]}, driver=driver)
    if values == TO_A_PERSON:
        return values
    messages: list[Message] = values["messages"]
    refuse_unmatched(messages)
    return [[m.role, m.text, m.tool_call_id, [call.id for call in m.calls]] for m in messages]


def killed_in_a_phase(life: Life) -> Any:
    """Dies in the phase that is told, in the first process alone."""
    return turn(life, life.told if life.number == 0 else "")


def killed_at_a_write(life: Life) -> Any:
    """Dies where the journal is told to."""
    return turn(life, "")


def killed_at_a_write_sync(life: Life) -> Any:
    """The same by the driver for plain threads."""
    return turn(life, "", "sync")


def applied(folder: Path) -> Mapping[str, int]:
    """How often each payment arrived."""
    return provider_of(folder).applied
