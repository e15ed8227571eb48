"""What is known of a node that ran past a limit, read from an error's details, so that it survives being stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal


class TimedOut:
    """The fields of a node's time-out; seconds throughout."""

    @property
    def details(self) -> Mapping[str, str]:
        """The error's facts, as text."""
        raise NotImplementedError

    def _seconds(self, name: str) -> float | None:
        told = self.details.get(name)
        return None if told is None else float(told)

    @property
    def node(self) -> str:
        """Which node."""
        return self.details.get("node", "")

    @property
    def kind(self) -> Literal["run", "idle"]:
        """Which limit: that of the whole attempt, or that of its silence."""
        return "idle" if self.details.get("kind") == "idle" else "run"

    @property
    def elapsed(self) -> float:
        """How long the attempt had run, or had been silent."""
        return self._seconds("elapsed") or 0.0

    @property
    def run_timeout(self) -> float | None:
        """The limit of a whole attempt, if there was one."""
        return self._seconds("run_timeout")

    @property
    def idle_timeout(self) -> float | None:
        """The limit of silence, if there was one."""
        return self._seconds("idle_timeout")

    @property
    def timeout(self) -> float:
        """The limit that was passed."""
        return (self.idle_timeout if self.kind == "idle" else self.run_timeout) or 0.0
