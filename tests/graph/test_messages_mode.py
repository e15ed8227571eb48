"""Rules of the messages mode: what is told, once each, with what beside it; and messages pushed before their node ends."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from lawful.core.chunks import MessageChunk
from lawful.core.errors import InvalidUpdateError, NotInRun
from lawful.core.messages import Message, RemoveMessage, assistant, user
from lawful.core.reducers import add_messages
from lawful.core.retry import RetryPolicy
from lawful.core.telling import NOSTREAM, model_call
from lawful.graph import START, Command, MessagesState, Overwrite, Send, StateGraph, interrupt, push_message
from lawful.journal.port import Journal
from support.graphs import Drive, driving, on

pytestmark = pytest.mark.unit


class Whole(MessagesState, total=False):
    """A conversation and a word."""

    word: str


class Word(TypedDict, total=False):
    """The word alone."""

    word: str


def said(text: str, id: str) -> Message:
    return assistant(text).named(id)


def line(*nodes: tuple[str, Any], state: Any = MessagesState, strict: bool = True, **options: Any) -> Any:
    """The nodes one after the other."""
    builder: Any = StateGraph(state, strict=strict)
    before = START
    for name, node in nodes:
        builder.add_node(name, node).add_edge(before, name)
        before = name
    return builder.compile(**options)


def texts(chunks: list[Any]) -> list[tuple[str, str]]:
    """Where each message came from, and its text."""
    return [(told["langgraph_node"], message.text) for message, told in chunks]


class Fake:
    """A chat model that tells its answer word by word, as a provider's stream would."""

    def __init__(self, *words: str, tags: tuple[str, ...] = (), whole: bool = False) -> None:
        self.words = words
        self.tags = tags
        self.whole = whole

    def __call__(self) -> Message:
        with model_call("fake:model", tags=self.tags) as call:
            for word in () if self.whole else self.words:
                call.text(word)
            answer = assistant("".join(self.words)).named(call.id)
            call.end(answer)
        return answer


# What is told


def test_messages_of_updates_are_told_as_their_node_ends(drive: Drive, strict: bool) -> None:
    """In a list, alone, in a Command; what lies deeper or is no message is left out.

    Rules: 175
    """

    def listed(state: Any) -> Any:
        return {"messages": [said("one", "1"), user("two")]}

    def alone(state: Any) -> Any:
        return {"messages": said("three", "3")}

    def commanded(state: Any) -> Any:
        return Command(update={"messages": [("assistant", "four")]})

    graph = line(*((n.__name__, drive.node(n)) for n in (listed, alone, commanded)), strict=strict)
    chunks = drive.stream(graph, {"messages": []}, stream_mode="messages")
    assert texts(chunks) == [("listed", "one"), ("listed", "two"), ("alone", "three"), ("commanded", "four")]
    assert all(message.id for message, _ in chunks)


def test_only_the_top_level_of_an_update_is_looked_at(drive: Drive) -> None:
    """A message right under a key or in its list, of any key.

    Rules: 175
    """

    class Odd(TypedDict, total=False):
        one: Any
        deep: Any
        table: Any

    def odd(state: Odd) -> Odd:
        return {"one": said("bare", "1"), "deep": [[said("too deep", "2")]], "table": {"k": said("in a dict", "3")}}

    graph = line(("odd", drive.node(odd)), state=Odd)
    assert texts(drive.stream(graph, {"one": 1}, stream_mode="messages")) == [("odd", "bare")]


def test_an_overwrite_tells_its_messages_and_a_removal_none(drive: Drive) -> None:
    """Rules: 175"""

    def anew(state: Any) -> Any:
        return {"messages": Overwrite([said("new", "n")])}

    def fewer(state: Any) -> Any:
        return {"messages": [RemoveMessage("n"), said("left", "l")]}

    graph = line(("anew", drive.node(anew)), ("fewer", drive.node(fewer)))
    assert texts(drive.stream(graph, {"messages": [user("old")]}, stream_mode="messages")) == [
        ("anew", "new"),
        ("fewer", "left"),
    ]


def test_a_message_says_where_it_came_from(drive: Drive, journal: Journal) -> None:
    """Step, node, triggers, path and namespace, beside the user's own metadata.

    Rules: 175
    """

    def talk(state: Any) -> Any:
        return {"messages": [said("hi", "1")]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("talk", drive.node(talk), metadata={"level": 2}).add_edge(START, "talk")
    config = on("t", metadata={"who": "ada"}, tags=["x"])
    ((_, told),) = drive.stream(builder.compile(checkpointer=journal), {"messages": []}, config, stream_mode="messages")
    space = told.pop("langgraph_checkpoint_ns")
    assert space.partition(":")[0] == "talk"
    assert told == {
        "who": "ada",
        "level": 2,
        "thread_id": "t",
        "langgraph_step": 1,
        "langgraph_node": "talk",
        "langgraph_triggers": ("branch:to:talk",),
        "langgraph_path": ("__pregel_pull", "talk"),
    }


def test_only_named_keys_of_the_config_are_told(drive: Drive, strict: bool) -> None:
    """A key of ``configurable`` may be a secret; ids are not.

    Rules: 178
    """
    ids = {key: key.upper() for key in ("thread_id", "task_id", "run_id", "assistant_id", "graph_id")}

    def talk(state: Any) -> Any:
        return {"messages": [Fake("hi")(), said("bye", "2")]}

    graph = line(("talk", drive.node(talk)), strict=strict)
    config = {"configurable": {**ids, "api_key": "hidden", "user": "ada"}}
    chunks = drive.stream(graph, {"messages": []}, config, stream_mode="messages")
    assert len(chunks) == 2
    for _, told in chunks:
        assert {key: value for key, value in told.items() if not key.startswith("langgraph_")} == ids


# Models


def test_a_models_pieces_are_told_as_they_come(drive: Drive, journal: Journal, strict: bool) -> None:
    """Each piece, all of one id; the message that the node then returns is not told again.

    Rules: 175, 176
    """
    told: list[Any] = []

    def talk(state: Any) -> Any:
        return {"messages": [Fake("Hel", "lo")()]}

    graph = line(("talk", drive.node(talk)), strict=strict, checkpointer=journal)
    drive.watch(graph, {"messages": [user("hi")]}, told.append, on("t"), stream_mode="messages")
    assert texts(told) == [("talk", "Hel"), ("talk", "lo")]
    assert all(isinstance(message, MessageChunk) for message, _ in told)
    answer = drive.get_state(graph, on("t")).values["messages"][-1]
    assert {message.id for message, _ in told} == {answer.id}
    assert (told[0][0] + told[1][0]).text == answer.text == "Hello"


def test_pieces_come_while_the_model_still_answers(drive: Drive) -> None:
    """A model that waits until its first word was read does not wait for ever.

    Rules: 179, 175
    """
    seen = threading.Event()
    waited: list[bool] = []

    def talk(state: MessagesState) -> Any:
        with model_call("fake:slow") as call:
            call.text("first")
            waited.append(seen.wait(3))
            call.text("second")
        return {}

    # A sync node under both drivers: it may block.
    drive.watch(line(("talk", talk)), {"messages": []}, lambda chunk: seen.set(), stream_mode="messages")
    assert waited == [True]


def test_a_model_that_does_not_stream_is_told_whole(drive: Drive) -> None:
    """Once, as its call ends.

    Rules: 175, 176
    """

    def talk(state: Any) -> Any:
        return {"messages": [Fake("Hello", whole=True)()]}

    chunks = drive.stream(line(("talk", drive.node(talk))), {"messages": []}, stream_mode="messages")
    assert [(type(message).__name__, message.text) for message, _ in chunks] == [("Message", "Hello")]


def test_tags_of_a_models_call(drive: Drive) -> None:
    """They join the run's in its metadata; "nostream" keeps its pieces out, and then its message is told as the node's.

    Rules: 175
    """

    def talk(state: Any) -> Any:
        return {"messages": [Fake("a", tags=("draft",))(), Fake("b", "c", tags=(NOSTREAM,))()]}

    graph = line(("talk", drive.node(talk)))
    chunks = drive.stream(graph, {"messages": []}, {"tags": ["run"]}, stream_mode="messages")
    assert [(message.text, told.get("tags")) for message, told in chunks] == [("a", ["run", "draft"]), ("bc", None)]


# Once each


def test_what_a_node_was_given_or_was_told_before_is_not_told_again(drive: Drive, strict: bool) -> None:
    """By id: of the input, of an earlier node, twice in one update.

    Rules: 176
    """

    def first(state: Any) -> Any:
        return {"messages": [said("a", "a"), *state["messages"]]}

    def second(state: Any) -> Any:
        return {"messages": [said("a again", "a"), said("b", "b"), said("b", "b"), user("in").named("in")]}

    graph = line(("first", drive.node(first)), ("second", drive.node(second)), strict=strict)
    chunks = drive.stream(graph, {"messages": [user("in").named("in")]}, stream_mode="messages")
    assert texts(chunks) == [("first", "a"), ("second", "b")]


def test_a_packets_messages_are_not_told_again(drive: Drive) -> None:
    """Rules: 176"""

    def spread(state: MessagesState) -> list[Send]:
        return [Send("work", {"messages": [user("given").named("g")]})]

    def work(state: MessagesState) -> Any:
        return {"messages": [*state["messages"], said("made", "m")]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("work", drive.node(work)).add_conditional_edges(START, spread, ["work"])
    assert texts(drive.stream(builder.compile(), {"messages": []}, stream_mode="messages")) == [("work", "made")]


def test_a_message_that_a_node_cannot_see_is_news(drive: Drive) -> None:
    """It is told, though the state has one of its id: the node was not given it.

    Rules: 176
    """

    def narrow(state: Word) -> Any:
        return {"messages": [user("in").named("in")]}

    graph = line(("narrow", narrow), state=Whole)
    chunks = drive.stream(graph, {"messages": [user("in").named("in")], "word": "x"}, stream_mode="messages")
    assert texts(chunks) == [("narrow", "in")]


class Model(BaseModel):
    """A conversation as a model."""

    model_config = {"arbitrary_types_allowed": True}
    messages: Annotated[list[Any], add_messages] = []


@dataclass
class Data:
    """A conversation as a dataclass."""

    messages: Annotated[list[Message], add_messages] = field(default_factory=list[Message])


@pytest.mark.parametrize("state", [Model, Data])
def test_states_of_other_classes_are_looked_at_too(drive: Drive, state: Any) -> None:
    """Pydantic models and dataclasses, in and out.

    Rules: 176
    """

    def talk(given: Any) -> Any:
        return {"messages": [*given.messages, said("news", "n")]}

    talk.__annotations__["given"] = state
    graph = line(("talk", drive.node(talk)), state=state)
    chunks = drive.stream(graph, state(messages=[user("in").named("in")]), stream_mode="messages")
    assert texts(chunks) == [("talk", "news")]


def test_after_a_resume_nothing_is_told_twice(drive: Drive, journal: Journal, strict: bool) -> None:
    """Not what the state holds, not what a sibling wrote before the pause.

    Rules: 176
    """

    def ask(state: Any) -> Any:
        return {"messages": [*state["messages"], said(interrupt("who?"), "answer")]}

    def sibling(state: Any) -> Any:
        return {"messages": [said("beside", "b")]}

    builder: Any = StateGraph(MessagesState, strict=strict)
    for node in (ask, sibling):
        builder.add_node(node.__name__, drive.node(node)).add_edge(START, node.__name__)
    graph = builder.compile(checkpointer=journal)
    before = drive.stream(graph, {"messages": [user("in").named("in")]}, on("t"), stream_mode="messages")
    after = drive.stream(graph, Command(resume="ada"), on("t"), stream_mode="messages")
    assert (texts(before), texts(after)) == ([("sibling", "beside")], [("ask", "ada")])


SAYINGS = st.lists(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.text("xyz", min_size=1, max_size=3), st.booleans()), max_size=3),
    min_size=1,
    max_size=4,
)
"""For each node, what it says: id, text, and whether piece by piece."""


@settings(max_examples=60)
@given(sayings=SAYINGS, kind=st.sampled_from(["sync", "async"]))
def test_the_messages_are_the_fold_of_their_stream(
    sayings: list[list[tuple[str, str, bool]]], kind: Literal["sync", "async"]
) -> None:
    """Pieces joined by id, whole messages as they are: all that nodes said, once each, as each was said first.

    Rules: 175, 176
    """
    known = {"a"}
    first: dict[str, str] = {}
    for id, text, streamed in (saying for node in sayings for saying in node):
        if id not in first and (streamed or id not in known):
            first[id] = text

    def speaker(said: list[tuple[str, str, bool]]) -> Any:
        def speak(state: Any) -> Any:
            return {"messages": [_spoken(*saying) for saying in said]}

        return speak

    def _spoken(id: str, text: str, streamed: bool) -> Message:
        if streamed and id not in told_in_pieces:
            told_in_pieces.add(id)
            with model_call("fake:m", id=id) as call:
                for letter in text:
                    call.text(letter)
        return assistant(text).named(id)

    told_in_pieces: set[str] = set()
    with driving(kind) as drive:
        nodes = [(f"n{place}", drive.node(speaker(said))) for place, said in enumerate(sayings)]
        chunks = drive.stream(line(*nodes), {"messages": [user("given").named("a")]}, stream_mode="messages")
        told_in_pieces.clear()
        final = drive.invoke(line(*nodes), {"messages": [user("given").named("a")]})
    folded: dict[str, str] = {}
    for message, _ in chunks:
        if isinstance(message, Message):
            assert message.id not in folded, "told twice"
        folded[message.id or ""] = folded.get(message.id or "", "") + message.text
    assert {message.id for message in final["messages"]} == set(folded) | known
    whole = {id: text for id, text in first.items() if id not in told_in_pieces}
    assert {id: folded[id] for id in whole} == whole


# Inner graphs


def inner_graph(drive: Drive) -> Any:
    def talk(state: Any) -> Any:
        return {"messages": [Fake("in", "ner")()]}

    return line(("talk", drive.node(talk)))


def test_inner_messages_are_hidden_unless_asked_for(drive: Drive, strict: bool) -> None:
    """Then what the holding node hands up is told, as its own; with subgraphs=True the pieces, and nothing twice.

    Rules: 177, 176
    """
    graph = line(("hold", inner_graph(drive)), strict=strict)
    plain = drive.stream(graph, {"messages": []}, stream_mode="messages")
    assert texts(plain) == [("hold", "inner")]
    deep = drive.stream(graph, {"messages": []}, stream_mode="messages", subgraphs=True)
    assert [(len(space), told["langgraph_node"], message.text) for space, (message, told) in deep] == [
        (1, "talk", "in"),
        (1, "talk", "ner"),
    ]
    assert deep[0][0][0].startswith("hold:")
    assert deep[0][1][1]["langgraph_checkpoint_ns"].startswith(deep[0][0][0] + "|talk:")


def test_a_node_that_streams_an_inner_graph_gets_its_messages(drive: Drive) -> None:
    """They go to the node, not to the outer reader.

    Rules: 177
    """
    inner, got = inner_graph(drive), list[str]()
    if drive.name == "async":

        async def follow_async(state: MessagesState) -> Any:
            async for message, _ in inner.astream({"messages": []}, stream_mode="messages"):
                got.append(message.text)
            return {}

        follow: Any = follow_async
    else:

        def follow_sync(state: MessagesState) -> Any:
            got.extend(message.text for message, _ in inner.stream({"messages": []}, stream_mode="messages"))
            return {}

        follow = follow_sync
    assert drive.stream(line(("follow", follow)), {"messages": []}, stream_mode="messages") == []
    assert got == ["in", "ner"]


def test_an_inner_graphs_custom_chunks_are_hidden_too(drive: Drive) -> None:
    """As in every other mode.

    Rules: 174, 177
    """

    def write(state: MessagesState, writer: Any) -> Any:
        writer("inner")
        return {}

    graph = line(("hold", line(("write", write))))
    assert drive.stream(graph, {"messages": []}, stream_mode="custom") == []
    ((space, chunk),) = drive.stream(graph, {"messages": []}, stream_mode="custom", subgraphs=True)
    assert (len(space), chunk) == (1, "inner")


# push_message


def test_a_pushed_message_is_told_at_once_and_written_at_the_end(drive: Drive, journal: Journal, strict: bool) -> None:
    """Before what the node returns, in both.

    Rules: 207
    """

    def push(state: Any) -> Any:
        push_message(said("pushed", "p"))
        return {"messages": [said("returned", "r")]}

    graph = line(("push", drive.node(push)), strict=strict, checkpointer=journal)
    events = drive.stream(graph, {"messages": []}, on("t"), stream_mode=["messages", "updates"])
    assert texts([event for mode, event in events if mode == "messages"]) == [("push", "pushed"), ("push", "returned")]
    assert [mode for mode, _ in events] == ["messages", "messages", "updates"]
    kept = drive.get_state(graph, on("t")).values["messages"]
    assert [(message.id, message.text) for message in kept] == [("p", "pushed"), ("r", "returned")]


def test_a_message_pushed_without_a_key_is_only_told(drive: Drive) -> None:
    """Rules: 207"""

    def push(state: Any) -> Any:
        push_message(said("only told", "p"), state_key=None)
        return None

    events = drive.stream(line(("push", drive.node(push))), {"messages": []}, stream_mode=["messages", "updates"])
    assert [mode for mode, _ in events] == ["messages", "updates"]
    assert events[-1] == ("updates", {"push": None})


def test_what_cannot_be_pushed(drive: Drive) -> None:
    """A message without an id, a key that the state does not have, anything outside a node.

    Rules: 207
    """

    def nameless(state: Any) -> Any:
        push_message("no id")

    def astray(state: Any) -> Any:
        push_message(said("x", "x"), state_key="mesages")

    with pytest.raises(ValueError, match="Message ID is required"):
        drive.invoke(line(("push", drive.node(nameless))), {"messages": []})
    with pytest.raises(InvalidUpdateError, match="messages"):
        drive.invoke(line(("push", drive.node(astray))), {"messages": []})
    with pytest.raises(NotInRun):
        push_message(said("x", "x"))


def test_a_failed_attempts_push_is_told_and_not_written(drive: Drive, journal: Journal) -> None:
    """The next attempt pushes it again: told once, written once.

    Rules: 207, 185
    """
    tries: list[int] = []

    def push(state: Any) -> Any:
        push_message(said(f"try {len(tries)}", "p"))
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("once")

    builder: Any = StateGraph(MessagesState)
    builder.add_node("push", drive.node(push), retry_policy=RetryPolicy(initial_interval=0.001)).add_edge(START, "push")
    graph = builder.compile(checkpointer=journal)
    assert texts(drive.stream(graph, {"messages": []}, on("t"), stream_mode="messages")) == [("push", "try 0")]
    assert [m.text for m in drive.get_state(graph, on("t")).values["messages"]] == ["try 1"]
