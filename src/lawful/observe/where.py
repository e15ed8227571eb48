"""Inside what a thing begins: the attempt of a node, and in it the tool or part that is under way."""

from __future__ import annotations

from collections.abc import Collection

from lawful.core import events as ev
from lawful.core.context import current_task
from lawful.core.event_rules import Key, bracket


def around(known: Collection[Key], event: ev.Event) -> list[Key]:
    """Keys of what is around ``event``, the innermost first, as far as they are ``known``.

    Called while the event is told, in the thread where it arose, so that the running attempt is known. Where it is not
    (a thread of a program's own), the run is all that is known.
    """
    found: list[Key] = []
    slot = current_task.get()
    while slot is not None and not isinstance(event, ev.NodeStarted):
        run = slot.run.run_id
        if run in (event.run_id, event.parent_run_id):
            for kind, span in reversed(slot.inside):
                found.extend(_latest(known, (kind,), run, span))
            found.extend(_latest(known, ("node", "task"), run, getattr(slot, "id", "")))
            break
        slot = slot.holder  # a nested run that begins has not set an attempt of its own yet
    if not isinstance(event, ev.RunStarted):
        found.append(("run", event.run_id, ""))
    if event.parent_run_id is not None:
        found.append(("run", event.parent_run_id, ""))
    return [key for key in found if key in known and key != bracket(event)]


def _latest(known: Collection[Key], kinds: tuple[str, ...], run: str, span: str) -> list[Key]:
    """What bears this span, or this span with a number: a repeated one, or an attempt of a task."""
    if not span:
        return []
    mark = f"{span}#"
    return [key for key in known if key[0] in kinds and key[1] == run and (key[2] == span or key[2].startswith(mark))][
        -1:
    ]
