"""What records of a journal say, once they are read: a checkpoint's head, tasks' saved writes, a namespace's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lawful.core.questions import Question
from lawful.graph.command import Send
from lawful.graph.fingerprint import Fingerprint
from lawful.graph.program import Node
from lawful.journal.records import Checkpoint


class Head:
    """What a checkpoint says of the step that follows it."""

    __slots__ = ("finished", "fresh", "ran", "tasks")

    def __init__(self, tasks: list[list[Any]], ran: list[str], fresh: bool, finished: bool) -> None:
        self.tasks = tasks
        """[name, -1], [name, index, arg, timeout] of a Send, or ["__start__", -1, input]."""
        self.ran = ran
        """The node of each part of the delta; "" for a Command's own writes."""
        self.fresh = fresh
        self.finished = finished

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(t[0] for t in self.tasks)


class Done:
    """A task's saved writes, as `merge` reads them."""

    __slots__ = ("node", "sends", "targets", "task_node", "writes")

    def __init__(self, node: str, task_node: Node, body: Sequence[Any]) -> None:
        self.node = node
        self.task_node = task_node
        self.writes: list[tuple[str, Any]] = [(k, v) for k, v in body[0]]
        self.targets: list[str] | None = body[1]
        self.sends: list[Send] | None = [Send(n, a, t) for n, a, t in body[2]] if body[2] else None


class Saved:
    """What one task of the unfinished step had saved."""

    __slots__ = ("blob", "done", "error", "kind", "lifted", "questions", "refs")

    def __init__(self, kind: str, blob: bytes, refs: tuple[bytes, ...]) -> None:
        self.kind = kind
        self.blob = blob
        self.refs = refs
        self.done: Sequence[Any] | None = None
        self.lifted = False
        """Whether ``done`` is no longer what ``blob`` says: it was brought to the form of now."""
        self.questions: tuple[Question, ...] = ()
        self.error: Mapping[str, Any] = {}


class Restored:
    """A namespace's state at one checkpoint."""

    __slots__ = (
        "answers",
        "dropped",
        "head",
        "known",
        "merges",
        "null_parts",
        "null_refs",
        "own",
        "print",
        "row",
        "saved",
        "stuck",
        "then",
        "values",
        "visits",
    )  # fmt: skip

    def __init__(self, row: Checkpoint, head: Head, values: dict[str, Any], visits: dict[str, int]) -> None:
        self.row = row
        self.head = head
        self.values = values
        self.visits = visits
        self.saved: dict[str, Saved] = {}
        self.answers: dict[str, Any] = {}
        """Question id to [value, digest of what was asked]."""
        self.null_parts: list[bytes] = []
        self.null_refs: tuple[bytes, ...] = ()
        self.dropped: set[str] = set()
        """Channels that the record has and the graph no longer."""
        self.known: set[bytes] = set()
        self.merges: Mapping[str, Any] = {}
        """By key: the reducer that deltas after this checkpoint are folded with, unless they say otherwise."""
        self.own: list[tuple[str, Any]] = []
        """Of a nested graph: what its nodes wrote since its input."""
        self.then: bytes | None = None
        """The digest of the fingerprint that it was stored under."""
        self.print: Fingerprint | None = None
        """That fingerprint, where it is known."""
        self.stuck: frozenset[str] = frozenset()
        """Keys with unfinished writes whose form of now cannot be said."""
