"""How ids and names become the bytes of a column, and rows of PostgreSQL those that the checksums are made over."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from lawful.journal.records import Answer, TaskWrites
from lawful.stores.rows import Key, Row, answer_of, answer_row, pack, writes_of, writes_row

CHECKPOINT = "space, id, parent, step, source, at, weight, branch, hidden, crc, metadata, head, delta, snapshot, refs"
WRITES = "space, checkpoint, task, kind, crc, blob, refs"
ANSWER = "space, checkpoint, question, principal, at, crc, blob"


def stored(key: Key) -> bytes:
    """An id as its column holds it: 16 bytes for a UUID, else its text after a letter, and never 16 bytes."""
    if isinstance(key, bytes):
        return key
    text = key.encode("utf-8", "surrogatepass")
    return b"t" + text if len(text) != 15 else b"T\x00" + text


def held(raw: bytes) -> Key:
    """The id that a column holds as ``raw``."""
    if len(raw) == 16:
        return raw
    return (raw[2:] if raw.startswith(b"T\x00") else raw[1:]).decode("utf-8", "replace")


def stored_id(id: str) -> bytes:
    return stored(pack(id))


def ns_key(ns: str) -> bytes:
    """What finds a namespace in an index, whose entries must be short however deep graphs are nested."""
    return blake2b(ns.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def writes_in(writes: TaskWrites) -> Row:
    """The values of WRITES after the first."""
    checkpoint, task, *rest = writes_row(writes)
    return (stored(checkpoint), stored(task), *rest)


def writes_out(row: tuple[Any, ...], thread: str, ns: str) -> TaskWrites:
    """The task writes in ``row``. Raises: CorruptRecord."""
    checkpoint, task, *rest = row
    return writes_of((held(checkpoint), held(task), *rest), thread, ns)


def answer_in(answer: Answer) -> Row:
    """The values of ANSWER after the first."""
    checkpoint, question, *rest = answer_row(answer)
    return (stored(checkpoint), stored(question), *rest)


def answer_out(row: tuple[Any, ...], thread: str, ns: str) -> Answer:
    """The answer in ``row``. Raises: CorruptRecord."""
    checkpoint, question, *rest = row
    return answer_of((held(checkpoint), held(question), *rest), thread, ns)
