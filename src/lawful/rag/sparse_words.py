"""What stores of words have in common: which words a text has, how they may be taken, and what of a passage is searched."""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

from lawful.core.errors import ConfigurationError, nearest
from lawful.rag.documents import Passage

Words = Literal["english", "plain", "trigram"]
"""How words are taken: "english" without their endings, "plain" as they are, "trigram" as any part of three letters."""
MOST_WORDS: Final = 64
"""Different words of a query that are looked for; the rest is passed over."""
WORD: Final = r"[^\W_]+"
_WORD: Final = re.compile(WORD)


def different(text: str) -> list[str]:
    """The different words of a query, in small letters; nothing in them is an operator of any store."""
    return list(dict.fromkeys(word.lower() for word in _WORD.findall(text)))[:MOST_WORDS]


def checked_words(words: Words) -> Words:
    """``words``, if words can be taken so. Raises: ConfigurationError."""
    if words not in get_args(Words):
        hint = nearest(str(words), get_args(Words))
        raise ConfigurationError(f"words cannot be {words!r}.{hint}", component="rag", operation="sparse")
    return words


def told(passage: Passage) -> str:
    """What of a passage is searched: its text, and the headings above it."""
    # Headings stand in the text where a piece begins with one; the others are said before it.
    above = [header for header in passage.headers if header not in passage.text]
    return "\n".join([*above, passage.text])
