"""Calls of LangGraph's tasks, found by their ids, which say where, by whom and in which order each call was made."""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from lawful.compat.envelope import Asked
from lawful.compat.planning import Plan
from lawful.compat.tables import StoredCheckpoint, StoredWrite
from lawful.core.errors import ValidationError
from lawful.core.lazy import late
from lawful.graph.calls import CallTask
from lawful.graph.command import START
from lawful.graph.functional import TaskFunction
from lawful.graph.neighbourly import named_by
from lawful.graph.persist import NULL_TASK
from lawful.graph.program import Node, Program
from lawful.graph.step_task import PULL, PUSH, Base, Task

RETURN: Final = "__return__"
MARGIN: Final = 100
"""Calls without a stored result, that may lie between two that have one."""

Groups = Mapping[tuple[str, str], Sequence[StoredWrite]]


class Call(Struct, frozen=True):
    """One call, and what it has left."""

    task: CallTask
    writes: Sequence[StoredWrite]
    depth: int


class Callers:
    """The calls of one unfinished step."""

    def __init__(self, base: Base, row: StoredCheckpoint, old: str, plan: Plan, program: Program | None) -> None:
        self.base = base
        self.row = row
        self.old = old
        self.plan = plan
        self.program = program

    def find(self, groups: Groups) -> dict[str, Call]:
        """By LangGraph's id, each call whose writes are among ``groups``; none where no node has made one.

        Raises: ValidationError for results that cannot be placed; ConfigurationError where xxhash is not installed.
        """
        left = {id: given for (id, _), given in groups.items() if id != NULL_TASK}
        if not self._made(left):
            return {}
        if self.program is None or (self.plan.tasks and self.plan.tasks[0][0] == START and not self.program.direct):
            raise unsayable(
                f"checkpoint {self.row.id} holds what calls of a @task, or an entrypoint, have left: name the graph or"
                " entrypoint whose thread it is, --graph module:name"
            )
        digest = late("xxhash", "xxh3_128_hexdigest", extra="langgraph")
        found: dict[str, Call] = {}
        for entry in self.plan.tasks:
            node = self.program.nodes.get(entry[0]) or Node.inert(entry[0])
            pulled = entry[1] < 0
            task = Task(self.base, node, entry[1], entry[2] if len(entry) > 2 else None)
            path = (PULL, entry[0]) if pulled else (PUSH, entry[1])
            search = _Search(self, digest, {t.name: t for t in tasks_of(node.fn)}, left, found)
            # Of a node with several triggers it is not known which set it off; one that has saved or asked shows its id.
            triggers = [[t] for t in node.triggers] + [sorted(node.triggers)]
            last = [(PULL, *each) for each in triggers] if pulled else [(PUSH, str(entry[1]))]
            ids = [search.id(self.old, str(entry[0]), *each) for each in last]
            ids += [id for id, given in left.items() if not any(w.channel == RETURN for w in given)]
            for id in dict.fromkeys(ids):
                search.below(task, f"{search.space(self.old, str(entry[0]))}:{id}", path, 0)
        lost = [id for id, given in left.items() if id not in found and any(w.channel == RETURN for w in given)]
        if lost:
            nodes = ", ".join(str(entry[0]) for entry in self.plan.tasks)
            raise unsayable(
                f"checkpoint {self.row.id} holds the result of a task that {nodes} is not seen to call: name tasks as they"
                " were named, and let the function refer to them by name"
            )
        return found

    def _made(self, left: Mapping[str, Sequence[StoredWrite]]) -> bool:
        if any(w.channel == RETURN for given in left.values() for w in given):
            return True
        asked = any(w.channel == "__interrupt__" for given in left.values() for w in given)
        return asked and ((self.program is not None and self.program.spawns) or self.plan.tasks[:1] == [[START, -1]])


class _Search:
    """Tries the ids that calls would have."""

    def __init__(
        self,
        of: Callers,
        digest: Any,
        known: Mapping[str, TaskFunction[..., Any]],
        left: Mapping[str, Sequence[StoredWrite]],
        found: dict[str, Call],
    ) -> None:
        self.of = of
        self.digest = digest
        self.known = known
        self.left = left
        self.found = found
        self.stamp = binascii.unhexlify(of.row.id.replace("-", ""))
        self.step = str(int(of.row.metadata.get("step", -1)) + 1)

    def below(self, parent: Task, space: str, path: tuple[Any, ...], depth: int) -> None:
        """The calls that ``parent``, of LangGraph's namespace ``space``, made, and those which these made."""
        here: list[tuple[CallTask, str, tuple[Any, ...]]] = []
        last = -1
        for index in range(len(self.left) * 2 + MARGIN):
            if len(self.found) == len(self.left) or index - last > MARGIN:
                break
            for name, function in self.known.items():
                id = self.id(space, name, PUSH, path_text(path), str(index))
                if id in self.left and id not in self.found:
                    call = CallTask(parent, function.node, ((), {}), index)
                    self.found[id] = Call(call, self.left[id], depth)
                    here.append((call, f"{space}|{name}:{id}", (PUSH, path, index, True)))
                    last = index
        for call, own, where in here:
            self.below(call, own, where, depth + 1)

    @staticmethod
    def space(old: str, name: str) -> str:
        return f"{old}|{name}" if old else name

    def id(self, old: str, name: str, *last: str) -> str:
        """The id that LangGraph gives a task of the step."""
        told: str = self.digest(self.stamp + "".join((self.space(old, name), self.step, name, *last)).encode())
        return f"{told[:8]}-{told[8:12]}-{told[12:16]}-{told[16:20]}-{told[20:]}"


def asked_in(calls: Mapping[str, Call]) -> Iterator[tuple[str, CallTask, int, Asked]]:
    """Each question that a call waits with: its id there, the call, its place, and the question; innermost calls first."""
    for call in sorted(calls.values(), key=lambda each: -each.depth):
        answers = next((w.value for w in call.writes if w.channel == "__resume__"), None)
        first = len(answers) if isinstance(answers, list) else 0  # pyright: ignore[reportUnknownArgumentType]
        told = next((w.value for w in call.writes if w.channel == "__interrupt__"), None)
        asked: list[Asked] = [each for each in told or () if isinstance(each, Asked)]
        for n, each in enumerate(asked):
            yield each.id, call.task, first + n, each


def is_within(task: Task, outer: Task) -> bool:
    """Whether a call was made, however deep, by another."""
    while isinstance(task, CallTask):
        if task is outer:
            return True
        task = task.parent
    return False


def tasks_of(fn: Any) -> list[TaskFunction[..., Any]]:
    """The tasks that a function names, and those that they name."""
    waiting: list[Any] = [fn]
    found: dict[int, TaskFunction[..., Any]] = {}
    seen: set[int] = set()
    while waiting and len(seen) < 500:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, TaskFunction):
            made = cast("TaskFunction[..., Any]", each)
            found[id(made)] = made
            waiting.append(made.func)
            continue
        waiting += [thing for thing in named_by(each) if callable(thing) and not isinstance(thing, type)]
    return list(found.values())


def path_text(part: Any) -> str:
    """A place as LangGraph's ids spell it."""
    if isinstance(part, tuple):
        return f"~{', '.join(path_text(each) for each in part)}"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return f"{part:010d}" if isinstance(part, int) else str(part)


def unsayable(why: str) -> ValidationError:
    """What of a thread cannot be said here."""
    return ValidationError(why, component="compat", operation="import")
