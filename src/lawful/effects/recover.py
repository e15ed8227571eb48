"""After a crash: find claims without an outcome, look them up, settle what the rules allow, list the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from lawful.core.clock import SYSTEM, Clock
from lawful.core.context import Run
from lawful.core.errors import CorruptRecord, Failure
from lawful.core.teller import TOLD_FIRST
from lawful.effects.contract import Intent, Performer
from lawful.effects.drive import run_async
from lawful.effects.events import Claimed
from lawful.effects.explaining import next_step
from lawful.effects.ledger import Ledger
from lawful.effects.log import claim_of, load, read_events, write
from lawful.effects.movement import Passed, moves, passed
from lawful.effects.moves import Claimant
from lawful.effects.outcomes import InProgress, Outcome, Unknown
from lawful.effects.presence import claimant_of
from lawful.effects.reconciling import Sought, conclude_in, despool, gone, overdue, seek, told
from lawful.effects.states import OPEN, State, name_of
from lawful.effects.steps import Do, Kit, Steps
from lawful.journal.port import Journal
from lawful.journal.records import Operation

T = TypeVar("T")


class Recovered(Struct, frozen=True):
    """An operation whose outcome is known now."""

    op_id: str
    tool: str
    state: str


class LeftOver(Struct, frozen=True):
    """An operation whose outcome is still not known, and what can be done."""

    op_id: str
    tool: str
    state: str
    reason: str
    next_step: str


class Report(Struct, frozen=True):
    """What `recover` found and did."""

    settled: tuple[Recovered, ...] = ()
    left: tuple[LeftOver, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether every outcome is known."""
        return not self.left


async def recover(
    journal: Journal,
    effects: Sequence[Performer[Any, Any]] = (),
    *,
    thread: str | None = None,
    clock: Clock = SYSTEM,
    claimant: Callable[[], Claimant] | None = None,
) -> Report:
    """Settle what nobody resumes; never sends.

    Looks at every operation of the scope (or of ``thread``) that may have happened unseen, up to `TOGETHER` look-ups at
    once. Claims whose claimant is still at work are left alone and listed. ``claimant`` is for a run that recovers its own
    thread.
    """
    return await _recovered(Ledger(journal, clock=clock, effects=effects, claimant=claimant), thread)


def recover_sync(
    journal: Journal,
    effects: Sequence[Performer[Any, Any]] = (),
    *,
    thread: str | None = None,
    clock: Clock = SYSTEM,
    claimant: Callable[[], Claimant] | None = None,
) -> Report:
    """As `recover`, in sync code: one event loop for all look-ups, in this thread or, where one runs here, in another."""
    return _blocking(_recovered(Ledger(journal, clock=clock, effects=effects, claimant=claimant), thread))


def recover_thread(run: Run, effects: Sequence[Any]) -> None:
    """Recover ``run``'s own thread before its first task; costs one read where nothing is open.

    An operation that cannot be looked up now (a provider that is down) stays for the node, or for `recover`.
    """
    journal: Journal | None = run.journal
    thread = run.thread
    if journal is None or not journal.read(lambda tx: list(tx.operations(states=OPEN, thread=thread, limit=1))):
        return
    book = Ledger(journal, clock=run.clock, effects=effects, claimant=lambda: claimant_of(run))
    before = _stands(journal, thread) if run.teller is not None else {}
    _blocking(_recovered(book, thread, run.shared.setdefault(RECOVERED, {})))
    for row, old in before.values():
        new = journal.read(lambda tx, id=row.op_id: passed(tx, id))
        run.shared.setdefault(TOLD_FIRST, []).extend(moves(row.op_id, row.tool, old, new))


def _stands(journal: Journal, thread: str | None) -> dict[str, tuple[Operation, Passed]]:
    """What each open operation of the thread has gone through, as far as its record can be read."""
    found: dict[str, tuple[Operation, Passed]] = {}
    for row in journal.read(lambda tx: list(tx.operations(states=OPEN, thread=thread))):
        with suppress(CorruptRecord):  # told by the recovery itself
            found[row.op_id] = row, journal.read(lambda tx, id=row.op_id: passed(tx, id))
    return found


RECOVERED = "effects:recovered"
"""Under this name a run keeps what its recovery left unknown, so that the node need not look it up a second time."""
TOGETHER = 32
"""Look-ups at once, and outcomes written down in one transaction."""


def _blocking(work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        with ThreadPoolExecutor(1, "lawful-recover") as pool:
            return pool.submit(asyncio.run, work).result()
    return asyncio.run(work)


async def _recovered(book: Ledger, thread: str | None, unknown: dict[str, Unknown] | None = None) -> Report:
    journal = book.journal
    rows: Sequence[Operation] = await run_async(journal, _found(book, thread))
    settled: list[Recovered] = []
    left: list[LeftOver] = []
    for start in range(0, len(rows), TOGETHER):
        part = rows[start : start + TOGETHER]
        lapsed = await run_async(journal, _lapse(book.kit, [row.op_id for row in part if row.state == "InFlight"]))
        looks = await asyncio.gather(*(run_async(journal, _looked(book, row.op_id)) for row in part))
        for row, end in zip(part, await run_async(journal, _concluded(book.kit, looks)), strict=True):
            if isinstance(end, Failure):
                stands = "Unknown" if row.op_id in lapsed else row.state
                left.append(LeftOver(row.op_id, row.tool, stands, end.message, _HELP))
                continue
            outcome, state = end
            if isinstance(outcome, Unknown) and unknown is not None:
                unknown[row.op_id] = outcome
            if isinstance(outcome, (Unknown, InProgress)):
                why = outcome.reason if isinstance(outcome, Unknown) else f"{outcome.owner} is at it"
                left.append(LeftOver(row.op_id, row.tool, name_of(state), why, next_step(state)))
            else:
                settled.append(Recovered(row.op_id, row.tool, name_of(state)))
    return Report(tuple(settled), tuple(left))


_HELP = "give recover its effect, or resolve it"


def _found(book: Ledger, thread: str | None) -> Steps[Sequence[Operation]]:
    """What is open, once the outcomes that the journal would not take have been offered to it again."""
    for each in book.kit.spool.all(book.journal.scope):
        yield Do(lambda op_id=each.op_id: despool(book.kit, op_id))
    return (yield Do(lambda: book.unresolved(thread=thread)))


def _lapse(kit: Kit, ids: Sequence[str]) -> Steps[Sequence[str]]:
    """Make the claims of the dead unknown, all in one transaction; each claimant is asked after once. Gives which."""
    dead: dict[str, bool] = {}

    def is_dead(claim: Claimed) -> bool:
        if claim.lease_thread not in dead:
            dead[claim.lease_thread] = gone(kit, claim)
        return dead[claim.lease_thread]

    def work() -> list[str]:
        held, now = kit.journal.read(
            lambda tx: ([(load(tx, id), claim_of(read_events(tx.events(id)))) for id in ids], tx.now())
        )
        due = [(state, event) for state, claim in held if (event := overdue(state, claim, now, is_dead)) is not None]
        if due:
            kit.journal.transact(lambda tx: [write(tx, s, (e,)) for s, e in due if load(tx, e.op_id) == s])
        return [event.op_id for _, event in due]

    with suppress(CorruptRecord):  # one by one, then, so that it is told which
        return (yield Do(work)) if ids else ()
    return ()


Looked: TypeAlias = tuple[Intent[Any, Any], Sought[Any]] | Failure


def _looked(book: Ledger, op_id: str) -> Steps[Looked]:
    try:
        intent: Intent[Any, Any] = yield Do(lambda: book.intent(op_id))
        return intent, (yield from seek(book.kit, intent))
    except Failure as error:
        return error


def _concluded(kit: Kit, looks: Sequence[Looked]) -> Steps[list[tuple[Outcome[Any], State] | Failure]]:
    """Write down what was seen: all in one transaction, one by one only where that fails."""
    open_ = [look for look in looks if not isinstance(look, Failure) and look[1].asked_at is not None]
    try:
        made = yield Do(
            lambda: kit.journal.transact(lambda tx: [conclude_in(tx, *look) for look in open_]) if open_ else [],
            retry=True,
        )
        ends = dict(zip((look[0].op_id for look in open_), made, strict=True))
    except Failure:
        ends = {}
    out: list[tuple[Outcome[Any], State] | Failure] = []
    for look in looks:
        if isinstance(look, Failure):
            out.append(look)
            continue
        intent, sought = look
        state, concluded = sought.state, None
        if sought.asked_at is not None:
            if intent.op_id not in ends:
                try:
                    one: Any = yield Do(lambda look=look: kit.journal.transact(lambda tx: conclude_in(tx, *look)))
                except Failure as error:
                    out.append(error)
                    continue
                ends[intent.op_id] = one
            state, concluded = ends[intent.op_id]
        out.append((told(intent, sought, state, concluded), state))
    return out
