"""The splitter of Markdown: passages keep to sections, know the headings above them, and never cut fenced code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from lawful.rag.spans import Span, recursive, trimmed
from lawful.rag.split import SEPARATORS, Splitter, checked_sizes

_ATX: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT: Final = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")


class _Line(Struct, frozen=True):
    start: int
    end: int
    text: str


class MarkdownSplitter(Splitter):
    """Sections of at most ``size`` characters: larger ones are cut between paragraphs, lines, sentences.

    A section begins at its heading; ``headers`` are the headings above it and its own. A fenced block stays whole, even one
    larger than ``size``. Raises: ConfigurationError, unless size > 0.
    """

    def __init__(self, size: int = 1000) -> None:
        checked_sizes(size, 0)
        self.size = size
        self.name = f"markdown:{size}"

    def spans(self, text: str) -> list[Span]:
        found: list[Span] = []
        for section, fences in _sections(text):
            found += [Span(a, b, section.headers) for a, b in self._parts(text, section, fences)]
        return trimmed(text, found)

    def _parts(self, text: str, section: Span, fences: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        pieces: list[tuple[int, int]] = []
        at = section.start
        for start, end in fences:
            pieces += recursive(text, at, start, self.size, SEPARATORS) if at < start else []
            pieces.append((start, end))
            at = end
        pieces += recursive(text, at, section.end, self.size, SEPARATORS) if at < section.end else []
        begin: int | None = None
        for number, (start, end) in enumerate(pieces):
            begin = start if begin is None else begin
            after = pieces[number + 1][1] if number + 1 < len(pieces) else None
            if after is None or len(text[begin:after].strip()) > self.size:
                yield begin, end
                begin = None


def _sections(text: str) -> Iterator[tuple[Span, list[tuple[int, int]]]]:
    """Each section with the fenced blocks in it."""
    path: list[tuple[int, str]] = []
    start = 0
    fences: list[tuple[int, int]] = []
    for heading in _marks(text):
        if heading.level == 0:
            fences.append((heading.start, heading.end))
            continue
        if heading.start > start:
            yield Span(start, heading.start, tuple(title for _, title in path)), fences
        start, fences = heading.start, []
        path = [(level, title) for level, title in path if level < heading.level] + [(heading.level, heading.title)]
    yield Span(start, len(text), tuple(title for _, title in path)), fences


class _Mark(Struct, frozen=True):
    level: int
    """Of a heading; 0 of a fenced block."""
    start: int
    end: int
    title: str = ""


def _marks(text: str) -> Iterator[_Mark]:
    before: _Line | None = None
    fence: tuple[str, int] | None = None
    paragraph = 0
    for line in _lines(text):
        if fence is not None:
            if _closes(line.text, fence[0]):
                yield _Mark(0, fence[1], line.end)
                fence = None
            continue
        opening = _FENCE.match(line.text)
        if opening and not ("`" in opening[1] and "`" in opening[2]):
            fence, before, paragraph = (opening[1], line.start), None, 0
            continue
        heading = _ATX.match(line.text)
        under = _SETEXT.match(line.text)
        if heading:
            yield _Mark(len(heading[1]), line.start, line.end, (heading[2] or "").strip())
            before, paragraph = None, 0
        elif under and before is not None:
            yield _Mark(1 if "=" in under[1] else 2, before.start, line.end, before.text.strip())
            before, paragraph = None, 0
        else:
            # Only a paragraph of one line is taken for an underlined heading: lists and tables are underlined, too.
            plain = line.text.strip() and not line.text.lstrip().startswith(("-", "*", "+", ">", "|"))
            paragraph = paragraph + 1 if plain else 0
            before = line if paragraph == 1 else None
    if fence is not None:
        yield _Mark(0, fence[1], len(text))


def _closes(line: str, opening: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(opening) and set(bare) == {opening[0]}


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield _Line(start, start + len(line), line.rstrip("\r\n"))
        start += len(line)
