"""A model in a graph's node: streamed, told as events, summed, held to the run's deadline, and answered once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, Command, MemoryJournal, StateGraph, add_messages, interrupt
from lawful.core.chunks import MessageChunk
from lawful.core.errors import NetworkError, ParsingError
from lawful.core.event_rules import unpaired
from lawful.core.events import LLMChunk, LLMEnded, LLMFailed, LLMStarted, Usage
from lawful.core.messages import Message, ToolCall, assistant
from lawful.core.result import Err, Ok
from lawful.core.retry import RetryPolicy
from lawful.models import ModelConfig, Reply, Request, chat, recorded, repaired
from lawful.models.fake import Echo, Scripted
from lawful.models.faults import Drop, Faulty
from lawful.models.pieces import FinishPiece, Piece, TextPiece
from lawful.models.port import ChatModel
from lawful.pipeline import run
from lawful.pipeline.parsers import boolean

pytestmark = pytest.mark.unit


class Talk(TypedDict, total=False):
    messages: Annotated[list[Message], add_messages]
    said: str


class Live(ChatModel[ModelConfig]):
    """Sends its words one by one over an event loop, as a provider does."""

    config_class = ModelConfig

    def __init__(self, words: int = 3) -> None:
        self.provider, self.name, self.config, self.words = "test", "live", ModelConfig(), words

    async def pieces(self, request: Request, config: ModelConfig) -> AsyncIterator[Piece]:
        for number in range(self.words):
            await asyncio.sleep(0)
            yield TextPiece(f"w{number} ")
        yield FinishPiece("stop")


def graph(model: ChatModel[Any], *, awaits: bool, streams: bool = False) -> Any:
    def sync_node(talk: Talk) -> Talk:
        if streams:
            with model.stream(talk.get("messages", [])) as stream:
                return {"messages": [stream.collect().message]}
        return {"messages": [model.invoke(talk.get("messages", [])).message]}

    async def async_node(talk: Talk) -> Talk:
        if streams:
            async with model.astream(talk.get("messages", [])) as stream:
                return {"messages": [(await stream.collect()).message]}
        return {"messages": [(await model.ainvoke(talk.get("messages", []))).message]}

    node = async_node if awaits else sync_node
    return StateGraph(Talk).add_node("answer", node).add_edge(START, "answer").compile()


MODELS = {"immediate": lambda: Scripted("w0 w1 w2 ", chunks=3), "waiting": Live}


@pytest.mark.parametrize("kind", sorted(MODELS))
@pytest.mark.parametrize("awaits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("streams", [False, True], ids=["invoke", "stream"])
async def test_its_pieces_come_once_in_the_messages_mode(kind: str, awaits: bool, streams: bool) -> None:
    built = graph(MODELS[kind](), awaits=awaits, streams=streams)
    asked = {"messages": ["Hi"]}
    found = [piece async for piece, _ in built.astream(asked, stream_mode="messages")]
    assert [piece.text for piece in found] == ["w0 ", "w1 ", "w2 "]
    assert all(isinstance(piece, MessageChunk) for piece in found)
    assert len({piece.id for piece in found}) == 1


def test_its_pieces_come_once_under_the_sync_driver() -> None:
    for make in MODELS.values():
        built = graph(make(), awaits=False)
        assert [p.text for p, _ in built.stream({"messages": ["Hi"]}, stream_mode="messages")] == ["w0 ", "w1 ", "w2 "]


def test_a_tag_keeps_it_out() -> None:
    built = graph(Scripted("w0 w1", chunks=3).tagged("nostream"), awaits=False)
    [(whole, _)] = built.stream({"messages": ["Hi"]}, stream_mode="messages")
    assert isinstance(whole, Message)


def _events(built: Any) -> list[Any]:
    return [
        event for event in built.stream({"messages": ["Hi"]}, stream_mode="events") if "LLM" in type(event).__name__
    ]


def test_usage_is_told_and_sums_up_for_the_run() -> None:
    """Rows: S0-056."""
    model = Scripted(Reply(assistant("a"), usage=Usage(10, 2)), Reply(assistant("b"), usage=Usage(20, 3)))

    def both(talk: Talk) -> Talk:
        return {"messages": [model.invoke("1").message, model.invoke("2").message]}

    events = _events(StateGraph(Talk).add_node(both).add_edge(START, "both").compile())
    ends = [event for event in events if isinstance(event, LLMEnded)]
    assert sum((end.usage or Usage() for end in ends), Usage()) == Usage(30, 5)
    assert unpaired(events) == []


def test_each_attempt_has_its_own_bracket() -> None:
    model = Faulty(Scripted("ab", "ab", chunks=1), Drop(1), retry=RetryPolicy(initial_interval=0, jitter=False))
    events = _events(graph(model, awaits=False))
    assert [type(event) for event in events] == [
        LLMStarted,
        LLMChunk,
        LLMFailed,
        LLMStarted,
        LLMChunk,
        LLMChunk,
        LLMEnded,
    ]
    assert unpaired(events) == []
    assert len({event.span for event in events}) == 2


def test_a_call_that_breaks_off_is_closed() -> None:
    class Cut(Live):
        async def pieces(self, request: Request, config: ModelConfig) -> AsyncIterator[Piece]:
            yield TextPiece("x")
            raise NetworkError("down")

    heard: list[Any] = []
    built = graph(Cut(), awaits=False)

    def listen() -> None:
        for event in built.stream({"messages": ["Hi"]}, stream_mode="events"):
            if isinstance(event, LLMStarted | LLMChunk | LLMFailed | LLMEnded):
                heard.append(event)

    with pytest.raises(NetworkError):
        listen()
    assert unpaired(heard) == []
    assert isinstance(heard[-1], LLMFailed)
    assert heard[-1].code == "network"


def asking(model: ChatModel[Any], *, awaits: bool) -> Any:
    """A graph whose node asks the model, then a person, then the model again."""

    def node(talk: Talk) -> Talk:
        first = model.invoke("one").text
        answer = interrupt("go on?")
        return {"said": f"{first} {answer} {model.invoke('two').text}"}

    async def async_node(talk: Talk) -> Talk:
        first = (await model.ainvoke("one")).text
        answer = interrupt("go on?")
        return {"said": f"{first} {answer} {(await model.ainvoke('two')).text}"}

    built = StateGraph(Talk).add_node("ask", async_node if awaits else node).add_edge(START, "ask")
    return built.compile(checkpointer=MemoryJournal())


@pytest.mark.parametrize("awaits", [False, True], ids=["sync", "async"])
async def test_a_recorded_model_is_asked_once_though_its_node_runs_twice(awaits: bool) -> None:
    plain = Scripted("first", "first again", "second")
    built = asking(plain, awaits=awaits)
    await built.ainvoke({}, thread="t")
    assert (await built.ainvoke(Command(resume="yes"), thread="t"))["said"] == "first again yes second"

    model = Scripted("first", "second")
    built = asking(recorded(model), awaits=awaits)
    await built.ainvoke({}, thread="t")
    assert (await built.ainvoke(Command(resume="yes"), thread="t"))["said"] == "first yes second"
    assert model.left == 0


def test_a_recorded_model_keeps_all_of_its_reply_and_is_itself_outside_a_run() -> None:
    reply = Reply(assistant("x", ToolCall("f", {"a": 1}, id="c")), "p", "m", Usage(1, 2, 3), "tool_calls", "r1")
    seen: list[Reply] = []
    model = recorded(Scripted(reply, reply))

    def node(talk: Talk) -> Talk:
        seen.append(model.invoke("x"))
        return {"said": "done"} if interrupt("?") else {}

    built = StateGraph(Talk).add_node(node).add_edge(START, "node").compile(checkpointer=MemoryJournal())
    built.invoke({}, thread="t")
    built.invoke(Command(resume=True), thread="t")
    assert seen[0] == seen[1]
    assert (seen[1].usage, seen[1].calls, seen[1].finish) == (reply.usage, reply.calls, "tool_calls")
    assert model.invoke("x").calls == reply.calls
    assert recorded(model) is model


def test_a_stream_can_be_collected_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Rows: S0-057."""
    with Echo().stream("Hello there") as stream:
        assert stream.show().text == "Hello there"
    assert capsys.readouterr().out == "Hello there\n"
    with Echo().stream("Hello") as stream:
        assert stream.collect().text == "Hello"


async def test_a_parser_is_repaired_by_a_model() -> None:
    """Rows: S0-162."""
    model = Scripted("true")
    assert await run(repaired(boolean(), chat(model)), "not true, or is it") == Ok(True)
    assert "not true, or is it" in model.requests[0].messages[0].text
    silent = Scripted()
    assert await run(repaired(boolean(), chat(silent)), "false") == Ok(False)
    stubborn = Scripted("maybe", "maybe")
    found = await run(repaired(boolean(), chat(stubborn), attempts=2), "perhaps")
    assert isinstance(found, Err)
    assert isinstance(found.error, ParsingError)
    assert stubborn.left == 0
    assert await run(repaired(boolean(), chat(Scripted(NetworkError("down")))), "?") == Err(NetworkError("down"))
