"""Which checkpoints retention drops, and which it must keep out of sight because kept ones are built on them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Line(Struct, frozen=True):
    """What retention must know of one checkpoint."""

    id: str
    parent: str | None
    step: int
    at: float
    whole: bool
    """Whether it has a snapshot."""
    hidden: bool


class Plan(Struct, frozen=True):
    """Ids of one namespace."""

    drop: tuple[str, ...]
    """To be deleted."""
    hide: tuple[str, ...]
    """To be kept out of sight from now on."""
    count: int
    """How many visible ones go."""


def plan(
    lines: Sequence[Line], *, now: float, keep_last: int, keep_every: int | None, older_than: float | None
) -> Plan:
    """The plan for one namespace, whose ``lines`` come in the order of ids."""
    deadline = None if older_than is None else now - older_than
    shown = [line for line in lines if not line.hidden]
    keep = {line.id for line in shown[-keep_last:]}
    keep.update(line.id for line in shown if _spared(line, keep_every, deadline))
    by_id = {line.id: line for line in lines}
    needed: set[str] = set()
    for id in keep:
        line = by_id[id]
        while not line.whole and line.parent is not None and line.parent not in needed:
            if line.parent not in by_id:  # damaged; reading it says so
                break
            needed.add(line.parent)
            line = by_id[line.parent]
    return Plan(
        drop=tuple(line.id for line in lines if line.id not in keep and line.id not in needed),
        hide=tuple(line.id for line in shown if line.id not in keep and line.id in needed),
        count=len(shown) - len(keep),
    )


def _spared(line: Line, keep_every: int | None, deadline: float | None) -> bool:
    if keep_every is not None and line.step % keep_every == 0:
        return True
    return deadline is not None and line.at >= deadline
