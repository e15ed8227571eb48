"""How files become documents: text, Markdown, HTML, JSON, CSV, PDF, and whole folders of them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from lawful.core.errors import DocumentLoaderError, Failure, nearest
from lawful.core.lazy import late
from lawful.rag.documents import Document, Scalar, document
from lawful.rag.html_text import html_text

Reader: TypeAlias = Callable[[bytes, str], list[Document]]
"""Makes documents of the bytes of a source; raises DocumentLoaderError."""


def read_text(data: bytes, source: str) -> list[Document]:
    """One document: the text as it stands, in UTF-8 or what its byte order mark says."""
    return [document(decoded(data, source), source=source)]


def read_html(data: bytes, source: str) -> list[Document]:
    """One document: the text that a reader sees, a line for each block; its title as metadata."""
    text, title = html_text(decoded(data, source))
    return [document(text, source=source, metadata={"title": title} if title else {})]


def read_json(data: bytes, source: str, *, text: str = "", metadata: Sequence[str] = ()) -> list[Document]:
    """A document for each element of an array, or one for anything else.

    ``text`` names the field that holds an element's text, and ``metadata`` fields to keep with it; without ``text`` an
    element is its JSON, indented.
    """
    try:
        found: Any = json.loads(decoded(data, source))
    except (json.JSONDecodeError, RecursionError) as error:
        raise _failed(source, f"that is no JSON: {error}", error) from error
    many = cast("list[Any]", found) if isinstance(found, list) else [found]
    return _elements(many, source, text, metadata)


def read_jsonl(data: bytes, source: str, *, text: str = "", metadata: Sequence[str] = ()) -> list[Document]:
    """A document for each line of JSON, as `read_json` makes them; empty lines are passed over."""
    found: list[Any] = []
    for number, line in enumerate(decoded(data, source).splitlines(), 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except (json.JSONDecodeError, RecursionError) as error:
                raise _failed(source, f"line {number} is no JSON: {error}", error) from error
    return _elements(found, source, text, metadata)


def read_csv(data: bytes, source: str, *, text: str = "", metadata: Sequence[str] = ()) -> list[Document]:
    """A document for each row below the header: the column ``text``, or all columns as ``name: value`` lines."""
    try:
        reader = csv.DictReader(io.StringIO(decoded(data, source), newline=""), strict=True)
        rows = list(reader)
    except csv.Error as error:
        raise _failed(source, f"that is no CSV: {error}", error) from error
    names = list(reader.fieldnames or ())
    for name in (text, *metadata):
        if name and name not in names:
            raise _failed(source, f"there is no column {name!r}.{nearest(name, names)}")
    made: list[Document] = []
    for number, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise _failed(source, f"row {number} has another number of columns than the header")
        told = row[text] if text else "\n".join(f"{name}: {value}" for name, value in row.items())
        own = {field_name(name): row[name] for name in metadata}
        made.append(document(told, id=f"{source}:{number}", source=source, metadata={"row": number, **own}))
    return made


def read_pdf(data: bytes, source: str) -> list[Document]:
    """A document for each page that has text, with its number as metadata. Needs pypdf (extra ``rag``)."""
    pypdf: Any = late("pypdf", extra="rag")
    made: list[Document] = []
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        for number, page in enumerate(reader.pages, 1):
            text = clean(page.extract_text())
            if text.strip():
                made.append(document(text, id=f"{source}:{number}", source=source, metadata={"page": number}))
    except (
        pypdf.errors.PyPdfError,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        RecursionError,
    ) as error:
        # The library lets some damage through as the error that it met.
        raise _failed(source, f"that is no readable PDF: {error}", error) from error
    return made


READERS: Final[Mapping[str, Reader]] = {
    ".txt": read_text,
    ".text": read_text,
    ".rst": read_text,
    ".md": read_text,
    ".markdown": read_text,
    ".py": read_text,
    ".html": read_html,
    ".htm": read_html,
    ".json": read_json,
    ".jsonl": read_jsonl,
    ".csv": read_csv,
    ".pdf": read_pdf,
}
"""What reads a file, by its ending."""


def load(path: str | os.PathLike[str], *, reader: Reader | None = None, source: str = "") -> list[Document]:
    """The documents of one file; its ending says how to read it, unless ``reader`` is given.

    ``source`` is what the documents say of where they come from, by default the path as given.
    Raises: DocumentLoaderError.
    """
    place = Path(path)
    own = source or place.as_posix()
    if place.is_dir():
        raise _failed(own, "is a folder: load_folder reads those")
    read = reader or READERS.get(place.suffix.lower())
    if read is None and not place.exists():
        raise _failed(own, "is not there")
    if read is None:
        raise _failed(
            own, f"no reader for {place.suffix or 'a file without an ending'!r}.{nearest(place.suffix, READERS)}"
        )
    try:
        data = place.read_bytes()
    except (OSError, ValueError) as error:
        raise _failed(own, f"cannot be read: {getattr(error, 'strerror', None) or error}", error) from error
    return read(data, own)


def within(root: str | os.PathLike[str], name: str) -> Path:
    """The file of that name below ``root``, for names that come from outside.

    Raises: DocumentLoaderError for a name that is absolute or empty, holds NUL, or leads out of ``root`` by ".." or by a link.
    """
    base = Path(root).resolve()
    if not name or "\0" in name or "\\" in name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise _failed(name, "is no name of a file below the root")
    found = (base / name).resolve()
    if not found.is_relative_to(base):
        raise _failed(name, "leads out of the root by a link")
    return found


def load_folder(
    root: str | os.PathLike[str],
    *,
    endings: Iterable[str] = tuple(READERS),
    depth: int | None = None,
    hidden: bool = False,
    at_once: int = 4,
    errors: Literal["fail", "skip"] = "fail",
    readers: Mapping[str, Reader] | None = None,
    prefix: str = "",
) -> list[Document]:
    """The documents of all files below a folder, in the order of their paths; sources are paths relative to it.

    ``prefix`` is put before these, so that several folders may have files of one name: "handbook" gives "handbook/a.md".

    ``depth`` is how many folders deep to look (0: only in ``root``); names that begin with a dot are left out unless
    ``hidden``. Links are never followed. By default the first file that cannot be read fails the whole; "skip" leaves it out.
    Raises: DocumentLoaderError.
    """
    base = Path(root)
    if not base.is_dir():
        raise _failed(str(root), "is no folder")
    known = {**READERS, **(readers or {})}
    wanted = {ending.lower() for ending in endings}
    for ending in wanted - set(known):
        raise _failed(str(root), f"no reader for {ending!r}.{nearest(ending, known)}")
    files = [path for path in _files(base, depth, hidden) if path.suffix.lower() in wanted]

    def one(path: Path) -> list[Document]:
        try:
            return load(
                path, reader=known[path.suffix.lower()], source=(Path(prefix) / path.relative_to(base)).as_posix()
            )
        except Failure:
            if errors == "fail":
                raise
            return []

    with ThreadPoolExecutor(max(1, at_once)) as pool:
        return [found for documents in pool.map(one, files) for found in documents]


def _files(base: Path, depth: int | None, hidden: bool) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(base), key=lambda entry: entry.name)
    except OSError as error:
        raise _failed(str(base), f"cannot be read: {error.strerror}", error) from error
    for entry in entries:
        if (entry.name.startswith(".") and not hidden) or entry.is_symlink():
            continue
        if entry.is_file():
            yield base / entry.name
        elif entry.is_dir() and depth != 0:
            yield from _files(base / entry.name, None if depth is None else depth - 1, hidden)


def decoded(data: bytes, source: str) -> str:
    """Bytes as text: UTF-16 where a byte order mark says so, else UTF-8.

    Raises: DocumentLoaderError, which says where the first byte is that does not fit.
    """
    code = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return clean(data.decode(code))
    except UnicodeDecodeError as error:
        raise _failed(source, f"is no text in {code}: byte {error.start} does not fit", error) from error


def clean(text: str) -> str:
    """``text``, with what no store keeps (NUL, lone surrogates) replaced, one character by one."""
    return (
        "".join("\N{REPLACEMENT CHARACTER}" if one == "\0" or "\ud800" <= one <= "\udfff" else one for one in text)
        if ("\0" in text or not text.isascii())
        else text
    )


def field_name(name: str) -> str:
    """A column's or field's name as one that metadata takes: ``Full Name`` is ``Full_Name``."""
    made = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:60]
    return made if made[:1].isalpha() else f"field_{made}"


def _elements(found: Sequence[Any], source: str, text: str, metadata: Sequence[str]) -> list[Document]:
    made: list[Document] = []
    for number, element in enumerate(found, 1):
        one: dict[str, Any] = cast("dict[str, Any]", element) if isinstance(element, dict) else {}
        told = _told(element, one, text, source, number)
        own: dict[str, Scalar] = {}
        for name in metadata:
            value = one.get(name)
            if not isinstance(value, str | int | float | bool):
                raise _failed(
                    source, f"element {number} has no text, number or truth value {name!r}.{nearest(name, one)}"
                )
            own[field_name(name)] = clean(value) if isinstance(value, str) else value
        id = f"{source}:{number}" if len(found) > 1 else ""
        made.append(document(clean(told), id=id, source=source, metadata={"element": number, **own}))
    return made


def _told(element: Any, one: Mapping[str, Any], text: str, source: str, number: int) -> str:
    if not text:
        return element if isinstance(element, str) else json.dumps(element, ensure_ascii=False, indent=2)
    if not isinstance(one.get(text), str):
        raise _failed(source, f"element {number} has no text {text!r}.{nearest(text, one)}")
    return one[text]


def _failed(source: str, why: str, cause: BaseException | None = None) -> DocumentLoaderError:
    return DocumentLoaderError(
        f"{source[:200]!r}: {why}", component="rag", operation="load", details={"source": source[:200]}, cause=cause
    )
