"""Pure: what a user's book of turns may become: begun, gone on with, set aside, ended, expired; nothing is lost in silence."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from lawful.core.errors import ConfigurationError, RunnableError

WhenOpen: TypeAlias = Literal["refuse", "aside", "drop"]
"""What becomes of a user's unfinished turn when another one begins: that is refused; it is set aside and can still be gone
on with by its thread; it is dropped with its checkpoints."""


class TurnOpen(RunnableError):
    """The user has an unfinished turn, which may be gone on with, set aside or dropped. ``details["thread"]`` is its."""

    code = "turn_open"


class TurnOver(RunnableError):
    """There is no turn to go on with: none was begun, it is too old, or it has had all its tries."""

    code = "turn_over"


class TurnRules(Struct, frozen=True, kw_only=True):
    """The limits of a turn."""

    retries: int = 2
    """How often a turn that failed may be gone on with."""
    ttl: float = 3600.0
    """Seconds for which an unfinished turn is kept after it was last touched. One that waits for a person is kept longer."""

    def __post_init__(self) -> None:
        if self.retries < 0 or not self.ttl > 0:
            raise ConfigurationError(
                f"a turn has 0 retries or more and a time to live above 0, not {self.retries} and {self.ttl}",
                component="turns",
                operation="rules",
            )


class Turn(Struct, frozen=True, omit_defaults=True):
    """One turn that has not ended."""

    thread: str
    """``user:`` and 12 hex digits: the thread in the journal."""
    touched: float
    """When it was begun or last gone on with, in seconds since 1970 UTC."""
    tries: int = 1
    """How often it was begun and gone on with after a failure."""
    waits: bool = False
    """It has asked a person something, and waits for the answer."""


class Book(Struct, frozen=True, omit_defaults=True):
    """All that is known of one user's turns; one value in the journal, so that no two processes see it half changed."""

    open: Turn | None = None
    aside: tuple[Turn, ...] = ()
    """Unfinished turns beside which a newer one was begun, oldest first."""
    leaving: tuple[str, ...] = ()
    """Threads that have ended and whose checkpoints are still to be deleted."""

    @property
    def unfinished(self) -> tuple[Turn, ...]:
        """Those set aside, then the open one."""
        return self.aside if self.open is None else (*self.aside, self.open)


NOBODY = Book()


def is_expired(turn: Turn, now: float, rules: TurnRules) -> bool:
    """Whether it was left alone too long; one that waits for a person never is."""
    return not turn.waits and now - turn.touched >= rules.ttl


def swept(book: Book, now: float, rules: TurnRules, busy: Collection[str] = ()) -> Book:
    """Without the turns that have expired; those in ``busy`` are being worked on and have not."""
    gone = {one.thread for one in book.unfinished if is_expired(one, now, rules)} - set(busy)
    return dropped(book, gone)


def started(book: Book, now: float, thread: str, when_open: WhenOpen = "refuse") -> Book:
    """With a new open turn. Raises: TurnOpen, if another is unfinished and nothing is said of what becomes of it."""
    old = book.open
    if old is None:
        return replace(book, open=Turn(thread, now))
    match when_open:
        case "aside":
            return replace(book, open=Turn(thread, now), aside=(*book.aside, old))
        case "drop":
            return replace(dropped(book, {old.thread}), open=Turn(thread, now))
        case "refuse":
            raise TurnOpen(
                f"turn {old.thread!r} is unfinished: go on with it, drop it, or begin another one beside it"
                ' (when_open="aside")',
                component="turns",
                operation="start",
                details={"thread": old.thread, "tries": str(old.tries)},
            )


def gone_on(book: Book, now: float, rules: TurnRules, thread: str | None = None) -> tuple[Book, Turn]:
    """With another try of the open turn, or of the one on ``thread``; an answer to a question is no further try.

    Raises: TurnOver, if there is none or it has had all its tries.
    """
    old = found(book, thread)
    if not old.waits and old.tries > rules.retries:
        raise TurnOver(
            f"turn {old.thread!r} has failed {old.tries} times and is not tried again: drop it, or roll it back",
            component="turns",
            operation="resume",
            details={"thread": old.thread, "tries": str(old.tries)},
        )
    new = replace(old, touched=now, tries=old.tries if old.waits else old.tries + 1, waits=False)
    return _changed(book, new), new


def rolled_back(book: Book, now: float, thread: str | None = None) -> tuple[Book, Turn]:
    """With all its tries before it again: it goes on from another place. Raises: TurnOver."""
    new = replace(found(book, thread), touched=now, tries=0, waits=False)
    return _changed(book, new), new


def waiting(book: Book, now: float, thread: str) -> Book:
    """With the turn on ``thread`` waiting for a person."""
    return _changed(book, replace(found(book, thread), touched=now, waits=True))


def dropped(book: Book, threads: Collection[str]) -> Book:
    """Without these turns; their checkpoints are to be deleted."""
    gone = tuple(one.thread for one in book.unfinished if one.thread in threads)
    kept = None if book.open is None or book.open.thread in threads else book.open
    aside = tuple(one for one in book.aside if one.thread not in threads)
    return Book(kept, aside, (*book.leaving, *gone))


def deleted(book: Book, threads: Collection[str]) -> Book:
    """With the checkpoints of these threads gone."""
    return replace(book, leaving=tuple(one for one in book.leaving if one not in threads))


def found(book: Book, thread: str | None = None) -> Turn:
    """The open turn, or the unfinished one on ``thread``. Raises: TurnOver."""
    wanted = next((one for one in book.unfinished if one.thread == thread), None) if thread is not None else book.open
    if wanted is None:
        raise TurnOver(
            "there is no unfinished turn" + (f" {thread!r}" if thread is not None else ""),
            component="turns",
            operation="resume",
        )
    return wanted


def _changed(book: Book, turn: Turn) -> Book:
    if book.open is not None and book.open.thread == turn.thread:
        return replace(book, open=turn)
    return replace(book, aside=tuple(turn if one.thread == turn.thread else one for one in book.aside))
