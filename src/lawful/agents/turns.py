"""`Turns`: an agent's turns by user over its journal: begun, gone on with after a failure, rolled back, purged at the end."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from lawful.agents import turn_rules as rules_of
from lawful.agents.agent import Agent, AgentPrompt
from lawful.agents.turn_rules import NOBODY, Book, Turn, TurnOver, TurnRules, WhenOpen
from lawful.core.clock import SYSTEM, Clock
from lawful.core.errors import ConfigurationError
from lawful.core.lazy import late
from lawful.core.questions import Principal, Reply
from lawful.graph.outcome import Done, Failed, Paused
from lawful.journal.ids import thread_key
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import Busy

Out = TypeVar("Out")
Ended: TypeAlias = Done[Out] | Paused | Failed

_MARK: Final = "lawful.turns/"
_THREAD: Final = re.compile(r"(.+):[0-9a-f]{12}", re.DOTALL)


class Turns(Generic[Out]):
    """Each turn of a user is a thread of its own, ``user:`` and 12 hex digits, and the journal knows which one is open.

    ``await Turns(agent).run("ada", "Book the train.")`` begins a turn and carries it through. When it ends well its
    checkpoints are deleted; when it fails, the process dies or a person must be asked, `resume` goes on with it, in this
    process or another. What the agent did to the world stays in the effect ledger in any case.

    ``rules`` are the number of retries and the time to live. Raises: ConfigurationError, for an agent without a journal.
    """

    def __init__(self, agent: Agent[Out], *, rules: TurnRules = TurnRules(), clock: Clock = SYSTEM) -> None:
        if agent.journal is None:
            raise ConfigurationError(
                f"agent {agent.name!r} has no journal to keep turns in: Agent(..., journal='turns.db')",
                component="turns",
                operation="build",
            )
        self._agent = agent
        self._journal: Journal = agent.journal
        self._rules = rules
        self._clock = clock

    # Whole turns

    async def run(
        self, user: str, prompt: AgentPrompt, *, when_open: WhenOpen = "refuse", **options: Any
    ) -> Ended[Out]:
        """Begin a turn and carry it through. Raises: TurnOpen, if the user has an unfinished one."""
        turn = await self._off(lambda: self.start(user, when_open=when_open))
        ended = await self._agent.run(prompt, thread=turn.thread, **options)
        await self._off(lambda: self._after(user, turn.thread, ended))
        return ended

    def run_sync(self, user: str, prompt: AgentPrompt, *, when_open: WhenOpen = "refuse", **options: Any) -> Ended[Out]:
        """As `run`, in this thread."""
        turn = self.start(user, when_open=when_open)
        ended = self._agent.run_sync(prompt, thread=turn.thread, **options)
        self._after(user, turn.thread, ended)
        return ended

    async def resume(
        self, user: str, *replies: Reply, thread: str | None = None, by: Principal | str | None = None, **options: Any
    ) -> Ended[Out]:
        """Go on with the user's open turn, or with the one on ``thread``, from where it stood, answering what it asked.

        Raises: TurnOver, if there is none, it is too old, or it has had all its retries.
        """
        turn = await self._off(lambda: self.again(user, thread=thread))
        ended = await self._agent.resume(turn.thread, *replies, by=by, **options)
        await self._off(lambda: self._after(user, turn.thread, ended))
        return ended

    def resume_sync(
        self, user: str, *replies: Reply, thread: str | None = None, by: Principal | str | None = None, **options: Any
    ) -> Ended[Out]:
        """As `resume`, in this thread."""
        turn = self.again(user, thread=thread)
        ended = self._agent.resume_sync(turn.thread, *replies, by=by, **options)
        self._after(user, turn.thread, ended)
        return ended

    # Step by step

    def book(self, user: str) -> Book:
        """The user's unfinished turns; those that have expired are dropped first."""
        return self._settled(user, lambda book: book)

    def start(self, user: str, *, when_open: WhenOpen = "refuse") -> Turn:
        """Begin a turn: run the agent on its ``thread``, then `end` it. Raises: TurnOpen, and then nothing is changed."""
        thread = thread_key(f"{_named(user)}:{secrets.token_hex(6)}")
        book = self._settled(user, lambda book: rules_of.started(book, self._clock.now(), thread, when_open))
        return rules_of.found(book, thread)

    def again(self, user: str, *, thread: str | None = None) -> Turn:
        """Count another try of an unfinished turn. Raises: TurnOver."""
        return self._moved(user, lambda book: rules_of.gone_on(book, self._clock.now(), self._rules, thread))

    def end(self, user: str, *, success: bool, thread: str | None = None) -> None:
        """End a turn. With ``success`` its checkpoints are deleted; without, it stays to be gone on with until it expires.

        Raises: TurnOver, if there is no such turn.
        """
        if success:
            self._settled(user, lambda book: rules_of.dropped(book, {rules_of.found(book, thread).thread}))
        else:
            rules_of.found(self.book(user), thread)

    def rollback(self, user: str, *, steps_back: int = 2, thread: str | None = None) -> Turn:
        """Let an unfinished turn go on from where it stood so many steps ago, with all its retries before it again.

        The steps taken back stay in the thread's history. What was done to the world is not undone: the ledger knows it,
        and it is not done again.

        Raises: TurnOver, if there is no such turn or it has not so many steps.
        """
        held = rules_of.found(self.book(user), thread)
        loop = self._agent.loop
        past = list(loop.get_state_history(held.thread))
        if steps_back < 1 or steps_back >= len(past):
            raise TurnOver(
                f"turn {held.thread!r} has {max(len(past) - 1, 0)} steps to go back, not {steps_back}",
                component="turns",
                operation="rollback",
                details={"thread": held.thread, "steps": str(max(len(past) - 1, 0))},
            )
        loop.fork(past[steps_back])
        return self._moved(user, lambda book: rules_of.rolled_back(book, self._clock.now(), held.thread))

    def clear(self, user: str) -> int:
        """Drop all of a user's unfinished turns with their checkpoints; how many there were."""
        gone = self.book(user).unfinished
        self._settled(user, lambda book: rules_of.dropped(book, {one.thread for one in book.unfinished}))
        return len(gone)

    def expire(self) -> int:
        """Drop every user's turns that have expired; how many there were. For a timer: what is asked for is swept anyway."""
        count, after = 0, None
        while rows := self._journal.threads(limit=500, after=after):
            after = rows[-1].thread
            users = {found[1] for row in rows if (found := _THREAD.fullmatch(row.thread)) is not None}
            for user in sorted(users):
                before = len(self._read(user).unfinished)
                count += before - len(self.book(user).unfinished)
        return count

    # Inside

    def _after(self, user: str, thread: str, ended: Done[Any] | Paused | Failed) -> None:
        match ended:
            case Done():
                self.end(user, success=True, thread=thread)
            case Paused():
                self._settled(user, lambda book: rules_of.waiting(book, self._clock.now(), thread))
            case Failed():
                pass

    def _moved(self, user: str, move: Callable[[Book], tuple[Book, Turn]]) -> Turn:
        """The turn that ``move`` gives, once its book is written."""
        made: list[Turn] = []

        def moving(book: Book) -> Book:
            after, turn = move(book)
            made[:] = [turn]
            return after

        self._settled(user, moving)
        return made[0]

    def _settled(self, user: str, move: Callable[[Book], Book]) -> Book:
        """Sweep, move, and delete what has left: each written before the next, so that a crash between loses nothing."""
        busy = self._busy(self._read(user))

        def swept(book: Book) -> Book:
            return rules_of.swept(book, self._clock.now(), self._rules, busy)

        self._emptied(user, self._write(user, swept))
        return self._emptied(user, self._write(user, move))

    def _emptied(self, user: str, book: Book) -> Book:
        """With the checkpoints of ended turns deleted."""
        if not book.leaving:
            return book
        gone = [thread for thread in book.leaving if self._delete(thread)]
        return self._write(user, lambda book: rules_of.deleted(book, gone))

    def _busy(self, book: Book) -> list[str]:
        """Of the turns that look expired, those that somebody works on at this moment, or that wait for a person though
        the process died before it could say so.
        """
        now = self._clock.now()
        old = [one.thread for one in book.unfinished if rules_of.is_expired(one, now, self._rules)]
        return [one for one in old if not self._free(one, lambda: None) or self._agent.loop.questions(one)]

    def _delete(self, thread: str) -> bool:
        return self._free(thread, lambda: self._journal.delete_thread(thread))

    def _free(self, thread: str, work: Callable[[], None]) -> bool:
        """Do ``work`` while nobody runs the thread; whether nobody did."""
        lease = self._journal.acquire(thread, f"turns-{secrets.token_hex(4)}", 30.0)
        if isinstance(lease, Busy):
            return False
        try:
            work()
        finally:
            self._journal.release(lease)
        return True

    def _read(self, user: str) -> Book:
        name = _MARK + _named(user)
        return self._journal.read(lambda tx: _book(tx, name))

    def _write(self, user: str, move: Callable[[Book], Book]) -> Book:
        name = _MARK + _named(user)

        def work(tx: EffectTx) -> Book:
            held = _book(tx, name)
            made = move(held)
            if made != held:
                tx.set_mark(name, None if made == NOBODY else msgspec.json.encode(made))
            return made

        return self._journal.transact(work)

    async def _off(self, work: Callable[[], Any]) -> Any:
        """In a thread, where the journal waits for a disk."""
        return await late("asyncio").to_thread(work) if self._journal.blocking else work()


def _book(tx: EffectTx, name: str) -> Book:
    held = tx.mark(name)
    return NOBODY if held is None else msgspec.json.decode(held, type=Book)


def _named(user: str) -> str:
    """Raises: InvalidThreadId, for what cannot be part of a thread's name."""
    thread_key(f"{user}:{'0' * 12}" if user else "")
    return user
