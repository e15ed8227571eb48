"""An agent replayed from its record: its nodes run again, no model and no tool is called, changes are named."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypedDict

import pytest
from msgspec.structs import replace

from lawful import effect
from lawful.agents import build_agent_loop
from lawful.agents.middleware.base import Middleware, ModelAsk, ModelHandler, Turn
from lawful.core.errors import LLMError
from lawful.core.messages import Message, ToolCall, assistant, user
from lawful.core.reducers import add_messages
from lawful.graph import START, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from lawful.models.embedding import Embedder, Embeddings
from lawful.models.fake import Scripted
from lawful.models.recording import recorded
from lawful.models.values import Reply
from lawful.tools import tool

pytestmark = pytest.mark.unit

CONFIG = {"configurable": {"thread_id": "t"}}


class Chat(TypedDict):
    messages: Annotated[list[Message], add_messages]


class Words(TypedDict):
    text: str


def _text(node: Any, journal: Any) -> Any:
    return StateGraph(Words).add_node("node", node).add_edge(START, "node").compile(journal)


class World:
    """What was called, by name; and an agent that calls it."""

    def __init__(self, *middleware: Middleware) -> None:
        self.called: list[str] = []
        self.journal = MemoryJournal()
        self.middleware = middleware
        self.word = "fair"
        self.model = Scripted(
            ToolCall(id="c1", name="weather", args={"city": "Lyon"}),
            ToolCall(id="c2", name="book", args={"city": "Lyon"}),
            "Booked.",
            "You are welcome.",
        )

    def build(self, model: Any = None) -> Any:
        @tool
        async def weather(city: str) -> str:
            """Today's weather."""
            self.called.append(f"weather {city}")
            return f"{self.word} in {city}"

        @effect("city")
        def book(city: str) -> str:
            """Book a room."""
            self.called.append(f"book {city}")
            return f"room in {city}"

        return build_agent_loop(
            model or self.model, [weather, book], checkpointer=self.journal, extra_middleware=self.middleware
        )

    async def live(self) -> Any:
        graph = self.build()
        for text in ("Book me a room if it is fair", "Thanks"):
            await graph.ainvoke({"messages": [("user", text)]}, CONFIG)
        return graph


async def test_neither_model_nor_tool_nor_effect_is_called() -> None:
    """Rows: S2-023"""
    world = World()
    graph = await world.live()
    assert world.called == ["weather Lyon", "book Lyon"]
    found = await asyncio.to_thread(graph.replay_recorded, "t")
    assert found.same, found
    assert found.steps == 8
    assert world.called == ["weather Lyon", "book Lyon"]
    assert world.model.left == 0


async def test_other_code_is_named_though_the_answers_are_recorded() -> None:
    """Rows: S2-023"""
    world = World()
    await world.live()

    class Shouting(Middleware):
        async def after_model(self, turn: Turn, reply: Reply) -> Any:
            return [user("louder")] if reply.text == "Booked." else None

    world.middleware = (Shouting(),)
    found = await asyncio.to_thread(world.build().replay_recorded, "t")
    assert found.divergence is not None
    assert (found.divergence.nodes, found.divergence.key) == (("model",), "messages")
    assert found.steps == 5


async def test_a_failed_model_and_what_took_its_place_come_out_the_same() -> None:
    class Second(Middleware):
        async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
            try:
                return await handler(ask)
            except LLMError:
                return await handler(ask)

    world = World(Second())
    world.model = Scripted(LLMError("down", component="m"), "Hello.")
    graph = world.build()
    await graph.ainvoke({"messages": [("user", "hi")]}, CONFIG)
    found = await asyncio.to_thread(graph.replay_recorded, "t")
    assert found.same, found
    assert len(world.model.requests) == 2


async def test_a_model_is_not_billed_again_after_a_pause_in_its_node() -> None:
    class Asking(Middleware):
        async def after_model(self, turn: Turn, reply: Reply) -> Any:
            if not reply.message.calls:
                interrupt("send this?")
            return None

    world = World(Asking())
    world.model = Scripted("An answer.")
    graph = world.build()
    await graph.ainvoke({"messages": [("user", "hi")]}, CONFIG)
    question = graph.questions("t")[0]
    result = await graph.resume("t", question.answer("yes"))
    assert len(world.model.requests) == 1
    assert result.state["messages"][-1].text == "An answer."
    assert (await asyncio.to_thread(graph.replay_recorded, "t")).same


async def test_a_model_in_a_plain_node_is_a_gap_unless_it_is_recorded() -> None:
    model = Scripted("one", "two")

    def build(asked: Any, journal: Any) -> Any:
        async def node(state: dict[str, Any]) -> dict[str, Any]:
            try:
                return {"text": (await asked.ainvoke("hi")).text}
            except Exception:
                return {"text": "one"}

        return _text(node, journal)

    journals = MemoryJournal(), MemoryJournal()
    plain, kept = build(model, journals[0]), build(recorded(model), journals[1])
    for graph in (plain, kept):
        await graph.ainvoke({"text": ""}, CONFIG)
    found = await asyncio.to_thread(plain.replay_recorded, "t")
    assert found.gap is not None
    assert "recorded(model)" in found.gap.message
    assert (await asyncio.to_thread(kept.replay_recorded, "t")).same
    assert model.left == 0


async def test_an_embedder_is_not_called_either() -> None:
    class Counted(Embedder):
        provider, name, asked = "far", "away", 0

        async def vectors(self, texts: Any) -> Embeddings:
            type(self).asked += 1
            return Embeddings(((1.0,),), "away")

    async def node(state: Any) -> Any:
        return {"text": str(await Counted().aembed_query("x"))}

    graph = _text(node, MemoryJournal())
    await graph.ainvoke({"text": ""}, CONFIG)
    found = await asyncio.to_thread(graph.replay_recorded, "t")
    assert found.gap is not None
    assert Counted.asked == 1


async def test_messages_without_ids_of_their_own_are_no_divergence() -> None:
    async def node(state: Chat) -> Any:
        return {"messages": [assistant("hello")]}

    graph = StateGraph(Chat).add_node(node).add_edge(START, "node").compile(MemoryJournal())
    await graph.ainvoke({"messages": [("user", "hi")]}, CONFIG)
    assert (await asyncio.to_thread(graph.replay_recorded, "t")).same


async def test_another_question_to_the_model_is_a_gap_though_it_has_an_answer() -> None:
    class French(Middleware):
        async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
            messages = (*ask.request.messages, user("in French"))
            return await handler(ask.override(request=replace(ask.request, messages=messages)))

    world = World()
    await world.live()
    world.middleware = (French(),)
    found = await asyncio.to_thread(world.build().replay_recorded, "t")
    assert found.gap is not None
    assert "asks something else" in found.gap.message
    assert world.model.left == 0


async def test_a_dry_run_tells_which_tool_effect_and_model_an_agent_would_call() -> None:
    world = World()
    calls = {
        "tool": ToolCall(id="c1", name="weather", args={"city": "Lyon"}),
        "effect": ToolCall(id="c2", name="book", args={"city": "Nice"}),
    }
    graph = world.build()
    await graph.ainvoke({"messages": [("user", "Book me a room if it is fair")]}, CONFIG)
    for kind, call in calls.items():
        thread = {"configurable": {"thread_id": kind}}
        given = {"messages": [user("go"), Message("assistant", (call,))]}
        await asyncio.to_thread(graph.update_state, thread, given, "model")
        (told,) = (await asyncio.to_thread(graph.replay_recorded, kind, mode="dry_run")).intents
        assert (told.kind, told.name, told.args) == (kind, call.name, call.args)
    await asyncio.to_thread(
        graph.update_state, {"configurable": {"thread_id": "m"}}, {"messages": [user("hi")]}, "__input__"
    )
    (told,) = (await asyncio.to_thread(graph.replay_recorded, "m", mode="dry_run")).intents
    assert told.kind == "model"
    assert world.called == ["weather Lyon", "book Lyon"]
    assert world.model.left == 1
