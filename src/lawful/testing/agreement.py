"""Whether a journal answers as the reference in memory does, whatever is done and in whatever order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.core.clock import Clock, FixedClock
from lawful.core.errors import Failure
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.journal.records import ANY_HEAD, Batch, DropWrites, Lease, PutCheckpoint, Record
from lawful.testing.conformance_kit import START, Ids, answer, checkpoint, chunks, digest, events, operation, writes

_ids = Ids()
POOL = [_ids() for _ in range(12)]
_id = st.sampled_from(POOL)
_thread = st.sampled_from(["t", "u"])
_ns = st.sampled_from(["", "sub"])
_number = st.integers(0, 3)


@st.composite
def _checkpoints(draw: st.DrawFn) -> PutCheckpoint:
    row = checkpoint(
        draw(_id),
        draw(st.none() | _id),
        ns=draw(_ns),
        step=draw(st.integers(-1, 5)),
        at=START + draw(_number),
        delta=b"d" * draw(_number),
        snapshot=draw(st.none() | st.just(b"s")),
        refs=tuple(map(digest, draw(st.lists(_number, max_size=2)))),
        metadata=draw(st.dictionaries(st.sampled_from(["k", "_graph"]), st.sampled_from([1, True, "x", None]))),
    )
    return PutCheckpoint(row, draw(st.just(ANY_HEAD) | st.none() | _id))


@st.composite
def _records(draw: st.DrawFn) -> Record:
    n, id = draw(_number), draw(_id)
    kind = draw(st.sampled_from(["checkpoint", "checkpoint", "writes", "answer", "drop", "chunks"]))
    if kind == "checkpoint":
        return draw(_checkpoints())
    if kind == "writes":
        return writes(id, f"task{draw(_number)}", b"%d" % n, refs=(digest(n),) if n else ())
    if kind == "answer":
        return answer(id, f"q{n}", ns=draw(_ns))
    return DropWrites(draw(_ns), id) if kind == "drop" else chunks(*range(n))


class Step:
    """One call of a journal; it prints as what it does."""

    def __init__(self, name: str, call: Callable[[Journal], object]) -> None:
        self.name = name
        self.call = call

    def __repr__(self) -> str:
        return self.name


def _append(journal: Journal, op: str, first: int, last: int) -> None:
    made = operation(op, last, thread="t", claimed_at=START + first, labels={"n": last})
    journal.transact(lambda tx: tx.append(made, events(op, first, last)), durable=False)


@st.composite
def journal_steps(draw: st.DrawFn) -> Step:
    """One call of a journal, of every kind that the port has, on few threads and checkpoints, so that they meet."""
    thread, other, n = draw(_thread), draw(_thread), draw(st.integers(1, 3))
    lease = Lease(thread, "p/1", n, 0)
    records = tuple(draw(st.lists(_records(), min_size=1, max_size=4)))
    release, every, op = draw(st.booleans()), draw(st.none() | st.integers(1, 3)), draw(st.sampled_from(["a", "b"]))
    calls: dict[str, Callable[[Journal], object]] = {
        f"commit {records}": lambda j: j.commit(Batch(thread, records)),
        f"commit {records} under {lease}": lambda j: j.commit(Batch(thread, records, lease=lease, release=release)),
        f"acquire {thread}": lambda j: j.acquire(thread, "p/1", 2),
        f"release {lease}": lambda j: j.release(lease),
        f"renew {lease}": lambda j: j.renew(lease, 2),
        f"cancel {thread}": lambda j: j.cancel(thread),
        f"prune {thread} {n} {every}": lambda j: j.prune(thread, keep_last=n, keep_every=every),
        f"prune all {n}": lambda j: j.prune(keep_last=n, older_than=1),
        f"copy {thread} to {other}": lambda j: j.copy_thread(thread, other),
        f"delete {thread}": lambda j: j.delete_thread(thread),
        f"append {op} {n}": lambda j: _append(j, op, n, n + 1),
        "time passes": lambda j: None,
    }
    weighted = [name for name in calls for _ in range(4 if name.startswith("commit") else 1)]
    name = draw(st.sampled_from(weighted))
    return Step(name, calls[name])


def told(journal: Journal, step: Callable[[Journal], object]) -> object:
    """What a step gave, or its error."""
    try:
        return step(journal)
    except Failure as error:
        return error


def whole(journal: Journal) -> list[Any]:
    """Everything that can be read."""
    seen: list[Any] = [
        journal.threads(),
        journal.read(lambda tx: (list(tx.operations()), tx.events("a"), tx.events("b"))),
    ]
    for thread in ("t", "u"):
        seen += [journal.info(thread), list(journal.namespaces(thread)), journal.cancelled(Lease(thread, "p/1", 1, 0))]
        seen.append(dict(journal.chunks(thread, map(digest, range(4)))))
        for ns in ("", "sub"):
            seen += [journal.chain(thread, ns), list(journal.history(thread, ns))]
            seen.append(list(journal.history(thread, ns, filter={"k": 1})))
            for id in POOL:
                seen += [journal.chain(thread, ns, id), list(journal.children(thread, ns, id))]
    return seen


def compare(make: Callable[[Clock], Journal], steps: list[Step]) -> None:
    """Do ``steps`` with a new journal and with the reference. Raises: AssertionError, naming the first that differs."""
    clock = FixedClock(START)
    memory, other = MemoryJournal(clock=clock), make(clock)
    try:
        for step in steps:
            if step.name == "time passes":
                clock.advance(1)
            given, wanted = told(other, step.call), told(memory, step.call)
            assert given == wanted, f"{step}: {given!r}, but {wanted!r} by the reference"
        assert whole(other) == whole(memory), f"after {steps} something else can be read than of the reference"
    finally:
        other.close()


def check_journal(make: Callable[[Clock], Journal], *, max_examples: int = 60, most: int = 25) -> None:
    """Check that journals made by ``make(clock)``, each new and empty, answer as the reference does.

    Up to ``most`` calls a journal: commits, leases, answers, effect events, prunings, copies, deletions. The conformance
    suite (`lawful.testing.conformance`) says what each call owes; this says it of their combinations.

    Raises: AssertionError, with the shortest list of calls that shows a difference.
    """

    @settings(max_examples=max_examples, deadline=None, database=None, report_multiple_bugs=False)
    @given(st.lists(journal_steps(), min_size=1, max_size=most))
    def agrees(steps: list[Step]) -> None:
        compare(make, steps)

    agrees()
