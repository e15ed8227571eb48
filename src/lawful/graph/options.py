"""What one call of a compiled graph may say beside its input and config; an unknown keyword is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lawful.core.questions import Principal
from lawful.graph.control import RunControl
from lawful.graph.policies import NO_LIMITS, Limits


class Options:
    """What one call may say beside input and config."""

    __slots__ = (
        "after", "before", "busy", "busy_timeout", "by", "context", "control", "durability", "limits", "on_event",
        "output_keys", "thread",
    )  # fmt: skip

    def __init__(
        self,
        *,
        context: Any = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        durability: str | None = None,
        thread: Any = None,
        busy: str = "queue",
        busy_timeout: float = 30.0,
        by: Principal | str = "",
        on_event: Any = None,
        control: RunControl | None = None,
        limits: Limits | None = None,
        output_keys: str | Sequence[str] | None = None,
    ) -> None:
        self.context = context
        self.before = interrupt_before
        self.after = interrupt_after
        self.durability = durability
        self.thread = thread
        self.busy = busy
        self.busy_timeout = busy_timeout
        self.by = by
        self.on_event = on_event
        self.control = control
        self.limits = limits or NO_LIMITS
        self.output_keys = output_keys
