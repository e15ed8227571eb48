"""The thirteen errors, their context and JSON form, and the specific ones beneath them, drawn as a tree.

Failure                        what ``except`` catches
├── LLMError                   a model refused, failed or answered out of form (llm_errors.py)
├── AgentError                 an agent's loop could not go on
├── ConversationMemoryError    a conversation's memory could not be kept or read
├── ToolError                  a tool or an effect
│   ├── EffectDenied, EffectRefused, EffectConflicted, OperationConflict, OperationExists, InvalidTransition, StaleEvidence
├── VectorStoreError, DocumentLoaderError, EmbeddingError
├── RunnableError              how a run ended
│   ├── GraphRecursionError, NodeTimeoutError, NodeCancelledError, RunCancelled, RunTimeoutError, StateTooLarge, RunDrained,
│   │   ThreadBusy, NotInRun
├── ParsingError               a text was not of the form asked for
├── NetworkError               the other side was not reached in time
├── ConfigurationError         what a build refuses
│   └── GraphBuildError, ResumeRefused
├── ValidationError            a refused write, input or answer
│   ├── InvalidUpdateError (UnknownMessage), EmptyInputError, InvalidThreadId, UnknownQuestion, AlreadyAnswered,
│   │   QuestionChanged, TaskChanged, EmptyChannelError
│   ├── InvalidNamespace, InvalidFilter, AccessDenied
└── InternalError              a store, or this library itself
    ├── StoreError, StoreFull, StoreLocked, NewerSchema, CorruptRecord, UnknownType, CannotDecrypt, HeadMoved, LeaseLost
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from lawful.core.error_kinds import THIRTEEN as THIRTEEN
from lawful.core.error_kinds import AgentError as AgentError
from lawful.core.error_kinds import ConfigurationError as ConfigurationError
from lawful.core.error_kinds import ConversationMemoryError as ConversationMemoryError
from lawful.core.error_kinds import DocumentLoaderError as DocumentLoaderError
from lawful.core.error_kinds import EmbeddingError as EmbeddingError
from lawful.core.error_kinds import Error as Error
from lawful.core.error_kinds import InternalError as InternalError
from lawful.core.error_kinds import LLMError as LLMError
from lawful.core.error_kinds import NetworkError as NetworkError
from lawful.core.error_kinds import ParsingError as ParsingError
from lawful.core.error_kinds import RunnableError as RunnableError
from lawful.core.error_kinds import ToolError as ToolError
from lawful.core.error_kinds import ValidationError as ValidationError
from lawful.core.error_kinds import VectorStoreError as VectorStoreError
from lawful.core.failure import JSON as JSON
from lawful.core.failure import ErrorContext as ErrorContext
from lawful.core.failure import Failure as Failure
from lawful.core.failure import ForeignException as ForeignException
from lawful.core.failure import bare as bare
from lawful.core.failure import nearest as nearest
from lawful.core.failure_json import read_failure
from lawful.core.lazy import late
from lawful.core.signals import GraphDrained
from lawful.core.timed_out import TimedOut

# ToolError: effects


class EffectDenied(ToolError):
    """The policy, a missing authority, or a freeze forbade the effect; nothing was sent."""

    code = "effect_denied"


class EffectStale(EffectDenied):
    """What the effect acts on is no longer at the revision that was planned, tested and approved; nothing was sent."""

    code = "effect_stale"


class EffectRefused(ToolError):
    """The provider definitely refused the effect; nothing happened."""

    code = "effect_refused"


class EffectConflicted(ToolError):
    """Two different receipts were seen for one operation: look at the provider."""

    code = "effect_conflicted"


class OperationConflict(ToolError):
    """The same operation id was planned with other arguments, tool or scope."""

    code = "operation_conflict"


class OperationExists(ToolError):
    """Another lineage already planned this operation, and the effect does not say ``once_per_key=True``."""

    code = "operation_exists"


class InvalidTransition(ToolError):
    """An event that the operation's state does not allow; nothing was written."""

    code = "invalid_transition"


class StaleEvidence(ToolError):
    """Evidence or an approval names another revision, other arguments, or has expired."""

    code = "stale_evidence"


# RunnableError: how a run ended


class GraphRecursionError(RunnableError, RecursionError):
    """The step limit was reached before the graph came to its end."""

    code = "graph_recursion_limit"


class NodeTimeoutError(RunnableError, TimedOut):
    """A node ran past its limit; what it wrote is discarded."""

    code = "node_timeout"
    _retryable = True


class NodeCancelledError(RunnableError):
    """A node's own code raised CancelledError though nobody cancelled the run."""

    code = "node_cancelled"


class RunCancelled(RunnableError):
    """The run was cancelled from outside, for instance by the policy ``cancel``."""

    code = "run_cancelled"


class RunTimeoutError(RunnableError, TimeoutError):
    """The run took longer than its limit; what its finished steps and tasks did is kept."""

    code = "run_timeout"


class StateTooLarge(RunnableError):
    """A step would have made the state larger than its limit; it was not applied."""

    code = "state_too_large"


class RunDrained(RunnableError, GraphDrained):
    """The run was asked to stop after its step, and did; it can be gone on from. ``reason`` is what was said."""

    code = "run_drained"

    @property
    def reason(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.details.get("reason", "shutdown")


class ThreadBusy(RunnableError):
    """Another run holds this thread."""

    code = "thread_busy"
    _retryable = True


class ReplayGap(RunnableError):
    """A replay from the record asked for something that the record does not answer; nobody was called."""

    code = "replay_gap"


class NotInRun(RunnableError, RuntimeError):
    """The call needs a running node around it, and there is none (or its attempt is over)."""

    code = "not_in_run"


# ConfigurationError: what a build refuses


class GraphBuildError(ConfigurationError, ValueError):
    """A graph that could not run right; told before it runs."""

    code = "graph_build"


class ResumeRefused(ConfigurationError):
    """The graph has changed in what this paused thread needs: a node, a channel, a codec."""

    code = "resume_refused"


# ValidationError: refused writes, inputs, answers


class InvalidUpdateError(ValidationError):
    """A node's write was refused: unknown key or target, wrong type, or two writers without a merge."""

    code = "invalid_update"


class UnknownMessage(InvalidUpdateError, ValueError):
    """A message was to be removed that is not in the conversation."""

    code = "unknown_message"


class EmptyInputError(ValidationError):
    """A run was started with nothing to run on."""

    code = "empty_input"


class InvalidThreadId(ValidationError, ValueError):
    """A thread id must be a str, int or UUID, not empty, at most 255 characters, without control characters."""

    code = "invalid_thread_id"


class InvalidNamespace(ValidationError, ValueError):
    """A store's namespace must be a tuple of non-empty str, without NUL characters and lone surrogates."""

    code = "invalid_namespace"


class InvalidFilter(ValidationError, ValueError):
    """A store's filter has a field, an operator or a value that it must not have."""

    code = "invalid_filter"


class AccessDenied(ValidationError):
    """This principal may not do this with this thread; nothing was done."""

    code = "access_denied"


class UnknownQuestion(ValidationError):
    """No open question of this thread has that id."""

    code = "unknown_question"


class AlreadyAnswered(ValidationError):
    """This question has its answer; the second one was not taken."""

    code = "already_answered"


class QuestionChanged(ValidationError):
    """A re-entered node asked something else under the id that was answered."""

    code = "question_changed"


class TaskChanged(ValidationError):
    """A node that runs again calls a task with other arguments than the call had whose result was stored."""

    code = "task_changed"


class EmptyChannelError(ValidationError):
    """The channel has no value: what ``get`` of a third party's channel raises."""

    code = "empty_channel"

    def __init__(
        self,
        message: str = "The channel has no value",
        *,
        component: str = "",
        operation: str = "",
        details: Mapping[str, str] | None = None,
        retryable: bool | None = None,
        cause: BaseException | None = None,
        timestamp: datetime | None = None,
    ) -> None:
        super().__init__(
            message,
            component=component,
            operation=operation,
            details=details,
            retryable=retryable,
            cause=cause,
            timestamp=timestamp,
        )


# InternalError: stores and the library itself


class StoreError(InternalError):
    """A store could not do what it was asked; nothing was half-written."""

    code = "store"


class StoreFull(StoreError):
    """The disk or the database is full."""

    code = "store_full"


class StoreLocked(StoreError):
    """Another process holds the database for longer than we wait."""

    code = "store_locked"
    _retryable = True


class NewerSchema(StoreError):
    """The store was written by a newer version of this library."""

    code = "newer_schema"


class CorruptRecord(StoreError):
    """Stored bytes do not decode; they stay where they are, in ``raw``."""

    code = "corrupt_record"

    raw: bytes = b""


class UnknownType(StoreError):
    """Stored bytes name a type that no codec is registered for; they stay where they are, in ``raw``."""

    code = "unknown_type"

    raw: bytes = b""


class CannotDecrypt(StoreError):
    """Stored bytes were changed or moved, or their key is not there; they stay where they are, in ``raw``."""

    code = "cannot_decrypt"

    raw: bytes = b""


class HeadMoved(StoreError):
    """The thread's newest checkpoint is not the one this commit builds on."""

    code = "head_moved"


class LeaseLost(StoreError):
    """Another run has taken the thread over; this commit was refused."""

    code = "lease_lost"


def _family(base: type[Failure]) -> Iterable[type[Failure]]:
    yield base
    for child in base.__subclasses__():
        yield from _family(child)


def known_codes() -> dict[str, type[Failure]]:
    """Every code of this library and its class; classes that a program derives from these are not among them."""
    ours = {__name__, InternalError.__module__, late("lawful.core.llm_errors").__name__}
    return {kind.code: kind for base in THIRTEEN for kind in _family(base) if kind.__module__ in ours}


def from_json(told: Mapping[str, Any]) -> Failure:
    """The error that ``to_json`` described, its chain of causes included.

    A code that is not known here becomes the family's error (one of the thirteen; InternalError if that is not known
    either), with the code in ``details["unknown_code"]``.

    Raises: ParsingError, if ``told`` is not of that form.
    """
    return read_failure(told, known_codes())
