"""What an answer is to look like, as LangGraph's ``interrupt(..., response_schema=)`` says it: a class, or a JSON Schema."""

from __future__ import annotations

from typing import Any

from lawful.core.errors import InvalidUpdateError, ValidationError
from lawful.core.lazy import late


class AnswerRefused(ValidationError, ValueError):
    """An answer that is not of the form which its question gave; the question stays open."""


class Form:
    """The form of an answer: shown with the question, and held against the answer in the node that asks."""

    __slots__ = ("_adapter", "schema")

    def __init__(self, given: Any) -> None:
        """Raises: InvalidUpdateError, for what pydantic has no schema of."""
        self._adapter: Any = None
        self.schema: Any = given
        """JSON Schema."""
        if isinstance(given, dict):
            return
        pydantic = late("pydantic")
        try:
            self._adapter = pydantic.TypeAdapter(given)
            self.schema = self._adapter.json_schema()
        except (pydantic.PydanticUserError, pydantic.PydanticSchemaGenerationError) as error:
            raise InvalidUpdateError(
                f"interrupt(response_schema=...) takes a class that pydantic reads or a JSON Schema, not {given!r:.100}",
                component="graph",
                operation="interrupt",
            ) from error

    def take(self, answer: Any, question: str) -> Any:
        """The answer as the class it is to be of; a JSON Schema alone is only shown.

        Raises: AnswerRefused (a ValidationError and ValueError).
        """
        if self._adapter is None:
            return answer
        try:
            return self._adapter.validate_python(answer)
        except late("pydantic").ValidationError as error:
            raise AnswerRefused(
                f"Question {question} is not answered by {answer!r:.100}: {error}",
                component="graph",
                operation="interrupt",
                details={"question": question},
            ) from error
