"""Where a run begins in a thread's history: at its newest checkpoint, at an older one, or inside a nested graph's past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from lawful.core.context import Run
from lawful.graph.config import Target
from lawful.graph.persist import parents_of
from lawful.graph.program import Node, Program
from lawful.graph.restore import restore
from lawful.graph.restored import Restored
from lawful.graph.step_task import Base, Task
from lawful.graph.updates import no_checkpoint
from lawful.journal.port import Journal
from lawful.journal.records import Chain, Checkpoint

PAGE = 64
"""Rows of history that are read at once."""


class Loaded:
    """What a run begins from."""

    __slots__ = ("aimed", "fork", "head", "restored")

    def __init__(self, restored: Restored | None, head: str | None, fork: bool, *, aimed: bool = False) -> None:
        self.restored = restored
        self.head = head
        """The namespace's newest checkpoint."""
        self.fork = fork
        """Whether ``restored`` is branched off, so that nothing which was done from it counts."""
        self.aimed = aimed
        """Whether a nested run goes on from there, whatever its input."""

    def input(self, given: Any, slot: Task) -> Any:
        """What a nested run begins with: in a node that runs again it goes on where this visit's graph stood."""
        restored = self.restored
        if restored is not None and (self.aimed or restored.row.metadata.get("_task") == slot.id):
            return None
        return given


class Held(Protocol):
    """A graph inside a node, as far as loading goes."""

    program: Program
    checkpointer: Any


# A root run


def load_root(journal: Journal, program: Program, run: Run, target: Target, *, going_on: bool) -> Loaded:
    """Where a root run begins. ``going_on``: it has no new input, so a nested graph's checkpoint may be its aim.

    Raises: ConfigurationError for a checkpoint that is not there.
    """
    thread = run.thread or ""
    tip = journal.chain(thread)
    aim = _aim(journal, thread, target) if target.ns else None
    wanted = aim.root if aim is not None else target.checkpoint
    if tip is None or (wanted is None and aim is None):
        if wanted is not None:
            raise no_checkpoint(thread, wanted)
        loaded = Loaded(restore(program, thread, tip) if tip is not None else None, tip and tip.tip.id, False)
    elif wanted == tip.tip.id and (aim is None or aim.newest or not going_on):
        loaded = Loaded(restore(program, thread, tip), tip.tip.id, False)
    else:
        chain = journal.chain(thread, "", wanted) if wanted is not None else None
        if chain is None:
            raise no_checkpoint(thread, str(wanted))
        fork = aim is not None or not _untouched(journal, thread, chain)
        loaded = Loaded(restore(program, thread, chain, bare=fork), tip.tip.id, fork)
        if aim is not None and going_on:
            run.shared["aim"] = aim
    if loaded.restored is not None:
        run.shared["branch"] = Branch(journal, thread, loaded.restored.row, inclusive=not loaded.fork)
    return loaded


def _untouched(journal: Journal, thread: str, chain: Chain) -> bool:
    """Whether it is a branch already, made by hand, from which nothing was done yet: it needs no checkpoint of its own."""
    row = chain.tip
    if row.source not in ("update", "fork") or chain.writes or chain.answers:
        return False
    return not journal.children(thread, row.ns, row.id)


# Inside a nested graph's past


class Level:
    """One nested graph on the way to the checkpoint that is the aim."""

    __slots__ = ("checkpoint", "ns")

    def __init__(self, ns: str, checkpoint: str) -> None:
        self.ns = ns
        self.checkpoint = checkpoint


class Aim:
    """Time travel to a checkpoint of a nested graph: the root branches off at its ancestor, and so does each level."""

    __slots__ = ("levels", "moved", "newest", "root")

    def __init__(self, root: str, levels: list[Level], *, newest: bool) -> None:
        self.root = root
        self.levels = levels
        """From the outermost down; each is taken once."""
        self.newest = newest
        """Whether the aim is the newest of its namespace."""
        self.moved: dict[str, str] = {}
        """The namespaces of the branch's tasks, and those of the tasks in whose place they are."""

    def take(self, ns: str) -> Level | None:
        """The level that a nested graph in ``ns`` is to begin from, once."""
        if not self.levels:
            return None
        old = ns
        for new, then in self.moved.items():
            if ns == new or ns.startswith(f"{new}|"):
                old = then + ns[len(new) :]
        return self.levels.pop(0) if self.levels[0].ns == old else None

    def follow(self, restored: Restored, program: Program, tasks: Sequence[Task]) -> None:
        """Note which tasks of a branch stand in the place of which of ``restored``."""
        row = restored.row
        base = Base(
            tasks[0].run if tasks else Run(run_id=""),
            program,
            restored.values,
            checkpoint=row.id,
            ns=row.ns,
            path="",
            step=row.step + 1,
            remaining=0,
            visits=restored.visits,
        )
        for entry, task in zip(restored.head.tasks, tasks, strict=False):
            old = Task(base, program.nodes.get(entry[0]) or Node.inert(entry[0]), entry[1], None)
            self.moved[task.ns] = old.ns


def _aim(journal: Journal, thread: str, target: Target) -> Aim:
    chain = journal.chain(thread, target.ns, target.checkpoint)
    if chain is None:
        raise no_checkpoint(thread, target.checkpoint or f"in {target.ns!r}")
    told = {**parents_of(chain.tip.metadata), **target.parents, target.ns: chain.tip.id}
    levels = [Level(ns, told[ns]) for ns in _nested(target.ns) if ns in told]
    newest = journal.chain(thread, target.ns)
    root = told.get("")
    if root is None:
        raise no_checkpoint(thread, f"that {target.ns!r} ran from")
    return Aim(root, levels, newest=newest is not None and newest.tip.id == chain.tip.id)


def _nested(ns: str) -> list[str]:
    """The namespaces on the way down, ``ns`` included; "hold:id|1" is one, the second graph of one task."""
    out: list[str] = []
    for part in ns.split("|"):
        if part.isdigit() and out:
            out[-1] += f"|{part}"
        else:
            out.append(f"{out[-1]}|{part}" if out else part)
    return out


# A nested run


def load_child(journal: Journal, graph: Held, run: Run, ns: str) -> Loaded:
    """Where a nested run begins: where its namespace stands on the branch that its root is on."""
    thread, program = run.thread or "", graph.program
    newest = journal.chain(thread, ns)
    head = newest.tip.id if newest is not None else None
    aim: Aim | None = run.shared.get("aim")
    level = aim.take(ns) if aim is not None else None
    if level is not None:
        chain = journal.chain(thread, level.ns, level.checkpoint)
        if chain is None:
            raise no_checkpoint(thread, level.checkpoint)
        _seen(run, ns)
        fork = level.ns != ns or not _untouched(journal, thread, chain)
        return Loaded(restore(program, thread, chain, bare=fork), head, fork, aimed=True)
    if newest is None:
        return Loaded(None, None, False)
    found: Chain | None = newest
    if graph.checkpointer is True and _seen(run, ns) and (branch := run.shared.get("branch")) is not None:
        found = _on_branch(journal, branch, thread, ns, newest)
    if found is None:
        return Loaded(None, head, True)
    return Loaded(restore(program, thread, found), head, found is not newest)


def _seen(run: Run, ns: str) -> bool:
    """Whether this is the first visit of ``ns`` in the whole run; later ones go on from what the first left."""
    seen: set[str] = run.shared.setdefault("seen", set())
    first = ns not in seen
    seen.add(ns)
    return first


def _on_branch(journal: Journal, branch: Branch, thread: str, ns: str, newest: Chain) -> Chain | None:
    """The newest checkpoint of a nested graph with a memory that was made on the branch, or None."""
    if branch.holds(newest.tip):
        return newest
    bound = newest.tip.id
    while rows := journal.history(thread, ns, before=bound, limit=PAGE):
        for row in rows:
            if branch.holds(row):
                return journal.chain(thread, ns, row.id)
        bound = rows[-1].id
    return None


def ran_from(journal: Journal, thread: str, ns: str, row: Checkpoint) -> Chain | None:
    """Of a nested graph with a memory: its newest checkpoint made by a task of ``row``, or None."""
    for each in journal.history(thread, ns):
        if parents_of(each.metadata).get(row.ns) == row.id:
            return journal.chain(thread, ns, each.id)
    return None


class Branch:
    """The checkpoints that lead to one of the root's, read as far back as is asked for."""

    def __init__(self, journal: Journal, thread: str, row: Checkpoint, *, inclusive: bool) -> None:
        self.journal = journal
        self.thread = thread
        self.tip = row.id
        self.order: list[str] = []
        """Every stored checkpoint up to the tip, newest first; of all branches."""
        self.ours: dict[str, bool] = {}
        """Those of this branch, and whether what ran from them is part of it."""
        self._wanted: str | None = row.id
        self._inclusive = inclusive
        self._read(row)

    def _read(self, row: Checkpoint) -> None:
        self.order.append(row.id)
        if row.id != self._wanted:
            return
        self.ours[row.id] = self._inclusive
        # Where a branch begins, what else ran from the checkpoint it was branched off belongs to another.
        left = row.metadata.get("_of")
        self._wanted, self._inclusive = (str(left), False) if left is not None else (row.parent, True)

    def holds(self, row: Checkpoint) -> bool:
        """Whether a nested graph's checkpoint was made by a task of this branch."""
        ran_from = parents_of(row.metadata).get("")
        if ran_from is None:
            return True
        if ran_from > self.tip:
            return False
        while self.order[-1] > ran_from:
            rows = self.journal.history(self.thread, before=self.order[-1], limit=PAGE)
            if not rows:
                break
            for each in rows:
                self._read(each)
        if ran_from in self.order:
            return self.ours.get(ran_from, False)
        # It was pruned, or never stored: the run that it was part of made the next one that is.
        after = [id for id in self.order if id > ran_from]
        return bool(after) and after[-1] in self.ours
