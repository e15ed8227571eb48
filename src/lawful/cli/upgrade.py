"""`lawful upgrade --check`: before a deployment, which paused threads the new code can go on with, which not and why."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing
from pathlib import Path

from lawful.cli import console
from lawful.cli.console import DONE, REFUSED, say, step
from lawful.cli.graphs import load
from lawful.core.errors import StoreError
from lawful.core.lazy import late
from lawful.graph.upgrade import Verdict, check
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal


def upgrade(args: Namespace) -> int:
    """`lawful upgrade --check module:graph --journal URL`; 1 if a paused thread cannot go on."""
    with closing(journal_at(args.journal)) as journal:
        graph = load(args.check, None)
        verdicts = check(graph, journal)
    stuck = [v for v in verdicts if not v.resumable]
    if args.json:
        console.as_json([{**_told(v), "resumable": v.resumable} for v in verdicts])
        return REFUSED if stuck else DONE
    for verdict in verdicts:
        word = "refused" if verdict.findings else "migrates" if verdict.changed else "fits"
        waits = f"waits at {', '.join(verdict.waits)}"
        step(word, f"{verdict.thread}: {waits}", *(finding.text for finding in verdict.findings))
    say(
        f"{len(verdicts)} paused threads of graph {graph.name}: {len(verdicts) - len(stuck)} can go on, {len(stuck)} cannot"
    )
    return REFUSED if stuck else DONE


def _told(verdict: Verdict) -> dict[str, object]:
    found = [{"what": f.what, "name": f.name, "text": f.text} for f in verdict.findings]
    return {"thread": verdict.thread, "waits": list(verdict.waits), "changed": verdict.changed, "findings": found}


def journal_at(url: str) -> Journal:
    """The journal at a file's path, ``sqlite:///path`` or ``postgresql://...``; nothing is made by looking.

    Raises: StoreError for a file that is not there; ConfigurationError where the extra for PostgreSQL is missing.
    """
    if url.startswith(("postgres://", "postgresql://")):
        return late("lawful.stores.postgres").PostgresJournal(url)
    path = url.removeprefix("sqlite:///")
    if not Path(path).is_file():
        raise StoreError(f"there is no journal at {path!r}", component="cli", operation="open")
    return SQLiteJournal(path)
