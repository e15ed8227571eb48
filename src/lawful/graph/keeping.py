"""Pure: with durability "exit", what of a run is not yet noted for its journal, and what of that outlives the run."""

from __future__ import annotations

from typing import Any, Protocol

from lawful.graph.step_task import Task


class Place(Protocol):
    """Where a run stands."""

    checkpoint: str
    parent: str | None


class Held:
    """What a run that stores at its exit holds back: intermediate checkpoints never exist, so only the newest counts."""

    __slots__ = ("source", "tasks", "transient")

    def __init__(self) -> None:
        self.source: Any = None
        """The source of the checkpoint that the run stands on, while that is not stored; else None."""
        self.tasks: list[Task] = []
        """Finished tasks of the unfinished step."""
        self.transient = False
        """Whether nothing is kept of a run that comes to its end: a plain subgraph's."""

    def parent(self, at: Place) -> str | None:
        """What the checkpoint that follows was made from: a stored one."""
        return at.checkpoint if self.source is None else at.parent

    def hold(self, source: Any) -> None:
        """The run stands on another checkpoint now; what was held of the one before is part of its values."""
        self.source, self.tasks = source, []
