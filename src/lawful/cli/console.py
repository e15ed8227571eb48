"""What the command writes: plain lines that no stored or received text can turn into terminal commands, and exit codes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from lawful.core.errors import ConfigurationError, Failure, StoreError, ValidationError, nearest
from lawful.core.lazy import late
from lawful.core.questions import Question
from lawful.journal.ids import thread_key
from lawful.journal.port import Journal
from lawful.journal.records import ThreadInfo
from lawful.stores.sqlite import SQLiteJournal

T = TypeVar("T")

DONE, REFUSED, USAGE, UNKNOWN = 0, 1, 2, 3
"""Exit codes: done (waiting for an answer counts) · refused or failed · wrong command line · an outcome is not known."""

HOME = Path(".lawful")
DEFAULT = HOME / "lawful.db"
"""The journal where --db names none: in the current folder, so that each project has its own."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """``text`` with every control character (and every mark that reorders text) written out as an escape."""
    return _CONTROL.sub(lambda m: m[0].encode("unicode_escape").decode(), text)


def line(text: object) -> str:
    """``text`` as a single clean line."""
    return clean(" ".join(str(text).split()))


def say(*lines: str) -> None:
    """Write lines to standard output, at once: someone may be watching."""
    for each in lines or ("",):
        print(clean(each), flush=True)


def complain(error: Failure) -> None:
    """Write an error to standard error as one line: what it says, and its code."""
    refuse(error.message, error.code)


def refuse(why: str, code: str) -> None:
    """Write ``why`` and its code to standard error as one line."""
    print(f"lawful: {line(why)} [{code}]", file=sys.stderr, flush=True)


def step(name: str, *lines: str) -> None:
    """Write one step of the work: its name, and what came of it, further lines below."""
    for place, text in enumerate(lines):
        say(f"  {name if place == 0 else '':<9} {text}")


def as_json(value: Any) -> None:
    """Write ``value`` as one JSON document."""
    told = msgspec.to_builtins(value, str_keys=True, enc_hook=repr)
    say(json.dumps(told, indent=2, default=repr))


def plain(value: Any) -> str:
    """``value`` as one line for a reader."""
    told = msgspec.to_builtins(value, str_keys=True, enc_hook=repr)
    return line(told if isinstance(told, str) else json.dumps(told, default=repr))


def short(value: Any, most: int = 100) -> str:
    """As `plain`, cut to ``most`` characters."""
    text = plain(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def asked(question: Question) -> str:
    """A question as a line."""
    value: Any = question.value
    if not isinstance(value, dict) or "tool" not in value:
        return short(value, 400)
    why = "; ".join(str(one) for one in value.get("reasons", ()))  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportUnknownArgumentType]
    return f"may {value['tool']} be called with {short(value.get('args'), 300)}? ({why})"  # pyright: ignore[reportUnknownMemberType]


def said(state: Any) -> str:
    """The answer of what has ended: the last message of a conversation, the one text, or all of it as JSON."""
    held: Any = state
    messages: Sequence[Any] = held.get("messages") or () if isinstance(state, dict) else ()
    text = getattr(messages[-1], "text", None) if messages else None
    return text if isinstance(text, str) else held if isinstance(held, str) else plain(held)


def when(at: float) -> str:
    """Seconds since 1970 as UTC, to the second."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def command(verb: str, *words: str, db: str | None = None) -> str:
    """The line that a reader may copy to run ``verb``, as this very command was started."""
    told = [*_started_as(), verb, *words, *(["--db", told_url(db)] if db is not None else [])]
    return shlex.join(told)


def quoted(text: str) -> str:
    """``text`` as one word of a command line that a reader may copy."""
    return shlex.quote(text)


def _started_as() -> list[str]:
    started = sys.argv[0] or "lawful"
    if os.path.basename(started) == "__main__.py":
        python = os.path.basename(sys.executable)
        found = shutil.which(python)
        return [python if found is not None and _same(found, sys.executable) else sys.executable, "-m", "lawful.cli"]
    found = shutil.which("lawful")
    return ["lawful"] if found is not None and _same(found, started) else [started]


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


# The journal


def opened(db: str | None) -> Journal:
    """The journal that is there, at a file's path or a URL. Raises: StoreError, if it is not; nothing is made by looking."""
    if db is not None:
        return journal_at(db)
    if not DEFAULT.is_file():
        raise StoreError(
            f"there is no journal at {str(DEFAULT)!r}: `lawful demo` makes one, or name another with --db",
            component="cli",
            operation="open",
        )
    return journal_at(str(DEFAULT))


def on_server(url: str) -> bool:
    """Whether ``url`` names a database on a server, and no file."""
    return url.startswith(("postgres://", "postgresql://"))


def journal_at(url: str) -> Journal:
    """The journal at a file's path, ``sqlite:///path`` or ``postgresql://...``; nothing is made by looking.

    Raises: StoreError for a file that is not there or empty; ConfigurationError where the extra for PostgreSQL is missing.
    """
    if on_server(url):
        return late("lawful.stores.postgres").PostgresJournal(url)
    path = Path(url.removeprefix("sqlite:///"))
    why = ""
    if path.is_dir():
        why = f"{str(path)!r} is a folder, not a journal"
    elif not path.is_file():
        why = f"there is no journal at {str(path)!r}.{_beside(path)}"
    elif path.stat().st_size == 0:
        why = f"{str(path)!r} is empty: a journal that was cut off, or none"
    if why:
        raise StoreError(why, component="cli", operation="open")
    return SQLiteJournal(path)


def _beside(path: Path) -> str:
    """The nearest name of a file that is there."""
    try:
        there = [each.name for each in path.parent.iterdir() if each.suffix == path.suffix]
    except OSError:
        return f" There is no folder {str(path.parent)!r}."
    meant = nearest(path.name, there) if there else ""
    return meant if "Did you mean" in meant else ""


def named_by(args: Namespace) -> str | None:
    """The journal as the options name it."""
    return args.journal or args.db


_PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^@]*@|(?<=[?&])password=[^&]*&?")


def told_url(db: str) -> str:
    """A journal's name for lines that a reader may copy, or a log may keep: a URL's password is left to PGPASSWORD."""
    return _PASSWORD.sub(lambda found: f"{found[1]}@" if found[1] is not None else "", db) if on_server(db) else db


def journal_of(args: Namespace) -> Journal:
    """The journal that the options name. Raises: StoreError, ConfigurationError; ValidationError where they name two."""
    if args.journal is not None and args.db is not None:
        raise ValidationError("name the journal once: --db FILE or --journal URL", component="cli", operation="open")
    found = opened(args.db) if args.journal is None else journal_at(args.journal)
    return found if args.cipher is None else decrypted(found, args.cipher)


def decrypted(journal: Journal, cipher: str) -> Journal:
    """The journal as whoever has its cipher, ``module:name``, reads it. Raises: ConfigurationError."""
    named = late("lawful.cli.graphs", "thing")(cipher)
    if not callable(getattr(named, "encrypt", None)) or not callable(getattr(named, "decrypt", None)):
        raise ConfigurationError(
            f"{cipher} is a {type(named).__name__}, not a cipher", component="cli", operation="open"
        )
    return late("lawful.stores", "EncryptedJournal")(journal, named)


def made(db: str | None) -> Journal:
    """The journal, made where there is none and it is a file. Raises: StoreError, ConfigurationError."""
    if db is not None and on_server(db):
        return journal_at(db)
    path = Path(db.removeprefix("sqlite:///")) if db is not None else DEFAULT
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        ignore = HOME / ".gitignore"
        if db is None and not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{str(path.parent)!r} cannot be used: {error.strerror or error}", component="cli", operation="open"
        ) from error
    return SQLiteJournal(path)


def thread_of(journal: Journal, name: str) -> ThreadInfo:
    """What the journal knows of a thread. Raises: ValidationError with the nearest name; InvalidThreadId."""
    info = journal.info(thread_key(name))
    if info is None:
        known = [each.thread for each in journal.threads(limit=1000)]
        raise ValidationError(
            f"there is no thread {name!r} in {getattr(journal, 'path', 'the journal')}.{nearest(name, known)}",
            component="cli",
            operation="thread",
            details={"thread": name},
        )
    return info


def one_of(question: str | None, asked: Sequence[Question]) -> Question:
    """The question meant: the one with that id (or its beginning), or the only one. Raises: ValidationError."""
    fitting = [each for each in asked if question is None or each.id.startswith(question)]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(f"{each.id} ({each.node})" for each in asked)
    why = "which question? Name one with --question" if question is None else f"no one question is {question!r}"
    raise ValidationError(f"{why}: {listed}", component="cli", operation="answer")


def table(rows: Iterable[Sequence[str]]) -> None:
    """Write rows in columns."""
    every = [[line(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*every, strict=True)]
    for row in every:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def seconds(stamp: str | None) -> float:
    """An ISO time as seconds since 1970 UTC; 0 for none."""
    return datetime.fromisoformat(stamp).timestamp() if stamp else 0.0
