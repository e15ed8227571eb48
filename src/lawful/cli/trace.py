"""The verb `trace`: a thread's past as a timeline in the terminal, made of its journal alone."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise

from msgspec import Struct

from lawful.cli import console
from lawful.cli.console import DONE, command, say
from lawful.cli.graphs import SHIPPED, graph_of
from lawful.cli.history import Fact, Step, bare_steps, facts_of, operations_of, steps_of
from lawful.cli.run import beside

WIDTH = 40
"""Characters of a bar's place."""
IDLE = 60.0
"""Seconds without a step that are taken for waiting, and drawn as a gap: a person's answer may take days."""


class Bar(Struct, frozen=True):
    """One line of the timeline; times in seconds since the thread began."""

    kind: str
    """"step" or "effect"."""
    name: str
    begins: float
    ends: float
    notes: list[str]


def trace(args: Namespace) -> int:
    """`lawful trace`: what ran when, and how long it took."""
    with closing(console.journal_of(args)) as journal:
        info = console.thread_of(journal, args.thread)
        known = args.graph is not None or info.graph in SHIPPED
        steps = steps_of(graph_of(info, journal, args.graph), args) if known else bare_steps(journal, args)
        facts = [fact for row in operations_of(journal, args.thread) for fact in facts_of(journal, row)]
    start = min([step.at for step in steps] + [fact.at for fact in facts], default=0.0)
    bars = bars_of(steps, facts, start)
    if args.json:
        console.as_json({"thread": args.thread, "graph": info.graph, "start": start, "bars": bars})
        return DONE
    say(f"thread {args.thread} (graph {info.graph}) from {console.when(start)} UTC", "")
    for line in drawn(bars):
        say(line)
    if not known:
        told = command("trace", args.thread, "--graph", "MODULE:NAME", *beside(args), db=console.named_by(args))
        say("", f"what ran in each step is known with its graph: {told}")
    return DONE


def bars_of(steps: Sequence[Step], facts: Sequence[Fact], start: float) -> list[Bar]:
    """A bar for each step, from the one before it, and one for each effect, from its first event to its last; by time."""
    bars: list[Bar] = []
    last = start
    for step in steps:
        name = ", ".join(step.ran) or (step.source if step.source != "loop" else f"step {step.step}")
        began = last if step.source == "loop" else step.at
        bars.append(Bar("step", name, began - start, step.at - start, sorted(step.wrote)))
        last = step.at
    for operation in dict.fromkeys(fact.operation for fact in facts):
        mine = [fact for fact in facts if fact.operation == operation]
        bars.append(Bar("effect", operation, mine[0].at - start, mine[-1].at - start, [fact.event for fact in mine]))
    return sorted(bars, key=lambda bar: (bar.ends, bar.kind != "effect", bar.begins))


def drawn(bars: Sequence[Bar]) -> list[str]:
    """The lines: when it ended, its place in the whole, how long it took, what it was."""
    if not bars:
        return ["nothing has happened yet"]
    scale = Scale(bars)
    return [_line(bar, scale) for bar in bars]


class Scale:
    """Times to places, with long waits cut down, so that the work between them can be seen."""

    def __init__(self, bars: Sequence[Bar]) -> None:
        moments = sorted({bar.begins for bar in bars} | {bar.ends for bar in bars})
        self._at = {moments[0]: 0.0}
        for before, after in pairwise(moments):
            waited = after - before
            self._at[after] = self._at[before] + min(waited, IDLE)
        self._whole = max(self._at.values()) or 1.0

    def place(self, moment: float) -> int:
        """0 to `WIDTH` - 1."""
        return min(int(self._at[moment] / self._whole * WIDTH), WIDTH - 1)


def _line(bar: Bar, scale: Scale) -> str:
    low, high = scale.place(bar.begins), scale.place(bar.ends)
    mark = "=" if bar.kind == "effect" else "#"
    picture = (" " * low + mark * (high - low + 1)).ljust(WIDTH)
    name = f"effect {bar.name}" if bar.kind == "effect" else bar.name
    notes = " > ".join(bar.notes) if bar.kind == "effect" else ", ".join(bar.notes)
    return f"{_seconds(bar.ends):>9} |{picture}| {_seconds(bar.ends - bar.begins):>8}  {name}{f': {notes}' if notes else ''}"


def _seconds(duration: float) -> str:
    if duration < 100:
        return f"{duration:.3f} s"
    if duration < 6000:
        return f"{duration / 60:.1f} min"
    return f"{duration / 3600:.1f} h"
