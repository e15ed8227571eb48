"""`TantivyIndex`: retrieval by words through tantivy (extra ``tantivy``), in memory or in a folder, for large collections."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import unicodedata
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, assert_never

from lawful.core.errors import ConfigurationError, VectorStoreError
from lawful.core.lazy import late
from lawful.rag.documents import Hit, Passage, Scalar, checked_id
from lawful.rag.filters import All, Compare, Either, Filter, Has, Not, OneOf, kind, matches
from lawful.rag.ports import SparseStore, ranked
from lawful.rag.sparse_words import WORD, Words, checked_words, different, told
from lawful.rag.sqlite_file import packed, unpacked

MARK: Final = "lawful-words.json"
"""The file that says whose the folder is, and how its words were taken."""
HEAP: Final = 50_000_000
"""Bytes that a writer gathers before it writes a segment."""


class TantivyIndex(SparseStore):
    """BM25 (k1 = 1.2, b = 0.75) over passages and their headings; each scope is an index of its own in the folder.

    Scores are nearly those of `SparseIndex`: tantivy keeps the lengths of texts in one byte each, and counts what was
    deleted until it merges. Without ``path`` it is in memory. One process writes at a time; another that tries meanwhile
    gets a VectorStoreError that is retryable. ``words`` as for `SparseIndex`.

    Raises: ConfigurationError, if tantivy is missing or the folder was made with other ``words``; VectorStoreError for a
    folder of something else.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, scope: str = "local", words: Words = "english"
    ) -> None:
        self.scope = checked_id(scope)
        self.words: Words = checked_words(words)
        self._folder = _Folder(None if path is None else Path(path), words)

    def scoped(self, scope: str) -> TantivyIndex:
        made = object.__new__(TantivyIndex)
        made.scope, made.words, made._folder = checked_id(scope), self.words, self._folder
        with self._folder.gate:
            self._folder.users += 1
        return made

    def close(self) -> None:
        self._folder.close()

    def ids(self) -> list[str]:
        with self._folder.reading(self.scope) as one:
            return [] if one is None else sorted(one.first(at, "id") for _, at in one.found(one.everything(), one.size))

    def count(self) -> int:
        with self._folder.reading(self.scope) as one:
            return 0 if one is None else one.size

    def _upsert(self, passages: Sequence[Passage]) -> None:
        with self._folder.writing(self.scope) as (writer, document):
            for passage in passages:
                writer.delete_documents_by_term("id", passage.id)
                writer.add_document(
                    document(
                        id=passage.id,
                        digest=passage.digest,
                        told=unicodedata.normalize("NFC", told(passage)),
                        facts=_facts(passage),
                        body=packed(passage),
                    )
                )

    def _delete(self, ids: Sequence[str]) -> int:
        gone = self._present(ids)
        if gone:
            with self._folder.writing(self.scope) as (writer, _):
                for id in gone:
                    writer.delete_documents_by_term("id", id)
        return len(gone)

    def _present(self, ids: Sequence[str]) -> dict[str, str]:
        with self._folder.reading(self.scope) as one:
            if one is None:
                return {}
            found = one.found(one.anyone("id", ids), len(ids))
            return {one.first(at, "id"): one.first(at, "digest") for _, at in found}

    def _search(self, text: str, k: int, filter: Filter | None) -> list[Hit]:
        with self._folder.reading(self.scope) as one:
            words = different(unicodedata.normalize("NFC", text))
            query = None if one is None else one.query(self.words, words, filter)
            if one is None or query is None:
                return []
            limit, seen, hits = k + 1, 0, list[Hit]()
            while True:
                rows = one.found(query, limit)
                for score, at in rows[seen:]:
                    # Equal scores come in any order, so that ids decide only among all that share the last one.
                    if len(hits) >= k and score < hits[k - 1].score:
                        return ranked(hits, k)
                    passage = unpacked(one.first(at, "body"), self._folder.name)
                    if matches(filter, passage.metadata) and (self.words != "trigram" or _has_any(passage, words)):
                        hits.append(Hit(passage, score))
                if len(rows) < limit:
                    return ranked(hits, k)
                seen, limit = len(rows), 4 * limit


class _Folder:
    """The indexes of all scopes, which the handles of all scopes share."""

    def __init__(self, path: Path | None, words: Words) -> None:
        self._tantivy = late("tantivy", extra="tantivy")
        self._path = path
        self._words: Words = words
        self._made: dict[str, Any] = {}
        self.name = "memory" if path is None else str(path)
        self.gate = threading.RLock()
        self.users = 1
        if path is not None:
            with self._translating():
                self._own(path)
        build = self._tantivy.SchemaBuilder()
        for name in ("id", "digest"):
            build.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
        build.add_text_field("told", tokenizer_name="lawful")
        build.add_text_field("facts", tokenizer_name="raw", index_option="basic")
        build.add_bytes_field("body", stored=True)
        self._schema = build.build()
        self._analyzer = _analyzer(self._tantivy, words)

    def close(self) -> None:
        with self.gate:
            self.users -= 1
            if self.users <= 0:
                self._made.clear()

    @contextmanager
    def reading(self, scope: str) -> Generator[_Reader | None]:
        """The scope as it stands now; None where nothing was ever stored in it."""
        with self.gate, self._translating():
            index = self._index(scope, make=False)
            if index is not None:
                index.reload()
            yield None if index is None else _Reader(self._tantivy, index, self._analyzer)

    @contextmanager
    def writing(self, scope: str) -> Generator[tuple[Any, Any]]:
        """A writer of the scope and the class of its documents; all that is written in the block is stored, or nothing."""
        with self.gate, self._translating():
            writer = self._index(scope, make=True).writer(HEAP, 1)
            try:
                yield writer, self._tantivy.Document
                writer.commit()
            except BaseException:
                writer.rollback()
                raise
            finally:
                writer.wait_merging_threads()  # which gives up the lock of the folder, too

    def _index(self, scope: str, *, make: bool) -> Any:
        if self.users <= 0:
            raise VectorStoreError(f"{self.name} is closed", component="rag", operation="open", retryable=False)
        found = self._made.get(scope)
        place = None if self._path is None else self._path / hashlib.blake2b(scope.encode(), digest_size=16).hexdigest()
        if found is None and (make or (place is not None and (place / "meta.json").exists())):
            if place is not None:
                place.mkdir(exist_ok=True)
            found = self._tantivy.Index(self._schema, path=None if place is None else str(place))
            found.register_tokenizer("lawful", self._analyzer)
            found.config_reader("manual")
            self._made[scope] = found
        return found

    def _own(self, path: Path) -> None:
        mark = path / MARK
        if not mark.exists():
            path.mkdir(parents=True, exist_ok=True)
            if any(not each.name.startswith(MARK) for each in path.iterdir()):
                raise VectorStoreError(
                    f"{path} is a folder of something else", component="rag", operation="open", retryable=False
                )
            new = path / f"{MARK}.{os.getpid()}"
            new.write_text(json.dumps({"form": 1, "words": self._words}), encoding="utf-8")
            new.replace(mark)  # whole or not there, for another process that opens the folder now
        made = json.loads(mark.read_text(encoding="utf-8"))["words"]
        if made != self._words:
            raise ConfigurationError(
                f"{path} was made with words={made!r}, not {self._words!r}", component="rag", operation="sparse"
            )

    @contextmanager
    def _translating(self) -> Generator[None]:
        try:
            yield
        except (ValueError, OSError, KeyError, RuntimeError) as error:
            told = " ".join(str(error).split())
            raise VectorStoreError(
                f"{self.name}: {told[:300]}",
                component="rag",
                operation="tantivy",
                retryable="LockBusy" in told,
                cause=error,
            ) from error


class _Reader:
    """One view of a scope."""

    def __init__(self, tantivy: Any, index: Any, analyzer: Any) -> None:
        self._tantivy = tantivy
        self._schema = index.schema
        self._searcher = index.searcher()
        self._analyzer = analyzer
        self.size: int = self._searcher.num_docs

    def found(self, query: Any, limit: int) -> list[tuple[float, Any]]:
        return self._searcher.search(query, max(1, min(limit, self.size)), count=False).hits if self.size else []

    def first(self, at: Any, name: str) -> Any:
        return self._searcher.doc(at).get_first(name)

    def everything(self) -> Any:
        return self._tantivy.Query.all_query()

    def anyone(self, name: str, values: Sequence[str]) -> Any:
        return self._tantivy.Query.term_set_query(self._schema, name, list(values))

    def query(self, kind: Words, words: Sequence[str], filter: Filter | None) -> Any:
        """Any of the words, and what the filter needs; None where no word is left."""
        parts = [part for word in words if (part := self._word(kind, word))]
        if not parts:
            return None
        occur, query = self._tantivy.Occur, self._tantivy.Query
        wanted = query.boolean_query([(occur.Should, part) for part in parts])
        needs = None if filter is None else self._needs(filter)
        if needs is None:
            return wanted
        return query.boolean_query([(occur.Must, wanted), (occur.Must, query.const_score_query(needs, 0.0))])

    def _word(self, kind: Words, word: str) -> Any:
        query, tokens = self._tantivy.Query, self._analyzer.analyze(word)[: None if kind == "trigram" else 1]
        terms = [query.term_query(self._schema, "told", token) for token in tokens]
        return query.boolean_query([(self._tantivy.Occur.Must, term) for term in terms]) if terms else None

    def _needs(self, filter: Filter) -> Any:
        """What a passage that passes the filter has at least, as a query; None where that is nothing to look up.

        What is found is held against the filter itself afterwards, so more may be found here, but never less.
        """
        occur, query = self._tantivy.Occur, self._tantivy.Query
        match filter:
            case Compare(name, "==", value):
                return self.anyone("facts", [_equals(name, value)])
            case Compare(name) | Has(name):
                return self.anyone("facts", [name])
            case OneOf(name, values):
                return (
                    self.anyone("facts", [_equals(name, value) for value in values]) if values else query.empty_query()
                )
            case All(parts):
                needs = [found for part in parts if (found := self._needs(part)) is not None]
                return query.boolean_query([(occur.Must, one) for one in needs]) if needs else None
            case Either(parts):
                some = [self._needs(part) for part in parts]
                if any(one is None for one in some):
                    return None
                return query.boolean_query([(occur.Should, one) for one in some]) if some else query.empty_query()
            case Not():
                return None
            case _:
                assert_never(filter)


def _has_any(passage: Passage, words: Sequence[str]) -> bool:
    # tantivy keeps no places of trigrams, so that those of a word may have been found apart.
    text = unicodedata.normalize("NFC", told(passage)).lower()
    return any(word in text for word in words)


def _facts(passage: Passage) -> list[str]:
    return [*passage.metadata, *(_equals(name, value) for name, value in passage.metadata.items())]


def _equals(name: str, value: Scalar) -> str:
    """That a field has a value, as one term; tantivy leaves out terms that are long, so a long text is its digest."""
    what = kind(value)
    said = str(float(value) + 0.0) if what == "n" else str(value)
    if len(said) > 200:
        return f"{name}=h:{hashlib.blake2b(said.encode(), digest_size=20).hexdigest()}"
    return f"{name}={what}:{said}"


def _analyzer(tantivy: Any, words: Words) -> Any:
    cut: Any = tantivy.Tokenizer
    change: Any = tantivy.Filter
    if words == "trigram":
        return tantivy.TextAnalyzerBuilder(cut.ngram(3, 3, False)).filter(change.lowercase()).build()
    made = tantivy.TextAnalyzerBuilder(cut.regex(WORD)).filter(change.lowercase()).filter(change.ascii_fold())
    return (made.filter(change.stemmer("english")) if words == "english" else made).build()
