"""How records become rows and rows records: ids as 16 bytes, a checksum in each row, nothing taken that does not fit it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar
from zlib import crc32

import msgspec

from lawful.core.errors import CorruptRecord
from lawful.journal.checks import DIGEST_BYTES, KINDS, SOURCES, corrupt
from lawful.journal.records import Answer, Checkpoint, EffectEvent, Operation, TaskWrites

Row: TypeAlias = "tuple[Any, ...]"
Key: TypeAlias = "bytes | str"
"""An id as it is stored: 16 bytes where it is a UUID, else its text."""
T = TypeVar("T")

_encode = msgspec.json.Encoder().encode
_decode: Callable[[bytes], dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode
_EMPTY = b"{}"

_SOURCE_CODE = {name: code for code, name in enumerate(SOURCES)}
_KIND_CODE = {name: code for code, name in enumerate(KINDS)}
_FACTS = struct.Struct("<16s?16sqBdqBBIIIiI")
_NOBODY = bytes(16)


def pack(id: str) -> Key:
    """The id as it is stored."""
    h = id.replace("-", "")
    if len(h) == 32 and len(id) == 36 and id == id.lower():
        try:
            raw = bytes.fromhex(h)
        except ValueError:
            return id
        if len(raw) == 16 and unpack(raw) == id:
            return raw
    return id


def unpack(key: Key) -> str:
    """The id that is stored as ``key``."""
    if isinstance(key, str):
        return key
    h = key.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def raw_id(id: str) -> bytes:
    """The 16 bytes of an id that was checked to be a UUID."""
    return bytes.fromhex(id.replace("-", ""))


def _signed(crc: int) -> int:
    return crc - 0x1_0000_0000 if crc & 0x8000_0000 else crc  # four bytes in SQLite instead of six


def checksum(*parts: bytes) -> int:
    """One number over byte strings and their lengths."""
    crc = crc32(struct.pack(f"<{len(parts)}Q", *map(len, parts)))
    for part in parts:
        crc = crc32(part, crc)
    return _signed(crc)


def _texts(*parts: object) -> int:
    return checksum(*(part if isinstance(part, bytes) else repr(part).encode() for part in parts))


# Checkpoints. The columns in order: row, space, id, parent, step, source, at, weight, branch, hidden, crc, metadata, head,
# delta, snapshot, refs; a SELECT of ours leaves out the first two.

COLUMNS = "id, parent, step, source, at, weight, branch, hidden, crc, metadata, head, delta, snapshot, refs"


def _facts(r: Row) -> int:
    id, parent, step, source, at, weight, branch, hidden, _, metadata, head, delta, snapshot, refs = r
    sizes = (len(metadata), len(head), len(delta), -1 if snapshot is None else len(snapshot), len(refs))
    crc = crc32(_FACTS.pack(id, parent is None, parent or _NOBODY, step, source, at, weight, branch, hidden, *sizes))
    crc = crc32(head, crc32(metadata, crc))
    if delta:
        crc = crc32(delta, crc)
    if snapshot:
        crc = crc32(snapshot, crc)
    return _signed(crc32(refs, crc) if refs else crc)


def checkpoint_row(c: Checkpoint, *, branch: bool, hidden: bool = False) -> Row:
    """The values of COLUMNS."""
    row = (
        raw_id(c.id),
        None if c.parent is None else raw_id(c.parent),
        c.step,
        _SOURCE_CODE[c.source],
        c.at,
        c.weight,
        branch,
        hidden,
        0,
        _encode(c.metadata) if c.metadata else _EMPTY,
        c.head,
        c.delta,
        c.snapshot,
        b"".join(c.refs) if c.refs else b"",
    )
    return (*row[:8], _facts(row), *row[9:])


def checkpoint_of(row: Row, thread: str, ns: str) -> Checkpoint:
    """The checkpoint in ``row``. Raises: CorruptRecord, if the checksum does not fit."""
    where = {"thread": thread, "ns": ns, "id": _shown(row[0])}
    return _checked(lambda: _checkpoint(row, ns), "checkpoint", row[11], where)


def _checkpoint(row: Row, ns: str) -> Checkpoint | None:
    if _facts(row) != row[8]:
        return None
    id, parent, step, source, at, weight, _, _, _, metadata, head, delta, snapshot, refs = row
    return Checkpoint(
        ns=ns,
        id=unpack(id),
        parent=None if parent is None else unpack(parent),
        step=step,
        source=SOURCES[int(source)],
        at=at,
        head=head,
        delta=delta,
        snapshot=snapshot,
        weight=weight,
        refs=split_refs(refs),
        metadata={} if metadata == _EMPTY else _decode(metadata),
    )


def split_refs(refs: bytes) -> tuple[bytes, ...]:
    """The digests that a row refers to."""
    if not refs:
        return ()
    return tuple(refs[i : i + DIGEST_BYTES] for i in range(0, len(refs), DIGEST_BYTES))


def _shown(key: object) -> str:
    if isinstance(key, (bytes, str)):
        return unpack(key) if isinstance(key, str) or len(key) == 16 else key.hex()
    return repr(key)


def _checked(read: Callable[[], T | None], what: str, raw: object, where: Mapping[str, str]) -> T:
    """What ``read`` gives; a value of the wrong type or length is as damaged as one that fails its checksum."""
    try:
        found = read()
    except (struct.error, TypeError, ValueError, IndexError, AttributeError, msgspec.DecodeError):
        found = None
    if found is None:
        raise _corrupt(what, raw, where)
    return found


def _corrupt(what: str, raw: object, where: Mapping[str, str]) -> CorruptRecord:
    return corrupt(what, raw if isinstance(raw, bytes) else repr(raw).encode(), **where)


# Task writes, answers, chunks.

WRITES = "checkpoint, task, kind, crc, blob, refs"
ANSWERS = "checkpoint, question, principal, at, crc, blob"


def writes_row(w: TaskWrites) -> Row:
    """The values of WRITES."""
    checkpoint, task, kind, refs = pack(w.checkpoint), pack(w.task), _KIND_CODE[w.kind], b"".join(w.refs)
    return (checkpoint, task, kind, _texts(checkpoint, task, kind, w.blob, refs), w.blob, refs)


def writes_of(row: Row, thread: str, ns: str) -> TaskWrites:
    """The task writes in ``row``. Raises: CorruptRecord."""

    def read() -> TaskWrites | None:
        checkpoint, task, kind, crc, blob, refs = row
        if _texts(checkpoint, task, kind, blob, refs) != crc:
            return None
        return TaskWrites(
            ns=ns,
            checkpoint=unpack(checkpoint),
            task=unpack(task),
            kind=KINDS[int(kind)],
            blob=blob,
            refs=split_refs(refs),
        )

    where = {"thread": thread, "ns": ns, "id": _shown(row[0]), "task": _shown(row[1])}
    return _checked(read, "task writes", row[4], where)


def answer_row(a: Answer) -> Row:
    """The values of ANSWERS."""
    checkpoint, question, at = pack(a.checkpoint), pack(a.question), float(a.at)
    return (checkpoint, question, a.by, at, _texts(checkpoint, question, a.by, at, a.blob), a.blob)


def answer_of(row: Row, thread: str, ns: str) -> Answer:
    """The answer in ``row``. Raises: CorruptRecord."""

    def read() -> Answer | None:
        checkpoint, question, by, at, crc, blob = row
        if _texts(checkpoint, question, by, at, blob) != crc:
            return None
        return Answer(ns=ns, checkpoint=unpack(checkpoint), question=unpack(question), blob=blob, by=by, at=at)

    where = {"thread": thread, "ns": ns, "id": _shown(row[0]), "question": _shown(row[1])}
    return _checked(read, "answer", row[5], where)


def chunk_of(digest: object, crc: object, body: object, thread: str) -> bytes:
    """The chunk's bytes. Raises: CorruptRecord."""
    if isinstance(digest, bytes) and isinstance(body, bytes) and checksum(digest, body) == crc:
        return body
    raise _corrupt("chunk", body, {"thread": thread, "chunk": digest.hex() if isinstance(digest, bytes) else "?"})


# Effects.

OPERATION = (
    "op_id, tool, state, version, lineage, thread, key, args_hash, claimed_at, lease_until, labels, updated, crc"
)
EVENT = "seq, kind, at, crc, blob, digest"


def operation_row(op: Operation) -> Row:
    """The values of OPERATION."""
    claimed = None if op.claimed_at is None else float(op.claimed_at)
    until = None if op.lease_until is None else float(op.lease_until)
    head = (op.op_id, op.tool, op.state, op.version, op.lineage, op.thread, op.key, op.args_hash)
    row = (*head, claimed, until, _encode(op.labels), float(op.updated))
    return (*row, _texts(*row))


def operation_of(row: Row) -> Operation:
    """The operation in ``row``. Raises: CorruptRecord."""

    def read() -> Operation | None:
        if _texts(*row[:12]) != row[12]:
            return None
        op_id, tool, state, version, lineage, thread, key, args_hash, claimed, until, labels, updated, _ = row
        return Operation(
            op_id, tool, state, version, lineage, thread, key, args_hash, claimed, until, _decode(labels), updated
        )

    return _checked(read, "operation", row[10], {"op_id": str(row[0])})


def event_row(event: EffectEvent) -> Row:
    """The values of EVENT."""
    at = float(event.at)
    return (
        event.seq,
        event.kind,
        at,
        _texts(event.op_id, event.seq, event.kind, at, event.blob, event.digest),
        event.blob,
        event.digest,
    )


def event_of(row: Row, op_id: str) -> EffectEvent:
    """The event in ``row``. Raises: CorruptRecord."""

    def read() -> EffectEvent | None:
        seq, kind, at, crc, blob, digest = row
        if _texts(op_id, seq, kind, at, blob, digest) != crc:
            return None
        return EffectEvent(op_id=op_id, seq=seq, kind=kind, at=at, blob=blob, digest=digest)

    return _checked(read, "event", row[4], {"op_id": op_id, "seq": str(row[0])})
