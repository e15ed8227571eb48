"""Chat models and embedders behind one port each; an adapter and its package are imported when a model is made."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.models.deltas import BlockDelta as BlockDelta
    from lawful.models.deltas import CallDelta as CallDelta
    from lawful.models.deltas import Completed as Completed
    from lawful.models.deltas import Delta as Delta
    from lawful.models.deltas import ReasoningDelta as ReasoningDelta
    from lawful.models.deltas import TextDelta as TextDelta
    from lawful.models.port import ChatModel as ChatModel
    from lawful.models.port import Prompt as Prompt
    from lawful.models.select import model as model
    from lawful.models.settings import ModelConfig as ModelConfig
    from lawful.models.streaming import Stream as Stream
    from lawful.models.streaming import SyncStream as SyncStream
    from lawful.models.values import Only as Only
    from lawful.models.values import OutputSpec as OutputSpec
    from lawful.models.values import Profile as Profile
    from lawful.models.values import Reply as Reply
    from lawful.models.values import Request as Request
    from lawful.models.values import ToolChoice as ToolChoice
    from lawful.models.values import ToolSpec as ToolSpec
    from lawful.models.values import Usage as Usage
else:
    _TABLE = {
        "model": "lawful.models.select",
        "ChatModel": "lawful.models.port",
        "Prompt": "lawful.models.port",
        "ModelConfig": "lawful.models.settings",
        "Request": "lawful.models.values",
        "Reply": "lawful.models.values",
        "Usage": "lawful.models.values",
        "ToolSpec": "lawful.models.values",
        "ToolChoice": "lawful.models.values",
        "Only": "lawful.models.values",
        "OutputSpec": "lawful.models.values",
        "Profile": "lawful.models.values",
        "Stream": "lawful.models.streaming",
        "SyncStream": "lawful.models.streaming",
        "Delta": "lawful.models.deltas",
        "TextDelta": "lawful.models.deltas",
        "ReasoningDelta": "lawful.models.deltas",
        "CallDelta": "lawful.models.deltas",
        "BlockDelta": "lawful.models.deltas",
        "Completed": "lawful.models.deltas",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
