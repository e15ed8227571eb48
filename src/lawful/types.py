"""The values that programs annotate and pass, at the place where LangGraph has them."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.core.retry import RetryPolicy as RetryPolicy
    from lawful.graph.asking import Interrupt as Interrupt
    from lawful.graph.asking import interrupt as interrupt
    from lawful.graph.command import Command as Command
    from lawful.graph.command import Overwrite as Overwrite
    from lawful.graph.command import Send as Send
    from lawful.graph.outcome import GraphOutput as GraphOutput
    from lawful.graph.policies import CachePolicy as CachePolicy
    from lawful.graph.policies import TimeoutPolicy as TimeoutPolicy
    from lawful.graph.runtime import StreamWriter as StreamWriter
    from lawful.graph.shapes import All as All
    from lawful.graph.shapes import Checkpointer as Checkpointer
    from lawful.graph.shapes import CheckpointPayload as CheckpointPayload
    from lawful.graph.shapes import CheckpointStreamPart as CheckpointStreamPart
    from lawful.graph.shapes import CheckpointTask as CheckpointTask
    from lawful.graph.shapes import CustomStreamPart as CustomStreamPart
    from lawful.graph.shapes import DebugPayload as DebugPayload
    from lawful.graph.shapes import DebugStreamPart as DebugStreamPart
    from lawful.graph.shapes import Durability as Durability
    from lawful.graph.shapes import MessagesStreamPart as MessagesStreamPart
    from lawful.graph.shapes import StreamPart as StreamPart
    from lawful.graph.shapes import TaskPayload as TaskPayload
    from lawful.graph.shapes import TaskResultPayload as TaskResultPayload
    from lawful.graph.shapes import TasksStreamPart as TasksStreamPart
    from lawful.graph.shapes import UpdatesStreamPart as UpdatesStreamPart
    from lawful.graph.shapes import ValuesStreamPart as ValuesStreamPart
    from lawful.graph.shapes import ensure_valid_checkpointer as ensure_valid_checkpointer
    from lawful.graph.snapshot import PregelTask as PregelTask
    from lawful.graph.snapshot import StateSnapshot as StateSnapshot
    from lawful.graph.streams import StreamMode as StreamMode
    from lawful.graph.updates import StateUpdate as StateUpdate
else:
    _TABLE = {
        "All": "lawful.graph.shapes",
        "CheckpointPayload": "lawful.graph.shapes",
        "CheckpointStreamPart": "lawful.graph.shapes",
        "CheckpointTask": "lawful.graph.shapes",
        "Checkpointer": "lawful.graph.shapes",
        "CustomStreamPart": "lawful.graph.shapes",
        "DebugPayload": "lawful.graph.shapes",
        "DebugStreamPart": "lawful.graph.shapes",
        "Durability": "lawful.graph.shapes",
        "MessagesStreamPart": "lawful.graph.shapes",
        "StreamPart": "lawful.graph.shapes",
        "TaskPayload": "lawful.graph.shapes",
        "TaskResultPayload": "lawful.graph.shapes",
        "TasksStreamPart": "lawful.graph.shapes",
        "UpdatesStreamPart": "lawful.graph.shapes",
        "ValuesStreamPart": "lawful.graph.shapes",
        "ensure_valid_checkpointer": "lawful.graph.shapes",
        "CachePolicy": "lawful.graph.policies",
        "TimeoutPolicy": "lawful.graph.policies",
        "RetryPolicy": "lawful.core.retry",
        "Command": "lawful.graph.command",
        "Send": "lawful.graph.command",
        "Overwrite": "lawful.graph.command",
        "GraphOutput": "lawful.graph.outcome",
        "Interrupt": "lawful.graph.asking",
        "interrupt": "lawful.graph.asking",
        "PregelTask": "lawful.graph.snapshot",
        "StateSnapshot": "lawful.graph.snapshot",
        "StateUpdate": "lawful.graph.updates",
        "StreamMode": "lawful.graph.streams",
        "StreamWriter": "lawful.graph.runtime",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
