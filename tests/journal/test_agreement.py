"""Whatever is done, in whatever order: the journal in SQLite answers as the reference in memory does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.core.clock import FixedClock
from lawful.core.errors import Failure
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.journal.records import ANY_HEAD, Batch, DropWrites, Lease, PutCheckpoint, Record
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.conformance_kit import START, Ids, answer, checkpoint, chunks, digest, events, operation, writes

pytestmark = pytest.mark.property

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
        metadata=draw(st.dictionaries(st.sampled_from(["k", "graph"]), st.sampled_from([1, True, "x", None]))),
    )
    return PutCheckpoint(row, draw(st.just(ANY_HEAD) | st.none() | _id))


_record = st.one_of(
    _checkpoints(),
    _checkpoints(),
    st.builds(lambda c, t, n: writes(c, f"task{t}", b"%d" % n, refs=(digest(n),) if n else ()), _id, _number, _number),
    st.builds(lambda c, q, ns: answer(c, f"q{q}", ns=ns), _id, _number, _ns),
    st.builds(DropWrites, _ns, _id),
    st.builds(lambda n: chunks(*range(n)), _number),
)

Step = tuple[str, Callable[[Journal], Any]]


def _under_lease(journal: Journal, thread: str, records: list[Record], fence: int, release: bool) -> Any:
    lease = Lease(thread, "p/1", fence, 0)
    return journal.commit(Batch(thread, tuple(records), lease=lease, release=release))


def _append(journal: Journal, op: str, first: int, last: int) -> Any:
    made = operation(op, last, thread="t", claimed_at=START + first, labels={"n": last})
    return journal.transact(lambda tx: tx.append(made, events(op, first, last)), durable=False)


_step: st.SearchStrategy[Step] = st.one_of(
    st.builds(
        lambda t, rs: ("commit", lambda j: j.commit(Batch(t, tuple(rs)))),
        _thread,
        st.lists(_record, min_size=1, max_size=4),
    ),
    st.builds(
        lambda t, r, f, b: ("commit under a lease", lambda j: _under_lease(j, t, [r], f, b)),
        _thread,
        _record,
        st.integers(1, 3),
        st.booleans(),
    ),
    st.builds(lambda t: ("acquire", lambda j: j.acquire(t, "p/1", 2)), _thread),
    st.builds(lambda t, f: ("release", lambda j: j.release(Lease(t, "p/1", f, 0))), _thread, st.integers(1, 3)),
    st.builds(lambda t, f: ("renew", lambda j: j.renew(Lease(t, "p/1", f, 0), 2)), _thread, st.integers(1, 3)),
    st.builds(lambda t: ("cancel", lambda j: j.cancel(t)), _thread),
    st.builds(
        lambda t, n, e: ("prune", lambda j: j.prune(t, keep_last=n, keep_every=e)),
        st.none() | _thread,
        st.integers(1, 3),
        st.none() | st.integers(1, 3),
    ),
    st.builds(lambda t: ("prune by age", lambda j: j.prune(t, older_than=1)), _thread),
    st.builds(lambda a, b: ("copy", lambda j: j.copy_thread(a, b)), _thread, _thread),
    st.builds(lambda t: ("delete", lambda j: j.delete_thread(t)), _thread),
    st.builds(
        lambda o, a, n: ("append", lambda j: _append(j, o, a, a + n)),
        st.sampled_from(["a", "b"]),
        st.integers(1, 3),
        st.integers(0, 2),
    ),
    st.just(("time passes", lambda j: None)),
)


def told(journal: Journal, step: Callable[[Journal], Any]) -> Any:
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


@settings(max_examples=60, deadline=None)
@given(st.lists(_step, min_size=1, max_size=25))
def test_both_journals_say_the_same(steps: list[Step]) -> None:
    """Rows: S0-120, S1-K05."""
    clock = FixedClock(START)
    memory, file = MemoryJournal(clock=clock), SQLiteJournal(":memory:", clock=clock)
    try:
        for name, step in steps:
            if name == "time passes":
                clock.advance(1)
            assert told(file, step) == told(memory, step), name
        assert whole(file) == whole(memory)
    finally:
        file.close()
