"""Pure: what is next on a thread of LangGraph's, and which of its channels and writes are values here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from lawful.compat.envelope import Delta
from lawful.compat.tables import StoredCheckpoint, StoredWrite
from lawful.graph.command import START, Send
from lawful.graph.policies import stored_timeout
from lawful.graph.program import Node, Program

SENDS = "__pregel_tasks"
BRANCH = "branch:to:"
JOIN = "join:"
HIDDEN = frozenset({"__no_writes__", "__return__", "__scheduled__", "__error__", "__error_source_node__"})


class Plan:
    """The tasks that a checkpoint's channels and versions say are next."""

    def __init__(self, row: StoredCheckpoint, sends: Sequence[Send], program: Program | None) -> None:
        told = row.checkpoint
        self._versions: Mapping[str, Any] = told["channel_versions"]
        self._seen: Mapping[str, Mapping[str, Any]] = told.get("versions_seen") or {}
        values: Mapping[str, Any] = told["channel_values"]
        self.tasks: list[list[Any]] = []
        if program is not None and program.direct:
            names = [n for n, node in program.nodes.items() if n != START and self._due(node, values)]
            self.tasks += [[name, -1] for name in sorted(names)]
            return
        if START in values and self._new(START, START):
            self.tasks.append([START, -1, values[START]])
            return
        going: set[str] = set()
        for channel, value in values.items():
            name = _target(channel, value)
            if name is not None and self._new(channel, name):
                going.add(name)
        self.tasks += [[name, -1] for name in sorted(going)]
        self.tasks += [[s.node, n, s.arg, stored_timeout(s.timeout)] for n, s in enumerate(sends)]

    def _due(self, node: Node, values: Mapping[str, Any]) -> bool:
        return any(channel in values and self._new(channel, node.name) for channel in node.triggers)

    def _new(self, channel: str, node: str) -> bool:
        """Whether the node has not seen the channel's version."""
        now, seen = self._versions.get(channel), self._seen.get(node, {}).get(channel)
        return now is not None and (seen is None or now > seen)


def _target(channel: str, value: Any) -> str | None:
    """The node that a channel sets off, if it can be read."""
    if channel.startswith(BRANCH):
        ended = not isinstance(value, list | tuple) or bool(cast("Sequence[Any]", value)[-1])
        return channel.removeprefix(BRANCH) if ended else None
    if not channel.startswith(JOIN):
        return None
    sources, _, name = channel.removeprefix(JOIN).rpartition(":")
    if isinstance(value, list | tuple):  # of a deferred node: the sources, and whether all else has ended
        come, ended = cast("Sequence[Any]", value)
        return name if ended and set(come) >= set(sources.split("+")) else None
    return name if set(value) >= set(sources.split("+")) else None


def is_state(channel: str, value: Any, row: StoredCheckpoint, program: Program | None) -> bool:
    """Whether its value is kept here too; plain triggers are tasks, and inputs are one."""
    if program is not None and program.direct:
        return channel in program.channels
    if channel in (START, SENDS, "__interrupt__") or channel.startswith(("__pregel", "start:")):
        return False
    if channel.startswith("branch:"):
        return _deferred(channel, value)
    # Before there were triggers, a node that had run was told by a channel of its name.
    return not (value == channel and channel in (row.checkpoint.get("versions_seen") or {}))


def _deferred(channel: str, value: Any) -> bool:
    """Whether a trigger's value also says if all other work has ended."""
    pair = cast("Sequence[Any]", value)
    return (
        channel.startswith((BRANCH, JOIN))
        and isinstance(value, list | tuple)
        and len(pair) == 2
        and type(pair[1]) is bool
    )


def value_of(channel: str, value: Any) -> Any:
    if _deferred(channel, value):
        return tuple(value)
    return value.value if isinstance(value, Delta) else value


def body_of(given: Sequence[StoredWrite], program: Program | None) -> list[Any]:
    """A finished task's writes, as our engine saves them."""
    writes: list[tuple[str, Any]] = []
    targets: list[str] = []
    sends: list[Any] = []
    for write in given:
        if write.channel == SENDS:
            sends.append([write.value.node, write.value.arg, stored_timeout(write.value.timeout)])
        elif write.channel.startswith(BRANCH) and (program is None or write.channel not in program.channels):
            targets.append(write.channel.removeprefix(BRANCH))
        elif write.channel not in HIDDEN and write.index >= 0:
            writes.append((write.channel, write.value))
    if program is not None and program.acceptor is not None and program.acceptor.prepares:
        program.acceptor.prepare(writes)
    return [writes, targets or None, sends or None]


def parents_in(row: StoredCheckpoint) -> Mapping[str, str]:
    """By the namespaces around a nested graph's checkpoint, the checkpoints that these stood at."""
    return row.metadata.get("parents") or {}
