"""The check that nothing is open in a conversation: the quick one, which remembers, says what the whole one says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.core.errors import ValidationError
from lawful.core.messages import CallState, InvalidToolCall, Message, ToolCall, assistant, tool_result, user
from lawful.models.transcript import closed, must_be_closed

pytestmark = pytest.mark.property

IDS = st.sampled_from(["a", "b", ""])
STATES: st.SearchStrategy[CallState] = st.sampled_from(["pending", "ok"])


def _call(id: str, state: CallState) -> ToolCall:
    return ToolCall(id=id, name="t", args={}, state=state)


def _broken(id: str) -> InvalidToolCall:
    return InvalidToolCall(id=id, name="t")


def _says(blocks: list[ToolCall | InvalidToolCall]) -> Message:
    return assistant("x", *blocks)


def _answers(id: str) -> Message:
    return tool_result(id, "r")


BLOCKS = st.one_of(st.builds(_call, IDS, STATES), st.builds(_broken, IDS))
MESSAGES = st.one_of(st.builds(_says, st.lists(BLOCKS, max_size=2)), st.builds(_answers, IDS), st.just("x").map(user))


def said(check: Any, messages: Any) -> str:
    try:
        check(messages)
    except ValidationError as error:
        return error.message
    return ""


@settings(max_examples=300, deadline=None)
@given(st.lists(MESSAGES, min_size=1, max_size=7), st.integers(0, 7))
def test_the_quick_check_says_what_the_whole_one_says(messages: list[Message], at: int) -> None:
    """Also of a conversation whose beginning it has seen, and of one whose beginning was changed since."""
    for many in (messages[: at + 1], messages, [*messages[:1], *messages[2:]]):
        assert said(must_be_closed, tuple(many)) == said(closed, many)
