"""Which of a journal's threads the graph as it is now can go on with, which not, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from msgspec import Struct

from lawful.core.context import Run
from lawful.core.errors import Failure
from lawful.graph.fingerprint import print_of
from lawful.graph.fitting import Finding, findings
from lawful.graph.program import Program
from lawful.graph.restore import restore
from lawful.graph.restored import Restored
from lawful.graph.snapshot import Viewer, child_ns
from lawful.journal.port import Journal
from lawful.journal.records import Chain, ThreadInfo

PAGE = 200
"""Threads that are listed at once."""


class Verdict(Struct, frozen=True):
    """What the graph of now means to one paused thread."""

    thread: str
    waits: tuple[str, ...]
    """The nodes that it waits at, of graphs inside too."""
    changed: bool
    """Whether the graph is another than the one that it paused under, as far as threads depend on it."""
    findings: tuple[Finding, ...]
    """Why it cannot go on; empty if it can."""

    @property
    def resumable(self) -> bool:
        return not self.findings


class Face(Protocol):
    """What is asked of a compiled graph."""

    program: Program

    @property
    def name(self) -> str: ...


def judge(program: Program, thread: str, chains: Mapping[str, Chain]) -> Verdict | None:
    """Whether ``program`` can go on with a thread, of which ``chains`` has the newest checkpoint of each namespace.

    None: it waits for nothing. Pure: nothing is run, read or written.
    """
    waits: list[str] = []
    found: list[Finding] = []
    changed = _judge(program, thread, chains, "", waits, found)
    return Verdict(thread, tuple(dict.fromkeys(waits)), changed, tuple(found)) if waits or found else None


def _judge(
    program: Program, thread: str, chains: Mapping[str, Chain], ns: str, waits: list[str], found: list[Finding]
) -> bool:
    chain = chains.get(ns)
    if chain is None:
        return False
    try:
        made = restore(program, thread, chain)
    except Failure as error:
        waits.append(ns or "?")
        found.append(Finding("record", ns, f"cannot be read: {error.message}"))
        return True
    if not made.head.names:
        return False
    changed = made.then != print_of(program)[0]
    waits.extend(made.head.names)
    found.extend(findings(program, made))
    for inner, graph in _inside(program, thread, made, ns):
        changed = _judge(graph.program, thread, chains, inner, waits, found) or changed
    return changed


def _inside(program: Program, thread: str, made: Restored, ns: str) -> Iterator[tuple[str, Any]]:
    """The graphs inside pending nodes, with their namespaces."""
    for task in Viewer(program, Run(run_id="", thread=thread, lineage=thread), ns).tasks(made):
        graph = task.task_node.subgraph
        if graph is not None:
            yield child_ns(ns, task), graph


def check(graph: Face, journal: Journal) -> list[Verdict]:
    """Look at every paused thread of ``graph`` in ``journal``; threads of graphs with other names are left out."""
    out: list[Verdict] = []
    for info in _threads(journal):
        if info.graph == graph.name:
            spaces = {ns: journal.chain(info.thread, ns) for ns in journal.namespaces(info.thread)}
            told = judge(graph.program, info.thread, {ns: c for ns, c in spaces.items() if c is not None})
            if told is not None:
                out.append(told)
    return out


def nameless(journal: Journal) -> int:
    """How many threads have checkpoints and no graph's name, as an import without one leaves them: `check` passes them by."""
    return sum(1 for info in _threads(journal) if not info.graph and journal.chain(info.thread) is not None)


def _threads(journal: Journal) -> Iterator[ThreadInfo]:
    after: str | None = None
    while page := journal.threads(limit=PAGE, after=after):
        yield from page
        after = page[-1].thread
