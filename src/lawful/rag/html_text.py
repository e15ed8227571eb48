"""What a reader sees of an HTML page, as plain text; nothing in it is fetched or run."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

_UNSEEN: Final = {"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "head", "select"}
_BLOCKS: Final = {
    *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "fieldset", "figcaption", "figure"),
    *("footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre"),
    *("section", "table", "td", "th", "tr", "ul"),
}
_HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._unseen: list[str] = []
        self._pre = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag in _UNSEEN:
            self._unseen.append(tag)
        elif tag == "body":
            self._unseen.clear()  # a head that was never closed ends here
        elif tag in _BLOCKS:
            self.parts.append("\n")
            self._pre += tag == "pre"
            if tag in _HEADINGS:
                self.parts.append(f"\n{_HEADINGS[tag]} ")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._unseen:
            del self._unseen[self._unseen.index(tag) :]
        elif tag in _BLOCKS:
            self.parts.append("\n")
            self._pre = max(0, self._pre - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._unseen:
            self.parts.append(data if self._pre else re.sub(r"\s+", " ", data))


def html_text(page: str) -> tuple[str, str]:
    """The page's text, headings marked as in Markdown, and its title."""
    seen = _Seen()
    seen.feed(page)
    seen.close()
    lines = [line.strip() for line in "".join(seen.parts).split("\n")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return text, " ".join("".join(seen.title).split())
