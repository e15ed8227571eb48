"""Conversations in a graph: the state that holds one, and a message that is told and written before its node ends."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from lawful.core.chunks import MessageChunk
from lawful.core.context import here
from lawful.core.errors import NotInRun, ValidationError
from lawful.core.messages import Message, RemoveMessage, coerce
from lawful.core.reducers import add_messages
from lawful.graph.found import is_message
from lawful.graph.step_task import Task


class MessagesState(TypedDict):
    """A state of one conversation; extend it by further keys."""

    messages: Annotated[list[Message], add_messages]


class NoMessageId(ValidationError, ValueError):
    """A message is pushed without an id, so that nothing could tell it from another."""


def push_message(message: Any, *, state_key: str | None = "messages") -> Any:
    """Put ``message`` into the messages stream at once, and write it to ``state_key`` when the node ends.

    ``message`` is one in any form that `add_messages` takes, with an id. A `MessageChunk` is only streamed, and so is
    everything with ``state_key=None``. Returns the message.

    Raises: ValueError without an id; NotInRun outside a node; InvalidUpdateError for a key that the state does not have.
    """
    task = here("push_message")
    if not isinstance(task, Task):
        raise NotInRun("push_message works only inside a node of a graph", component="run", operation="push_message")
    said = message if is_message(message) else coerce(message)
    if isinstance(said, RemoveMessage):
        raise ValidationError("a removal is no message to push: return it", component="graph", operation="push_message")
    if not getattr(said, "id", None):
        raise NoMessageId("Message ID is required", component="graph", operation="push_message")
    piece = isinstance(said, MessageChunk)
    if state_key is not None and not piece:
        task.to_write()
        task.program.acceptor.pairs(task, [(state_key, [said])])
    hub = task.run.hub
    if hub is not None:
        hub.say(task, said, piece=piece)
        hub.press()
    return said
