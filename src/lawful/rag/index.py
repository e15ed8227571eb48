"""`Index`: documents in, hits out; words and vectors side by side, and what was lost in between is found and stored again."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Final, Self, TypeAlias

from msgspec import Struct

from lawful.core.errors import ValidationError
from lawful.models.embedders import embedder as embedder_named
from lawful.models.embedding import Embedder, Embeddings
from lawful.pipeline.nodes import Pipeline
from lawful.rag.documents import Document, Hit, Passage, checked_id, digest
from lawful.rag.file_vectors import FileVectors
from lawful.rag.fusing import rrf
from lawful.rag.index_book import Book, Record
from lawful.rag.minilm import MiniLMEmbedder
from lawful.rag.ports import Entry, SparseStore, VectorStore, Where
from lawful.rag.retrieve import around, dense, hybrid, sparse
from lawful.rag.sparse_index import SparseIndex
from lawful.rag.split import RecursiveSplitter, Splitter
from lawful.rag.sqlite_file import IndexFile

BATCH: Final = 256
"""Passages, more or less, that are embedded and stored together."""
_ASKED: Final = 2000
"""Passages that a store is asked for at once."""


class Progress(Struct, frozen=True):
    """How far an update has come."""

    done: int
    """Documents that are stored, or were found to be."""
    total: int
    passages: int
    """Stored so far."""


Listener: TypeAlias = Callable[[Progress], None]


class Report(Struct, frozen=True):
    """What an update did, by the documents' ids."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    """The text, the metadata or the splitter had changed."""
    healed: tuple[str, ...] = ()
    """They were recorded, but some of their passages were not there, or not as recorded; or an earlier update broke off."""
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    passages: int = 0
    """Stored by this update."""


class Check(Struct, frozen=True):
    """Where records and stores differ."""

    missing: Mapping[str, int]
    """Documents of which so many passages are not stored as recorded; an `update` with them heals them."""
    unfinished: tuple[str, ...]
    """Documents whose update or removal broke off."""
    stray: tuple[str, ...]
    """Passages that are stored and belong to no document."""

    @property
    def ok(self) -> bool:
        return not (self.missing or self.unfinished or self.stray)


class Index:
    """Documents, searched by words and by vectors. `open` makes or opens one; update it from one process at a time.

    Every write goes in three steps: what will be stored is recorded, then it is stored, then that is recorded. Each step may
    be done twice, so a crash between any two is healed by the next `update` with the same documents; and since records are
    compared with what the stores have, so is a loss in a store itself.
    """

    def __init__(
        self,
        file: IndexFile,
        embedder: Embedder,
        splitter: Splitter,
        vectors: VectorStore,
        words: SparseStore,
        scope: str,
    ) -> None:
        self.embedder, self.splitter, self.vectors, self.words, self.scope = embedder, splitter, vectors, words, scope
        self._file = file
        self._book = Book(file, scope)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = ":memory:",
        *,
        embedder: str | Embedder | None = None,
        splitter: Splitter | None = None,
        vectors: VectorStore | None = None,
        sparse: SparseStore | None = None,
        scope: str = "local",
    ) -> Self:
        """The index in that file; words, vectors and records are all in it unless other stores are given.

        ``embedder`` is one of ours or a name: "minilm" (real, on this machine), "openai:text-embedding-3-small", or "hash",
        which is the default and knows words only. A file keeps to the embedder that it was made with, and need not be told
        its name again. Stores that are given are used in the index's scope, and closed with it.

        Raises: ConfigurationError for another embedder than the file's, a missing package or key; VectorStoreError for a
        file that is none of ours; ValidationError for a scope that is no id.
        """
        checked_id(scope)
        file = IndexFile(path)
        try:
            book = Book(file, scope)
            name = embedder if isinstance(embedder, str) else None
            made = embedder if isinstance(embedder, Embedder) else None
            if made is None:
                made = embedder_of(name or book.settle("embedder", None) or "hash")
            book.settle("embedder", made.component_id)
            found = vectors.scoped(scope) if vectors is not None else FileVectors(file, scope=scope)
            words = sparse.scoped(scope) if sparse is not None else SparseIndex(file, scope=scope)
            return cls(file, made, splitter or RecursiveSplitter(1000, 100), found, words, scope)
        except BaseException:
            file.close()
            raise

    def close(self) -> None:
        """Close the stores and the file; the embedder stays open."""
        self.vectors.close()
        self.words.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def setting(self, name: str, value: str | None = None) -> str | None:
        """A setting that a program keeps in the index's file under a name of its own; with a ``value`` it is set first."""
        if value is not None:
            self._book.keep(f"own:{name}", value)
        return self._book.settle(f"own:{name}", None)

    def documents(self) -> list[str]:
        """The ids of the documents that are recorded as stored, in order."""
        return [id for id, record in self._book.all().items() if record.state == "stored"]

    def count(self) -> int:
        """How many passages can be found: those that have both words and a vector."""
        return len(set(self.vectors.ids()) & set(self.words.ids()))

    def update(
        self, documents: Iterable[Document], *, remove: bool = False, progress: Listener | None = None
    ) -> Report:
        """Store new and changed documents, and again what was lost of the others; nothing is embedded in vain.

        With ``remove`` the documents are all there are: what is recorded beyond them is removed. ``progress`` is called
        after each part. A failure leaves what was stored before it; the same call goes on from there.
        Raises: ValidationError for two documents with one id; what embedder and stores raise.
        """
        work = self._work(list(documents), remove, progress)
        try:
            texts = next(work)
            while True:
                texts = work.send(self.embedder.embed(texts))
        except StopIteration as end:
            return end.value

    async def aupdate(
        self, documents: Iterable[Document], *, remove: bool = False, progress: Listener | None = None
    ) -> Report:
        """As `update`; stores work in a thread."""
        work = self._work(list(documents), remove, progress)

        def go(made: Embeddings | None) -> Report | list[str]:
            try:
                return next(work) if made is None else work.send(made)
            except StopIteration as end:
                return end.value

        found = await asyncio.to_thread(go, None)
        while not isinstance(found, Report):
            found = await asyncio.to_thread(go, await self.embedder.aembed(found))
        return found

    def remove(self, ids: Iterable[str]) -> int:
        """Remove these documents; says how many there were."""
        known = self._book.get([checked_id(id) for id in ids])
        self._removed(list(known.values()))
        return len(known)

    def check(self) -> Check:
        """Compare the records with what the stores have; changes nothing."""
        records = self._book.all()
        missing = {id: lost for id, lost in self._lost(records.values()).items() if lost}
        unfinished = tuple(id for id, record in records.items() if record.state != "stored")
        known = {passage for record in records.values() for passage in record.passages}
        stray = sorted({*self.vectors.ids(), *self.words.ids()} - known)
        return Check(missing, unfinished, tuple(stray))

    def dense(self, k: int = 20, *, where: Where = None) -> Pipeline[str, list[Hit]]:
        """Retrieval by vectors, as a step."""
        return dense(self.vectors, self.embedder, k, where=where)

    def sparse(self, k: int = 20, *, where: Where = None) -> Pipeline[str, list[Hit]]:
        """Retrieval by words, as a step."""
        return sparse(self.words, k, where=where)

    def hybrid(self, k: int = 10, *, deep: int | None = None, where: Where = None) -> Pipeline[str, list[Hit]]:
        """Both at once, fused by rank; each gives ``deep`` hits, by default twice as many as are wanted."""
        most = deep or 2 * k
        return hybrid(self.dense(most, where=where), self.sparse(most, where=where), k)

    def parents(self, retriever: Pipeline[str, list[Hit]], *, margin: int | None = None) -> Pipeline[str, list[Hit]]:
        """``retriever``, whose hits are widened to their documents, or to ``margin`` characters on each side; see `around`."""
        return around(retriever, self._texts, margin)

    def search(self, question: str, k: int = 10, *, where: Where = None) -> list[Hit]:
        """The ``k`` best as `hybrid` finds them, in sync code; raises what fails."""
        near = self.vectors.search(self.embedder.embed_query(question), 2 * k, where)
        return rrf([near, self.words.search(question, 2 * k, where)])[:k]

    def _texts(self, ids: Sequence[str]) -> dict[str, Document]:
        return {id: record.document for id, record in self._book.get(ids).items()}

    def _recipe(self, document: Document) -> str:
        return digest(document.digest, self.splitter.name, self.embedder.component_id)

    def _lost(self, records: Iterable[Record]) -> dict[str, int]:
        """How many passages of each document that is recorded as stored are not there as recorded; none is left out."""
        stored = [record for record in records if record.state == "stored"]
        ids = [id for record in stored for id in record.passages]
        there: list[dict[str, str]] = [{}, {}]
        for store, found in zip((self.vectors, self.words), there, strict=True):
            for start in range(0, len(ids), _ASKED):
                found.update(store.present(ids[start : start + _ASKED]))
        return {
            record.document.id: sum(
                not all(found.get(id) == digest for found in there) for id, digest in record.passages.items()
            )
            for record in stored
        }

    def _work(
        self, documents: list[Document], remove: bool, progress: Listener | None
    ) -> Generator[list[str], Embeddings, Report]:
        """The whole update; it yields texts, is sent their vectors, and returns the report."""
        twice = [id for id, times in Counter(document.id for document in documents).items() if times > 1]
        if twice:
            raise ValidationError(f"two documents have the id {twice[0]!r}", component="rag", operation="index")
        known = self._book.all()
        given = {document.id for document in documents}
        lost = self._lost(record for id, record in known.items() if id in given)
        kinds: dict[str, list[str]] = {"added": [], "updated": [], "healed": [], "unchanged": []}
        due: list[Document] = []
        for document in documents:
            kind = self._kind(document, known.get(document.id), lost)
            kinds[kind].append(document.id)
            if kind != "unchanged":
                due.append(document)
        stored, done = 0, len(kinds["unchanged"])
        for batch in self._batches(due):
            passages = [passage for _, found in batch for passage in found]
            vectors = (yield [passage.text for passage in passages]).vectors if passages else ()
            self._stored(batch, vectors, known)
            stored += len(passages)
            done += len(batch)
            if progress is not None:
                progress(Progress(done, len(documents), stored))
        gone = [record for id, record in known.items() if remove and id not in given]
        self._removed(gone)
        told = {name: tuple(ids) for name, ids in kinds.items()}
        return Report(**told, removed=tuple(record.document.id for record in gone), passages=stored)

    def _kind(self, document: Document, record: Record | None, lost: Mapping[str, int]) -> str:
        if record is None:
            return "added"
        if record.recipe != self._recipe(document):
            return "updated"
        # A record that is not "stored" is not among them.
        return "unchanged" if lost.get(document.id) == 0 else "healed"

    def _batches(self, documents: Sequence[Document]) -> Iterator[list[tuple[Document, list[Passage]]]]:
        batch: list[tuple[Document, list[Passage]]] = []
        many = 0
        for document in documents:
            found = [passage for passage in self.splitter.split(document) if passage.text.strip()]
            batch.append((document, found))
            many += len(found)
            if many >= BATCH:
                yield batch
                batch, many = [], 0
        if batch:
            yield batch

    def _stored(
        self,
        batch: Sequence[tuple[Document, list[Passage]]],
        vectors: Sequence[tuple[float, ...]],
        known: Mapping[str, Record],
    ) -> None:
        meant = [
            Record(document, self._recipe(document), "stored", {passage.id: passage.digest for passage in passages})
            for document, passages in batch
        ]
        old = {one.document.id: known[one.document.id].passages for one in meant if one.document.id in known}
        writing = [
            Record(one.document, one.recipe, "writing", {**old.get(one.document.id, {}), **one.passages})
            for one in meant
        ]
        self._book.put(writing)
        passages = [passage for _, found in batch for passage in found]
        self.vectors.upsert(Entry(passage, vector) for passage, vector in zip(passages, vectors, strict=True))
        self.words.upsert(passages)
        stale = [id for one, new in zip(writing, meant, strict=True) for id in one.passages if id not in new.passages]
        self.vectors.delete(stale)
        self.words.delete(stale)
        self._book.put(meant)

    def _removed(self, records: Sequence[Record]) -> None:
        self._book.put([Record(one.document, one.recipe, "removing", one.passages) for one in records])
        ids = [id for record in records for id in record.passages]
        self.vectors.delete(ids)
        self.words.delete(ids)
        self._book.drop([record.document.id for record in records])


def embedder_of(name: str | Embedder) -> Embedder:
    """The embedder of that name: as `lawful.models.embedder`, and "minilm", and the names that a file keeps.

    Raises: ConfigurationError.
    """
    if isinstance(name, str) and name in ("minilm", "local:all-minilm-l6-v2"):
        return MiniLMEmbedder()
    return embedder_named("hash" if name == "local:hash" else name)
