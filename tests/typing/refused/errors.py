"""A match over the errors that forgets one is refused where it claims to be complete."""

from __future__ import annotations

from typing import assert_never

from lawful.core.errors import (
    AgentError,
    ConfigurationError,
    ConversationMemoryError,
    DocumentLoaderError,
    EmbeddingError,
    Error,
    InternalError,
    LLMError,
    NetworkError,
    ParsingError,
    RunnableError,
    ValidationError,
    VectorStoreError,
)


def advice(error: Error) -> str:
    match error:
        case LLMError() | NetworkError() | VectorStoreError() | EmbeddingError():
            return "try again"
        case ConfigurationError() | ValidationError() | ParsingError():
            return "mend the program or its input"
        case AgentError() | RunnableError() | ConversationMemoryError() | DocumentLoaderError() | InternalError():
            return "look at it"
        case _:
            assert_never(error)  # expect: "ToolError" is not assignable to type "Never"
