"""`lawful prune`, `lawful delete` and `lawful copy`: what goes of a journal's threads, told before it goes."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

from msgspec import Struct

from lawful.cli import console
from lawful.cli.console import DONE, REFUSED, say, step
from lawful.cli.ledger_words import journal_word
from lawful.core.errors import ThreadBusy, ValidationError, nearest
from lawful.journal.ids import thread_key
from lawful.journal.leases import owner_of
from lawful.journal.port import Journal
from lawful.journal.records import Busy, Checkpoint, ThreadInfo
from lawful.journal.retention import Line, plan

PAGE: Final = 200
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_TTL: Final = 60.0


class Going(Struct, frozen=True):
    """What a verb takes, or would take, from one thread."""

    thread: str
    graph: str
    checkpoints: int
    """That are in its history now."""
    going: int
    bytes: int
    """Of those that go, without the large values that only they refer to."""


def words(verbs: Any) -> None:
    """Add the three verbs to the command line."""
    one = _verb(verbs, "prune", "drop old checkpoints; says which, and does it with --yes")
    one.add_argument("thread", nargs="*", metavar="THREAD", help="only these; all threads if none is given")
    one.add_argument("--keep-last", type=_number, default=1, metavar="N", help="keep the newest N of each (1)")
    one.add_argument("--keep-every", type=_number, metavar="N", help="keep each whose step divides by N")
    one.add_argument("--older-than", type=_span, metavar="SPAN", help="only older ones: 90d, 12h, 30m, 2w, 45s")
    _yes(one)
    one = _verb(verbs, "delete", "forget threads; says what goes, and does it with --yes")
    one.add_argument("thread", nargs="+", metavar="THREAD")
    _yes(one)
    one = _verb(verbs, "copy", "copy a thread, whole, to a new name")
    one.add_argument("thread", metavar="THREAD")
    one.add_argument("to", metavar="NEW", help="a thread that has no checkpoints yet")


def _verb(verbs: Any, name: str, about: str) -> argparse.ArgumentParser:
    one: argparse.ArgumentParser = verbs.add_parser(
        name, help=about, description=f"{about[0].upper()}{about[1:]}.", allow_abbrev=False
    )
    one.add_argument("--db", metavar="FILE", help="the journal; .lawful/lawful.db if not given")
    journal_word(one)
    one.add_argument("--scope", metavar="NAME", help="the tenant; the journal's own if not given")
    one.add_argument("--json", action="store_true", help="one JSON document instead of text")
    return one


def _yes(one: argparse.ArgumentParser) -> None:
    one.add_argument("--yes", action="store_true", help="do it; without this it is only told")


def _number(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)


def _span(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,9})([smhdw])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no span of time; write 90d, 12h, 30m, 2w or 45s")
    return float(int(found[1]) * _UNITS[found[2]])


def prune(args: argparse.Namespace) -> int:
    """`lawful prune`: without --yes only what would go."""
    with _journal(args) as journal:
        rules: dict[str, Any] = {
            "keep_last": args.keep_last,
            "keep_every": args.keep_every,
            "older_than": args.older_than,
        }
        found = [_pruned(journal, info, rules) for info in _threads(journal, args.thread)]
        if args.yes:
            found = [_told_anew(each, journal.prune(each.thread, **rules)) for each in found if each.going]
    return _tell(args, found, "checkpoints", "dropped" if args.yes else "goes")


def delete(args: argparse.Namespace) -> int:
    """`lawful delete THREAD...`: without --yes only what would go. Records of effects stay in any case."""
    busy: list[str] = []
    with _journal(args) as journal:
        found = [_whole(journal, info) for info in _threads(journal, args.thread)]
        for each in found if args.yes else ():
            try:
                _forget(journal, each.thread)
            except ThreadBusy as error:
                busy.append(each.thread)
                console.complain(error)
    code = _tell(
        args, [each for each in found if each.thread not in busy], "threads", "deleted" if args.yes else "goes"
    )
    return REFUSED if busy else code


def copy(args: argparse.Namespace) -> int:
    """`lawful copy THREAD NEW`."""
    with _journal(args) as journal:
        [info] = _threads(journal, [args.thread])
        target = thread_key(args.to)
        journal.copy_thread(info.thread, target)
        told = _whole(journal, info)
    if args.json:
        console.as_json({"thread": target, "from": info.thread, "checkpoints": told.checkpoints})
    else:
        say(f"{target} has the {told.checkpoints} checkpoints of {info.thread}")
    return DONE


@contextmanager
def _journal(args: argparse.Namespace) -> Generator[Journal]:
    with closing(console.journal_of(args)) as journal:
        yield journal if args.scope is None else journal.scoped(args.scope)


def _threads(journal: Journal, wanted: Sequence[str]) -> list[ThreadInfo]:
    """Those named, or all. Raises: ValidationError with the nearest name, before anything is done."""
    if not wanted:
        return list(_every(journal))
    out: list[ThreadInfo] = []
    for name in dict.fromkeys(map(thread_key, wanted)):
        info = journal.info(name)
        if info is None:
            known = [each.thread for each in journal.threads(limit=1000)]
            raise ValidationError(
                f"there is no thread {name!r} in this journal.{nearest(name, known)}",
                component="cli",
                operation="thread",
                details={"thread": name},
            )
        out.append(info)
    return out


def _every(journal: Journal) -> Iterator[ThreadInfo]:
    after: str | None = None
    while page := journal.threads(limit=PAGE, after=after):
        yield from page
        after = page[-1].thread


def _history(journal: Journal, thread: str, ns: str) -> Iterator[Checkpoint]:
    before: str | None = None
    while page := journal.history(thread, ns, before=before, limit=PAGE):
        yield from page
        before = page[-1].id


def _pruned(journal: Journal, info: ThreadInfo, rules: dict[str, Any]) -> Going:
    shown, going, freed = 0, 0, 0
    for ns in journal.namespaces(info.thread):
        sizes: dict[str, int] = {}
        lines: list[Line] = []
        for row in _history(journal, info.thread, ns):
            sizes[row.id] = _size(row)
            lines.append(Line(row.id, row.parent, row.step, row.at, row.snapshot is not None, False))
        if lines:
            told = plan(lines[::-1], now=time.time(), **rules)
            shown, going = shown + len(lines), going + told.count
            freed += sum(sizes[id] for id in told.drop)
    return Going(info.thread, info.graph, shown, going, freed)


def _whole(journal: Journal, info: ThreadInfo) -> Going:
    sizes = [_size(row) for ns in journal.namespaces(info.thread) for row in _history(journal, info.thread, ns)]
    return Going(info.thread, info.graph, len(sizes), len(sizes), sum(sizes))


def _size(row: Checkpoint) -> int:
    return len(row.head) + len(row.delta) + len(row.snapshot or b"")


def _told_anew(each: Going, went: int) -> Going:
    return Going(each.thread, each.graph, each.checkpoints, went, each.bytes)


def _forget(journal: Journal, thread: str) -> None:
    """Raises: ThreadBusy, where a run holds the thread."""
    lease = journal.acquire(thread, owner_of("lawful delete"), _TTL)
    if isinstance(lease, Busy):
        raise ThreadBusy(
            f"a run is under way on thread {thread!r}: it was not deleted",
            component="cli",
            operation="delete",
            details={"thread": thread},
        )
    try:
        journal.delete_thread(thread)
    finally:
        journal.release(lease)


def _tell(args: argparse.Namespace, found: Sequence[Going], what: str, how: str) -> int:
    going = [each for each in found if each.going or what == "threads"]
    if args.json:
        console.as_json({"done": args.yes, "threads": going})
        return DONE
    for each in going:
        of = f"{each.going} of {each.checkpoints} checkpoints" if what == "checkpoints" else f"{each.going} checkpoints"
        step(how, f"{each.thread} (graph {each.graph}): {of}, {_bytes(each.bytes)}")
    count = sum(each.going for each in going)
    total = f"{count} checkpoints of {len(going)} threads"
    if not going:
        say("Nothing to do.")
    elif args.yes:
        say(f"{total} are gone; records of effects stay")
    else:
        say(f"{total} would go, {_bytes(sum(each.bytes for each in going))}; records of effects stay")
        say("Nothing was done. The same words with --yes do it.")
    return DONE


def _bytes(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1000:,.0f} kB"
