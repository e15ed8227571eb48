"""Which calls a `ToolNode` is asked to carry out, by every form of what it is given, and whose messages answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lawful.core.context import current_task
from lawful.core.errors import ParsingError, ValidationError
from lawful.core.messages import InvalidToolCall, Message, ToolCall
from lawful.core.neighbours import is_neighbour
from lawful.graph.signature import name_of
from lawful.graph.step_task import Task

Block: TypeAlias = ToolCall | InvalidToolCall
_BLOCKS = (ToolCall, InvalidToolCall)


class NoMessages(ValidationError, ValueError):
    """There is no conversation, or no answer of a model in it."""


class Asked(Struct, frozen=True):
    """What a node is asked."""

    calls: tuple[Block, ...]
    form: Literal["state", "messages", "calls"]
    """What the node was given, which is also the form of what it gives."""
    state: Any
    """What `InjectedState` shows: what the node was given, and for bare calls the state of its graph."""
    messages: Sequence[Any]
    theirs: bool
    """Whether the results are messages of langchain's."""
    answer: str | None = None
    """The id of the message that called."""
    closing: str | None = None
    """The id for the result of the call that is looked at."""

    def at(self, n: int) -> Asked:
        """The same for the n-th call: its result has an id of its place, so that a replay gives it again."""
        return self if self.answer is None else replace(self, closing=f"{self.answer}:{n}:{self.calls[n].id}:result")


def asked_of(given: Any, key: str, neighbour: bool) -> Asked:
    """The calls of the newest answer, or the calls themselves; ``neighbour`` decides for calls outside a graph.

    Raises: NoMessages; ParsingError for a call that is none.
    """
    if isinstance(given, list) and given and _is_call(given[-1]):
        return _direct(cast("list[Any]", given), key, neighbour)
    messages = conversation_of(given, key)
    answer = next((one for one in reversed(messages) if _answers(one)), None)
    if answer is None:
        raise NoMessages("there is no answer of a model in the conversation", component="tools", operation="ToolNode")
    form = "messages" if isinstance(given, list) else "state"
    return Asked(calls_of(answer), form, given, messages, is_their(answer), answer.id)


def conversation_of(state: Any, key: str) -> Sequence[Any]:
    """The messages of a state, or of a list of them. Raises: NoMessages."""
    found = _conversation(state, key)
    if not found:
        raise NoMessages(
            f"there are no messages under {key!r} of the state (a {name_of(type(state))})",
            component="tools",
            operation="ToolNode",
            details={"key": key},
        )
    return found


def calls_of(answer: Any) -> tuple[Block, ...]:
    """The calls of a message that nobody has answered within it; of langchain's, those that could be read."""
    if isinstance(answer, Message):
        blocks = [block for block in answer.content if isinstance(block, _BLOCKS)]
        return tuple(block for block in blocks if not isinstance(block, ToolCall) or block.state == "pending")
    return tuple(_call(each) for each in getattr(answer, "tool_calls", None) or ())


def is_their(value: object) -> bool:
    """Whether it is something of langchain's."""
    return is_neighbour(type(value))


def as_call(block: Block) -> ToolCall:
    """The call, of one with broken arguments without any: it needs a closing result too."""
    return block if isinstance(block, ToolCall) else ToolCall(id=block.id, name=block.name or "unknown", args={})


def _direct(calls: list[Any], key: str, neighbour: bool) -> Asked:
    slot = current_task.get()
    state: Any = {}
    if isinstance(slot, Task):
        neighbour = slot.program.bridged
        state = slot.task_node.view(slot.values)
    return Asked(tuple(_call(each) for each in calls), "calls", state, _conversation(state, key) or (), neighbour)


def _conversation(state: Any, key: str) -> Any:
    if isinstance(state, list):
        return cast("list[Any]", state)
    return cast("Mapping[str, Any]", state).get(key) if isinstance(state, Mapping) else getattr(state, key, None)


def _is_call(given: Any) -> bool:
    return isinstance(given, ToolCall) or (
        isinstance(given, Mapping) and cast("Mapping[str, Any]", given).get("type") == "tool_call"
    )


def _call(given: Any) -> ToolCall:
    if isinstance(given, ToolCall):
        return given
    try:
        told = {name: given.get(name) for name in ("name", "args", "id")}
        return msgspec.convert(told, ToolCall)
    except (msgspec.ValidationError, AttributeError) as error:
        raise ParsingError(
            f"{given!r:.200} is no tool call: {error}", component="tools", operation="ToolNode", cause=error
        ) from error


def _answers(message: Any) -> bool:
    if isinstance(message, Message):
        return message.role == "assistant"
    return is_their(message) and getattr(message, "type", None) in ("ai", "AIMessageChunk")
