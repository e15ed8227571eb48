"""What one call of a compiled graph may say beside its input and config; an unknown keyword is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lawful.core.errors import ConfigurationError, nearest
from lawful.core.questions import Principal
from lawful.graph.control import RunControl
from lawful.graph.policies import NO_LIMITS, Limits

BUSY: Final = ("queue", "reject", "cancel", "fork")
"""What a run may do about a thread that another run holds."""


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
        if control is not None and not isinstance(control, RunControl):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong("control", "a RunControl", control)
        if limits is not None and not isinstance(limits, Limits):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong("limits", "a Limits", limits)
        if busy not in BUSY:
            raise wrong("busy", f"one of {', '.join(BUSY)}", busy)
        if isinstance(busy_timeout, bool) or not isinstance(busy_timeout, (int, float)) or not busy_timeout >= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong("busy_timeout", "seconds, 0 or more", busy_timeout)
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


_NONE: Final = Options()
_NAMES: Final = frozenset(Options.__init__.__kwdefaults__ or ())


def options_of(told: Mapping[str, Any]) -> Options:
    """The options of a call by their names. Raises: ConfigurationError (a TypeError for an unknown name)."""
    if not told:
        return _NONE
    for name in told:
        if name not in _NAMES:
            raise UnknownOption(name)
    return Options(**told)


class UnknownOption(ConfigurationError, TypeError):
    """A keyword that no call takes."""

    def __init__(self, name: str) -> None:
        known = (*_NAMES, "version", "stream_mode", "print_mode", "debug", "subgraphs")
        super().__init__(
            f"A run takes no option {name!r}.{nearest(name, known)}",
            component="graph",
            operation="options",
            details={"option": name},
        )


def wrong(name: str, wanted: str, given: object) -> ConfigurationError:
    """The error for an option of another kind than it must be."""
    return ConfigurationError(
        f"{name} must be {wanted}, got {given!r:.100}",
        component="graph",
        operation="options",
        details={"option": name},
    )
