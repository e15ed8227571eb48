"""Rules of the context's class, and of the state that holds a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel, ValidationError

from lawful.core.errors import UnknownMessage
from lawful.core.merge_messages import REMOVE_ALL_MESSAGES
from lawful.core.messages import RemoveMessage, assistant, user
from lawful.graph import START, MessagesState, Runtime, StateGraph
from lawful.journal.port import Journal
from support.graphs import Drive, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    """What a node saw of its context."""

    seen: Any


@dataclass
class Data:
    """A context as a dataclass."""

    name: str
    level: int = 1


class Model(BaseModel):
    """A context as a model."""

    name: str
    level: int = 1


class Table(TypedDict, total=False):
    """A context as a dict."""

    name: str


def seen_by(drive: Drive, schema: Any, given: Any, *, nested: bool = False) -> Any:
    """What a node, or one of an inner graph that is given the context anew, finds as its context."""

    def look(state: State, runtime: Runtime[Any]) -> State:
        return {"seen": runtime.context}

    builder: Any = StateGraph(State, context_schema=schema)
    graph = builder.add_node("look", drive.node(look)).add_edge(START, "look").compile()
    if not nested:
        return drive.invoke(graph, {}, context=given)["seen"]
    if drive.name == "async":

        async def call_async(state: State) -> State:
            return await graph.ainvoke({}, context=given)

        call: Any = call_async
    else:

        def call_sync(state: State) -> State:
            return graph.invoke({}, context=given)

        call = call_sync
    outer: Any = StateGraph(State)
    return drive.invoke(outer.add_node("call", call).add_edge(START, "call").compile(), {})["seen"]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("schema", [Data, Model])
def test_a_dict_becomes_the_contexts_class(drive: Drive, schema: Any, nested: bool) -> None:
    """With its defaults; an instance stays itself.

    Rules: 208
    """
    assert seen_by(drive, schema, {"name": "ada"}, nested=nested) == schema(name="ada", level=1)
    given = schema(name="eve", level=2)
    assert seen_by(drive, schema, given, nested=nested) is given


def test_what_the_class_refuses_is_refused(drive: Drive) -> None:
    """By the class's own error, before anything runs.

    Rules: 208
    """
    with pytest.raises(ValidationError, match="level"):
        seen_by(drive, Model, {"name": "ada", "level": "high"})
    with pytest.raises(TypeError, match="nmae"):
        seen_by(drive, Data, {"nmae": "ada"})
    with pytest.raises(TypeError, match="name"):
        seen_by(drive, Data, {})


@pytest.mark.parametrize("schema", [Table, None])
def test_other_contexts_pass_as_they_are(drive: Drive, schema: Any) -> None:
    """A dict for a TypedDict, anything where no class is named.

    Rules: 208
    """
    given = {"name": "ada", "more": 1}
    assert seen_by(drive, schema, given) == given
    assert seen_by(drive, schema, None) is None


class Talk(MessagesState, total=False):
    """A conversation with a further key."""

    topic: str


def test_a_conversation_is_kept_by_ids(drive: Drive, journal: Journal, strict: bool) -> None:
    """`MessagesState`, as it is or extended: forms are read, ids given, the known replaced, the removed gone.

    Rules: 206
    """

    def answer(state: Talk) -> Any:
        first = state["messages"][0]
        return {"messages": [user("hello").named(first.id or ""), assistant("hi").named("a")], "topic": "greeting"}

    def forget(state: Talk) -> Any:
        return {"messages": [RemoveMessage("a"), ("assistant", "bye")]}

    builder: Any = StateGraph(Talk, strict=strict)
    builder.add_node("answer", drive.node(answer)).add_node("forget", drive.node(forget))
    graph = builder.add_edge(START, "answer").add_edge("answer", "forget").compile(checkpointer=journal)
    drive.invoke(graph, {"messages": "helo"}, on("t"))
    kept = drive.get_state(graph, on("t")).values
    assert [(m.role, m.text) for m in kept["messages"]] == [("user", "hello"), ("assistant", "bye")]
    assert all(message.id for message in kept["messages"])
    assert kept["topic"] == "greeting"
    drive.invoke(
        graph, {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), {"role": "user", "content": "anew"}]}, on("t")
    )
    assert [m.text for m in drive.get_state(graph, on("t")).values["messages"]] == ["hello", "bye"]


def test_removing_a_message_that_is_not_there_fails_the_step(drive: Drive, journal: Journal) -> None:
    """And the conversation stays as it was.

    Rules: 206
    """

    def forget(state: MessagesState) -> Any:
        return {"messages": [RemoveMessage("nobody")]}

    builder: Any = StateGraph(MessagesState)
    graph = builder.add_node("forget", drive.node(forget)).add_edge(START, "forget").compile(checkpointer=journal)
    with pytest.raises(UnknownMessage, match="nobody"):
        drive.invoke(graph, {"messages": ["kept"]}, on("t"))
    assert [m.text for m in drive.get_state(graph, on("t")).values["messages"]] == ["kept"]


def kind_of(value: object) -> object:
    return type(value)


def test_nodes_and_callers_get_plain_lists(drive: Drive, journal: Journal, strict: bool) -> None:
    """Of their own: what they do to them reaches nobody.

    Rules: 206
    """
    kinds: list[object] = []

    def spoil(state: MessagesState) -> Any:
        kinds.append(kind_of(state["messages"]))
        state["messages"].clear()
        return {"messages": [assistant("more")]}

    builder: Any = StateGraph(MessagesState, strict=strict)
    builder.add_node("one", drive.node(spoil)).add_node("two", drive.node(spoil))
    graph = builder.add_edge(START, "one").add_edge("one", "two").compile(checkpointer=journal)
    told = drive.stream(graph, {"messages": ["hi"]}, on("t"), stream_mode="values")
    kinds += [kind_of(state["messages"]) for state in told]
    kinds.append(kind_of(drive.get_state(graph, on("t")).values["messages"]))
    assert set(kinds) == {list}
    assert [m.text for m in told[-1]["messages"]] == ["hi", "more", "more"]
