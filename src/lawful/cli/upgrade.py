"""`lawful upgrade --check`: before a deployment, which paused threads the new code can go on with, which not and why."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import closing

from lawful.cli import console
from lawful.cli.console import DONE, REFUSED, say, step
from lawful.cli.graphs import load
from lawful.graph.upgrade import Verdict, check, nameless


def upgrade(args: Namespace) -> int:
    """`lawful upgrade --check module:graph --journal URL`; 1 if a paused thread cannot go on."""
    there = console.journal_at(args.journal)
    with closing(there if args.cipher is None else console.decrypted(there, args.cipher)) as journal:
        graph = load(args.check, None)
        verdicts = check(graph, journal)
        unnamed = nameless(journal)
    stuck = [v for v in verdicts if not v.resumable]
    threads = "1 thread bears" if unnamed == 1 else f"{unnamed} threads bear"
    note = f"not looked at: {threads} no graph's name (imported without --graph?)"
    if args.json:
        if unnamed:
            print(note, file=sys.stderr, flush=True)
        console.as_json([{**_told(v), "resumable": v.resumable} for v in verdicts])
        return REFUSED if stuck else DONE
    for verdict in verdicts:
        word = "refused" if verdict.findings else "migrates" if verdict.changed else "fits"
        waits = f"waits at {', '.join(verdict.waits)}"
        step(word, f"{verdict.thread}: {waits}", *(finding.text for finding in verdict.findings))
    say(
        f"{len(verdicts)} paused threads of graph {graph.name}: {len(verdicts) - len(stuck)} can go on, {len(stuck)} cannot"
    )
    if unnamed:
        say(note)
    return REFUSED if stuck else DONE


def _told(verdict: Verdict) -> dict[str, object]:
    found = [{"what": f.what, "name": f.name, "text": f.text} for f in verdict.findings]
    return {"thread": verdict.thread, "waits": list(verdict.waits), "changed": verdict.changed, "findings": found}
