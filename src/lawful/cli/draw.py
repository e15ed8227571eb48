"""The verb `draw`: a graph as a Mermaid flowchart or in words."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from lawful.cli.console import DONE, say
from lawful.cli.graphs import load
from lawful.cli.update_graph import build
from lawful.journal.memory import MemoryJournal


def draw(args: Namespace) -> int:
    """`lawful draw`: the demo's graph, or the one at ``module:name``; nothing is run."""
    graph = load(args.graph, None) if args.graph is not None else build(MemoryJournal(), folder=Path())
    text = graph.explain() if args.words else graph.draw_mermaid()
    say(*text.rstrip("\n").split("\n"))
    return DONE
