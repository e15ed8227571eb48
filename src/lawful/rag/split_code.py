"""The splitter of program text: Python by its syntax, other languages where their definitions begin."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lawful.core.errors import ConfigurationError, nearest
from lawful.rag.spans import Span, recursive, trimmed
from lawful.rag.split import Splitter, checked_sizes

_LINES: Final = ("\n\n", "\n", " ")
LANGUAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "python": ("\nclass ", "\ndef ", "\nasync def ", "\n    def ", *_LINES),
    "javascript": ("\nexport ", "\nclass ", "\nfunction ", "\nasync function ", "\nconst ", *_LINES),
    "typescript": ("\nexport ", "\ninterface ", "\nclass ", "\nfunction ", "\nconst ", "\ntype ", *_LINES),
    "java": ("\npublic ", "\nclass ", "\ninterface ", "\n    public ", "\n    private ", "\n    protected ", *_LINES),
    "go": ("\nfunc ", "\ntype ", "\nvar ", "\nconst ", *_LINES),
    "rust": ("\nimpl ", "\npub ", "\nfn ", "\nstruct ", "\nenum ", "\ntrait ", "\nmod ", *_LINES),
    "c": ("\nstruct ", "\nstatic ", "\nint ", "\nvoid ", "\n#define ", *_LINES),
    "cpp": ("\nnamespace ", "\nclass ", "\ntemplate", "\nstruct ", "\nstatic ", "\nint ", "\nvoid ", *_LINES),
    "ruby": ("\nclass ", "\nmodule ", "\ndef ", "\n  def ", *_LINES),
    "haskell": ("\nmodule ", "\ndata ", "\nnewtype ", "\nclass ", "\ninstance ", "\ntype ", *_LINES),
    "shell": ("\nfunction ", "\nif ", "\nfor ", "\nwhile ", *_LINES),
    "sql": ("\nCREATE ", "\nALTER ", "\nINSERT ", "\nSELECT ", *_LINES),
}
"""Where to cut, from the best place to the worst; in other languages than Python this goes by words, not by syntax."""

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class CodeSplitter(Splitter):
    """Pieces of at most ``size`` characters; a function or class that fits is never cut.

    In Python ``headers`` are the names of the classes and functions around a piece; neighbours that fit together stay
    together. Python that does not parse is cut as the other languages are. Raises: ConfigurationError for an unknown
    language, or unless size > 0.
    """

    def __init__(self, language: str = "python", size: int = 1500) -> None:
        checked_sizes(size, 0)
        if language not in LANGUAGES:
            hint = nearest(language, LANGUAGES)
            raise ConfigurationError(f"no rules for {language!r}.{hint}", component="rag", operation="split")
        self.language, self.size = language, size
        self.name = f"code:{language}:{size}"

    def spans(self, text: str) -> list[Span]:
        if self.language == "python":
            try:
                tree = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return self._cut(text, 0, len(text), ())
            starts = _line_starts(text)
            found = list(self._body(text, starts, tree.body, 0, len(text), ()))
            return trimmed(text, self._together(text, found))
        return self._cut(text, 0, len(text), ())

    def _cut(self, text: str, start: int, end: int, headers: tuple[str, ...]) -> list[Span]:
        parts = recursive(text, start, end, self.size, LANGUAGES[self.language])
        return trimmed(text, [Span(a, b, headers) for a, b in parts])

    def _body(
        self, text: str, starts: Sequence[int], body: Sequence[ast.stmt], start: int, end: int, headers: tuple[str, ...]
    ) -> Iterator[Span]:
        """Spans that cover ``text[start:end]``, each of whole statements where they fit."""
        at = start
        for number, node in enumerate(body):
            # What stands between two statements, comments above all, belongs to the one below.
            last = end if number + 1 == len(body) else starts[node.end_lineno or node.lineno]
            if last <= at:
                continue  # a second statement on one line
            if last - at <= self.size:
                yield Span(at, last, headers)
            elif isinstance(node, _Definition):
                inner = starts[_first_line(node.body[0]) - 1]
                inner = min(max(inner, at), last)
                yield from self._cut(text, at, inner, (*headers, node.name)) if at < inner else ()
                yield from self._body(text, starts, node.body, inner, last, (*headers, node.name))
            else:
                yield from self._cut(text, at, last, headers)
            at = last
        if at < end:
            yield from self._cut(text, at, end, headers)

    def _together(self, text: str, spans: Sequence[Span]) -> Iterator[Span]:
        held: Span | None = None
        for span in spans:
            if held is not None and held.headers == span.headers and span.end - held.start <= self.size:
                held = Span(held.start, span.end, held.headers)
                continue
            if held is not None:
                yield held
            held = span
        if held is not None:
            yield held


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, _Definition) else []
    return min([node.lineno, *(one.lineno for one in decorators)])


def _line_starts(text: str) -> list[int]:
    """Where each line begins, as Python's tokenizer counts lines, and the end of the text."""
    starts = [0]
    at = 0
    while at < len(text):
        if text.startswith("\r\n", at):
            at += 1
        if text[at] in "\r\n":
            starts.append(at + 1)
        at += 1
    starts.append(len(text))
    return starts
