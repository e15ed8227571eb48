"""After a crash: find claims without an outcome, look them up, settle what the rules allow, list the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from lawful.core.clock import SYSTEM, Clock
from lawful.core.context import Run
from lawful.core.errors import Failure
from lawful.effects.contract import Performer
from lawful.effects.drive import run_async, run_sync
from lawful.effects.explaining import next_step
from lawful.effects.ledger import Ledger
from lawful.effects.moves import Claimant
from lawful.effects.outcomes import InProgress, Unknown
from lawful.effects.presence import claimant_of
from lawful.effects.protocol import Do, Steps, despool, settle_unknown
from lawful.effects.states import OPEN, State, name_of
from lawful.journal.port import Journal
from lawful.journal.records import Operation


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

    Looks at every operation of the scope (or of ``thread``) that may have happened unseen. Claims whose claimant is
    still at work are left alone and listed. ``claimant`` is for a run that recovers its own thread.
    """
    return await run_async(journal, _steps(Ledger(journal, clock=clock, effects=effects, claimant=claimant), thread))


def recover_sync(
    journal: Journal,
    effects: Sequence[Performer[Any, Any]] = (),
    *,
    thread: str | None = None,
    clock: Clock = SYSTEM,
    claimant: Callable[[], Claimant] | None = None,
) -> Report:
    """As `recover`, where no event loop runs in this thread."""
    return run_sync(_steps(Ledger(journal, clock=clock, effects=effects, claimant=claimant), thread))


def recover_thread(run: Run, effects: Sequence[Any]) -> None:
    """Recover ``run``'s own thread before its first task; costs one read where nothing is open.

    An operation that cannot be looked up now (a provider that is down) stays for the node, or for `recover`.
    """
    journal: Journal | None = run.journal
    thread = run.thread
    if journal is None or not journal.read(lambda tx: list(tx.operations(states=OPEN, thread=thread, limit=1))):
        return
    book = Ledger(journal, clock=run.clock, effects=effects, claimant=lambda: claimant_of(run))
    run_sync(_steps(book, thread, run.shared.setdefault(RECOVERED, {})))


RECOVERED = "effects:recovered"
"""Under this name a run keeps what its recovery left unknown, so that the node need not look it up a second time."""


def _steps(book: Ledger, thread: str | None, unknown: dict[str, Unknown] | None = None) -> Steps[Report]:
    settled: list[Recovered] = []
    left: list[LeftOver] = []
    for each in book.kit.spool.all(book.journal.scope):
        yield Do(lambda op_id=each.op_id: despool(book.kit, op_id))
    rows: tuple[Operation, ...] = yield Do(lambda: book.unresolved(thread=thread))
    for row in rows:
        op_id, tool = row.op_id, row.tool
        try:
            intent = yield Do(lambda op_id=op_id: book.intent(op_id))
            outcome, _ = yield from settle_unknown(book.kit, intent)
            state: State = yield Do(lambda op_id=op_id: book.state(op_id))
        except Failure as error:
            left.append(LeftOver(op_id, tool, row.state, error.message, "give recover its effect, or resolve it"))
            continue
        match outcome:
            case Unknown(reason=reason):
                if unknown is not None:
                    unknown[op_id] = outcome
                left.append(LeftOver(op_id, tool, name_of(state), reason, next_step(state)))
            case InProgress(owner=owner):
                left.append(LeftOver(op_id, tool, name_of(state), f"{owner} is at it", next_step(state)))
            case _:
                settled.append(Recovered(op_id, tool, name_of(state)))
    return Report(tuple(settled), tuple(left))
