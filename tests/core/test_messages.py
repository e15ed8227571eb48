"""Messages: their JSON is the content-blocks convention, calls have one outcome, private bytes stay with their provider."""

from __future__ import annotations

import json
import socket
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lawful.core.errors import ParsingError, ValidationError
from lawful.core.messages import (
    Audio,
    Block,
    CallState,
    File,
    Image,
    InvalidToolCall,
    Message,
    NonStandard,
    Private,
    Reasoning,
    RemoveMessage,
    Text,
    ToolCall,
    Video,
    assistant,
    coerce,
    message_from_json,
    message_json,
    open_calls,
    system,
    tool_result,
    transcript,
    user,
)
from lawful.testing.strategies import messages

pytestmark = [pytest.mark.unit, pytest.mark.property]

CONVENTION: list[tuple[Block, dict[str, Any]]] = [
    (Text("hi"), {"type": "text", "text": "hi"}),
    (
        Text("hi", annotations=[{"type": "citation", "url": "u"}], id="b1", index=0),
        {"type": "text", "text": "hi", "annotations": [{"type": "citation", "url": "u"}], "id": "b1", "index": 0},
    ),
    (
        Reasoning("hm", extras={"signature": "s"}),
        {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "s"}},
    ),
    (ToolCall("add", {"a": 1}, id="c1"), {"type": "tool_call", "name": "add", "args": {"a": 1}, "id": "c1"}),
    (ToolCall("now", {}, id="c2"), {"type": "tool_call", "name": "now", "args": {}, "id": "c2"}),
    (
        InvalidToolCall(name="add", args="{", error="cut off", id="c1"),
        {"type": "invalid_tool_call", "name": "add", "args": "{", "error": "cut off", "id": "c1"},
    ),
    (Image(url="https://x/y.png"), {"type": "image", "url": "https://x/y.png"}),
    (Image(base64="aGk=", mime_type="image/png"), {"type": "image", "base64": "aGk=", "mime_type": "image/png"}),
    (Audio(file_id="f1"), {"type": "audio", "file_id": "f1"}),
    (Video(url="v"), {"type": "video", "url": "v"}),
    (File(url="u", mime_type="application/pdf"), {"type": "file", "url": "u", "mime_type": "application/pdf"}),
    (NonStandard({"type": "odd", "state": 1}), {"type": "non_standard", "value": {"type": "odd", "state": 1}}),
]


@pytest.mark.parametrize(("block", "told"), CONVENTION, ids=lambda given: type(given).__name__)
def test_a_blocks_json_is_the_conventions_both_ways(block: Block, told: dict[str, Any]) -> None:
    """Rows: S0-047."""
    message = Message("assistant", (block,))
    assert message_json(message) == {"role": "assistant", "content": [told]}
    assert message.content_blocks == [told]
    assert coerce({"role": "assistant", "content": [told]}) == message


@given(messages())
def test_json_round_trip(message: Message) -> None:
    """Rows: S0-047."""
    told = message_json(message)
    assert message_from_json(told) == message
    assert message_from_json(json.loads(json.dumps(told))) == message
    assert msgspec.json.decode(msgspec.json.encode(message), type=Message) == message
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=Message) == message


@given(messages())
def test_reading_loosely_what_was_written_exactly_gives_the_same(message: Message) -> None:
    assert coerce(message_json(message)) == message
    assert coerce(message) is message


@given(messages())
def test_content_blocks_show_nothing_private_and_no_outcome(message: Message) -> None:
    for block, told in zip(message.content, message.content_blocks, strict=True):
        assert "private" not in told
        if isinstance(block, ToolCall):
            assert set(told) <= {"type", "name", "args", "id", "index", "extras"}


def test_a_remove_message_round_trips() -> None:
    gone = RemoveMessage("7")
    assert message_json(gone) == {"role": "remove", "id": "7"}
    assert message_from_json(message_json(gone)) == gone


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"role": "assistant", "content": [{"type": "txt", "text": "x"}]}, "txt"),
        ({"role": "assistant", "content": [{"type": "text"}]}, "text"),
        ({"role": "assistant", "content": [{"type": "text", "text": "x", "colour": "red"}]}, "colour"),
        ({"role": "nobody", "content": [{"type": "text", "text": "x"}]}, "nobody"),
        ({"role": "user"}, "content"),
        ([], "object"),
    ],
)
def test_what_is_no_message_is_a_parsing_error_that_names_it(told: object, why: str) -> None:
    with pytest.raises(ParsingError, match=why):
        message_from_json(told)


def test_empty_content_is_refused() -> None:
    with pytest.raises(ValidationError, match="empty"):
        Message("user", ())
    assert user("").text == ""


@pytest.mark.parametrize("kind", [Image, Audio, Video, File])
def test_media_need_exactly_one_source_and_sound_base64(kind: type[Image]) -> None:
    """Rows: S0-047."""
    wrongs: tuple[dict[str, Any], ...] = (
        {},
        {"url": "u", "file_id": "f"},
        {"base64": "aGk="},
        {"base64": "a!k=", "mime_type": "x/y"},
        {"base64": "aGk", "mime_type": "x/y"},
        {"base64": "aGk=\n", "mime_type": "x/y"},
    )
    for wrong in wrongs:
        with pytest.raises(ValidationError, match=kind.__name__.lower()):
            kind(**wrong)
    assert kind(base64="aGk=", mime_type="x/y").base64 == "aGk="


def test_hostile_media_are_refused_when_read_too() -> None:
    with pytest.raises(ValidationError, match="base64"):
        coerce({"role": "user", "content": [{"type": "image", "base64": "%%%", "mime_type": "image/png"}]})


def test_no_address_is_ever_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a message opened a connection")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    message = coerce(
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://169.254.169.254/"}}]}
    )
    assert isinstance(message, Message)
    assert transcript([message]) == "User: [image]"
    assert message_from_json(message_json(message)) == message


SETTLED: list[CallState] = ["ok", "error", "denied", "cancelled"]


@pytest.mark.parametrize("state", SETTLED)
def test_a_call_has_one_outcome(state: CallState) -> None:
    call = ToolCall("add", {"a": 1}, id="c1")
    done = call.settled(state, 3)
    assert (done.state, done.output, call.state) == (state, 3, "pending")
    assert done.settled(state, 3) == done
    for other in SETTLED:
        if other != state:
            with pytest.raises(ValidationError, match=f"{state!r} already"):
                done.settled(other, 3)
    with pytest.raises(ValidationError):
        done.settled(state, 4)
    with pytest.raises(ValidationError):
        done.settled("pending")


def test_an_unknown_outcome_may_be_found_out_later() -> None:
    lost = ToolCall("pay", {}, id="c1").settled("unknown")
    assert lost.settled("ok", "receipt").output == "receipt"


def test_an_outcome_is_put_into_its_message() -> None:
    message = assistant("let me see", ToolCall("a", {}, id="1"), ToolCall("b", {}, id="2"))
    after = message.with_outcome("2", "ok", {"n": 1})
    assert [(call.id, call.state) for call in after.calls] == [("1", "pending"), ("2", "ok")]
    assert message_from_json(message_json(after)) == after
    with pytest.raises(ValidationError, match="no tool call '3'"):
        message.with_outcome("3", "ok")


def test_open_calls_are_those_that_nothing_answers() -> None:
    said = assistant(ToolCall("a", {}, id="1"), ToolCall("b", {}, id="2"), ToolCall("c", {}, id="3"))
    history = [said.with_outcome("1", "ok"), tool_result("2", "done")]
    assert [call.id for call in open_calls(history)] == ["3"]


def test_private_bytes_go_only_to_their_provider_and_stay_exact() -> None:
    raw = bytes(range(256))
    thought = Reasoning("hm", private=(Private("anthropic", raw), Private("openai", b"x")))
    back = message_from_json(json.loads(json.dumps(message_json(assistant(thought)))))
    assert isinstance(back, Message)
    part = back.content[0]
    assert part.private_for("anthropic") == raw
    assert part.private_for("openai") == b"x"
    assert part.private_for("google") is None


def test_the_chat_wires_form_of_calls_is_read() -> None:
    message = coerce(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}},
                {"id": "2", "type": "function", "function": {"name": "add", "arguments": '{"a": '}},
                {"id": "3", "type": "function", "function": {"name": "list", "arguments": "[1]"}},
                {"id": "4", "name": "now", "args": {}},
            ],
        }
    )
    assert isinstance(message, Message)
    assert [type(block) for block in message.content] == [ToolCall, InvalidToolCall, InvalidToolCall, ToolCall]
    assert message.calls[0].args == {"a": 1}
    cut = message.content[1]
    assert isinstance(cut, InvalidToolCall)
    assert cut.args == '{"a": '
    assert cut.error


def test_a_call_that_is_in_content_and_in_tool_calls_is_read_once() -> None:
    told: dict[str, Any] = {"type": "tool_call", "id": "1", "name": "now", "args": {}}
    message = coerce({"role": "ai", "content": [told], "tool_calls": [told]})
    assert isinstance(message, Message)
    assert message.calls == (ToolCall("now", {}, id="1"),)


def test_a_data_address_becomes_base64_and_its_content_is_checked() -> None:
    def of(url: str) -> Message | RemoveMessage:
        return coerce(("user", [{"type": "image_url", "image_url": {"url": url}}]))

    assert of("data:image/png;base64,aGk=") == user(Image(base64="aGk=", mime_type="image/png"))
    with pytest.raises(ValidationError):
        of("data:image/png;base64,!!!")


def test_text_is_the_text_blocks_by_lines() -> None:
    """Rows: S0-048."""
    assert assistant("a", Reasoning("hidden"), "b", Image(url="u")).text == "a\nb"
    assert assistant(Reasoning("hidden")).text == ""


def test_a_transcript_reads_as_a_conversation() -> None:
    """Rows: S0-048."""
    history = [
        system("be brief"),
        Message("user", (Text("2+2?"),), name="Ada"),
        assistant(ToolCall("add", {"a": 2, "b": 2}, id="1").settled("ok", 4)),
        tool_result("1", "4", name="add"),
        assistant("4"),
    ]
    assert transcript(history).splitlines() == [
        "System: be brief",
        "User (Ada): 2+2?",
        "Assistant: add(a=2, b=2) -> ok",
        "Tool (add): 4",
        "Assistant: 4",
    ]


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "type", "content", "id", "tool_calls", "text", "function", "name", "args"]),
            inner | st.sampled_from(["user", "ai", "text", "image", "remove"]),
            max_size=5,
        )
    ),
    max_leaves=10,
)
NEARLY = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "ai", "tool", "alien"]), "content": st.text(max_size=5) | ANYTHING},
    optional={"id": st.text(max_size=3) | ANYTHING, "name": ANYTHING, "tool_calls": ANYTHING},
)
"""What often is a message, so that both ends are met."""


@given(ANYTHING | NEARLY)
@example({"role": "user", "content": "hi"})
@example({"role": "user", "content": 7})
def test_whatever_is_given_it_is_a_message_or_a_typed_error(given: object) -> None:
    try:
        read = coerce(given)
    except (ParsingError, ValidationError):
        return
    assert isinstance(read, Message | RemoveMessage)
