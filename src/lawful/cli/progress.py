"""A run as it goes, told line by line, and where it stands when it has ended or paused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from lawful.cli.console import short, step
from lawful.cli.update_graph import NAME, Found, Stopped
from lawful.cli.update_rules import Checked, Edit, Pin, Proposed, Scoped
from lawful.core.questions import Question, Reply
from lawful.effects.branch_commit import Committed
from lawful.effects.references import Pull
from lawful.graph import Command, CompiledStateGraph

_NOTHING = "done"
_ID = re.compile(r"^[0-9a-f]{32} (?=by )")


class Standing(Struct, frozen=True):
    """Where a thread stands."""

    values: dict[str, Any]
    """By key; a state that is one bare value is under "state"."""
    waiting: tuple[str, ...]
    """Nodes that still have to run; empty at the end."""
    asked: tuple[Question, ...]
    """Open questions of people; an unknown outcome is none."""
    unknown: tuple[Question, ...]
    """Effects whose outcome nobody knows."""
    errors: tuple[str, ...]
    """What failed tasks raised."""

    @property
    def stopped(self) -> Stopped | None:
        found = self.values.get("stopped")
        return found if isinstance(found, Stopped) else None


def by_name(values: Any) -> dict[str, Any]:
    """A thread's values by key, whatever its state is."""
    return {str(key): value for key, value in values.items()} if hasattr(values, "items") else {"state": values}


def standing(graph: CompiledStateGraph[Any], thread: str) -> Standing:
    """Look at the thread, without running anything."""
    state = graph.get_state(thread)
    return Standing(
        values=by_name(state.values),
        waiting=state.next,
        asked=tuple(q for q in state.interrupts if q.kind != "effect_recovery"),
        unknown=tuple(q for q in state.interrupts if q.kind == "effect_recovery"),
        errors=tuple(str(task.error) for task in state.tasks if task.error),
    )


def advance(
    graph: CompiledStateGraph[Any],
    thread: str,
    given: Any,
    *replies: Reply,
    by: str = "",
    busy: str = "queue",
    quiet: bool = False,
) -> Standing:
    """Run the thread to its end or next pause, telling each step as it ends. Raises: whatever the run does."""
    command: Any = Command[Any](resume=list(replies)) if replies else given
    modes = ["custom", "updates"]
    for mode, chunk in graph.stream(command, stream_mode=modes, thread=thread, by=by, busy=busy):
        if quiet:
            continue
        if mode == "custom":
            _tell_custom(chunk)
        else:
            for node, update in chunk.items():
                if not node.startswith("__"):
                    _tell(graph.name, node, update)
    return standing(graph, thread)


def _tell_custom(chunk: Any) -> None:
    match chunk:
        case [str(name), str(text)]:
            step(name, text)
        case _:
            step("", short(chunk))


def _tell(graph: str, node: str, update: Any) -> None:
    if graph != NAME:
        step(node, short(update) if update is not None else "done")
        return
    found: dict[str, Any] = {**update} if isinstance(update, Mapping) else {}
    lines = told(node, found)
    step("" if node == "test" and "checked" in found else node, *lines)


def told(node: str, found: Mapping[str, Any]) -> list[str]:
    """What one step of the demo found out, in words."""
    match found:
        case {"stopped": Stopped(why=why), **rest}:
            return [*(text for text in told(node, rest) if text != _NOTHING), f"stopped: {why}"]
        case {"pins": pins}:
            known: tuple[Pin, ...] = pins
            return [_pinned(pin, str(found.get("base", ""))) for pin in known]
        case {"proposed": Proposed(summary, by, edits)}:
            return [f"{summary} (by {by})", *diff(edits)]
        case {"scoped": Scoped() as scoped}:
            return [f"allowed: nothing changes but the pinned version, in {', '.join(scoped.paths)}"]
        case {"checked": Checked() as checked}:
            return _checked(checked)
        case {"judged": judged}:
            return [_found(each) for each in judged.findings]
        case {"approved_by": str(who)}:
            return [f"yes, by {who}"]
        case {"committed": Committed(branch, commit)}:
            return [f"branch {branch} holds commit {commit[:12]}"]
        case {"published": Pull(number, url)}:
            return [f"pull request #{number} is open: {url}"]
        case _:
            return [_NOTHING]


def _pinned(pin: Pin, base: str) -> str:
    return f"{pin.path}, line {pin.line}, pins {pin.name} {pin.version} (commit {base[:12]})"


def _checked(checked: Checked) -> list[str]:
    passed = all(each.verdict for each in checked.evidence if each.kind == "tests")
    last = f": {checked.last}" if checked.last else ""
    return [
        f"{'passed' if passed else 'FAILED'} in {checked.seconds:.1f} s{last}",
        f"evidence about exactly commit {checked.commit[:12]}, which no branch has yet",
    ]


def _found(each: Found) -> str:
    return f"{'yes ' if each.holds else 'open'} {each.rule}: {_ID.sub('', each.why)}"


def diff(edits: Sequence[Edit]) -> list[str]:
    """A patch as its removed and added lines."""
    lines: list[str] = []
    for edit in edits:
        lines.append(f"    {edit.path}:{edit.line}")
        lines += [f"    {sign} {text}" for sign, text in (("-", edit.before), ("+", edit.after)) if text]
    return lines
