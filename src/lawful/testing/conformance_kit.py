"""What the journal's conformance tests are made of: a clock, short builders for records, threads that start together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from lawful.core.clock import Clock, FixedClock
from lawful.journal.ids import new_id
from lawful.journal.port import Journal
from lawful.journal.records import (
    ANY_HEAD,
    Answer,
    Batch,
    Chain,
    Checkpoint,
    EffectEvent,
    Lease,
    Operation,
    PutAnswer,
    PutCheckpoint,
    PutChunks,
    PutWrites,
    Record,
    Source,
    TaskWrites,
)

T = TypeVar("T")
START = 1_700_000_000.0


class Suite:
    """The base of the test classes: one journal for each test, made by `make_journal`."""

    def make_journal(self, clock: Clock) -> Journal:
        """A new, empty journal of scope "local" whose leases and effects go by ``clock``."""
        raise NotImplementedError("a conformance suite needs make_journal(clock)")

    @pytest.fixture
    def clock(self) -> FixedClock:
        return FixedClock(START)

    @pytest.fixture
    def journal(self, clock: FixedClock) -> Any:
        made = self.make_journal(clock)
        yield made
        made.close()


class Ids:
    """Checkpoint ids, one after the other."""

    def __init__(self) -> None:
        self._last: str | None = None

    def __call__(self) -> str:
        self._last = new_id(START, self._last)
        return self._last


def later(id: str | None) -> str:
    """An id that comes after ``id``."""
    return new_id(START, id)


def checkpoint(
    id: str,
    parent: str | None = None,
    *,
    ns: str = "",
    step: int = 0,
    source: Source = "loop",
    at: float = START,
    head: bytes = b"head",
    delta: bytes = b"",
    snapshot: bytes | None = None,
    refs: tuple[bytes, ...] = (),
    metadata: Mapping[str, Any] | None = None,
) -> Checkpoint:
    return Checkpoint(
        ns=ns,
        id=id,
        parent=parent,
        step=step,
        source=source,
        at=at,
        head=head,
        delta=delta,
        snapshot=snapshot,
        weight=len(delta),
        refs=refs,
        metadata=metadata or {},
    )


def put(
    journal: Journal, thread: str, *rows: Checkpoint, expect: str | None = ANY_HEAD, lease: Lease | None = None
) -> None:
    """Commit ``rows`` in one batch."""
    journal.commit(Batch(thread, tuple(PutCheckpoint(row, expect) for row in rows), lease=lease))


def send(journal: Journal, thread: str, *records: Record) -> None:
    """Commit ``records`` in one batch."""
    journal.commit(Batch(thread, records))


def grow(journal: Journal, thread: str, count: int, *, ns: str = "", every: int | None = None) -> list[Checkpoint]:
    """A line of ``count`` checkpoints, the first and each ``every``-th with a snapshot; the delta of step n is ``<n>``."""
    ids, rows, state = Ids(), list[Checkpoint](), b""
    for step in range(count):
        delta = f"<{step}>".encode()
        state += delta
        whole = step == 0 or (every is not None and step % every == 0)
        rows.append(
            checkpoint(
                ids(),
                rows[-1].id if rows else None,
                ns=ns,
                step=step,
                at=START + step,
                delta=delta,
                snapshot=state if whole else None,
                metadata={"n": step},
            )
        )
        put(journal, thread, rows[-1])
    return rows


def fold(chain: Chain | None) -> bytes:
    """The state that a chain of `grow` rebuilds."""
    assert chain is not None
    state = b""
    for row in chain.rows:
        state = row.snapshot if row.snapshot is not None else state + row.delta
    return state


def writes(checkpoint: str, task: str, blob: bytes = b"w", *, ns: str = "", refs: tuple[bytes, ...] = ()) -> PutWrites:
    return PutWrites(TaskWrites(ns=ns, checkpoint=checkpoint, task=task, kind="done", blob=blob, refs=refs))


def answer(checkpoint: str, question: str, blob: bytes = b"yes", *, ns: str = "") -> PutAnswer:
    return PutAnswer(Answer(ns=ns, checkpoint=checkpoint, question=question, blob=blob, by="ann", at=START))


def digest(n: int) -> bytes:
    return n.to_bytes(16, "big")


def chunks(*numbers: int) -> PutChunks:
    return PutChunks({digest(n): f"chunk {n}".encode() for n in numbers})


def operation(op_id: str, version: int = 1, **facts: Any) -> Operation:
    given: dict[str, Any] = {"tool": "mail", "state": "planned", **facts}
    return Operation(op_id=op_id, version=version, **given)


def events(op_id: str, first: int = 1, last: int | None = None) -> Sequence[EffectEvent]:
    return [
        EffectEvent(
            op_id=op_id, seq=seq, kind="noted", at=START, blob=f"{seq}".encode(), digest=bytes([seq % 256]) * 32
        )
        for seq in range(first, (last or first) + 1)
    ]


def at_once(count: int, work: Callable[[int], T]) -> list[T | BaseException]:
    """What ``work(0)``..``work(count - 1)`` gave or raised, all let go at the same moment in threads of their own."""
    barrier = threading.Barrier(count)

    def run(n: int) -> T:
        barrier.wait()
        return work(n)

    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(run, n) for n in range(count)]
        return [future.exception() or future.result() for future in futures]
