"""The shapes of what streams give, by LangGraph's names, for annotations; and the words that calls take."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from lawful.core.questions import Question
from lawful.graph.parts import checked_journal
from lawful.graph.snapshot import StateSnapshot
from lawful.journal.port import Journal

All: TypeAlias = Literal["*"]
"""As breakpoints: every node."""
Durability: TypeAlias = Literal["sync", "async", "exit"]
Checkpointer: TypeAlias = Journal | bool | None
"""What ``compile(checkpointer=...)`` takes."""


class TaskPayload(TypedDict):
    """The start of a task, in the tasks mode."""

    id: str
    name: str
    input: Any
    triggers: tuple[str, ...]
    metadata: NotRequired[dict[str, Any]]


class TaskResultPayload(TypedDict):
    """The end of a task, in the tasks mode."""

    id: str
    name: str
    error: BaseException | None
    interrupts: list[dict[str, Any]]
    result: dict[str, Any]


class CheckpointTask(TypedDict):
    """One task of a checkpoint, in the checkpoints mode."""

    id: str
    name: str
    error: NotRequired[str]
    result: NotRequired[Any]
    interrupts: NotRequired[tuple[dict[str, Any], ...]]
    state: StateSnapshot | dict[str, Any] | None


class CheckpointPayload(TypedDict):
    """One checkpoint, in the checkpoints mode."""

    config: dict[str, Any] | None
    metadata: dict[str, Any]
    values: Any
    next: list[str]
    parent_config: dict[str, Any] | None
    tasks: list[CheckpointTask]


class DebugPayload(TypedDict):
    """One chunk of the debug mode."""

    step: int
    timestamp: str
    type: str
    payload: dict[str, Any]


class ValuesStreamPart(TypedDict):
    """Version 2 of the values mode."""

    type: Literal["values"]
    ns: tuple[str, ...]
    data: Any
    interrupts: tuple[Question, ...]


class UpdatesStreamPart(TypedDict):
    """Version 2 of the updates mode."""

    type: Literal["updates"]
    ns: tuple[str, ...]
    data: dict[str, Any]


class MessagesStreamPart(TypedDict):
    """Version 2 of the messages mode."""

    type: Literal["messages"]
    ns: tuple[str, ...]
    data: tuple[Any, dict[str, Any]]


class CustomStreamPart(TypedDict):
    """Version 2 of the custom mode."""

    type: Literal["custom"]
    ns: tuple[str, ...]
    data: Any


class CheckpointStreamPart(TypedDict):
    """Version 2 of the checkpoints mode."""

    type: Literal["checkpoints"]
    ns: tuple[str, ...]
    data: CheckpointPayload


class TasksStreamPart(TypedDict):
    """Version 2 of the tasks mode."""

    type: Literal["tasks"]
    ns: tuple[str, ...]
    data: TaskPayload | TaskResultPayload


class DebugStreamPart(TypedDict):
    """Version 2 of the debug mode."""

    type: Literal["debug"]
    ns: tuple[str, ...]
    data: DebugPayload


StreamPart: TypeAlias = (
    ValuesStreamPart
    | UpdatesStreamPart
    | MessagesStreamPart
    | CustomStreamPart
    | CheckpointStreamPart
    | TasksStreamPart
    | DebugStreamPart
)

ensure_valid_checkpointer = checked_journal
"""What may stand for a journal, checked. Raises: TypeError."""
