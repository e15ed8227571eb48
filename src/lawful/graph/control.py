"""How a run is asked, from outside or from a node, to stop once its step has ended."""

from __future__ import annotations


class RunControl:
    """Pass it as ``control=`` to one run and keep it; safe to use from any thread and from signal handlers."""

    __slots__ = ("_reason",)

    def __init__(self) -> None:
        self._reason: str | None = None

    def request_drain(self, reason: str = "shutdown") -> None:
        """Let the running step end and be saved, then stop. The first reason counts."""
        if self._reason is None:
            self._reason = reason

    @property
    def drain_requested(self) -> bool:
        """Whether the run was asked to stop."""
        return self._reason is not None

    @property
    def drain_reason(self) -> str | None:
        """Why, or None."""
        return self._reason
