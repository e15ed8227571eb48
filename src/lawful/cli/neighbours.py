"""`lawful import` and `lawful export`: threads between LangGraph's tables and a journal."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing
from typing import Any

from lawful.cli import console
from lawful.cli.console import DONE, REFUSED, journal_at, say, step
from lawful.cli.graphs import load
from lawful.compat import Exported, Imported, export_threads, import_threads
from lawful.compat.exporting import saver_at
from lawful.compat.tables import tables_at
from lawful.graph.program import Program
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal


def import_(args: Namespace) -> int:
    """`lawful import --from sqlite|postgres URL --journal URL`; 1 if a thread was not taken over."""
    kind, url = args.source
    with closing(tables_at(kind, url)) as tables, closing(_made(args.journal)) as journal:
        found = list(import_threads(tables, journal, program=_program(args.graph)))
    failed = [each for each in found if each.error is not None]
    if args.json:
        console.as_json([_imported(each) for each in found])
        return REFUSED if failed else DONE
    for each in found:
        if each.error is not None:
            step("left out", f"{each.thread}: {each.error.message}")
        elif each.waits or each.questions:
            asks = [f"asks {console.short(question.value)} ({question.id})" for question in each.questions]
            step("paused", f"{each.thread}: waits at {', '.join(each.waits)}", *asks)
    say(f"{len(found) - len(failed)} of {len(found)} threads are in {args.journal}")
    return REFUSED if failed else DONE


def export(args: Namespace) -> int:
    """`lawful export --to sqlite|postgres URL --journal URL`; 1 if a thread was not written."""
    with closing(journal_at(args.journal)) as journal, saver_at(*args.target) as saver:
        found = list(export_threads(journal, saver, program=_program(args.graph), threads=args.thread))
    failed = [each for each in found if each.error is not None]
    if args.json:
        console.as_json([_exported(each) for each in found])
        return REFUSED if failed else DONE
    for each in failed:
        step("left out", f"{each.thread}: {each.error.message if each.error is not None else ''}")
    say(f"{len(found) - len(failed)} of {len(found)} threads are in LangGraph's tables now")
    return REFUSED if failed else DONE


def _program(named: str | None) -> Program | None:
    return load(named, None).program if named else None


def _made(url: str) -> Journal:
    """The journal at a URL; a file that is not there yet is made."""
    if url.startswith(("postgres://", "postgresql://")):
        return journal_at(url)
    return SQLiteJournal(url.removeprefix("sqlite:///"))


def _imported(each: Imported) -> dict[str, Any]:
    asked = [{"id": q.id, "node": q.node, "value": q.value} for q in each.questions]
    return {
        "thread": each.thread,
        "checkpoints": each.checkpoints,
        "waits": list(each.waits),
        "questions": asked,
        "left": list(each.left),
        "error": each.error.message if each.error is not None else None,
    }


def _exported(each: Exported) -> dict[str, Any]:
    error = each.error.message if each.error is not None else None
    return {"thread": each.thread, "checkpoints": each.checkpoints, "error": error}
