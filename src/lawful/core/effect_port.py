"""What the graph knows of effects: that some things its nodes name can settle what an earlier run of a thread left open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from lawful.core.context import Run


@runtime_checkable
class EffectPort(Protocol):
    """One kind of effect, as far as the graph cares."""

    tool: str

    @property
    def told(self) -> str:
        """What it promises, in words."""
        ...

    @property
    def opaque(self) -> bool:
        """Whether a crash in the wrong moment is a person's to settle."""
        ...

    def recover_thread(self, run: Run, effects: Sequence[EffectPort]) -> None:
        """Look up what earlier runs of ``run``'s thread left without an outcome and settle what the rules allow; sends nothing.

        ``effects`` are all that the graph's nodes name. Called before the run's first task, in a thread without a loop.
        """
        ...
