"""Journals that misbehave on purpose: they fail when told, are slow, or remember what they were handed."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from lawful.journal.memory import MemoryJournal
from lawful.journal.records import Batch, Chain, PutCheckpoint, PutWrites


class FailingJournal(MemoryJournal):
    """Raises ``fail`` on the commits that ``when`` picks, and on reads while ``blind``; otherwise a memory journal."""

    def __init__(self) -> None:
        super().__init__()
        self.fail: BaseException | None = None
        self.when: Callable[[Batch], bool] = lambda batch: True
        self.blind: BaseException | None = None
        self.refused = 0

    def _refusal(self, batch: Batch) -> BaseException | None:
        if self.fail is not None and self.when(batch):
            self.refused += 1
            return self.fail
        return None

    def commit(self, batch: Batch) -> None:
        if (refusal := self._refusal(batch)) is not None:
            raise refusal
        super().commit(batch)

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        if (refusal := self._refusal(batch)) is not None:
            done(refusal)
            return
        super().submit(batch, done)

    def chain(self, thread: str, ns: str = "", checkpoint: str | None = None) -> Chain | None:
        if self.blind is not None:
            raise self.blind
        return super().chain(thread, ns, checkpoint)


def puts_step(number: int) -> Callable[[Batch], bool]:
    """Picks the batch that holds the checkpoint of that step."""
    return lambda batch: any(isinstance(r, PutCheckpoint) and r.checkpoint.step == number for r in batch.records)


def puts_writes(batch: Batch) -> bool:
    """Picks batches that hold a task's writes and no checkpoint."""
    kinds = {type(record) for record in batch.records}
    return PutWrites in kinds and PutCheckpoint not in kinds


class SlowJournal(MemoryJournal):
    """Says that it blocks, and takes ``delay`` seconds for each commit; ``begun`` is set when the first slow one starts."""

    def __init__(self) -> None:
        super().__init__()
        self.delay = 0.0
        self.begun = threading.Event()
        self._queue: queue.SimpleQueue[tuple[Batch, Callable[[BaseException | None], None]] | None] = (
            queue.SimpleQueue()
        )
        self._writer = threading.Thread(target=self._work, daemon=True)
        self._writer.start()

    @property
    def blocking(self) -> bool:
        return True

    def commit(self, batch: Batch) -> None:
        if self.delay:
            self.begun.set()
            time.sleep(self.delay)
        super().commit(batch)

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        self._queue.put((batch, done))

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            batch, done = job
            try:
                self.commit(batch)
            except BaseException as refusal:
                done(refusal)
            else:
                done(None)

    def close(self) -> None:
        self._queue.put(None)
        self._writer.join()
        super().close()


class WatchfulJournal(MemoryJournal):
    """Keeps every batch it was handed and how it looked then; ``changed`` names those that look different now."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: list[tuple[Batch, bytes]] = []

    def _note(self, batch: Batch) -> None:
        self._seen.append((batch, _look(batch)))

    def commit(self, batch: Batch) -> None:
        self._note(batch)
        super().commit(batch)

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        self._note(batch)
        super().submit(batch, done)

    @property
    def handed(self) -> int:
        return len(self._seen)

    def changed(self) -> list[Any]:
        return [batch for batch, then in self._seen if _look(batch) != then]


def _look(batch: Batch) -> bytes:
    """The whole batch as bytes; its record classes are not told apart by tag, so their names are added."""
    return msgspec.msgpack.encode(
        [batch.thread, batch.durable, batch.release, [(type(one).__name__, one) for one in batch.records]]
    )
