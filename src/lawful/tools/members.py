"""How the failure of an agent that is a tool tells what that agent had seen: an error's text may tell as much as a result."""

from __future__ import annotations

from lawful.core.errors import Failure, ToolError
from lawful.tools.facts import Facts


class MemberFailed(ToolError):
    """An agent that is a tool failed; to the caller's model, and to events, it is the error itself."""

    def __init__(self, inner: Failure, seen: Facts) -> None:
        super().__init__(inner.message, component=inner.context.component, operation="as_tool", cause=inner)
        self.inner = inner
        self.seen = seen
