"""What a person may say to a tool call that waits: yes, yes with other arguments, no, or an answer in the tool's place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from msgspec import Struct

from lawful.core.errors import ValidationError, nearest
from lawful.core.questions import Approved

ACTIONS = ("approve", "edit", "reject", "respond")


class Approve(Struct, frozen=True):
    """Run it as it stands."""


class Edit(Struct, frozen=True):
    """Run it with these arguments; with another tool's name it is asked about anew."""

    args: dict[str, Any]
    tool: str | None = None


class Reject(Struct, frozen=True):
    """Do not run it; the model is told so."""

    reason: str = ""


class Respond(Struct, frozen=True):
    """Do not run it, and give the model this in place of its result."""

    content: Any


Verdict: TypeAlias = Approve | Edit | Reject | Respond


def verdict_of(answer: Any) -> Verdict:
    """Read an answer: a yes or no, or a dict such as ``{"action": "edit", "args": {...}}``.

    Raises: ValidationError, naming the nearest action.
    """
    if isinstance(answer, (Approve, Edit, Reject, Respond)):
        return answer
    if isinstance(answer, Approved):
        return Approve() if answer.granted else Reject(answer.reason)
    if isinstance(answer, bool):
        return Approve() if answer else Reject()
    if isinstance(answer, Mapping):
        return _of_mapping(cast("Mapping[str, Any]", answer))
    raise _unfit(answer, f"expected True, False or a dict with an action: {', '.join(ACTIONS)}")


def _of_mapping(told: Mapping[str, Any]) -> Verdict:
    action = told.get("action")
    match action:
        case "approve":
            return Approve()
        case "edit":
            args, tool = told.get("args"), told.get("tool")
            if not isinstance(args, dict) or not isinstance(tool, str | None):
                raise _unfit(told, "an edit names its arguments: {'action': 'edit', 'args': {...}}")
            return Edit(cast("dict[str, Any]", args), tool)
        case "reject":
            return Reject(str(told.get("reason", "")))
        case "respond":
            if "content" not in told:
                raise _unfit(told, "a response has content: {'action': 'respond', 'content': ...}")
            return Respond(told["content"])
        case _:
            raise _unfit(told, f"there is no action {action!r}.{nearest(str(action), ACTIONS)}")


def _unfit(answer: Any, why: str) -> ValidationError:
    return ValidationError(f"{answer!r:.100} answers no tool call: {why}", component="tools", operation="answer")
