"""Errors are matched by class; what is not named goes on."""

from __future__ import annotations

from lawful.core.errors import Error, NetworkError, ToolError, ValidationError


def advice(error: Error) -> str:
    match error:
        case NetworkError(message=message):
            return f"try again: {message}"
        case ToolError(details=facts):
            return f"look at {facts['tool']}"
        case _:
            return error.code


print(advice(NetworkError("no reply")))
print(advice(ToolError("refused", details={"tool": "mail"})))
print(advice(ValidationError("not a date")))

# prints: try again: no reply
# prints: look at mail
# prints: validation
