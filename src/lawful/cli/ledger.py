"""The verbs `ledger` and `policy`: operations listed, explained, settled, verified, frozen, doubted and exported."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from lawful.cli import console
from lawful.cli.console import DONE, REFUSED, UNKNOWN, say
from lawful.cli.graphs import thing
from lawful.cli.named_effects import effects_of
from lawful.cli.run import who
from lawful.core.errors import ConfigurationError, ToolError, ValidationError, nearest
from lawful.core.questions import Principal
from lawful.effects import Ledger
from lawful.effects.audit import Head
from lawful.effects.compare import Comparison
from lawful.effects.events import DidNotHappen, GiveUp, Happened, Ruling
from lawful.effects.log import read_events
from lawful.effects.marks import quarantine
from lawful.effects.outcomes import InProgress, Unknown
from lawful.effects.policy import Policy
from lawful.effects.states import Unplanned
from lawful.journal.port import Journal
from lawful.journal.records import Operation


def ledger(args: Namespace) -> int:
    """`lawful ledger ...`: one of the verbs below."""
    with closing(console.journal_of(args)) as journal:
        scoped = journal.scoped(args.scope) if args.scope else journal
        book = Ledger(scoped, effects=effects_of(args, journal))
        return _VERBS[args.what](book, args)


def _rows(book: Ledger, args: Namespace) -> list[Operation]:
    states = tuple(args.state or ())
    every = book.journal.read(lambda tx: list(tx.operations(states=states, tool=args.tool, thread=args.thread)))
    return every[-args.limit :] if args.limit else every


def _list(book: Ledger, args: Namespace) -> int:
    rows = _rows(book, args)
    if args.json:
        console.as_json(rows)
    elif not rows:
        say("No operations.")
    else:
        told = [(row.op_id, row.state, row.thread, f"{console.when(row.updated)} UTC") for row in rows]
        console.table([("operation", "state", "thread", "last change"), *told])
    return DONE


def known(book: Ledger, op_id: str) -> str:
    """The operation meant. Raises: ToolError with the nearest id."""
    if isinstance(book.state(op_id), Unplanned):
        ids = book.journal.read(lambda tx: [row.op_id for row in tx.operations(limit=1000)])
        raise ToolError(f"there is no operation {op_id!r}.{nearest(op_id, ids)}", component="cli", operation="ledger")
    return op_id


def _show(book: Ledger, args: Namespace) -> int:
    told = book.explain(known(book, args.operation))
    events = book.events(args.operation)
    if args.json:
        console.as_json({"operation": told, "events": events})
        return DONE
    say(f"{told.op_id}: {told.state}, version {told.version}, {told.attempts} attempts")
    say(f"  arguments  {console.short(told.args, 300)}")
    say(f"  provider   {told.promised}")
    for finding in told.findings:
        say(f"  {finding.rule}: {'yes' if finding.holds else 'no'}{', ' + finding.why if finding.why else ''}")
    for line in (*told.stale, *([told.held] if told.held else []), *([f"seen: {told.seen}"] if told.seen else [])):
        say(f"  {line}")
    console.table((console.when(event.at), type(event).__name__) for event in events)
    say(f"next: {told.next_step}")
    return DONE


def _reconcile(book: Ledger, args: Namespace) -> int:
    ids = [known(book, args.operation)] if args.operation else [row.op_id for row in book.unresolved()]
    left = 0
    ends: dict[str, str] = {}
    for op_id in ids:
        try:
            outcome = book.reconcile_sync(op_id)
        except ToolError as error:
            outcome, ends[op_id] = None, error.message
        if outcome is None or isinstance(outcome, (Unknown, InProgress)):
            left += 1
        ends.setdefault(op_id, f"{type(outcome).__name__}{_reason(outcome)}")
    if args.json:
        console.as_json(ends)
    for op_id, end in () if args.json else ends.items():
        say(f"{op_id}: {end}")
    if not ids and not args.json:
        say("Every outcome is known.")
    return UNKNOWN if left else DONE


def _reason(outcome: Any) -> str:
    why = getattr(outcome, "reason", "")
    step = getattr(outcome, "next_step", "")
    return f": {why}{f' (next: {step})' if step else ''}" if why else ""


def ruling(args: Namespace) -> Ruling:
    """What the options decide. Raises: ValidationError, unless it is exactly one thing."""
    told: list[Ruling] = []
    if args.happened is not None:
        try:
            told.append(Happened(json.loads(args.happened)))
        except ValueError:
            told.append(Happened(args.happened))
    if args.did_not_happen:
        told.append(DidNotHappen(retry=not args.no_retry))
    if args.give_up:
        told.append(GiveUp())
    if len(told) != 1 or (args.no_retry and not args.did_not_happen):
        raise ValidationError(
            "decide one thing: --happened RECEIPT, --did-not-happen [--no-retry] or --give-up", component="cli"
        )
    return told[0]


def _resolve(book: Ledger, args: Namespace) -> int:
    decision = ruling(args)
    state = book.state(known(book, args.operation))
    assert not isinstance(state, Unplanned)
    version = args.version if args.version is not None else state.facts.version
    by = Principal(who(args.by))
    after = book.resolve(args.operation, expected_version=version, decision=decision, by=by, reason=args.reason)
    say(f"{args.operation}: {after}")
    return DONE


def _verify(book: Ledger, args: Namespace) -> int:
    kept: list[Head] = []
    if args.heads is not None:
        try:
            kept = msgspec.json.decode(Path(args.heads).read_bytes(), type=list[Head])
        except msgspec.MsgspecError as error:
            raise ValidationError(f"{args.heads} holds no exported heads: {error}", component="cli") from error
    found = book.audit(kept)
    if args.json:
        console.as_json(found)
    else:
        say(str(found), *(f"  {wrong.op_id}: {wrong.why}" for wrong in found.wrong))
    return DONE if found.clean else REFUSED


def _freeze(book: Ledger, args: Namespace) -> int:
    if args.list:
        for each in book.freezes():
            say(f"{each.pattern}  by {each.by}, {console.when(each.at)} UTC: {each.reason}")
        return DONE
    if args.pattern is None:
        raise ValidationError("name what to freeze: an effect, an operation, or a pattern such as '*'", component="cli")
    if args.thaw:
        if not book.thaw(args.pattern):
            told = nearest(args.pattern, [each.pattern for each in book.freezes()])
            raise ValidationError(f"{args.pattern!r} is not frozen.{told}", component="cli")
        say(f"{args.pattern} may be claimed again.")
        return DONE
    flying = book.freeze(args.pattern, by=Principal(who(args.by)), reason=args.reason)
    say(f"{args.pattern} is frozen: nothing of it is claimed or sent.")
    for row in flying:
        say(f"  in flight at that moment: {row.op_id}")
    return DONE


def _quarantine(book: Ledger, args: Namespace) -> int:
    if args.end:
        if not book.end_quarantine():
            raise ValidationError("there is no quarantine to end", component="cli")
        say("What is planned from now on is trusted again; what was made unknown stays so.")
        return DONE
    if args.since is not None:
        book.quarantine(since=_moment(args.since), by=Principal(who(args.by)), reason=args.reason)
    held = book.journal.read(quarantine)
    if args.json:
        console.as_json(held)
    elif held is None:
        say("No quarantine.")
    else:
        say(f"Since {console.when(held.since)} UTC nothing is trusted, by {held.by}: {held.reason}")
        say("What has not ended, or is planned anew, is looked up before anything is sent. --end ends it.")
    return DONE


def _moment(text: str) -> float:
    """Seconds since 1970 UTC. Raises: ValidationError, for what is no moment."""
    try:
        told = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValidationError(f"{text!r} is no moment such as 2026-11-30T12:00", component="cli") from error
    return (told if told.tzinfo is not None else told.replace(tzinfo=UTC)).timestamp()


def _export(book: Ledger, args: Namespace) -> int:
    out = sys.stdout.buffer
    if args.heads:
        out.write(msgspec.json.format(msgspec.json.encode(book.heads()), indent=2) + b"\n")
    else:
        journal = book.journal
        rows = journal.read(lambda tx: list(tx.operations()))
        for row in rows:
            events = journal.read(lambda tx, op_id=row.op_id: read_events(tx.events(op_id)))
            for event in events:
                out.write(msgspec.json.encode(event) + b"\n")
    out.flush()
    return DONE


_VERBS: dict[str, Callable[[Ledger, Namespace], int]] = {
    "list": _list,
    "show": _show,
    "reconcile": _reconcile,
    "resolve": _resolve,
    "verify": _verify,
    "freeze": _freeze,
    "quarantine": _quarantine,
    "export": _export,
}


# Policies


def policy(args: Namespace) -> int:
    """`lawful policy compare OLD NEW`: which recorded decisions another policy would have made otherwise."""
    old, new = (_policy(named) for named in (args.old, args.new))
    with closing(console.journal_of(args)) as journal:
        found = _compared(journal, args, old, new)
    if args.json:
        console.as_json(found)
        return DONE
    say(str(found))
    for flip in found.flips:
        why = "; ".join(f.why or f.rule for f in flip.findings if not f.holds)
        say(f"  {flip.op_id}: {type(flip.before).__name__} -> {type(flip.after).__name__}{': ' + why if why else ''}")
    return DONE


def _compared(journal: Journal, args: Namespace, old: Policy, new: Policy) -> Comparison:
    return Ledger(journal.scoped(args.scope) if args.scope else journal).compare_policies(old, new)


def _policy(named: str) -> Policy:
    found = thing(named)
    if not isinstance(found, Policy):
        raise ConfigurationError(f"{named} is {found!r:.60}, not a policy", component="cli", operation="policy")
    return found
