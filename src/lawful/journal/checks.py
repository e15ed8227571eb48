"""What every store refuses before it writes or asks, so that all of them refuse the same."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from lawful.core.errors import (
    AlreadyAnswered,
    CorruptRecord,
    HeadMoved,
    LeaseLost,
    StoreError,
    ValidationError,
    nearest,
)
from lawful.core.secret import holds, texts
from lawful.journal.ids import is_id, thread_key
from lawful.journal.records import (
    ANY_HEAD,
    Answer,
    Batch,
    Checkpoint,
    EffectEvent,
    Operation,
    PutAnswer,
    PutCheckpoint,
    PutChunks,
    PutWrites,
    Source,
)

SOURCES: tuple[Source, ...] = ("input", "loop", "update", "fork")
KINDS: tuple[Literal["done", "error", "asked"], ...] = ("done", "error", "asked")
DIGEST_BYTES = 16

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INT64 = 1 << 63
_EXACT = frozenset({str, bool, type(None)})


def refuse(message: str, operation: str, **details: str) -> ValidationError:
    return ValidationError(message, component="journal", operation=operation, details=details)


def check_text(text: object, what: str) -> str:
    """``text``, if it is a str that every store can keep: no NUL, no lone surrogate."""
    if not isinstance(text, str):
        raise refuse(f"{what} must be a str, not {type(text).__name__}", what)
    if not text.isascii() or "\x00" in text:
        if "\x00" in text:
            raise refuse(f"{what} must not hold NUL characters: {text!r}", what)
        try:
            text.encode()
        except UnicodeEncodeError as e:
            raise refuse(f"{what} must not hold lone surrogates: {text!a}", what) from e
    if (secrets := texts()) and holds(text, secrets):
        raise refuse(f"{what} holds the text of a Secret", what)
    return text


def check_scalar(value: object, what: str) -> None:
    """Refuse what is not a JSON scalar: None, bool, a 64-bit int, a finite float, str."""
    kind = type(value)
    if kind is str:
        check_text(value, what)
    elif kind in _EXACT:
        return
    elif isinstance(value, int) and kind is int:
        if not -_INT64 <= value < _INT64:
            raise refuse(f"{what} is an int beyond 64 bits", what)
    elif isinstance(value, float) and kind is float:
        if not math.isfinite(value):
            raise refuse(f"{what} is {value}, which JSON cannot say", what)
    else:
        raise refuse(f"{what} must be a JSON scalar, not {kind.__name__}", what)


def check_filter(filter: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The filter, if every key is an identifier and every value a JSON scalar."""
    if filter is None:
        return {}
    if not isinstance(filter, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refuse(f"a filter must be a dict, not {type(filter).__name__}", "history")
    for key, value in filter.items():
        if not isinstance(key, str) or _IDENTIFIER.fullmatch(key) is None:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise refuse(f"a filter key must be an identifier, not {key!a}", "history", key=ascii(key))
        check_scalar(value, f"filter value of {key!r}")
    return filter


def same(stored: object, wanted: object) -> bool:
    """Equality of JSON scalars: 1 is 1.0 but not true."""
    return stored == wanted and (type(stored) is bool) == (type(wanted) is bool)


def matches(metadata: Mapping[str, Any], source: str, step: int, filter: Mapping[str, Any]) -> bool:
    """Whether a checkpoint answers to ``filter``; ``source`` and ``step`` mean its fields, a key it has not never matches."""
    for key, wanted in filter.items():
        if key == "source":
            found: object = source
        elif key == "step":
            found = step
        elif key in metadata:
            found = metadata[key]
        else:
            return False
        if not same(found, wanted):
            return False
    return True


def labelled(labels: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether an operation has every label that is wanted."""
    return not wanted or all(key in labels and same(labels[key], value) for key, value in wanted.items())


def check_limit(limit: int | None, what: str) -> None:
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refuse(f"{what}: limit must be an int, not {type(limit).__name__}", what)
    if limit is not None and limit < 0:
        raise refuse(f"{what}: limit must not be negative, but is {limit}", what)


def check_before(before: str | None) -> None:
    if before is not None and not is_id(before):
        raise refuse(f"before must be a checkpoint id, not {before!a}", "history")


def check_retention(keep_last: int, keep_every: int | None, older_than: float | None) -> None:
    if keep_last < 1:
        raise refuse(
            f"prune: keep_last must be at least 1, but is {keep_last}; delete_thread forgets a thread", "prune"
        )
    if keep_every is not None and keep_every < 1:
        raise refuse(f"prune: keep_every must be at least 1, but is {keep_every}", "prune")
    if older_than is not None and not older_than >= 0:
        raise refuse(f"prune: older_than must not be negative, but is {older_than}", "prune")


def check_checkpoint(checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint that no store could give back as it is."""
    if not is_id(checkpoint.id) or (checkpoint.parent is not None and not is_id(checkpoint.parent)):
        shown = checkpoint.id if not is_id(checkpoint.id) else checkpoint.parent
        raise refuse(f"a checkpoint id is a UUID in lower-case text, not {shown!a}", "commit", ns=checkpoint.ns)
    if checkpoint.source not in SOURCES:
        hint = nearest(str(checkpoint.source), SOURCES)
        raise refuse(f"unknown source {checkpoint.source!r} of checkpoint {checkpoint.id}.{hint}", "commit")
    if not (-_INT64 <= checkpoint.step < _INT64 and -_INT64 <= checkpoint.weight < _INT64):
        raise refuse(f"step or weight of checkpoint {checkpoint.id} is beyond 64 bits", "commit")
    for key, value in checkpoint.metadata.items():
        check_text(key, "metadata key")
        check_scalar(value, f"metadata {key!r}")
    if checkpoint.refs:
        check_refs(checkpoint.refs)


def check_refs(refs: tuple[bytes, ...]) -> None:
    for digest in refs:
        if len(digest) != DIGEST_BYTES:
            raise refuse(f"a chunk's digest has {DIGEST_BYTES} bytes, not {len(digest)}", "commit", chunk=digest.hex())


def check_batch(batch: Batch) -> None:
    """Refuse a batch whose form is wrong, whatever is stored."""
    thread_key(batch.thread)
    if batch.lease is not None and batch.lease.thread != batch.thread:
        raise refuse(f"the lease is for thread {batch.lease.thread!r}, the batch for {batch.thread!r}", "commit")
    if batch.release and batch.lease is None:
        raise refuse("a batch that releases a lease must name it", "commit", thread=batch.thread)
    for record in batch.records:
        if isinstance(record, PutCheckpoint):
            check_text(record.checkpoint.ns, "namespace")
            check_checkpoint(record.checkpoint)
        elif isinstance(record, PutWrites):
            writes = record.writes
            check_text(writes.ns, "namespace")
            check_text(writes.checkpoint, "checkpoint")
            check_text(writes.task, "task")
            if writes.kind not in KINDS:
                raise refuse(f"unknown kind {writes.kind!r} of writes.{nearest(str(writes.kind), KINDS)}", "commit")
            check_refs(writes.refs)
        elif isinstance(record, PutChunks):
            check_refs(tuple(record.chunks))
        elif isinstance(record, PutAnswer):
            answer = record.answer
            for text, what in ((answer.ns, "namespace"), (answer.checkpoint, "checkpoint")):
                check_text(text, what)
            check_text(answer.question, "question")
            check_text(answer.by, "by")


def check_append(operation: Operation, events: Sequence[EffectEvent], version: int) -> None:
    """Refuse events that do not follow ``version``, or an operation that does not end with them."""
    op_id = operation.op_id
    check_text(op_id, "op_id")
    if not events:
        raise refuse(f"operation {op_id!r}: append needs at least one event", "append", op_id=op_id)
    first = events[0].seq
    if first != version + 1:
        raise HeadMoved(
            f"operation {op_id!r} has {version} events, so the next is {version + 1}, not {first}: read it again",
            component="journal",
            operation="append",
            details={"op_id": op_id, "version": str(version), "seq": str(first)},
        )
    for offset, event in enumerate(events):
        if event.op_id != op_id or event.seq != first + offset:
            raise refuse(
                f"operation {op_id!r}: event {event.seq} of {event.op_id!r} stands where {first + offset} should",
                "append",
            )
    if operation.version != events[-1].seq:
        raise refuse(
            f"operation {op_id!r}: its version is {operation.version}, its last event {events[-1].seq}", "append"
        )
    for key, value in operation.labels.items():
        check_text(key, "label")
        check_scalar(value, f"label {key!r}")


def check_head(thread: str, put: PutCheckpoint, newest: str | None) -> None:
    """Refuse a checkpoint that does not build on ``newest``, or whose id does not come after it."""
    found, expect = put.checkpoint, put.expect
    if expect != ANY_HEAD and expect != newest:
        raise head_moved(thread, found, newest, f"this one builds on {expect}")
    if newest is not None and found.id <= newest:
        raise head_moved(thread, found, newest, f"the new id {found.id} does not come after it")


def head_moved(thread: str, checkpoint: Checkpoint, newest: str | None, why: str) -> HeadMoved:
    return HeadMoved(
        f"the newest checkpoint of thread {thread!r}, namespace {checkpoint.ns!r}, is {newest}; {why}",
        component="journal",
        operation="commit",
        details={"thread": thread, "ns": checkpoint.ns, "newest": str(newest), "checkpoint": checkpoint.id},
    )


def parent_missing(thread: str, checkpoint: Checkpoint) -> HeadMoved:
    return HeadMoved(
        f"checkpoint {checkpoint.id} of thread {thread!r} is a delta on {checkpoint.parent}, which is not stored (any more)",
        component="journal",
        operation="commit",
        details={"thread": thread, "ns": checkpoint.ns, "parent": str(checkpoint.parent), "checkpoint": checkpoint.id},
    )


def chunk_missing(thread: str, digest: bytes) -> StoreError:
    return StoreError(
        f"chunk {digest.hex()} of thread {thread!r} is referred to but not stored (any more): send it again",
        component="journal",
        operation="commit",
        details={"thread": thread, "chunk": digest.hex()},
        retryable=True,
    )


def answered(thread: str, answer: Answer) -> AlreadyAnswered:
    return AlreadyAnswered(
        f"question {answer.question} of thread {thread!r} has its answer already",
        component="journal",
        operation="commit",
        details={"thread": thread, "ns": answer.ns, "checkpoint": answer.checkpoint, "question": answer.question},
    )


def lease_lost(thread: str, fence: int, holder: str | None) -> LeaseLost:
    now = f"held by {holder!r}" if holder else "not held"
    return LeaseLost(
        f"the lease of thread {thread!r} with fence {fence} is lost: the thread is now {now}",
        component="journal",
        operation="lease",
        details={"thread": thread, "fence": str(fence), "holder": holder or ""},
    )


def corrupt(what: str, raw: bytes = b"", **details: str) -> CorruptRecord:
    where = ", ".join(f"{key} {value!r}" for key, value in details.items())
    error = CorruptRecord(f"stored {what} is damaged ({where})", component="journal", operation="read", details=details)
    error.raw = raw
    return error


def closed() -> StoreError:
    return StoreError("this journal is closed", component="journal", operation="closed")


def nested() -> StoreError:
    return StoreError(
        "a journal was called from inside its own transact() or read(): use what the transaction offers",
        component="journal",
        operation="transact",
    )


def read_only() -> StoreError:
    return StoreError("read() does not write: use transact()", component="journal", operation="read")
