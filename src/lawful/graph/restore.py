"""Pure: from a journal's chain of records to the state that a run goes on from."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import msgspec

from lawful.core.errors import CorruptRecord, ResumeRefused
from lawful.graph.apply import finish, merge, store
from lawful.graph.channels import LAST
from lawful.graph.command import START, Send
from lawful.graph.fingerprint import Fingerprint, read
from lawful.graph.migrations import Migrations
from lawful.graph.persist import HEAD_VERSION, NULL_TASK
from lawful.graph.program import Node, Program
from lawful.graph.restored import Done, Head, Restored, Saved
from lawful.journal.records import Chain, Checkpoint, TaskWrites

unpack = msgspec.msgpack.decode


class Reader:
    """Decodes one chain for one program."""

    def __init__(self, program: Program, thread: str, chunks: Mapping[bytes, bytes]) -> None:
        self.program = program
        self.thread = thread
        self.chunks = chunks
        self.dropped: set[str] = set()
        self.own: list[tuple[str, Any]] = []
        self.merges: Mapping[str, Any] = {}
        """By key: the id and version of the reducer that the stored deltas were made for."""
        self.then: bytes | None = None
        """The digest of the fingerprint of the row that was read last."""
        self.stuck: set[str] = set()
        self.migrations: Migrations | None = program.migrations

    def print(self, digest: bytes | None) -> Fingerprint | None:
        """The fingerprint that a row was stored under; None for rows from before there were any."""
        stored = self.chunks.get(digest) if digest is not None else None
        return read(stored) if stored is not None else None

    def versions(self, digest: bytes | None) -> Mapping[str, int]:
        told = self.print(digest)
        return told.versions if told is not None else {}

    def lift(self, values: dict[str, Any], then: bytes | None, now: bytes | None = None) -> None:
        """Bring values from the form of one row to another's, or to that of the graph."""
        if self.migrations is not None and self.migrations.converts and then != now:
            versions = self.versions(now) if now is not None else self.migrations.versions
            self.migrations.lift(values, self.versions(then), versions)

    def lift_writes(self, writes: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Writes of an unfinished step, in the form of now."""
        if self.migrations is None or not self.migrations.converts:
            return writes
        kinds = self.program.kinds
        made, stuck = self.migrations.lift_writes(writes, self.versions(self.then), lambda k: kinds.get(k) == LAST)
        self.stuck.update(stuck)
        return made

    def decode(self, blob: bytes, where: str) -> Any:
        return self.program.registry.decode(blob, chunks=self.chunks, where=f"thread {self.thread!r}, {where}")

    def head(self, row: Checkpoint) -> Head:
        body = self.decode(row.head, f"checkpoint {row.id}")
        with self.reading(row):
            version, tasks, ran, fresh, finished, merges = body[:6]
            if merges is not None:
                self.merges, self.then = merges, body[6] if len(body) > 6 else None
            if self.migrations is not None:
                tasks, ran = _renamed(self.migrations, tasks), [self.migrations.node(n) for n in ran]
                self.merges = {self.migrations.key(k): v for k, v in self.merges.items()}
        if version != HEAD_VERSION:
            raise self._corrupt(row, f"its head has version {version}, this library reads {HEAD_VERSION}")
        return Head(tasks, ran, fresh, finished)

    @contextmanager
    def reading(self, row: Checkpoint) -> Generator[None, None, None]:
        """Whatever goes wrong in taking a record apart: its bytes decode, but not to what a checkpoint is."""
        try:
            yield
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, msgspec.MsgspecError) as error:
            raise self._corrupt(row, f"it has another form ({error})") from error

    def _corrupt(self, row: Checkpoint, why: str) -> CorruptRecord:
        error = CorruptRecord(
            f"Checkpoint {row.id} of thread {self.thread!r} cannot be read: {why}",
            component="graph",
            operation="restore",
            details={"thread": self.thread, "checkpoint": row.id, "ns": row.ns},
        )
        error.raw = row.head
        return error

    def parts(self, row: Checkpoint, head: Head) -> list[tuple[int, Done]]:
        """The delta's parts: each task's place among the parent's tasks, and what it wrote."""
        if not row.delta:
            return []
        out: list[tuple[int, Done]] = []
        with self.reading(row):
            for (place, blob), name in zip(unpack(row.delta), head.ran, strict=False):
                body = self.decode(blob, f"checkpoint {row.id}, writes of {name or 'a command'!r}")
                out.append((place, self.done(name, body)))
        return out

    def done(self, name: str, body: Sequence[Any]) -> Done:
        node = self.program.nodes.get(name) or _GONE
        made = Done(name, node, body)
        if self.migrations is not None:
            _rename_done(self.migrations, made)
        kinds = self.program.kinds
        if any(k not in kinds for k, _ in made.writes):
            self.dropped.update(k for k, _ in made.writes if k not in kinds)
            made.writes = [(k, v) for k, v in made.writes if k in kinds]
        return made

    def same_merges(self, row: Checkpoint, parts: Sequence[tuple[int, Done]]) -> None:
        """Raises: ResumeRefused, where a key's stored deltas were made for another reducer: the value would be another."""
        now = self.program.reducers
        for key in {k for _, done in parts for k, _ in done.writes}:
            then = self.merges.get(key)
            if then is not None and key in now and list(then) != list(now[key]):
                raise ResumeRefused(
                    f"Key {key!r} of thread {self.thread!r} was merged by {then[0]} (version {then[1]}), now by {now[key][0]}"
                    f" (version {now[key][1]}): what is stored cannot be rebuilt with that",
                    component="graph",
                    operation="restore",
                    details={"thread": self.thread, "key": key, "checkpoint": row.id},
                )

    def whole(self, row: Checkpoint) -> tuple[dict[str, Any], dict[str, int]]:
        """The values of a checkpoint that holds them all."""
        assert row.snapshot is not None
        body = self.decode(row.snapshot, f"checkpoint {row.id}, snapshot")
        with self.reading(row):
            values: dict[str, Any] = dict(body[0])
            visits: dict[str, int] = dict(body[1])
            self.own = [(k, v) for k, v in body[2] or ()]
            self.merges = body[3]
            self.then = body[4] if len(body) > 4 else None
            if (told := self.migrations) is not None:
                values = dict(told.renamed(values.items()))
                visits = {told.node(name): n for name, n in visits.items()}
                self.own = told.renamed(self.own)
                self.merges = {told.key(k): v for k, v in self.merges.items()}
        kinds = self.program.kinds
        for key in [k for k in values if k not in kinds]:
            self.dropped.add(key)
            del values[key]
        return values, visits

    def fold(self, row: Checkpoint, head: Head, values: dict[str, Any], visits: dict[str, int]) -> None:
        """Go from the parent's values to this checkpoint's, in place."""
        parts = self.parts(row, head)
        self.same_merges(row, parts)
        first = [done for place, done in parts if place == -1]
        for done in first:
            store(values, merge(self.program, values, (done,)))
        rest = [done for place, done in parts if place != -1]
        if rest or row.source == "loop":
            store(values, merge(self.program, values, rest))
        if head.finished:
            finish(self.program, values)
        if row.source == "input":  # what it ended without a result was a visit all the same
            for name in set(head.ran) - {""}:
                visits[name] = visits.get(name, 0) + 1
        if row.source == "loop":
            for name in dict.fromkeys(d.node for d in rest):
                visits[name] = visits.get(name, 0) + 1
            if any(d.node == START for d in rest):
                self.own = []
            else:
                self.own.extend(w for d in rest for w in d.writes)


def restore(program: Program, thread: str, chain: Chain, *, bare: bool = False, raw: bool = False) -> Restored:
    """The state at the chain's last checkpoint, with the saved outcomes of its unfinished step.

    ``bare`` leaves out what a Command wrote beside the step: the checkpoint as it was made. ``raw`` leaves values in the
    form in which they were stored, and what is pending aside.

    Raises: CorruptRecord, UnknownType, for bytes that do not decode; nothing is changed by reading.
    """
    reader = Reader(program, thread, chain.chunks)
    values: dict[str, Any] = program.initial
    visits: dict[str, int] = {}
    head: Head | None = None
    for row in chain.rows:
        before = reader.then
        head = reader.head(row)
        if row.snapshot is None and before is not None:
            reader.lift(values, before, reader.then)
        if row.snapshot is not None:
            values, visits = reader.whole(row)
            values = {**_missing(program, values), **values}
        else:
            reader.fold(row, head, values, visits)
    assert head is not None
    made = Restored(chain.tip, head, values, visits)
    made.known = set(chain.chunks)
    made.then = reader.then
    with reader.reading(chain.tip):
        made.print = reader.print(made.then)
    if raw:
        made.merges = reader.merges
        return made
    reader.lift(values, reader.then)
    reader.own = reader.lift_writes(reader.own)
    for task in head.tasks:
        if task[0] == START and isinstance(task[2], dict):
            task[2] = dict(reader.lift_writes(list(cast("dict[str, Any]", task[2]).items())))
    with reader.reading(chain.tip):
        _pending(reader, made, [w for w in chain.writes if w.task != NULL_TASK] if bare else chain.writes)
    made.answers = {a.question: reader.decode(a.blob, f"answer to {a.question}") for a in chain.answers}
    made.dropped, made.own, made.merges = reader.dropped, reader.own, reader.merges
    made.stuck = frozenset(reader.stuck)
    return made


def _missing(program: Program, values: Mapping[str, Any]) -> dict[str, Any]:
    """First values of channels that the graph has gained since the snapshot."""
    return {k: v for k, v in program.initial.items() if k not in values}


def _pending(reader: Reader, made: Restored, rows: Sequence[TaskWrites]) -> None:
    for row in rows:
        if row.task == NULL_TASK:
            made.null_parts = list(unpack(row.blob))
            made.null_refs = row.refs
            for blob in made.null_parts:
                done = reader.done("", reader.decode(blob, "writes of a command"))
                done.writes, told = reader.lift_writes(done.writes), done.writes
                reader.stuck.update(k for (k, new), (_, old) in zip(done.writes, told, strict=True) if new is not old)
                store(made.values, merge(reader.program, made.values, (done,)))
                made.head.tasks = _with(made.head.tasks, done)
            continue
        saved = Saved(row.kind, row.blob, row.refs)
        body = reader.decode(row.blob, f"saved {row.kind} of task {row.task}")
        if row.kind == "done":
            saved.done = body
            if reader.migrations is not None:
                _lift_saved(reader, saved)
        elif row.kind == "asked":
            saved.questions = tuple(body)
        else:
            saved.error = body
        made.saved[row.task] = saved


def _with(tasks: list[list[Any]], done: Done) -> list[list[Any]]:
    """The planned tasks with those that a command's goto adds."""
    names = {t[0] for t in tasks if t[1] < 0}
    pulled = [t for t in tasks if t[1] < 0]
    pulled += [[n, -1] for n in done.targets or () if n not in names]
    pulled.sort(key=lambda t: t[0])
    pushed = [t for t in tasks if t[1] >= 0]
    for packet in done.sends or ():
        pushed.append([packet.node, len(pushed), packet.arg, packet.timeout])
    return [*pulled, *pushed]


def _renamed(told: Migrations, tasks: list[list[Any]]) -> list[list[Any]]:
    """Planned tasks with the names of now, the keys of an input included."""
    out: list[list[Any]] = []
    for task in tasks:
        made = [told.node(task[0]), *task[1:]]
        if task[0] == START and isinstance(task[2], dict):
            made[2] = dict(told.renamed(cast("dict[str, Any]", task[2]).items()))
        out.append(made)
    return out


def _rename_done(told: Migrations, done: Done) -> None:
    done.writes = told.renamed(done.writes)
    if done.targets is not None:
        done.targets = [told.node(name) for name in done.targets]
    if done.sends is not None:
        done.sends = [Send(told.node(s.node), s.arg, s.timeout) for s in done.sends]


def _lift_saved(reader: Reader, saved: Saved) -> None:
    """A finished task's writes in names and form of now; a call's result (it has no writes) stays."""
    body = saved.done
    if body is None or len(body) != 3 or reader.migrations is None:
        return
    done = Done("", _GONE, body)
    _rename_done(reader.migrations, done)
    done.writes = reader.lift_writes(done.writes)
    sends = [[s.node, s.arg, s.timeout] for s in done.sends] if done.sends is not None else None
    saved.done, saved.lifted = [done.writes, done.targets, sends], True


_GONE = Node.inert("")
