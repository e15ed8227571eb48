"""Messages, models and tools of langchain_core in graphs of ours, and ours as langchain's."""

# langchain_core tells its types in part only.
# pyright: reportUnknownVariableType=false, reportCallIssue=false

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langchain_core")

from langchain_core.callbacks.base import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool as langchain_tool

from lawful import codec
from lawful.compat import (
    LangchainModel,
    as_langchain_model,
    conversation,
    from_langchain,
    from_langchain_tool,
    to_langchain,
    to_langchain_tool,
)
from lawful.core.errors import ConfigurationError, ParsingError, ValidationError
from lawful.core.messages import Image, InvalidToolCall, Message, Text, ToolCall, user
from lawful.core.reducers import add_messages
from lawful.graph import END, START, MessagesState, StateGraph
from lawful.journal.memory import MemoryJournal
from lawful.models.fake import Scripted
from lawful.models.values import ToolSpec

pytestmark = pytest.mark.integration

CALL: Any = {"name": "price", "args": {"item": "tea"}, "id": "c1", "type": "tool_call"}
MESSAGES: list[BaseMessage] = [
    HumanMessage("hi", id="1", name="ann"),
    SystemMessage("be kind"),
    AIMessage("", tool_calls=[CALL], response_metadata={"finish_reason": "tool_calls"}, id="2"),
    AIMessage("x", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    ToolMessage("12 EUR", tool_call_id="c1", status="error"),
    HumanMessage([{"type": "text", "text": "see"}, {"type": "image", "url": "https://x.test/a.png"}]),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_a_message_comes_back_from_ours_as_it_was(message: BaseMessage) -> None:
    assert to_langchain(from_langchain(message)) == message


def test_what_messages_say_is_said_in_ours() -> None:
    asked = from_langchain(MESSAGES[2])
    assert isinstance(asked, Message)
    assert (asked.role, asked.calls) == ("assistant", (ToolCall("price", {"item": "tea"}, id="c1"),))
    seen = from_langchain(MESSAGES[5])
    assert isinstance(seen, Message)
    assert seen.content == (Text("see"), Image(url="https://x.test/a.png"))
    with pytest.raises(ParsingError):
        from_langchain("a text")
    assert to_langchain(Message("developer", (Text("d"),))).additional_kwargs == {"__openai_role__": "developer"}
    bad = Message("assistant", (InvalidToolCall(name="p", args="{", id="c", error="no JSON"),))
    assert to_langchain(bad).invalid_tool_calls[0]["args"] == "{"


def test_a_call_that_bears_its_outcome_is_followed_by_it() -> None:
    done = Message("assistant", (ToolCall("price", {}, id="c1").settled("ok", {"eur": 12}),))
    told = conversation([user("hi"), done])
    assert [type(m).__name__ for m in told] == ["HumanMessage", "AIMessage", "ToolMessage"]
    assert (told[2].content, told[2].tool_call_id) == ('{"eur":12}', "c1")


@pytest.mark.parametrize(
    "value",
    [
        *MESSAGES,
        AIMessageChunk("a", id="x"),
        ChatMessage("a", role="critic"),
        FunctionMessage("a", name="f"),
        RemoveMessage(id="x"),
        Document("text", metadata={"page": 1}),
    ],
    ids=lambda v: type(v).__name__,
)
def test_its_classes_are_stored_under_ids_of_a_closed_table(value: Any) -> None:
    blob = codec.encode(value)
    assert f"langchain:{type(value).__name__}".encode() in blob
    assert codec.decode(blob) == value


def test_a_class_of_its_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(ValidationError, match="RunnableLambda"):
        codec.encode(RunnableLambda(len))


class Talk(TypedDict):
    messages: Annotated[list[Any], add_messages]


def fake(*said: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage(text, id=f"ai-{text}") for text in said]))


def test_a_graph_whose_nodes_use_langchain_keeps_its_messages_and_others_ours() -> None:
    model = fake("hello")

    def think(state: Talk) -> Any:
        return {"messages": model.invoke(state["messages"])}

    def plain(state: Talk) -> Any:
        return {"messages": "hello"}

    given: Any = {"messages": [("user", "hi"), {"role": "system", "content": "s"}, user("ours")]}
    theirs = StateGraph(Talk).add_node("n", think).add_edge(START, "n").compile().invoke(given)["messages"]
    assert [type(m) for m in theirs] == [HumanMessage, SystemMessage, HumanMessage, AIMessage]
    ours = StateGraph(Talk).add_node("n", plain).add_edge(START, "n").compile().invoke(given)["messages"]
    assert {type(m) for m in ours} == {Message}


def test_the_types_of_the_state_and_helpers_that_nodes_call_count_as_well() -> None:
    class Typed(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    def nothing(state: Any) -> Any:
        return None

    model = fake("one")

    def helper(messages: Any) -> Any:
        return model.invoke(messages)

    def through(state: Any) -> Any:
        return {"messages": helper(state["messages"])}

    given: Any = {"messages": "hi"}
    typed = StateGraph(Typed).add_node("n", nothing).add_edge(START, "n").compile().invoke(given)
    called = StateGraph(MessagesState).add_node("n", through).add_edge(START, "n").compile().invoke(given)
    assert [type(m) for m in typed["messages"]] == [HumanMessage]
    assert [type(m) for m in called["messages"]] == [HumanMessage, AIMessage]


def talking(model: Any, journal: Any = None) -> Any:
    async def anode(state: Talk) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(Talk).add_node("talk", anode).add_edge(START, "talk").add_edge("talk", END).compile(journal)


async def test_tokens_are_streamed_once_and_the_run_is_told_of_the_call() -> None:
    graph, events = talking(fake("two words")), list[Any]()
    chunks = [
        chunk async for chunk in graph.astream({"messages": "hi"}, stream_mode="messages", on_event=events.append)
    ]
    assert [(type(m), m.content) for m, _ in chunks] == [(AIMessageChunk, p) for p in ("two", " ", "words")]
    assert {about["langgraph_node"] for _, about in chunks} == {"talk"}
    kinds = [type(e.event if hasattr(e, "event") else e).__name__ for e in events]
    assert (kinds.count("LLMStarted"), kinds.count("LLMChunk"), kinds.count("LLMEnded")) == (1, 3, 1)


@pytest.mark.parametrize(
    "modes,streams",
    [(None, False), (["values"], False), (["updates", "custom"], False), (["messages"], True), (["events"], True)],
)
async def test_a_model_streams_only_where_its_pieces_are_read(modes: list[Any] | None, streams: bool) -> None:
    """A stream is another request than the one that the node asked for, and may fail where that does not."""
    streamed: list[bool] = []

    class Watched(GenericFakeChatModel):
        def _stream(self, *args: Any, **kwargs: Any) -> Any:
            streamed.append(True)
            yield from super()._stream(*args, **kwargs)

    graph = talking(Watched(messages=iter([AIMessage("two words")])))
    if modes is None:
        await graph.ainvoke({"messages": "hi"})
    else:
        assert [chunk async for chunk in graph.astream({"messages": "hi"}, stream_mode=modes)]
    assert streamed == [True] * streams


async def test_a_callers_own_handlers_hear_the_models_inside() -> None:
    heard: list[str] = []

    class Own(BaseCallbackHandler):
        def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
            heard.append(f"start {kwargs['metadata']['langgraph_node']} {kwargs['tags']}")

        def on_llm_end(self, response: Any, **kwargs: Any) -> None:
            heard.append("end")

    await talking(fake("a")).ainvoke({"messages": "hi"}, {"callbacks": [Own()], "tags": ["mine"]})
    assert heard == ["start talk ['mine']", "end"]


def test_messages_are_replaced_removed_and_stored_over_turns() -> None:
    model = fake("a", "b")

    def think(state: Talk) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    journal = MemoryJournal()
    graph = StateGraph(Talk).add_node("n", think).add_edge(START, "n").compile(journal)
    graph.invoke({"messages": [HumanMessage("1", id="h1")]}, thread="t")
    graph.invoke({"messages": [HumanMessage("2", id="h1"), RemoveMessage(id="ai-a")]}, thread="t")
    values = graph.get_state("t").values["messages"]
    assert [(type(m), m.content, m.id) for m in values] == [(HumanMessage, "2", "h1"), (AIMessage, "b", "ai-b")]


def test_a_runnable_is_a_node_and_a_route() -> None:
    answer: Any = RunnableLambda(lambda state: {"messages": [AIMessage("ok", id="x")]}, name="answer")
    where: Any = RunnableLambda(lambda state: END, name="where")
    graph = StateGraph(Talk).add_node("answer", answer).add_edge(START, "answer")
    graph.add_conditional_edges("answer", where, [END])
    assert [m.content for m in graph.compile().invoke({"messages": "hi"})["messages"]] == ["hi", "ok"]


PRICE = ToolSpec("price", "What it costs.", {"type": "object", "properties": {"item": {"type": "string"}}})


class Calling(GenericFakeChatModel):
    bound: Any = None

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return Calling(messages=self.messages, bound=(tools, kwargs))

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        assert self.bound[0][0]["function"]["name"] == "price"
        yield from super()._stream(messages, stop, run_manager, **kwargs)


async def test_a_model_of_langchains_answers_as_one_of_ours() -> None:
    reply = await LangchainModel(fake("two words")).ainvoke([("system", "s"), ("user", "hi")])
    assert (reply.text, reply.finish) == ("two words", "stop")
    model = LangchainModel(Calling(messages=iter([AIMessage("said")])))
    assert (await model.ainvoke("hi", tools=[PRICE])).text == "said"


def test_a_model_of_ours_answers_as_one_of_langchains() -> None:
    script = Scripted("first", ToolCall("price", {"item": "tea"}, id="c1"), "streamed here", chunks=4)
    model = as_langchain_model(script)
    assert model.invoke("hi").content == "first"
    asked = model.bind_tools([{"name": "price", "description": "d", "parameters": PRICE.parameters}], tool_choice="any")
    called: Any = asked.invoke([("user", "tea?")])
    assert [(c["name"], c["args"], c["id"]) for c in called.tool_calls] == [("price", {"item": "tea"}, "c1")]
    assert (script.requests[1].tools[0].name, script.requests[1].tool_choice) == ("price", "required")
    assert [chunk.content for chunk in model.stream("go on")] == ["stre", "amed", " her", "e", "", ""]
    with pytest.raises(ConfigurationError, match="temperature"):
        model.bind(temperature=0).invoke("hi")


async def test_a_model_of_ours_inside_langchain_inside_a_graph_is_told_once() -> None:
    graph = talking(as_langchain_model(Scripted("two words", chunks=4)))
    events: list[Any] = []
    chunks = [m async for m, _ in graph.astream({"messages": "hi"}, stream_mode="messages", on_event=events.append)]
    assert "".join(chunk.content for chunk in chunks) == "two words"
    assert [type(getattr(e, "event", e)).__name__ for e in events].count("LLMStarted") == 1


async def test_tools_work_on_both_sides_of_the_border() -> None:
    @langchain_tool
    def price(item: str) -> str:
        """What an item costs."""
        return f"{item}: 12"

    ours = from_langchain_tool(price)
    assert (ours.name, ours.description, list(ours.parameters["properties"])) == (
        "price",
        "What an item costs.",
        ["item"],
    )
    assert await ours.acall(ToolCall("price", {"item": "tea"}, id="c")) == "tea: 12"
    assert not ours.traits.declared
    assert from_langchain_tool(price, pure_read=True).traits.pure_read
    with pytest.raises(ConfigurationError):
        from_langchain_tool(len)

    def weigh(grams: int) -> int:
        """Round up.

        Args:
            grams: What the scales say.
        """
        return grams + 1

    theirs = to_langchain_tool(weigh)
    assert theirs.name == "weigh"
    assert await asyncio.to_thread(theirs.invoke, {"grams": 2}) == 3
    with pytest.raises(ConfigurationError, match="ainvoke"):
        theirs.invoke({"grams": 2})
    assert await theirs.ainvoke({"grams": 2}) == 3
