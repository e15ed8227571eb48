"""The thirteen kinds of error, and their closed union."""

from __future__ import annotations

from typing import TypeAlias, get_args

from lawful.core.failure import Failure


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

THIRTEEN: tuple[type[Failure], ...] = get_args(Error)
"""The same thirteen as values."""
