"""Pure: LangGraph's checkpoints as deltas and snapshots, so that a list that grows is stored once and not at every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from lawful.core.codec import Registry, digest16
from lawful.core.errors import CorruptRecord
from lawful.journal.delta import charge, due
from lawful.journal.records import Chain, Checkpoint, TaskWrites

MARK = "langgraph"
"""The first thing in a head of these checkpoints; a graph of ours has a number there."""
FORM = 1

Print: TypeAlias = "bytes | list[bytes]"
"""What tells a stored value from another: the digest of its bytes, or those of a list's items."""
Write: TypeAlias = "tuple[int, str, Any]"
"""Index, channel, value; indexes below zero are LangGraph's special writes."""


class Pieces:
    """Collects the chunks of one encoding."""

    __slots__ = ("found", "registry")

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.found: dict[bytes, bytes] = {}

    def keep(self, data: bytes) -> bytes:
        digest = digest16(data)
        self.found[digest] = data
        return digest

    def encode(self, value: Any, where: str) -> bytes:
        """Raises: ValidationError, naming ``where`` and the class, for what no codec is registered for."""
        return self.registry.encode(value, chunk=self.keep, where=where)

    def print_of(self, value: Any, where: str) -> Print:
        """What tells the value from another; its chunks are kept as well."""
        if type(value) is list:
            items = cast("list[Any]", value)
            return [digest16(self.encode(item, f"{where}[{n}]")) for n, item in enumerate(items)]
        return digest16(self.encode(value, where))


class Held:
    """What is known of the checkpoint that the next one may be a delta on."""

    __slots__ = ("checkpoint", "known", "prints", "size", "versions", "weight")

    def __init__(self, checkpoint: str, versions: Mapping[str, Any], prints: dict[str, Print], weight: int) -> None:
        self.checkpoint = checkpoint
        self.versions = versions
        self.prints = prints
        self.weight = weight
        self.size = 0
        """What the last snapshot added to the store, in bytes."""
        self.known: set[bytes] = set()
        """Digests that the store has."""


class Fold:
    """One checkpoint made ready to be stored: as little as tells it from its parent, or whole when that is due."""

    __slots__ = ("chunks", "delta", "held", "refs", "snapshot")

    def __init__(self, registry: Registry, checkpoint: Mapping[str, Any], parent: Held | None, where: str) -> None:
        values: Mapping[str, Any] = checkpoint["channel_values"]
        versions: Mapping[str, Any] = checkpoint["channel_versions"]
        changes = Pieces(registry)
        self.delta = b""
        self.snapshot: bytes | None = None
        prints: dict[str, Print] = {}
        if parent is not None:
            self.delta = changes.encode(_changes(values, versions, parent, prints, registry, where), where)
        else:
            prints = {k: Pieces(registry).print_of(v, f"{where}[{k!r}]") for k, v in values.items()}
        known = parent.known if parent is not None else set[bytes]()
        new = sum(len(data) for digest, data in changes.found.items() if digest not in known)
        weight = (parent.weight if parent is not None else 0) + charge(len(self.delta) + new)
        self.held = Held(checkpoint["id"], dict(versions), prints, weight)
        self.held.size = parent.size if parent is not None else 0
        self.chunks = dict(changes.found)
        if parent is None or due(weight, parent.size):
            self._whole(registry, values, known, forced=parent is None, where=where)
        self.refs = tuple(self.chunks)
        known.update(self.chunks)
        self.held.known = known

    def _whole(
        self, registry: Registry, values: Mapping[str, Any], known: set[bytes], *, forced: bool, where: str
    ) -> None:
        pieces = Pieces(registry)
        made = pieces.encode(dict(values), where)
        new = sum(len(data) for digest, data in pieces.found.items() if digest not in known)
        self.held.size = len(made) + 16 * len(pieces.found) + new
        if forced or due(self.held.weight, self.held.size):
            # A snapshot is read by itself, so the delta beside it would only cost its bytes.
            self.snapshot, self.delta, self.chunks, self.held.weight = made, b"", pieces.found, 0


def _changes(
    values: Mapping[str, Any],
    versions: Mapping[str, Any],
    parent: Held,
    prints: dict[str, Print],
    registry: Registry,
    where: str,
) -> dict[str, Any]:
    """What tells ``values`` from the parent's: channels set, lists added to, channels gone; fills ``prints``."""
    put: dict[str, Any] = {}
    add: dict[str, Any] = {}
    for name, value in values.items():
        before = parent.prints.get(name)
        if before is not None and name in versions and versions[name] == parent.versions.get(name):
            prints[name] = before
            continue
        now = prints[name] = Pieces(registry).print_of(value, f"{where}[{name!r}]")
        if now == before:
            continue
        if isinstance(now, list) and isinstance(before, list) and before and now[: len(before)] == before:
            add[name] = [len(before), value[len(before) :]]
        else:
            put[name] = value
    told: dict[str, Any] = {"put": put, "add": add, "gone": [name for name in parent.prints if name not in values]}
    return {kind: each for kind, each in told.items() if each}


class Unfold:
    """Reads a chain of such checkpoints."""

    def __init__(self, registry: Registry, thread: str, chain: Chain) -> None:
        self.registry = registry
        self.thread = thread
        self.chain = chain
        self.known = set(chain.chunks)

    def decode(self, blob: bytes, what: str) -> Any:
        return self.registry.decode(blob, chunks=self.chain.chunks, where=f"thread {self.thread!r}, {what}")

    def head(self, row: Checkpoint) -> dict[str, Any]:
        """The checkpoint without its values, and ``metadata``. Raises: CorruptRecord where it is another graph's."""
        told = self.head_of(row)
        if not is_head(told) or told[1] != FORM:
            raise _foreign(self.thread, row)
        return dict(told[2])

    def head_of(self, row: Checkpoint) -> Any:
        return self.decode(row.head, f"checkpoint {row.id}")

    def values(self) -> dict[str, Any]:
        """The channels' values at the last row."""
        values: dict[str, Any] = {}
        for row in self.chain.rows:
            if row.snapshot is not None:
                values = self.decode(row.snapshot, f"checkpoint {row.id}")
                continue
            told = self.decode(row.delta, f"checkpoint {row.id}")
            for name, (size, more) in told.get("add", {}).items():
                values[name] = [*values[name][:size], *more]
            values.update(told.get("put", {}))
            for name in told.get("gone", ()):
                values.pop(name, None)
        return values

    def held(self) -> Held:
        """What the next checkpoint builds on."""
        row = self.chain.tip
        where = f"checkpoint {row.id}"
        prints = {k: Pieces(self.registry).print_of(v, where) for k, v in self.values().items()}
        made = Held(row.id, self.head(row)["channel_versions"], prints, row.weight)
        made.known = self.known
        whole = next((r for r in self.chain.rows if r.snapshot is not None), None)
        made.size = len(whole.snapshot or b"") + 16 * len(whole.refs) if whole is not None else 0
        return made

    def writes(self) -> list[tuple[str, str, Write]]:
        """Every write that is kept beside the last row: task path, task id, write; in the order of LangGraph."""
        found: list[tuple[str, str, Write]] = []
        for record in self.chain.writes:
            path, writes = self.record(record)
            task = record.task.partition("!")[0]
            found += [(path, task, write) for write in writes]
        found.sort(key=lambda each: (each[0], each[1], each[2][0]))
        return found

    def record(self, record: TaskWrites) -> tuple[str, list[Write]]:
        path, writes = self.decode(record.blob, f"writes of task {record.task}")
        return path, [(index, channel, value) for index, channel, value in writes]


def is_head(told: object) -> bool:
    """Whether a decoded head is one of these, and not that of a graph of ours."""
    return isinstance(told, list) and cast("list[object]", told)[:1] == [MARK]


def _foreign(thread: str, row: Checkpoint) -> CorruptRecord:
    error = CorruptRecord(
        f"Checkpoint {row.id} of thread {thread!r} was not stored through a JournalSaver: it is a graph of ours that wrote"
        " it. To see it by LangGraph's names, give the saver that graph: JournalSaver(journal, graph=...)",
        component="compat",
        operation="get_tuple",
        details={"thread": thread, "checkpoint": row.id, "ns": row.ns},
    )
    error.raw = row.head
    return error
