"""Pure: a step as journal records; deltas are the writes themselves, snapshots come by the geometric rule."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from lawful.core.errors import Failure
from lawful.core.failure import clean
from lawful.core.secret import redact
from lawful.graph.asking_form import AnswerRefused
from lawful.graph.command import START, Send
from lawful.graph.fingerprint import print_of
from lawful.graph.policies import stored_timeout
from lawful.graph.program import Program
from lawful.graph.step_task import ASKED, DONE, HANDLED, Task
from lawful.journal.delta import charge, due
from lawful.journal.records import (
    Checkpoint,
    DropWrites,
    PutAnswer,
    PutCheckpoint,
    PutChunks,
    PutWrites,
    Record,
    Source,
    TaskWrites,
)

NULL_TASK: Final = "00000000-0000-0000-0000-000000000000"
"""The task id of writes that came as a graph's input (a Command), not from a node."""
HEAD_VERSION: Final = 1

pack = msgspec.msgpack.encode
Part = tuple[int, str, bytes]
"""One task's share of a delta: its place among the parent's tasks (-1: none), its node, its encoded writes."""


class Encoded:
    """What encoding one thing gave: the bytes, and the chunks they refer to."""

    __slots__ = ("blob", "new", "refs")

    def __init__(self, blob: bytes, refs: tuple[bytes, ...], new: dict[bytes, bytes] | None) -> None:
        self.blob = blob
        self.refs = refs
        self.new = new


class Recorder:
    """Makes the records of one namespace of one run."""

    def __init__(self, program: Program, ns: str, metadata: Mapping[str, Any]) -> None:
        self.program = program
        self.registry = program.registry
        self.ns = ns
        self.metadata = metadata
        self.stood: tuple[str, Mapping[str, Any]] = "", metadata
        """The checkpoint that the run goes on from, and what that was stored with: an earlier call's metadata."""
        self.of: str | None = None
        """The checkpoint that the next one is branched off, so that what ran from that belongs to another branch."""
        self.known: set[bytes] = set()
        """Digests that the store has already."""
        self.merges: Mapping[str, Any] | None = None
        """By key: the reducer that the chain's newest row says its deltas are folded with; None before the first row."""
        self.print: bytes | None = None
        """The digest of the fingerprint that the chain's newest row was made under; None before the first row."""
        self.weight = 0
        self.size = 0
        """What the last snapshot added to the store, in bytes: the estimate for the next."""
        self.notes: deque[PutAnswer] = deque()
        """What node code was told by the world and no record has taken along yet."""
        self.closing: dict[str, PutAnswer] = {}
        """Results of calls of this step, to be kept when it closes."""

    def encode(self, value: Any, where: str) -> Encoded:
        """Raises: ValidationError, naming the place, for what cannot be stored."""
        pieces: dict[bytes, bytes] = {}

        def chunk(data: bytes) -> bytes:
            digest = hashlib.blake2b(data, digest_size=16).digest()
            pieces[digest] = data
            return digest

        blob = self.registry.encode(value, chunk=chunk, where=where)
        return Encoded(blob, tuple(pieces), pieces or None)

    def noted(self, checkpoint: str) -> list[Record]:
        """The notes of the step that runs from ``checkpoint``, once; those of others belong to no stored one."""
        out: list[Record] = []
        while self.notes:
            try:
                put = self.notes.popleft()
            except IndexError:  # another thread of the step was faster
                break
            if put.answer.checkpoint == checkpoint:
                out.append(put)
        return out

    # One task

    def seal(self, task: Task) -> None:
        """Encode what the task did, in the thread that ran it. Raises: ValidationError, as the task's own failure."""
        if task.status == DONE:
            body = self._body(task)
            where = f"node {task.node!r}"
        elif task.status == ASKED:
            body, where = list(task.questions), f"question of node {task.node!r}"
        else:
            body, where = told_error(task.error), f"error of node {task.node!r}"
            if task.status == HANDLED:
                body["handler"] = task.task_node.handler
        done = self.encode(body, where)
        task.blob, task.refs, task.chunks = done.blob, done.refs, done.new

    def _body(self, task: Task) -> list[Any]:
        hidden = self.program.untracked
        writes = task.writes
        if hidden:
            writes = [(k, v) for k, v in writes if k not in hidden]
        if not task.sends:
            return [writes, task.targets, None]
        return [writes, task.targets, [self._packet(s) for s in task.sends]]

    def _packet(self, send: Send) -> list[Any]:
        return [send.node, self.stored_arg(send.arg), stored_timeout(send.timeout)]

    def stored_arg(self, arg: Any) -> Any:
        """A Send's argument without its untracked keys; the running task keeps them."""
        hidden = self.program.untracked
        if hidden and type(arg) is dict:
            told = cast("dict[Any, Any]", arg)
            return {k: v for k, v in told.items() if k not in hidden}
        return arg

    def writes(self, checkpoint: str, task: Task) -> list[Record]:
        """The record that saves a finished task of an unfinished step.

        None where it refused an answer: then its question, which is stored, stays open.
        """
        if isinstance(task.error, AnswerRefused):
            return self.noted(checkpoint) if self.notes else []
        if task.blob is None:
            self.seal(task)
        kind = "done" if task.status == DONE else "asked" if task.status == ASKED else "error"
        out: list[Record] = self.noted(checkpoint) if self.notes else []
        self.put_chunks(out, task.chunks)
        out.append(PutWrites(TaskWrites(self.ns, checkpoint, task.id, kind, task.blob or b"", task.refs)))
        return out

    def empty(self, task: Task) -> None:
        """Let the step's record show a task that failed and was handled: it ran, and wrote nothing."""
        done = self.encode([[], None, None], f"node {task.node!r}")
        task.blob, task.refs, task.chunks = done.blob, done.refs, done.new

    def null_records(
        self,
        checkpoint: str,
        parts: Sequence[bytes],
        refs: tuple[bytes, ...],
        chunks: Sequence[dict[bytes, bytes] | None],
    ) -> list[Record]:
        """The records that save a Command's own writes beside the pending tasks of a checkpoint."""
        out: list[Record] = []
        for pieces in chunks:
            self.put_chunks(out, pieces)
        out.append(PutWrites(TaskWrites(self.ns, checkpoint, NULL_TASK, "done", pack(parts), refs)))
        return out

    def put_chunks(self, out: list[Record], pieces: dict[bytes, bytes] | None) -> None:
        if not pieces:
            return
        new = {d: data for d, data in pieces.items() if d not in self.known}
        if new:
            self.known.update(new)
            out.append(PutChunks(new))

    # One checkpoint

    def checkpoint(
        self,
        *,
        id: str,
        parent: str | None,
        step: int,
        source: Source,
        at: float,
        tasks: Sequence[Task],
        ran: Sequence[str],
        parts: Sequence[tuple[int, bytes]],
        refs: Sequence[bytes],
        chunks: Sequence[dict[bytes, bytes] | None],
        fresh: bool,
        finished: bool,
        values: Mapping[str, Any],
        visits: Mapping[str, int],
        own: Sequence[tuple[str, Any]] | None = None,
        whole: bool = False,
        expect: str | None,
        drop: bool,
    ) -> list[Record]:
        """The records of a step's end: new chunks, the checkpoint, and the end of the step's pending writes."""
        out: list[Record] = []
        for pieces in chunks:
            self.put_chunks(out, pieces)
        told: list[Any] = [HEAD_VERSION, [self._task(t) for t in tasks], list(ran), fresh, finished]
        head, mark = self._head(out, told)
        all_refs = [*refs, *head.refs, *mark]
        delta = pack(parts) if parts else b""
        self.weight += charge(len(delta) + sum(len(d) for pieces in chunks if pieces for d in pieces.values()))
        snapshot: bytes | None = None
        if whole or due(self.weight, self.size):
            made = self._snapshot(out, [values, visits, own], whole)
            if made is not None:
                snapshot = made.blob
                all_refs.extend((*made.refs, self._marked(out)))
        row = Checkpoint(
            ns=self.ns,
            id=id,
            parent=parent,
            step=step,
            source=source,
            at=at,
            head=head.blob,
            delta=delta,
            snapshot=snapshot,
            weight=self.weight,
            refs=tuple(dict.fromkeys(all_refs)) if all_refs else (),
            metadata=self.metadata if self.of is None else {**self.metadata, "_of": self.of},
        )
        self.of = None
        out.append(PutCheckpoint(row, expect))
        if drop and parent is not None:
            out.extend(self.noted(parent))
            out.extend(put for put in self.closing.values() if put.answer.checkpoint == parent)
            out.append(DropWrites(self.ns, parent))
        self.closing.clear()
        return out

    def _head(self, out: list[Record], told: list[Any]) -> tuple[Encoded, tuple[bytes, ...]]:
        """The head, and the digest of the fingerprint if it says that.

        A chain of deltas says at its root what they are to be folded with and which graph wrote them, a snapshot says it
        anew, and so does the first row of a graph that goes on as another.
        """
        mark = print_of(self.program)[0]
        same = self.print == mark and self.merges == self.program.reducers
        self.merges, self.print = self.program.reducers, mark
        head = self.encode([*told, None] if same else [*told, self.merges, mark], "head")
        self.put_chunks(out, head.new)
        return head, () if same else (self._marked(out),)

    def _marked(self, out: list[Record]) -> bytes:
        """Store the graph's fingerprint, once, and give its digest."""
        mark, stored = print_of(self.program)
        self.put_chunks(out, {mark: stored})
        return mark

    def _task(self, task: Task) -> list[Any]:
        if task.index >= 0:
            return [task.node, task.index, self.stored_arg(task.arg), stored_timeout(task.timeout)]
        if task.node == START:
            return [task.node, -1, self.stored_arg(task.given)]
        return [task.node, -1]

    def _snapshot(self, out: list[Record], state: Sequence[Any], whole: bool) -> Encoded | None:
        values, visits, own = state
        hidden = self.program.untracked
        kept = {k: v for k, v in values.items() if k not in hidden} if hidden else dict(values)
        made = self.encode([kept, dict(visits), own, self.program.reducers, self.print], "state")
        new = sum(len(data) for d, data in (made.new or {}).items() if d not in self.known)
        self.size = len(made.blob) + 16 * len(made.refs) + new  # a snapshot of many chunks is mostly their digests
        if not whole and not due(self.weight, self.size):
            return None
        self.put_chunks(out, made.new)
        self.weight = 0
        return made


def parents_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Of a nested namespace: each enclosing namespace and the checkpoint it stood at."""
    told = metadata.get("_parents")
    return dict(json.loads(told)) if told else {}


def told_error(error: BaseException | None) -> dict[str, Any]:
    """An exception as data: its repr, and its JSON if it is one of ours."""
    return {
        "repr": redact(repr(error)),
        "type": type(error).__qualname__,
        "text": redact(clean(str(error))),
        "failure": error.to_json() if isinstance(error, Failure) else None,
    }
