"""Where a text may be cut: spans of at most a size, cut at the best separator that fits, in characters of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

Measure: TypeAlias = Callable[[str], int]
"""How large a text is: its characters, or its tokens by some tokenizer; a part is never larger than the whole."""


class Span(Struct, frozen=True):
    """``text[start:end]``, and the headings above it."""

    start: int
    end: int
    headers: tuple[str, ...] = ()


def cuts(text: str, start: int, end: int, separator: str) -> list[int]:
    """The places within the span after which a part may begin: behind each separator.

    One that begins a line and says how it goes on ("\\nclass ") is cut behind its line break, so that its words stay
    with what follows.
    """
    ahead = 1 if separator.startswith("\n") and separator.strip() else len(separator)
    found: list[int] = []
    at = text.find(separator, start, end)
    while at >= 0:
        if start < at + ahead < end:
            found.append(at + ahead)
        at = text.find(separator, at + max(1, ahead), end)
    return found


def recursive(
    text: str, start: int, end: int, size: int, separators: Sequence[str], measure: Measure = len
) -> list[tuple[int, int]]:
    """Spans that cover ``text[start:end]`` without gaps, each of at most ``size``: parts between the first separators are
    joined while they fit; what is too large by itself is cut at the next ones, and in the end anywhere.
    """
    found: list[tuple[int, int]] = []
    work = [(start, end, 0)]
    while work:
        begin, stop, level = work.pop()
        if measure(text[begin:stop]) <= size:
            found.append((begin, stop))
        elif level == len(separators):
            cut = _longest(text, begin, stop, size, measure)
            found.append((begin, cut))
            if cut < stop:
                work.append((cut, stop, level))
        else:
            edges = [begin, *cuts(text, begin, stop, separators[level]), stop]
            parts = [(a, b, level + 1) for a, b in _joined(text, edges, size, measure)]
            work.extend(reversed(parts))
    return found


def _joined(text: str, edges: Sequence[int], size: int, measure: Measure) -> Iterable[tuple[int, int]]:
    start = edges[0]
    for last, edge in zip(edges[1:], [*edges[2:], None], strict=True):
        if edge is None or measure(text[start:edge]) > size:
            yield start, last
            start = last


def _longest(text: str, start: int, end: int, size: int, measure: Measure) -> int:
    """The furthest end that keeps within ``size``; at least one character on."""
    low, high = start + 1, end
    while low < high:
        middle = (low + high + 1) // 2
        if measure(text[start:middle]) <= size:
            low = middle
        else:
            high = middle - 1
    return low


def trimmed(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans without blanks at their ends, and without those that are nothing but blanks."""
    found: list[Span] = []
    for span in spans:
        piece = text[span.start : span.end]
        start = span.start + len(piece) - len(piece.lstrip())
        end = start + len(piece.strip())
        if end > start:
            found.append(Span(start, end, span.headers))
    return found


def overlapped(
    text: str, spans: Sequence[tuple[int, int]], size: int, overlap: int, measure: Measure = len
) -> list[tuple[int, int]]:
    """The spans, each begun up to ``overlap`` earlier at the beginning of a word, where it then still keeps within ``size``."""
    found = list(spans[:1])
    for (before, _), (start, end) in pairwise(spans):
        low, high = before, start
        while low < high:
            middle = (low + high) // 2
            if measure(text[middle:start]) <= overlap and measure(text[middle:end]) <= size:
                high = middle
            else:
                low = middle + 1
        while low < start and low > before and not text[low - 1].isspace():
            low += 1
        found.append((low, end))
    return found
