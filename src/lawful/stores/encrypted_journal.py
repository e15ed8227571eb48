"""`EncryptedJournal`: any journal with its values encrypted; which fields are sealed, and what each seal is bound to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from lawful.core.canonical import canonical
from lawful.core.errors import CannotDecrypt
from lawful.journal.checks import check_batch
from lawful.journal.cipher import Cipher, Part, Sealer, cannot
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import (
    Answer,
    Batch,
    Chain,
    Checkpoint,
    EffectEvent,
    PutAnswer,
    PutCheckpoint,
    PutChunks,
    PutWrites,
    Record,
    TaskWrites,
)
from lawful.journal.wrapper import JournalWrapper
from lawful.stores.encrypted_effects import SealedEffectTx, event_anew, mark_anew
from lawful.stores.rekeying import journal_tables, rekeyed

T = TypeVar("T")
_COPY = "sealed copy: "
"""Begins the names of the marks that say where a copied thread's rows come from."""
_told = msgspec.json.encode
_names = msgspec.json.Decoder(list[str]).decode
_MARK = 16
"""Bytes of the digest of a checkpoint's metadata, which is sealed with its head."""


class EncryptedJournal(JournalWrapper):
    """``journal`` with what it keeps of values encrypted by ``cipher``: every state, write, answer, chunk and effect event.

    A seal is bound to scope, thread, column and row; a copy of a thread has a sealed note of the threads that its rows come
    from. Bytes that were changed, moved to another row or encrypted with a key that is not there are `CannotDecrypt`, which
    names the place; they stay as they are. Ids, names, times, steps, metadata, leases and where operations stand are not
    encrypted: docs/encryption.md lists every column. ``plain=True`` also reads what was stored before there was a cipher.

    Raises: CannotDecrypt, and what ``journal`` raises.
    """

    def __init__(self, journal: Journal, cipher: Cipher, *, plain: bool = False) -> None:
        self._open(journal, Sealer(cipher, plain=plain), {})

    def _open(self, journal: Journal, sealer: Sealer, handles: dict[str, EncryptedJournal]) -> None:
        self.inner = journal
        self._sealer = sealer
        self._handles = handles
        handles[journal.scope] = self

    def scoped(self, scope: str) -> EncryptedJournal:
        handle = self._handles.get(scope)
        if handle is None:
            handle = EncryptedJournal.__new__(EncryptedJournal)
            handle._open(self.inner.scoped(scope), self._sealer, self._handles)
        return handle

    @property
    def sealer(self) -> Sealer:
        """What encrypts: for what is kept beside the journal, too."""
        return self._sealer

    # Threads.

    def commit(self, batch: Batch) -> None:
        check_batch(batch)
        self.inner.commit(self._sealed(batch))

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        check_batch(batch)
        self.inner.submit(self._sealed(batch), done)

    def chain(self, thread: str, ns: str = "", checkpoint: str | None = None) -> Chain | None:
        found = self.inner.chain(thread, ns, checkpoint)
        if found is None:
            return None
        return Chain(
            rows=tuple(self._checkpoint(thread, row) for row in found.rows),
            writes=tuple(self._writes(thread, row) for row in found.writes),
            answers=tuple(self._answer(thread, row) for row in found.answers),
            chunks=self._chunks(thread, found.chunks),
        )

    def history(
        self,
        thread: str,
        ns: str = "",
        *,
        before: str | None = None,
        limit: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> Sequence[Checkpoint]:
        found = self.inner.history(thread, ns, before=before, limit=limit, filter=filter)
        return [self._checkpoint(thread, row) for row in found]

    def children(self, thread: str, ns: str, checkpoint: str) -> Sequence[Checkpoint]:
        return [self._checkpoint(thread, row) for row in self.inner.children(thread, ns, checkpoint)]

    def chunks(self, thread: str, digests: Iterable[bytes]) -> Mapping[bytes, bytes]:
        return self._chunks(thread, self.inner.chunks(thread, digests))

    # Retention.

    def delete_thread(self, thread: str) -> None:
        self.inner.delete_thread(thread)
        if self._origins(thread):
            self._note(thread, None)

    def copy_thread(self, source: str, target: str) -> None:
        before = self._origins(target)
        # The note first: rows without it could not be read, and a note without rows says nothing.
        self._note(target, [source, *self._origins(source)])
        try:
            self.inner.copy_thread(source, target)
        except BaseException:
            self._note(target, before or None)
            raise

    # Effects.

    def transact(self, work: Callable[[EffectTx], T], *, durable: bool = True) -> T:
        return self.inner.transact(lambda tx: work(SealedEffectTx(tx, self._sealer, self.scope)), durable=durable)

    def read(self, work: Callable[[EffectTx], T]) -> T:
        return self.inner.read(lambda tx: work(SealedEffectTx(tx, self._sealer, self.scope)))

    # Keys.

    def rekey(self, *, batch: int = 200) -> int:
        """Encrypt with the cipher's current key what older keys encrypted, of every scope; gives how many rows that were.

        ``batch`` rows are changed in one transaction; others run on meanwhile. Killed in between it is simply run again: it
        looks only for what is left. With ``plain=True`` it also encrypts what is plain. In PostgreSQL only the owner of the
        tables may. Raises: ConfigurationError, for a journal in memory or of a third party; CannotDecrypt; StoreError.
        """
        return rekeyed(self.inner, journal_tables(_Anew(self)), self._sealer.mark, batch)

    # Sealing.

    def _origins(self, thread: str) -> list[str]:
        """The threads that rows of a copy were written for."""
        name = _COPY + thread
        told = self.inner.read(lambda tx: tx.mark(name))
        return [] if told is None else _names(self._sealer.open(told, self.scope, "copy", thread))

    def _note(self, thread: str, origins: list[str] | None) -> None:
        told = None if origins is None else self._sealer.seal(_told(origins), self.scope, "copy", thread)
        self.inner.transact(lambda tx: tx.set_mark(_COPY + thread, told))

    def _sealed(self, batch: Batch) -> Batch:
        return replace(batch, records=tuple(self._sealed_record(batch.thread, record) for record in batch.records))

    def _sealed_record(self, thread: str, record: Record) -> Record:
        seal = self._sealer.seal
        root: tuple[Part, ...] = (self.scope, thread)
        match record:
            case PutCheckpoint(checkpoint=c):
                head = _digest(c.metadata) + c.head
                return replace(
                    record,
                    checkpoint=replace(
                        c,
                        head=seal(head, *root, *_head_place(c)),
                        delta=seal(c.delta, *root, "delta", c.ns, c.id),
                        snapshot=None if c.snapshot is None else seal(c.snapshot, *root, "snapshot", c.ns, c.id),
                    ),
                )
            case PutWrites(writes=w):
                return replace(record, writes=replace(w, blob=seal(w.blob, *root, *_writes_place(w))))
            case PutAnswer(answer=a):
                return replace(record, answer=replace(a, blob=seal(a.blob, *root, *_answer_place(a))))
            case PutChunks(chunks=chunks):
                return PutChunks({d: seal(body, *root, "chunk", d) for d, body in chunks.items()})
            case _:
                return record

    def _opened(self, thread: str, data: bytes, what: str, *place: Part) -> bytes:
        """Sealed for the thread itself, or, where that is a copy, for one that its rows come from."""
        try:
            return self._sealer.open(data, self.scope, thread, *place)
        except CannotDecrypt as error:
            for origin in self._origins(thread):
                with suppress(CannotDecrypt):
                    return self._sealer.open(data, self.scope, origin, *place)
            raise _placed(error, what, thread, place) from error.__cause__

    def _checkpoint(self, thread: str, c: Checkpoint) -> Checkpoint:
        place = (c.ns, c.id)
        sealed_head = self._opened(thread, c.head, "head", *_head_place(c))
        head = sealed_head
        if sealed_head is not c.head:
            digest, head = sealed_head[:_MARK], sealed_head[_MARK:]
            # Retention takes the metadata of rows that it keeps out of sight.
            if c.metadata and digest != _digest(c.metadata):
                raise _placed(
                    cannot("do not belong to this metadata, which was changed", c.head), "head", thread, place
                )
        snapshot = None if c.snapshot is None else self._opened(thread, c.snapshot, "snapshot", "snapshot", *place)
        # Retention empties the delta of a row that has a snapshot; nobody else may.
        emptied = not c.delta and snapshot is not None
        delta = b"" if emptied else self._opened(thread, c.delta, "delta", "delta", *place)
        return replace(c, head=head, delta=delta, snapshot=snapshot)

    def _writes(self, thread: str, w: TaskWrites) -> TaskWrites:
        return replace(w, blob=self._opened(thread, w.blob, "task writes", *_writes_place(w)))

    def _answer(self, thread: str, a: Answer) -> Answer:
        return replace(a, blob=self._opened(thread, a.blob, "answer", *_answer_place(a)))

    def _chunks(self, thread: str, chunks: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        return {d: self._opened(thread, body, "chunk", "chunk", d) for d, body in chunks.items()}


class _Anew:
    """Opens with whatever key, and seals with the current one."""

    def __init__(self, journal: EncryptedJournal) -> None:
        self._journal = journal
        self._sealer = journal._sealer

    def checkpoint(self, scope: str, thread: str, kept: Checkpoint) -> Checkpoint:
        own = self._journal.scoped(scope)
        sealed = own._sealed_record(thread, PutCheckpoint(own._checkpoint(thread, kept)))
        assert isinstance(sealed, PutCheckpoint)
        return sealed.checkpoint if kept.delta else replace(sealed.checkpoint, delta=b"")

    def writes(self, scope: str, thread: str, kept: TaskWrites) -> TaskWrites:
        own = self._journal.scoped(scope)
        sealed = own._sealed_record(thread, PutWrites(own._writes(thread, kept)))
        assert isinstance(sealed, PutWrites)
        return sealed.writes

    def answer(self, scope: str, thread: str, kept: Answer) -> Answer:
        own = self._journal.scoped(scope)
        sealed = own._sealed_record(thread, PutAnswer(own._answer(thread, kept)))
        assert isinstance(sealed, PutAnswer)
        return sealed.answer

    def chunk(self, scope: str, thread: str, digest: bytes, body: bytes) -> bytes:
        plain = self._journal.scoped(scope)._chunks(thread, {digest: body})[digest]
        return self._sealer.seal(plain, scope, thread, "chunk", digest)

    def event(self, scope: str, kept: EffectEvent) -> EffectEvent:
        return event_anew(self._sealer, scope, kept)

    def mark(self, scope: str, name: str, value: bytes) -> bytes:
        place = ("copy", name.removeprefix(_COPY)) if name.startswith(_COPY) else ()
        return mark_anew(self._sealer, scope, name, value, *place)


def _digest(metadata: Mapping[str, Any]) -> bytes:
    return blake2b(canonical(dict(metadata)), digest_size=_MARK).digest()


def _head_place(c: Checkpoint) -> tuple[Part, ...]:
    whole = "delta" if c.snapshot is None else "whole"
    return ("head", c.ns, c.id, c.parent or "", c.step, c.source, whole, b"".join(c.refs))


def _writes_place(w: TaskWrites) -> tuple[Part, ...]:
    return ("writes", w.ns, w.checkpoint, w.task, w.kind, b"".join(w.refs))


def _answer_place(a: Answer) -> tuple[Part, ...]:
    return ("answer", a.ns, a.checkpoint, a.question, a.by)


def _placed(error: CannotDecrypt, what: str, thread: str, place: tuple[Part, ...]) -> CannotDecrypt:
    shown = [part.hex() if isinstance(part, bytes) else str(part) for part in place]
    found = CannotDecrypt(
        f"{what} of thread {thread!r} ({', '.join(shown)}): {error.message}",
        component="journal",
        operation="read",
        details={**error.details, "thread": thread, "column": what, "place": " ".join(shown)},
    )
    found.raw = error.raw
    return found
