"""`part`: a stretch of a node's own work that is told as one, so that traces, logs and metrics show it by its name."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from lawful.core import events as ev
from lawful.core.context import current_task
from lawful.core.messages import fresh_id
from lawful.core.teller import code_of
from lawful.core.telling import tell


class part:
    """``with part("parse"): ...`` in a node: it begins and ends in every trace and log, an error is told and raised.

    Parts lie inside each other as the code does. Outside a run, or where nobody listens, it does nothing.
    """

    __slots__ = ("_slot", "_span", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._span = fresh_id()
        self._slot = None

    def __enter__(self) -> Self:
        tell(ev.TaskStarted(self.name, self._span))
        slot = self._slot = current_task.get()  # pyright: ignore[reportAttributeAccessIssue]
        if slot is not None:
            slot.inside = (*slot.inside, ("task", self._span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        slot = self._slot
        if slot is not None:
            slot.inside = tuple(one for one in slot.inside if one[1] != self._span)
        if error is None:
            tell(ev.TaskEnded(self.name, self._span))
        else:
            tell(ev.TaskFailed(self.name, self._span, code_of(error), str(error)))
