"""How what a caller writes becomes a request: the forms that are accepted, and what is refused before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from lawful.core.errors import ParsingError, ValidationError, nearest
from lawful.core.message_forms import conversation
from lawful.core.messages import Message
from lawful.models.transcript import must_be_closed
from lawful.models.values import Only, OutputSpec, Request, ToolChoice, ToolSpec

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def request_of(
    prompt: Any, tools: Sequence[ToolSpec] = (), tool_choice: ToolChoice = "auto", output: OutputSpec | None = None
) -> Request:
    """The request, checked.

    Raises: ParsingError for what is no message; ValidationError for an empty or open conversation, a tool's name that no
    provider takes or that two tools have, and a choice of a tool that is not among them.
    """
    if isinstance(prompt, Request):
        request = prompt
        if tools or tool_choice != "auto" or output is not None:
            raise _refuse("a Request says itself which tools and output it has: change it, or pass its messages")
    else:
        request = Request(_messages(prompt), tuple(tools), tool_choice, output)
    if not request.messages:
        raise _refuse("a model is asked at least one message")
    must_be_closed(request.messages)
    _check_tools(request)
    return request


def _messages(prompt: Any) -> tuple[Message, ...]:
    found = conversation(prompt)
    kept = tuple(message for message in found if isinstance(message, Message))
    if len(kept) < len(found):
        raise ParsingError(
            "a RemoveMessage is for add_messages, not for a model", component="models", operation="request"
        )
    return kept


def _check_tools(request: Request) -> None:
    names = [tool.name for tool in request.tools]
    for name in names:
        if not _NAME.fullmatch(name):
            raise _refuse(f"a tool's name is 1 to 64 letters, digits, _ and -, not {name!r}")
        if names.count(name) > 1:
            raise _refuse(f"two tools are named {name!r}")
    choice = request.tool_choice
    if isinstance(choice, Only) and choice.name not in names:
        raise _refuse(f"there is no tool {choice.name!r} to choose.{nearest(choice.name, names)}")
    if choice == "required" and not names:
        raise _refuse("a tool call is required, but there are no tools")


def _refuse(why: str) -> ValidationError:
    return ValidationError(why, component="models", operation="request")
