"""Conversations as state, and the reducer and markers of messages, at the place where LangGraph has them."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.core.merge_messages import REMOVE_ALL_MESSAGES as REMOVE_ALL_MESSAGES
    from lawful.core.messages import Message as Message
    from lawful.core.messages import RemoveMessage as RemoveMessage
    from lawful.core.reducers import add_messages as add_messages
    from lawful.graph.messages import MessagesState as MessagesState
    from lawful.graph.messages import push_message as push_message
else:
    _TABLE = {
        "MessagesState": "lawful.graph.messages",
        "push_message": "lawful.graph.messages",
        "REMOVE_ALL_MESSAGES": "lawful.core.merge_messages",
        "RemoveMessage": "lawful.core.messages",
        "Message": "lawful.core.messages",
        "add_messages": "lawful.core.reducers",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
