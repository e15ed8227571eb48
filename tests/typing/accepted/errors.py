"""A match over all thirteen errors needs no default."""

from __future__ import annotations

from typing import assert_never

from lawful.core.errors import (
    AgentError,
    ConfigurationError,
    ConversationMemoryError,
    DocumentLoaderError,
    EmbeddingError,
    Error,
    GraphBuildError,
    InternalError,
    LLMError,
    NetworkError,
    ParsingError,
    RunnableError,
    ToolError,
    ValidationError,
    VectorStoreError,
)


def advice(error: Error) -> str:
    match error:
        case LLMError() | NetworkError() | VectorStoreError() | EmbeddingError():
            return "try again"
        case GraphBuildError():
            return f"mend the graph: {error.message}"
        case ConfigurationError() | ValidationError() | ParsingError():
            return "mend the program or its input"
        case ToolError() | AgentError() | RunnableError() | ConversationMemoryError() | DocumentLoaderError():
            return f"look at {error.context.component}"
        case InternalError():
            return "look at the store"
        case _:
            assert_never(error)
