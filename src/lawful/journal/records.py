"""What is written down: checkpoints, task writes, answers, leases, operations and their events; bytes and plain facts only.

Values reach a journal already encoded: only the graph and effects floors hold codecs, so a store never builds an object
from what it reads. A *chunk* is a content-addressed piece (16-byte digest) that blobs refer to in ``refs``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Source: TypeAlias = Literal["input", "loop", "update", "fork"]

ANY_HEAD = "*"
"""As ``expect``: build on whatever is newest."""


class Checkpoint(Struct, frozen=True):
    """Where one namespace of a thread stood after a superstep.

    Its values are: those of ``snapshot`` if there is one, else those of the parent with ``delta`` folded in.
    """

    ns: str
    """Namespace: "" for the root graph, "node:taskid|..." for subgraphs."""
    id: str
    """36 characters, a time-ordered UUID; greater than every earlier id of this namespace."""
    parent: str | None
    """The checkpoint it was made from, in the same namespace."""
    step: int
    """-1 for the input, then 0, 1, 2..."""
    source: Source
    at: float
    """Seconds since 1970 UTC."""
    head: bytes
    """What the engine needs to go on: tasks, changed channels, counters; opaque here."""
    delta: bytes = b""
    """The writes that led here from the parent, in the order they were applied; opaque here."""
    snapshot: bytes | None = None
    """All values, if this checkpoint holds them whole."""
    weight: int = 0
    """Bytes of deltas since the last snapshot, as the snapshot rule charges them."""
    refs: tuple[bytes, ...] = ()
    """Digests of the chunks that ``delta`` and ``snapshot`` refer to."""
    metadata: Mapping[str, Any] = {}
    """JSON scalars by name: what history can be filtered by."""


class TaskWrites(Struct, frozen=True):
    """What one task of an unfinished step has done so far; a later record of the same task replaces it."""

    ns: str
    checkpoint: str
    """The checkpoint that the task runs from."""
    task: str
    kind: Literal["done", "error", "asked"]
    blob: bytes
    refs: tuple[bytes, ...] = ()


class Answer(Struct, frozen=True):
    """The answer to one question; accepted once."""

    ns: str
    checkpoint: str
    """The checkpoint that the asking task runs from."""
    question: str
    blob: bytes
    by: str = ""
    """Who answered: a principal's id as the host gave it."""
    at: float = 0.0


class Lease(Struct, frozen=True):
    """The right to write to one thread."""

    thread: str
    owner: str
    """One run, as ``process token/run id``."""
    fence: int
    """Grows with every new holder of the thread's lease; a commit under an older one is refused."""
    expires: float
    """Seconds since 1970 UTC, by the store's clock."""


class Busy(Struct, frozen=True):
    """Who holds the lease that was asked for."""

    owner: str
    expires: float


class PutCheckpoint(Struct, frozen=True):
    """Add a checkpoint. ``expect`` is the id of the newest one of that namespace, None for "there is none", or ANY_HEAD."""

    checkpoint: Checkpoint
    expect: str | None = ANY_HEAD


class PutWrites(Struct, frozen=True):
    """Add or replace one task's writes."""

    writes: TaskWrites


class DropWrites(Struct, frozen=True):
    """Forget the writes of a step that is closed: the next checkpoint's delta holds them."""

    ns: str
    checkpoint: str


class PutChunks(Struct, frozen=True):
    """Store pieces under their digests; those already there stay as they are."""

    chunks: Mapping[bytes, bytes]


class PutAnswer(Struct, frozen=True):
    """Accept an answer, once: a second one for the same (ns, checkpoint, question) refuses the whole batch."""

    answer: Answer


Record: TypeAlias = PutCheckpoint | PutWrites | DropWrites | PutChunks | PutAnswer


class Batch(Struct, frozen=True):
    """What one run commits at once: all of it or nothing."""

    thread: str
    records: tuple[Record, ...]
    lease: Lease | None = None
    """Refuse the batch unless this lease's fence is still the thread's."""
    durable: bool = False
    """Must survive a power cut, not only the process (a store's FULL)."""
    release: bool = False
    """Give the lease up in the same transaction."""


class Chain(Struct, frozen=True):
    """All that is needed to rebuild one checkpoint's values and to go on from it."""

    rows: tuple[Checkpoint, ...]
    """From the nearest checkpoint with a snapshot (or the first of all) down to the one asked for, which is last."""
    writes: tuple[TaskWrites, ...]
    """Writes of the unfinished step of the last row."""
    answers: tuple[Answer, ...]
    """Answers to questions asked from the last row."""
    chunks: Mapping[bytes, bytes]
    """Every chunk that ``rows`` and ``writes`` refer to."""

    @property
    def tip(self) -> Checkpoint:
        return self.rows[-1]


class ThreadInfo(Struct, frozen=True):
    """One thread, as listings show it."""

    thread: str
    lineage: str
    """The thread this one was copied from at first, or itself."""
    created: float
    updated: float
    graph: str = ""
    """The name of the graph that last wrote to its root namespace: ``_graph`` in its checkpoints' metadata."""


class Operation(Struct, frozen=True):
    """Where one intended effect stands: the fold of its events, kept beside them for queries."""

    op_id: str
    tool: str
    state: str
    """The name of the operation's state, as effects/transitions.py gives it."""
    version: int
    """How many events it has."""
    lineage: str = ""
    thread: str = ""
    key: str = ""
    """The business key, if any."""
    args_hash: str = ""
    claimed_at: float | None = None
    lease_until: float | None = None
    labels: Mapping[str, Any] = {}
    """JSON scalars that aggregates read."""
    updated: float = 0.0


class EffectEvent(Struct, frozen=True):
    """One fact about an operation; never changed, never deleted while the operation is."""

    op_id: str
    seq: int
    """1, 2, 3... without a gap."""
    kind: str
    at: float
    """By the store's clock."""
    blob: bytes
    """Canonical JSON of the event."""
    digest: bytes
    """sha256 over the previous event's digest and this event: the operation's hash chain."""
