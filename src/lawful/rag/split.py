"""Splitters of text, of tokens and by meaning: each makes passages that name their place in the document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Final

from lawful.core.errors import ConfigurationError
from lawful.core.lazy import late
from lawful.rag.documents import Document, Passage
from lawful.rag.spans import Measure, Span, overlapped, recursive, trimmed

SEPARATORS: Final = ("\n\n", "\n", ". ", "? ", "! ", "; ", ", ", " ")
"""From the best place to cut to the worst; after the last, anywhere."""


class Splitter(ABC):
    """Cuts documents into passages. For every passage ``document.text[start:end] == text``."""

    name: str
    """Says kind and settings: an index makes its passages anew when it changes."""

    @abstractmethod
    def spans(self, text: str) -> list[Span]:
        """Where the passages of this text lie, in order."""
        ...

    def split(self, document: Document) -> list[Passage]:
        """The passages of a document; ids are its id, "#" and a number from 1."""
        return [
            Passage(
                f"{document.id}#{number}",
                document.id,
                document.text[span.start : span.end],
                span.start,
                span.end,
                document.source,
                document.metadata,
                span.headers,
            )
            for number, span in enumerate(self.spans(document.text), 1)
        ]

    def split_all(self, documents: Iterable[Document]) -> list[Passage]:
        """The passages of all documents, in order."""
        return [passage for document in documents for passage in self.split(document)]


class Whole(Splitter):
    """One passage a document."""

    name = "whole"

    def spans(self, text: str) -> list[Span]:
        return trimmed(text, [Span(0, len(text))])


class CharacterSplitter(Splitter):
    """Windows of ``size`` characters, each beginning ``overlap`` before the end of the last; nothing is trimmed.

    Raises: ConfigurationError, unless 0 <= overlap < size.
    """

    def __init__(self, size: int = 1000, overlap: int = 0) -> None:
        checked_sizes(size, overlap)
        self.size, self.overlap = size, overlap
        self.name = f"character:{size}:{overlap}"

    def spans(self, text: str) -> list[Span]:
        found: list[Span] = []
        start = 0
        while start < len(text):
            found.append(Span(start, min(start + self.size, len(text))))
            if start + self.size >= len(text):
                break
            start += self.size - self.overlap
        return found


class RecursiveSplitter(Splitter):
    """Pieces of at most ``size``, cut at the first of the separators that makes them fit: paragraphs, lines, sentences, words.

    ``measure`` says how large a text is, by default in characters; its ``name`` is then part of the splitter's. A piece
    begins up to ``overlap`` before the end of the last. Raises: ConfigurationError, unless 0 <= overlap < size.
    """

    def __init__(
        self,
        size: int = 1000,
        overlap: int = 0,
        *,
        separators: Sequence[str] = SEPARATORS,
        measure: Measure = len,
    ) -> None:
        checked_sizes(size, overlap)
        if isinstance(separators, str) or not all(separators):
            raise ConfigurationError("separators are a list of texts, none empty", component="rag", operation="split")
        self.size, self.overlap, self.separators, self.measure = size, overlap, tuple(separators), measure
        told = getattr(measure, "name", getattr(measure, "__name__", type(measure).__name__))
        own = "" if self.separators == SEPARATORS else f":{self.separators!r}"
        self.name = f"recursive:{size}:{overlap}:{told}{own}"

    def spans(self, text: str) -> list[Span]:
        return self.within(text, 0, len(text))

    def within(self, text: str, start: int, end: int, headers: tuple[str, ...] = ()) -> list[Span]:
        """The pieces of ``text[start:end]``."""
        parts = recursive(text, start, end, self.size - self.overlap, self.separators, self.measure)
        if self.overlap:
            parts = overlapped(text, parts, self.size, self.overlap, self.measure)
        return trimmed(text, [Span(a, b, headers) for a, b in parts])


def estimate(text: str) -> int:
    """About how many tokens a text has: a quarter of its characters, rounded up."""
    return -(-len(text) // 4)


class TokenSplitter(RecursiveSplitter):
    """Pieces of at most ``size`` tokens by ``count``; the default only estimates, a tokenizer's own count is better.

    ``count`` takes a text and gives a number: ``lambda text: len(tokenizer.encode(text).ids)``.
    """

    def __init__(self, size: int = 256, overlap: int = 0, *, count: Measure = estimate) -> None:
        super().__init__(size, overlap, measure=count)
        self.name = f"token:{self.name}"


class SemanticSplitter(Splitter):
    """Pieces by the Rust library semantic-text-splitter (extra ``rag``): Unicode sentences and words, or Markdown's structure.

    Raises: ConfigurationError, if it is missing, or unless 0 <= overlap < size.
    """

    def __init__(self, size: int = 1000, overlap: int = 0, *, markdown: bool = False) -> None:
        checked_sizes(size, overlap)
        library: Any = late("semantic_text_splitter", extra="rag")
        kind = library.MarkdownSplitter if markdown else library.TextSplitter
        self._splitter: Any = kind(size, overlap=overlap)
        self.name = f"semantic:{'markdown' if markdown else 'text'}:{size}:{overlap}"

    def spans(self, text: str) -> list[Span]:
        return [Span(start, start + len(piece)) for start, piece in self._splitter.chunk_indices(text)]


def checked_sizes(size: int, overlap: int) -> None:
    """Raises: ConfigurationError, unless 0 <= overlap < size."""
    if not 0 <= overlap < size:
        raise ConfigurationError(
            f"a splitter has 0 <= overlap < size, not size {size} and overlap {overlap}",
            component="rag",
            operation="split",
        )
