"""The verb `demo`: start the dependency update, or go on with it wherever it was left."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from argparse import Namespace
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from lawful.cli import console, demo_repo
from lawful.cli.console import command, say, step
from lawful.cli.progress import Standing, advance, standing
from lawful.cli.proposing import Models, model_named
from lawful.cli.rival import rival
from lawful.cli.run import answer_with, play_of, report, who, wronged
from lawful.cli.update_checks import repository
from lawful.cli.update_graph import NAME, build
from lawful.cli.update_rules import Request, request
from lawful.core.errors import ConfigurationError, ValidationError
from lawful.graph import CompiledStateGraph
from lawful.journal.ids import thread_key
from lawful.stores.sqlite import SQLiteJournal

_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def demo(args: Namespace) -> int:
    """`lawful demo`: a real change to a real repository, from the pinned line to one pull request."""
    _check(args)
    if args.rival:
        return rival(Path(args.db) if args.db is not None else console.DEFAULT)
    asked = _asked(args)
    thread = thread_key(args.thread or (NAME if args.repo is None else f"{asked.package}-{asked.to}"))
    wanted = replace(asked, repo=_place(args, thread))
    by = who(args.by)
    models = _models(args)
    with closing(_journal(args)) as journal:
        graph = build(journal, play_of(args, thread), models=models)
        stands = _fresh(args, journal, graph, thread, wanted)
        if stands is None:
            stands = _again(args, journal, graph, thread, wanted)
        if stands.asked and args.yes:
            say("", "yes, since --yes was given:")
            return answer_with(graph, thread, stands.asked[0], True, by=by, db=args.db)
        return report(graph, thread, stands, args.db)


def _journal(args: Namespace) -> SQLiteJournal:
    """Raises: ConfigurationError for a journal on a server: the forge stands beside the file."""
    journal = None if console.on_server(args.db or "") else console.made(args.db)
    if not isinstance(journal, SQLiteJournal):
        raise ConfigurationError("the demo keeps its journal, and its forge, in files: --db FILE", component="demo")
    return journal


def _check(args: Namespace) -> None:
    """Raises: ConfigurationError, for options that do not fit together."""
    if (wrong := wronged(args)) and not args.yes:
        raise ConfigurationError(
            f"{wrong[0]} needs --yes here: before an answer nothing happens that could go wrong", component="demo"
        )
    if args.reckless and args.model:
        raise ConfigurationError("--reckless is the script's: a model overreaches by itself, or not", component="demo")
    missing = [f"--{name}" for name in ("package", "to", "test") if getattr(args, name) is None]
    if args.repo is not None and missing:
        raise ConfigurationError(f"--repo needs {', '.join(missing)} too", component="demo")


def _asked(args: Namespace) -> Request:
    """The request that the options describe, its repository left open. Raises: ValidationError; nothing is made yet."""
    package = demo_repo.PACKAGE if args.package is None else args.package
    to = demo_repo.AFTER if args.to is None else args.to
    test = demo_repo.TEST if args.test is None else args.test
    branch = f"lawful/{package}-{to}" if args.branch is None else args.branch
    return request("", package, to, _words(test), branch, reckless=args.reckless, model=args.model or "")


def _models(args: Namespace) -> Models:
    """How the run gets its model. One that is named is made now. Raises: ConfigurationError, before anything else is."""
    if not args.model:
        return model_named
    made = model_named(args.model)
    return lambda name: made if name == args.model else model_named(name)


def _place(args: Namespace, thread: str) -> str:
    return str(_own_folder(args.db, thread)) if args.repo is None else repository(args.repo)


def _own_folder(db: str | None, thread: str) -> Path:
    """Where the demo makes the thread's repository: beside the journal."""
    name = thread if _FOLDER.fullmatch(thread) else hashlib.sha256(thread.encode()).hexdigest()[:16]
    beside = Path(db).parent if db is not None else console.HOME
    return (beside / "demo-repos" / name).resolve()


def _words(test: str) -> list[str]:
    try:
        return shlex.split(test)
    except ValueError as error:
        raise ValidationError(f"--test {test!r} is no command: {error}", component="demo") from error


def _fresh(
    args: Namespace, journal: SQLiteJournal, graph: CompiledStateGraph[Any], thread: str, wanted: Request
) -> Standing | None:
    """Start the thread; None where it is there already."""
    if journal.info(thread) is not None:
        return None
    made = demo_repo.make(Path(wanted.repo)) if args.repo is None else None
    say(f"A dependency update in a real git repository. {_proposer(wanted)}")
    step("repo", f"{wanted.repo}{' (made for this demo)' if made else ''}")
    step("thread", f"{thread}, in journal {os.path.relpath(journal.path)}")
    say()
    # A second demo that starts at the same moment is refused, not queued: it would start all over.
    return advance(graph, thread, {"request": wanted}, busy="reject")


def _proposer(wanted: Request) -> str:
    if not wanted.model:
        return "No network, no key, no model is used."
    return f"{wanted.model} proposes the patch; the rules that check it are the same."


def _again(
    args: Namespace, journal: SQLiteJournal, graph: CompiledStateGraph[Any], thread: str, wanted: Request
) -> Standing:
    """Go on with a thread that is there. Raises: ValidationError, if it is about something else."""
    info = console.thread_of(journal, thread)
    other = ["demo", "--thread", "NAME"]
    if info.graph != NAME:
        raise ValidationError(
            f"thread {thread!r} belongs to graph {info.graph!r}; choose another: {command(*other)}", component="demo"
        )
    stands = standing(graph, thread)
    held: Request = stands.values["request"]
    named = any((args.repo, args.package, args.to, args.test, args.branch, args.reckless, args.model))
    if named and held != wanted:
        raise ValidationError(
            f"thread {thread!r} is about {held.package} {held.to} in {held.repo}, with other options;"
            f" choose another: {command(*other)}",
            component="demo",
        )
    if not stands.waiting:
        say(f"Thread {thread} has ended already. To start another: {command(*other, db=args.db)}")
        return stands
    if stands.asked:
        say(f"Thread {thread} waits for an answer.")
        return stands
    say(f"Thread {thread} goes on where it was left:")
    return advance(graph, thread, None)
