"""What a `ToolNode` gives for its calls: messages of the kind that asked, and the Commands that tools returned, checked."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from lawful.agents.tool_calls import Asked
from lawful.core import codec
from lawful.core.errors import ToolError
from lawful.core.merge_messages import REMOVE_ALL_MESSAGES
from lawful.core.messages import Message, ToolCall
from lawful.core.neighbours import bridge, is_neighbour
from lawful.graph.command import Command, Send
from lawful.graph.signature import is_async
from lawful.tools.definition import AnyTool
from lawful.tools.dispatch import Outcome
from lawful.tools.sources import Beside

ABSENT: Final[Any] = object()
"""Of a parameter that is filled here: its own default stands."""
BLOCKS: Final = frozenset((
    "text", "image_url", "image", "json", "search_result", "custom_tool_call_output", "document", "file",
))  # fmt: skip
"""The content blocks that a tool message of langchain's takes as they are."""

codec.register(Command, id="lawful.Command", version=1)
codec.register(Send, id="lawful.Send", version=1)


class NotClosed(ToolError, ValueError):
    """What a tool returned does not close its call, or writes what this node cannot write."""


def keeping(tool: AnyTool, key: str) -> AnyTool:
    """The tool, with a Command or message that it returns kept beside what the model is told; an effect as it is."""
    if tool.effect is not None:
        return tool
    return tool.with_(function=_keeping(tool.function, key))


def _keeping(work: Callable[..., Any], key: str) -> Callable[..., Any]:
    if is_async(work):

        @functools.wraps(work)
        async def arun(**given: Any) -> Any:
            return _beside(await work(**_present(given)), key)

        return arun

    @functools.wraps(work)
    def run(**given: Any) -> Any:
        return _beside(work(**_present(given)), key)

    return run


def _present(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not ABSENT}


def _beside(value: Any, key: str) -> Any:
    if _is_reply(value):
        return Beside(value, _told(value, key))
    if not isinstance(value, list) or not value:
        return cast("Any", value)
    parts = cast("list[Any]", value)
    if not all(_is_reply(each) for each in parts):
        return parts
    return Beside(parts, next((text for each in parts if (text := _told(each, key))), ""))


def _is_reply(value: Any) -> bool:
    return isinstance(value, Command | Message) or _is_their_message(value)


def _is_their_message(value: object) -> bool:
    return is_neighbour(type(value)) and hasattr(value, "tool_call_id")


def _told(value: Any, key: str) -> Any:
    """The text, or blocks, that a model will read of it."""
    if isinstance(value, Command):
        found = _conversation(cast("Command[Any]", value), key)
        return next((text for each in found if _closes(each) and (text := _told(each, key))), "")
    if isinstance(value, Message):
        return value.text
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get("content", "")
    return value.content


def reply(outcome: Outcome, asked: Asked) -> Any:
    """The closing result of a call, as a message of the kind that asked."""
    if not asked.theirs:
        made = outcome.message
        return made if asked.closing is None else made.named(asked.closing)
    call = outcome.call
    return bridge().tool_message(_content(call.output), call.id, call.name, call.state != "ok", asked.closing)


def _content(output: Any) -> Any:
    if isinstance(output, str) or (
        isinstance(output, list) and all(_is_block(each) for each in cast("list[Any]", output))
    ):
        return cast("Any", output)
    return json.dumps(output, ensure_ascii=False)


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and cast("dict[str, Any]", value).get("type") in BLOCKS


def replies(outcome: Outcome, asked: Asked, key: str) -> list[Any]:
    """All that one call gives, checked and of the kind that asked.

    Raises: NotClosed, unless exactly one message closes the call (a Command that leaves the graph need not).
    """
    if outcome.beside is None:
        return [reply(outcome, asked)]
    call, given = outcome.call, outcome.beside
    parts = cast("list[Any]", given if isinstance(given, list) else [given])
    made: list[Any] = [_part(each, outcome, asked, key) for each in parts]
    closing = sum(_closings(each, call, key) for each in made)
    if isinstance(given, list):
        if closing != 1:
            raise _not_closed(call, f"returned a list with {closing} messages that close its call: there must be one")
    elif isinstance(given, Command) and closing == 0 and _must_close(cast("Command[Any]", given), key):
        where = "update" if asked.form == "messages" else f"update[{key!r}]"
        raise _not_closed(
            call,
            "returned a Command without a message that closes its call: put one with"
            f" tool_call_id={call.id!r} into its {where}",
        )
    return made


def _part(given: Any, outcome: Outcome, asked: Asked, key: str) -> Any:
    if isinstance(given, Command):
        return _command(cast("Command[Any]", given), outcome.call, asked, key)
    return _own(given, outcome, asked)


def _own(message: Any, outcome: Outcome, asked: Asked) -> Any:
    """A message that a tool returned, as one of the kind that asked."""
    call = outcome.call
    if not _is_their_message(message):
        named = _named(message, call, asked)
        return bridge().forms([named])[0] if asked.theirs else named
    if asked.theirs:
        return _named(message, call, asked)
    state = "error" if getattr(message, "status", None) == "error" else "ok"
    again = msgspec.structs.replace(call, state="pending", output=None)
    return reply(msgspec.structs.replace(outcome, call=again.settled(state, call.output)), asked)


def _command(command: Command[Any], call: ToolCall, asked: Asked, key: str) -> Command[Any]:
    """The Command, its closing message named after the tool. Raises: NotClosed, for an update of another form."""
    update: Any = command.update
    if isinstance(update, dict):
        if asked.form == "messages":
            raise _not_closed(call, "returned Command(update={...}), but its node was given a list of messages")
        told = cast("dict[str, Any]", update)
        if key not in told:
            return command
        named = [_named(each, call, asked) for each in _messages(told[key])]
        return msgspec.structs.replace(command, update={**told, key: named})
    if isinstance(update, list) and asked.form != "messages" and not _pairs(cast("list[Any]", update)):
        raise _not_closed(
            call, f"returned Command(update=[...]), but its node was given a state: write {{{key!r}: [...]}}"
        )
    if isinstance(update, list) and asked.form == "messages":
        return msgspec.structs.replace(
            command, update=[_named(each, call, asked) for each in cast("list[Any]", update)]
        )
    return command


def _must_close(command: Command[Any], key: str) -> bool:
    """Whether a Command writes to this graph, whose conversation goes on."""
    if command.graph is not None or not isinstance(command.update, dict | list):
        return False
    return not any(getattr(each, "id", None) == REMOVE_ALL_MESSAGES for each in _conversation(command, key))


def _conversation(command: Command[Any], key: str) -> list[Any]:
    """The messages that a Command writes, in whatever form."""
    update: Any = command.update
    if isinstance(update, dict):
        return _messages(cast("dict[str, Any]", update).get(key, ()))
    return cast("list[Any]", update) if isinstance(update, list) else []


def _pairs(update: list[Any]) -> bool:
    return bool(update) and all(isinstance(each, tuple) and len(cast("tuple[Any, ...]", each)) == 2 for each in update)


def _messages(given: Any) -> list[Any]:
    return list(cast("Sequence[Any]", given)) if isinstance(given, list | tuple) else [given]


def _closes(message: Any, call: ToolCall | None = None) -> bool:
    if isinstance(message, Mapping):
        found = cast("Mapping[str, Any]", message).get("tool_call_id")
    else:
        found = getattr(message, "tool_call_id", None)
    return found is not None and (call is None or found == (call.id or ""))


def _closings(made: Any, call: ToolCall, key: str) -> int:
    if isinstance(made, Command):
        return sum(_closes(each, call) for each in _conversation(cast("Command[Any]", made), key))
    return int(_closes(made, call))


def _named(message: Any, call: ToolCall, asked: Asked) -> Any:
    """The message with the tool's name and an id, if it closes the call."""
    if not _closes(message, call):
        return message
    if isinstance(message, Mapping):
        told = cast("Mapping[str, Any]", message)
        return {**told, "name": call.name, "id": told.get("id") or asked.closing}
    more = {"name": call.name, "id": message.id or asked.closing}
    return msgspec.structs.replace(message, **more) if isinstance(message, Message) else message.model_copy(update=more)


def _not_closed(call: ToolCall, why: str) -> NotClosed:
    return NotClosed(
        f"tool {call.name!r} {why}",
        component=call.name,
        operation="result",
        details={"tool": call.name, "call": call.id or ""},
    )


def combined(given: Sequence[Sequence[Any]], asked: Asked, key: str) -> Any:
    """What the node returns: its messages in one update, or where there are Commands a list of those and of updates.

    Commands that only send tasks of the parent graph become one, at the end: a node leaves its graph once.
    """
    parts = [each for some in given for each in some]
    whole = asked.form == "messages"
    if not any(isinstance(each, Command) for each in parts):
        return parts if whole else {key: parts}
    sends: list[Any] = []
    out: list[Any] = []
    for each in parts:
        if not isinstance(each, Command):
            out.append([each] if whole else {key: [each]})
        elif (packets := _only_sends(cast("Command[Any]", each))) is not None:
            sends += packets
        else:
            out.append(each)
    return [*out, Command(graph=Command.PARENT, goto=sends)] if sends else out


def _only_sends(command: Command[Any]) -> list[Any] | None:
    goto = command.goto
    if command.graph != Command.PARENT or not isinstance(goto, list | tuple) or not goto:
        return None
    packets = list(cast("Sequence[Any]", goto))
    return packets if all(isinstance(each, Send) for each in packets) else None
