"""What is indexed and what is found: documents and passages with stable ids, checked metadata, and hits with scores."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, TypeGuard

import msgspec
from msgspec import Struct

from lawful.core.errors import ValidationError

Scalar: TypeAlias = str | int | float | bool
Metadata: TypeAlias = Mapping[str, Scalar]

LARGEST: Final = 2**53
"""Up to here every store keeps an integer exactly."""
LONGEST_ID: Final = 512
_LONGEST_OWN: Final = 480
"""Of a document: its passages' ids have a number behind it."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}", re.ASCII)


class Document(Struct, frozen=True):
    """A text from one place, before it is split. Made by `document`, which checks it."""

    id: str
    """Stays the same while the text changes, so that a changed document replaces itself in an index."""
    text: str
    source: str = ""
    """Where it came from: a path, an address; "" if it has no name."""
    metadata: Metadata = {}

    @property
    def digest(self) -> str:
        """Of text, source and metadata: two documents with equal digests need not be indexed twice."""
        return digest(self.text, self.source, self.metadata)


class Passage(Struct, frozen=True):
    """A piece of a document: ``text == document.text[start:end]``, in characters."""

    id: str
    document: str
    """The document's id."""
    text: str
    start: int
    end: int
    source: str = ""
    metadata: Metadata = {}
    headers: tuple[str, ...] = ()
    """The headings above it, from the outermost, where the splitter knows them."""

    @property
    def digest(self) -> str:
        """Of everything but the id."""
        return digest(self.text, self.source, self.metadata, self.document, self.start, self.headers)


class Hit(Struct, frozen=True):
    """A passage that was found, best first in a list; scores of different searches cannot be compared."""

    passage: Passage
    score: float

    @property
    def id(self) -> str:
        return self.passage.id

    @property
    def text(self) -> str:
        return self.passage.text

    @property
    def source(self) -> str:
        """Where the passage stands: its document's source, or its id."""
        return self.passage.source or self.passage.document


def document(text: str, *, id: str = "", source: str = "", metadata: Metadata | None = None) -> Document:
    """A checked document. Without an ``id`` it is the source, or a digest of the text if that is empty too.

    Raises: ValidationError for an empty or overlong id, text that is not Unicode, and metadata that is not names and scalars.
    """
    checked_text(text, "text")
    checked_text(source, "source")
    named = source if len(source) <= _LONGEST_OWN else f"source-{digest(source)[:24]}"
    own = checked_id(id or named or f"text-{digest(text)[:24]}", _LONGEST_OWN)
    return Document(own, text, source, checked_metadata(metadata or {}))


def digest(*parts: object) -> str:
    """A stable fingerprint of plain values, in hexadecimal."""
    told = msgspec.json.encode(parts, order="deterministic")
    return hashlib.blake2b(told, digest_size=20).hexdigest()


def checked_id(value: object, longest: int = LONGEST_ID) -> str:
    """``value``, if it can name a document, passage or scope in every store.

    Raises: ValidationError.
    """
    if not isinstance(value, str) or not value or len(value) > longest or not _storable(value):
        raise ValidationError(
            f"an id is a text of 1 to {longest} characters, not {str(value)[:80]!r}",
            component="rag",
            operation="id",
        )
    return value


def checked_text(value: object, what: str) -> str:
    """``value``, if every store can keep it: Unicode without lone surrogates and without the character NUL.

    Raises: ValidationError.
    """
    if not isinstance(value, str) or not _storable(value):
        raise ValidationError(f"{what} is not storable text (Unicode without NUL)", component="rag", operation=what)
    return value


def checked_name(value: object) -> str:
    """``value``, if it can name a field of metadata: a letter, then letters, digits and underscores, in ASCII.

    Raises: ValidationError.
    """
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValidationError(
            f"a field's name is a letter and then at most 63 letters, digits or underscores, not {str(value)[:80]!r}",
            component="rag",
            operation="metadata",
        )
    return value


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def checked_scalar(value: Any, name: str) -> Scalar:
    """``value``, if metadata may hold it: text, a finite number up to 2**53, or a truth value.

    Raises: ValidationError.
    """
    if isinstance(value, bool) or (isinstance(value, str) and _storable(value)):
        return value
    if is_number(value) and math.isfinite(value) and abs(value) <= LARGEST:
        return value
    raise ValidationError(
        f"metadata {name!r} is text, a finite number up to 2**53 or a truth value, not {str(value)[:80]!r}",
        component="rag",
        operation="metadata",
        details={"field": name},
    )


def checked_metadata(given: Mapping[Any, Any]) -> dict[str, Scalar]:
    """A copy with checked names and values.

    Raises: ValidationError, which names the first field that does not fit.
    """
    return {checked_name(name): checked_scalar(value, name) for name, value in given.items()}


def _storable(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
