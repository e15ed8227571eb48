"""A server's answer as a value: text, JSON, or blocks of content as they came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct


class Answer(Struct, frozen=True):
    """What a call of a tool gave."""

    content: tuple[dict[str, Any], ...]
    """The blocks as the protocol has them: text, image, audio, resource, resource_link."""
    structured: Any = None
    """The JSON value beside them, if there is one."""

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return text_of(self.content)

    @property
    def value(self) -> Any:
        """What a program or a model wants of it: the JSON value, else the text, else the blocks."""
        if self.structured is not None:
            return self.structured
        if all(block.get("type") == "text" for block in self.content):
            return self.text
        return list(self.content)


def text_of(content: Sequence[dict[str, Any]]) -> str:
    """The text blocks, joined by newlines."""
    return "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")


def plain(model: Any) -> dict[str, Any]:
    """A message of the protocol as its JSON."""
    return cast("dict[str, Any]", model.model_dump(mode="json", by_alias=True, exclude_none=True))


def receipt_of(result: Any) -> dict[str, Any]:
    """A tool's result as JSON that a ledger can keep: content, structured, is_error."""
    return {
        "content": [plain(block) for block in result.content],
        "structured": result.structured_content,
        "is_error": bool(result.is_error),
    }


def answer_of(receipt: dict[str, Any]) -> Answer:
    """The answer in a receipt, whether it tells of an error or not."""
    return Answer(tuple(receipt["content"]), receipt["structured"])
