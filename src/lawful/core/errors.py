"""The thirteen errors, their context and JSON form, and the specific ones beneath them, drawn as a tree.

Failure                        what ``except`` catches
├── LLMError                   a model refused, failed or answered out of form
├── AgentError                 an agent's loop could not go on
├── ConversationMemoryError    a conversation's memory could not be kept or read
├── ToolError                  a tool or an effect
│   ├── EffectDenied, EffectRefused, EffectConflicted, OperationConflict, OperationExists, InvalidTransition, StaleEvidence
├── VectorStoreError, DocumentLoaderError, EmbeddingError
├── RunnableError              how a run ended
│   ├── GraphRecursionError, NodeTimeoutError, NodeCancelledError, RunCancelled, ThreadBusy, NotInRun
├── ParsingError               a text was not of the form asked for
├── NetworkError               the other side was not reached in time
├── ConfigurationError         what a build refuses
│   └── GraphBuildError, ResumeRefused
├── ValidationError            a refused write, input or answer
│   ├── InvalidUpdateError, EmptyInputError, InvalidThreadId, UnknownQuestion, AlreadyAnswered, QuestionChanged
└── InternalError              a store, or this library itself
    ├── StoreError, StoreFull, StoreLocked, NewerSchema, CorruptRecord, UnknownType, HeadMoved, LeaseLost
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct

JSON: TypeAlias = "None | bool | int | float | str | list[JSON] | dict[str, JSON]"
"""What JSON can say."""


class ErrorContext(Struct, frozen=True):
    """Where and when an error arose."""

    component: str = ""
    """The part of the library or program: "graph", "journal", a tool's name."""
    operation: str = ""
    """What it was doing: "compile", "node 'write'"."""
    timestamp: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    """UTC; set when the error is made."""
    details: Mapping[str, str] = {}
    """The facts, as text: names, keys, ids, nearest valid names."""


class Failure(Exception):
    """The common base of the thirteen errors: catch this, match on ``Error``.

    The same object is carried in ``Err(...)`` or raised. Equality and hash go by type, code, message, component,
    operation and details, never by time or identity.
    """

    code: ClassVar[str] = "failure"
    """Stable and documented; one page section each in docs/errors.md."""
    _retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        component: str = "",
        operation: str = "",
        details: Mapping[str, str] | None = None,
        retryable: bool | None = None,
        cause: BaseException | None = None,
        timestamp: datetime | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.context = ErrorContext(component, operation, timestamp or datetime.now(UTC), dict(details or {}))
        self.retryable = self._retryable if retryable is None else retryable
        if cause is not None:
            self.__cause__ = cause

    @property
    def details(self) -> Mapping[str, str]:
        return self.context.details

    def _identity(self) -> tuple[object, ...]:
        where = self.context
        return (
            type(self),
            self.code,
            self.message,
            where.component,
            where.operation,
            tuple(sorted(where.details.items())),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Failure) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        return (from_json, (self.to_json(),))

    def bare(self) -> Failure:
        """This error without traceback and context, as ``Err`` and records keep it."""
        self.__traceback__ = None
        self.__context__ = None
        return self

    def to_json(self) -> dict[str, JSON]:
        """The error as plain JSON, its chain of causes included."""
        where = self.context
        cause = self.__cause__
        told: JSON = None
        if isinstance(cause, Failure):
            told = cause.to_json()
        elif cause is not None:
            told = {"code": "exception", "type": type(cause).__qualname__, "message": str(cause)}
        return {
            "code": self.code,
            "message": self.message,
            "component": where.component,
            "operation": where.operation,
            "timestamp": where.timestamp.isoformat(),
            "details": dict(where.details),
            "retryable": self.retryable,
            "cause": told,
        }


class LLMError(Failure):
    """A model refused, failed, or answered out of form."""

    code = "llm"
    _retryable = True


class AgentError(Failure):
    """An agent's loop could not go on."""

    code = "agent"


class ConversationMemoryError(Failure):
    """A conversation's memory could not be kept or read (``MemoryError`` is Python's)."""

    code = "memory"


class ToolError(Failure):
    """A tool or an effect failed, or was not allowed."""

    code = "tool"


class VectorStoreError(Failure):
    """A vector store failed."""

    code = "vector_store"
    _retryable = True


class DocumentLoaderError(Failure):
    """A document could not be loaded."""

    code = "document_loader"


class EmbeddingError(Failure):
    """A text could not be embedded."""

    code = "embedding"
    _retryable = True


class RunnableError(Failure):
    """A run ended other than by finishing."""

    code = "runnable"


class ParsingError(Failure):
    """A text was not of the form asked for."""

    code = "parsing"


class NetworkError(Failure):
    """The other side was not reached, or did not answer in time."""

    code = "network"
    _retryable = True


class ConfigurationError(Failure):
    """What a build refuses: the program is wrong before it runs."""

    code = "configuration"


class ValidationError(Failure):
    """A write, an input or an answer was refused."""

    code = "validation"


class InternalError(Failure):
    """A store failed, or this library broke a promise of its own."""

    code = "internal"


Error: TypeAlias = (
    LLMError
    | AgentError
    | ConversationMemoryError
    | ToolError
    | VectorStoreError
    | DocumentLoaderError
    | EmbeddingError
    | RunnableError
    | ParsingError
    | NetworkError
    | ConfigurationError
    | ValidationError
    | InternalError
)
"""The closed union of the thirteen, for ``match``; with ``assert_never`` the checker proves that none is forgotten."""

THIRTEEN: tuple[type[Failure], ...] = (
    LLMError,
    AgentError,
    ConversationMemoryError,
    ToolError,
    VectorStoreError,
    DocumentLoaderError,
    EmbeddingError,
    RunnableError,
    ParsingError,
    NetworkError,
    ConfigurationError,
    ValidationError,
    InternalError,
)
"""The same thirteen as values."""


# ToolError: effects


class EffectDenied(ToolError):
    """The policy, a missing authority, or a freeze forbade the effect; nothing was sent."""

    code = "effect_denied"


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


class NodeTimeoutError(RunnableError):
    """A node ran past its limit; what it wrote is discarded."""

    code = "node_timeout"
    _retryable = True


class NodeCancelledError(RunnableError):
    """A node's own code raised CancelledError though nobody cancelled the run."""

    code = "node_cancelled"


class RunCancelled(RunnableError):
    """The run was cancelled from outside, for instance by the policy ``cancel``."""

    code = "run_cancelled"


class ThreadBusy(RunnableError):
    """Another run holds this thread."""

    code = "thread_busy"
    _retryable = True


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


class EmptyInputError(ValidationError):
    """A run was started with nothing to run on."""

    code = "empty_input"


class InvalidThreadId(ValidationError, ValueError):
    """A thread id must be a str, int or UUID, not empty, at most 255 characters, without control characters."""

    code = "invalid_thread_id"


class UnknownQuestion(ValidationError):
    """No open question of this thread has that id."""

    code = "unknown_question"


class AlreadyAnswered(ValidationError):
    """This question has its answer; the second one was not taken."""

    code = "already_answered"


class QuestionChanged(ValidationError):
    """A re-entered node asked something else under the id that was answered."""

    code = "question_changed"


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
    """Every code of this library and its class."""
    return {kind.code: kind for kind in _family(Failure) if kind.__module__ == __name__}


class ForeignException(Exception):
    """An exception that is not ours, remembered by name and text only (read back from JSON)."""


def from_json(told: Mapping[str, Any]) -> Failure:
    """The error that ``to_json`` described; an unknown code becomes an InternalError that names it."""
    kind = known_codes().get(str(told.get("code")))
    details = {str(k): str(v) for k, v in (told.get("details") or {}).items()}
    if kind is None:
        kind, details = InternalError, {**details, "unknown_code": str(told.get("code"))}
    cause: BaseException | None = None
    if (inner := told.get("cause")) is not None:
        if inner.get("code") == "exception":
            cause = ForeignException(f"{inner.get('type')}: {inner.get('message')}")
        else:
            cause = from_json(inner)
    return kind(
        str(told.get("message", "")),
        component=str(told.get("component", "")),
        operation=str(told.get("operation", "")),
        details=details,
        retryable=bool(told.get("retryable", False)),
        cause=cause,
        timestamp=datetime.fromisoformat(str(told["timestamp"])) if told.get("timestamp") else None,
    )


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint for a wrong name: `` Did you mean 'x'?``, else the valid names, else nothing."""
    known = sorted(set(valid))
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f" Did you mean {close[0]!r}?"
    if known:
        shown = ", ".join(repr(k) for k in known[:8])
        return f" Valid: {shown}{', …' if len(known) > 8 else ''}."
    return ""
