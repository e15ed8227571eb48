"""What another policy would have decided: recorded operations put to two policies, on what was known at each decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from lawful.core.result import Ok
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.aggregates import Aggregate, total
from lawful.effects.events import Event
from lawful.effects.evidence import binding
from lawful.effects.log import projection
from lawful.effects.moves import matter_of
from lawful.effects.policy import Finding, Matter, Policy, Verdict
from lawful.effects.transitions import step
from lawful.journal.records import Operation


class Flip(Struct, frozen=True):
    """An operation that the two policies decide differently."""

    op_id: str
    tool: str
    before: Verdict
    after: Verdict
    findings: tuple[Finding, ...]
    """What each conjunct of the new policy found."""


class Comparison(Struct, frozen=True):
    """What `compare_policies` found."""

    old: str
    new: str
    decided: int
    """Operations that were put to both."""
    flips: tuple[Flip, ...] = ()

    def __str__(self) -> str:
        return f"the new rule flips {len(self.flips)} of {self.decided}"


class _Decided(Struct, frozen=True):
    """An operation at the moment at which it was decided."""

    facts: st.Facts
    at: float


def compare_policies(old: Policy, new: Policy, histories: Iterable[Sequence[Event]]) -> Comparison:
    """Put each operation, as it stood when it was decided, to both policies; pure, sends nothing, writes nothing.

    The moment of decision is the first claim or denial; where there is none yet, the newest event. Approvals that were given
    under the recorded policy count for both: otherwise every approval would be stale under every other policy.
    """
    known = [tuple(events) for events in histories]
    lives = [_life(events) for events in known]
    flips: list[Flip] = []
    decided = 0
    for events in known:
        moment = _decision(events)
        if moment is None:
            continue
        decided += 1
        before = old.decide(_matter(old, moment, lives))
        matter = _matter(new, moment, lives)
        after = new.decide(matter)
        if type(before) is not type(after):
            flips.append(Flip(moment.facts.op_id, moment.facts.intent.tool, before, after, new.explain(matter)))
    return Comparison(old.id, new.id, decided, tuple(flips))


def _decision(events: Sequence[Event]) -> _Decided | None:
    state: st.State = st.Unplanned()
    for event in events:
        if isinstance(event, (ev.Claimed, ev.Denied)) and not isinstance(state, st.Unplanned):
            return _Decided(state.facts, event.at)
        match step(state, event):
            case Ok(after):
                state = after
            case _:
                return None
    return None if isinstance(state, st.Unplanned) else _Decided(state.facts, events[-1].at)


def _life(events: Sequence[Event]) -> list[tuple[float, Operation]]:
    """The operation's row after each event, with the event's time."""
    found: list[tuple[float, Operation]] = []
    state: st.State = st.Unplanned()
    for event in events:
        match step(state, event):
            case Ok(after):
                state = after
                found.append((event.at, projection(after, event.at)))
            case _:
                break
    return found


def _matter(rules: Policy, moment: _Decided, lives: Sequence[list[tuple[float, Operation]]]) -> Matter:
    facts = moment.facts
    then, now = binding(facts.intent), binding(replace(facts.intent, policy_hash=rules.hash))
    rebound = tuple(replace(a, binding=now) if a.binding == then else a for a in facts.approvals)
    return matter_of(replace(facts, approvals=rebound), rules, moment.at, _totals(rules.reads, moment, lives))


def _totals(
    reads: Iterable[Aggregate], moment: _Decided, lives: Sequence[list[tuple[float, Operation]]]
) -> Mapping[str, float]:
    wanted = list(reads)
    if not wanted:
        return {}
    rows = [row for life in lives if (row := _row_at(life, moment.at)) is not None]
    return {each.name: total(each, moment.facts.intent, rows, moment.at) for each in wanted}


def _row_at(life: Sequence[tuple[float, Operation]], at: float) -> Operation | None:
    found: Operation | None = None
    for when, row in life:
        if when > at:
            break
        found = row
    return found
