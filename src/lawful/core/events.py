"""What can be seen of a run while it goes: one closed union of events, and the rule that every start has its end.

An event that opens something (a run, a node, a model call, a tool call, a task) bears a ``span``; exactly one event that
closes it, an end or an error, bears the same one. A machine makes events without ids, the driver stamps them.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct

from lawful.core.errors import ParsingError
from lawful.core.plain import plain


class Base(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event"):
    """What every event bears."""

    run_id: str = ""
    parent_run_id: str | None = None
    """The run inside which this one was started, or None."""
    seq: int = 0
    """Grows by at least one from event to event of a root run and all runs in it; 0 until the driver stamps it."""


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens of one model call, or of several added up."""

    prompt: int = 0
    """All that was read, what came from a cache included."""
    completion: int = 0
    """All that was written, reasoning included."""
    cached: int = 0
    """Of the prompt: read from the provider's cache."""
    cache_written: int = 0
    """Of the prompt: written to the provider's cache."""
    reasoning: int = 0
    """Of the completion: thought and not said."""

    @property
    def total(self) -> int:
        return self.prompt + self.completion

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.cache_written + other.cache_written,
            self.reasoning + other.reasoning,
        )


# Runs. Their span is their run_id.


class RunStarted(Base, frozen=True, tag="run_started"):
    graph: str = ""
    thread: str | None = None


class RunFinished(Base, frozen=True, tag="run_finished"):
    """The run came to its end, or paused: then ``outcome`` is "interrupt" and ``questions`` are its questions' ids."""

    thread: str | None = None
    outcome: Literal["success", "interrupt", "drained"] = "success"
    questions: tuple[str, ...] = ()


class RunFailed(Base, frozen=True, tag="run_failed"):
    code: str
    message: str


# Nodes and the tasks they start.


class NodeStarted(Base, frozen=True, tag="node_started"):
    node: str
    span: str
    """The task's id with the attempt's number: unique within the run."""
    step: int = 0
    attempt: int = 1


class NodeEnded(Base, frozen=True, tag="node_ended"):
    node: str
    span: str


class NodeFailed(Base, frozen=True, tag="node_failed"):
    """The attempt ended with an exception, a question or a cancellation: ``code`` says which."""

    node: str
    span: str
    code: str
    message: str = ""


class TaskStarted(Base, frozen=True, tag="task_started"):
    """A ``@task`` or a Send started by a running node."""

    name: str
    span: str


class TaskEnded(Base, frozen=True, tag="task_ended"):
    name: str
    span: str


class TaskFailed(Base, frozen=True, tag="task_failed"):
    name: str
    span: str
    code: str
    message: str = ""


# Models and tools.


class LLMStarted(Base, frozen=True, tag="llm_started"):
    model: str
    span: str
    """The id of the message that is being made."""


class LLMChunk(Base, frozen=True, tag="llm_chunk"):
    span: str
    text: str


class LLMReasoning(Base, frozen=True, tag="llm_reasoning"):
    span: str
    text: str


class LLMEnded(Base, frozen=True, tag="llm_ended"):
    span: str
    usage: Usage | None = None


class LLMFailed(Base, frozen=True, tag="llm_failed"):
    span: str
    code: str
    message: str = ""


class ToolStarted(Base, frozen=True, tag="tool_started"):
    tool: str
    span: str
    """The tool call's id."""


class ToolArguments(Base, frozen=True, tag="tool_arguments"):
    """A further piece of the arguments' JSON text."""

    span: str
    text: str


class ToolCalled(Base, frozen=True, tag="tool_called"):
    """The arguments are complete; what follows is the tool's own work."""

    span: str


class ToolEnded(Base, frozen=True, tag="tool_ended"):
    """The tool gave its result."""

    span: str
    output: Any = None
    """JSON."""


class ToolFailed(Base, frozen=True, tag="tool_failed"):
    span: str
    code: str
    message: str = ""


# What happened at one moment.


class Checkpointed(Base, frozen=True, tag="checkpointed"):
    checkpoint: str
    ns: str = ""
    step: int = 0


class Interrupted(Base, frozen=True, tag="interrupted"):
    """A node asked."""

    node: str
    question: str
    """The question's id."""


class EffectMoved(Base, frozen=True, tag="effect"):
    """An operation of the ledger went into another state."""

    op_id: str
    tool: str
    state: str


class EffectLooked(Base, frozen=True, tag="effect_looked"):
    """An operation whose outcome is not known was looked up at its provider."""

    op_id: str
    tool: str
    saw: str
    """What was seen: "Found", "NotFound", "Pending", "Fenced" or "Unavailable"."""


class StateUpdated(Base, frozen=True, tag="state_updated"):
    """All values after a superstep, as JSON."""

    values: dict[str, Any]


class Custom(Base, frozen=True, tag="custom"):
    """What a node wrote to its stream writer; JSON."""

    value: Any
    node: str = ""
    name: str = "custom"


class SignalSwallowed(Base, frozen=True, tag="signal_swallowed"):
    """The node's code caught a control signal and went on; the signal was carried out all the same."""

    node: str
    signal: str = ""
    """The signal's class."""


class JoinSkipped(Base, frozen=True, tag="join_skipped"):
    """A join will not run, as the sources named in ``missing`` took another way."""

    join: str
    missing: tuple[str, ...] = ()


class LeaseTaken(Base, frozen=True, tag="lease_taken"):
    thread: str
    waited: float = 0.0
    """Seconds in the queue."""


class LeaseLost(Base, frozen=True, tag="lease_lost"):
    """Another run took the thread over."""

    thread: str


class RetryScheduled(Base, frozen=True, tag="retry_scheduled"):
    node: str
    attempt: int
    """The number of the attempt that failed."""
    delay: float
    """Seconds until the next."""


Started: TypeAlias = RunStarted | NodeStarted | TaskStarted | LLMStarted | ToolStarted
Ended: TypeAlias = (
    RunFinished
    | RunFailed
    | NodeEnded
    | NodeFailed
    | TaskEnded
    | TaskFailed
    | LLMEnded
    | LLMFailed
    | ToolEnded
    | ToolFailed
)
Moment: TypeAlias = (
    LLMChunk
    | LLMReasoning
    | ToolArguments
    | ToolCalled
    | Checkpointed
    | Interrupted
    | EffectMoved
    | EffectLooked
    | StateUpdated
    | Custom
    | SignalSwallowed
    | JoinSkipped
    | LeaseTaken
    | LeaseLost
    | RetryScheduled
)
Event: TypeAlias = Started | Ended | Moment
"""The closed union."""

EventT = TypeVar("EventT", bound=Base)


def stamp(event: EventT, run_id: str, seq: int, parent_run_id: str | None = None) -> EventT:
    """The event with the ids that only a driver knows."""
    return msgspec.structs.replace(event, run_id=run_id, seq=seq, parent_run_id=parent_run_id)


def event_json(event: Event) -> dict[str, Any]:
    """The event as plain JSON; its kind under "event".

    Raises: TypeError, if a value that a program put into it (Custom, StateUpdated, ToolEnded) is not JSON.
    """
    told: dict[str, Any] = plain(event)
    return {
        key: list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value for key, value in told.items()
    }


def event_from_json(told: object) -> Event:
    """What `event_json` gave.

    Raises: ParsingError, naming the place, for an unknown kind or a field of another type.
    """
    try:
        return msgspec.convert(told, Event)
    except msgspec.ValidationError as error:
        raise ParsingError(f"this is no event: {error}", component="events", operation="from_json") from error
