"""Look at a thread: its state, its history, and the state of the graphs nested in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Self

from lawful.core.context import Run
from lawful.core.errors import ConfigurationError, CorruptRecord, UnknownType, nearest
from lawful.core.lazy import late
from lawful.core.questions import Principal
from lawful.graph.caching import namespace_of
from lawful.graph.config import Target, target_of
from lawful.graph.options import wrong
from lawful.graph.policies import Limits
from lawful.graph.program import Program
from lawful.graph.restore import Reader, restore
from lawful.graph.restored import Done, Restored
from lawful.graph.snapshot import StateSnapshot, Viewer, child_ns, config_of, empty
from lawful.graph.travel import ran_from
from lawful.graph.upgrade import Verdict, check
from lawful.journal.guard import GuardedJournal
from lawful.journal.port import Journal
from lawful.journal.records import Chain, Checkpoint


class SubgraphMissing(ConfigurationError, ValueError):
    """A namespace that no subgraph of this graph has."""


_UNKEPT = (
    "No checkpointer set: a graph keeps its threads in a journal, compile(checkpointer=SQLiteJournal('...')), an agent"
    " in Agent(..., journal='...')"
)


class NoJournal(ConfigurationError, ValueError):
    """The graph was compiled without a journal."""


class NotGuarded(ConfigurationError, ValueError):
    """The graph's journal asks nobody who may do what."""


class Views:
    """What a compiled graph can tell of its threads."""

    program: Program
    checkpointer: Any

    @property
    def name(self) -> str:
        return self.program.name

    limits: Limits
    cache: Any
    performs: bool = True
    """Whether its runs may perform effects."""

    def journal_of(self) -> Journal:
        """Raises: ValueError (a ConfigurationError) without a journal."""
        if self.checkpointer in (None, True, False):
            raise NoJournal(_UNKEPT, component="graph", operation="get_state")
        return self.checkpointer

    def acting(self, principal: Principal) -> Self:
        """The same graph on behalf of ``principal``: its journal must be a `GuardedJournal`, which asks for each call.

        Raises: ConfigurationError (a ValueError), for a graph without a guarded journal.
        """
        journal: Any = self.journal_of()
        if not isinstance(journal, GuardedJournal):
            raise NotGuarded(
                f"a {type(journal).__name__} asks nobody who may do what: compile with"
                " checkpointer=GuardedJournal(journal, authorize)",
                component="graph",
                operation="acting",
            )
        made = copy(self)
        made.checkpointer = journal.acting(principal)
        return made

    def worker(self) -> Self:
        """The same graph without the capability to perform: its runs plan effects, and each ends in EffectDenied.

        What a worker's run has planned and stopped at, a coordinator's run of the thread (``graph``'s own) performs.
        """
        made = copy(self)
        made.performs = False
        return made

    def program_of(self, ns: str) -> Program:
        """The program of a nested namespace. Raises: ValueError where no subgraph has it."""
        program = self.program
        for part in ns.split("|") if ns else ():
            name = part.partition(":")[0]
            if name.isdigit():
                continue
            node = next((n for n in program.nodes.values() if n.known_as == name), None)
            if node is None or node.subgraph is None:
                raise SubgraphMissing(f"Subgraph {ns!r} not found", component="graph", operation="get_state")
            program = node.subgraph.program
        return program

    def clear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """Forget the cached results of these nodes, or of all; those of this graph, and of its journal's tenant, alone.

        Raises: ConfigurationError without a cache, or for a node that has no cache policy.
        """
        cache, known = self.cache, [n.name for n in self.program.nodes.values() if n.cache is not None]
        if cache is None:
            raise ConfigurationError("No cache set: compile(cache=...)", component="graph", operation="clear_cache")
        for name in nodes or ():
            if name not in known:
                raise ConfigurationError(
                    f"Node {name!r} has no cache policy.{nearest(name, known)}",
                    component="graph",
                    operation="clear_cache",
                )
        scope = getattr(self.checkpointer, "scope", "local")
        cache.clear([namespace_of(scope, self.program.name, name) for name in nodes or known])

    async def aclear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """As `clear_cache`, beside the event loop."""
        await late("asyncio").to_thread(self.clear_cache, nodes)

    def get_state(self, config: Any, *, subgraphs: bool = False) -> StateSnapshot:
        """Where the thread stands; ``config`` may be a bare thread id.

        Without a checkpoint_id, the successful writes of an unfinished step are applied and ``next`` is what still has
        to run; with one, the bare checkpoint is shown. ``subgraphs=True`` nests the snapshots of subgraphs.
        """
        target = _required(target_of(config))
        journal = self.journal_of()
        program = self.program_of(target.ns)
        chain = journal.chain(target.thread or "", target.ns, target.checkpoint)
        if chain is None:
            return empty(target.thread or "", target.ns)
        return self._snapshot(journal, program, target, chain, head=target.checkpoint is None, deep=subgraphs)

    def _snapshot(
        self, journal: Journal, program: Program, target: Target, chain: Chain, *, head: bool, deep: bool
    ) -> StateSnapshot:
        thread = target.thread or ""
        made = restore(program, thread, chain, bare=not head)
        self._note_answers(journal, thread, made)
        viewer = Viewer(program, _run(thread), target.ns, most=self.limits.state_bytes)
        results = None if head else self._results(journal, program, thread, made)
        states = self._states(journal, viewer, made, deep=deep, head=head)
        return viewer.snapshot(made, head=head, results=results, states=states)

    def _note_answers(self, journal: Journal, thread: str, made: Restored) -> None:
        """Questions of subgraphs are answered in their own namespace: those that are, are no longer open."""
        asked = [q for s in made.saved.values() for q in s.questions if q.ns != made.row.ns]
        for ns, checkpoint in {(q.ns, q.checkpoint) for q in asked}:
            chain = journal.chain(thread, ns, checkpoint)
            for answer in chain.answers if chain is not None else ():
                made.answers.setdefault(answer.question, None)

    def _results(self, journal: Journal, program: Program, thread: str, made: Restored) -> dict[int, Done]:
        """By place, what the tasks that ran from this checkpoint wrote: the delta of the checkpoint that followed."""
        children = journal.children(thread, made.row.ns, made.row.id)
        following = next((c for c in children if c.source in ("loop", "update")), None)
        if following is None:
            return {}
        try:
            return _ran(journal, program, thread, following)
        except (CorruptRecord, UnknownType):
            return {}  # this checkpoint can be read; that what followed cannot is told when that is asked for

    def _states(
        self, journal: Journal, viewer: Viewer, made: Restored, *, deep: bool, head: bool = False
    ) -> dict[str, Any]:
        """By task id, the config (or, deep, the snapshot) of the subgraph that the task holds."""
        out: dict[str, Any] = {}
        thread = viewer.run.thread or ""
        for task in viewer.tasks(made):
            graph = task.task_node.subgraph
            if graph is None:
                continue
            own = child_ns(viewer.ns, task)
            if deep:
                keeps = graph.checkpointer is True and not head
                chain = ran_from(journal, thread, own, made.row) if keeps else journal.chain(thread, own)
                if chain is not None:
                    target = Target(thread, own, None, {})
                    out[task.id] = self._snapshot(journal, graph.program, target, chain, head=True, deep=True)
            else:
                out[task.id] = config_of(thread, own, None)
        return out

    def check_upgrade(self, journal: Journal | None = None) -> list[Verdict]:
        """Which paused threads this graph, as it is now, can go on with, which not and why; ``journal``: not its own."""
        return check(self, journal if journal is not None else self.journal_of())

    def get_state_history(
        self,
        config: Any,
        *,
        filter: Mapping[str, Any] | None = None,
        before: Any = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """The thread's checkpoints, newest first; ``before`` is a config, ``filter`` compares metadata by equality."""
        target = _required(target_of(config))
        journal = self.journal_of()
        program = self.program_of(target.ns)
        thread = target.thread or ""
        if before is not None and not isinstance(before, Mapping):
            raise wrong("before", "the config of a checkpoint", before)
        bound = target_of(before).checkpoint if before is not None else None  # pyright: ignore[reportUnknownArgumentType]
        rows = journal.history(thread, target.ns, before=bound, limit=limit, filter=filter)
        yield from History(journal, program, thread, target.ns, rows, self).snapshots()


class History:
    """Rebuilds many checkpoints of one namespace, each from its parent where that is at hand."""

    def __init__(
        self, journal: Journal, program: Program, thread: str, ns: str, rows: Sequence[Checkpoint], views: Views
    ) -> None:
        self.journal = journal
        self.program = program
        self.thread = thread
        self.ns = ns
        self.rows = rows
        self.views = views

    def snapshots(self) -> list[StateSnapshot]:
        made = self._restored()
        followers = self._followers()
        viewer = Viewer(self.program, _run(self.thread), self.ns)
        tip = self.rows[0].id if self.rows else ""
        out: list[StateSnapshot] = []
        for row in self.rows:
            restored = made[row.id]
            if row.id in followers:
                results = followers[row.id]
            else:
                read = self.views._results  # pyright: ignore[reportPrivateUsage]
                results = read(self.journal, self.program, self.thread, restored) if row.id != tip else {}
            states = self.views._states(self.journal, viewer, restored, deep=False)  # pyright: ignore[reportPrivateUsage]
            out.append(viewer.snapshot(restored, head=False, results=results, states=states))
        return out

    def _restored(self) -> dict[str, Restored]:
        """Every row's state, oldest first, folding each into a copy of its parent's."""
        digests = {d for row in self.rows for d in row.refs}
        chunks = dict(self.journal.chunks(self.thread, digests)) if digests else {}
        reader = Reader(self.program, self.thread, chunks)
        made: dict[str, Restored] = {}
        for row in reversed(self.rows):
            parent = made.get(row.parent or "")
            if row.snapshot is None and row.parent is not None and parent is None:
                chain = self.journal.chain(self.thread, self.ns, row.id)
                assert chain is not None
                made[row.id] = restore(self.program, self.thread, chain, bare=True, raw=True)
                continue
            made[row.id] = self._one(reader, row, parent)
        for each in made.values():
            reader.lift(each.values, each.then)
        self._with_pending(made)
        return made

    def _one(self, reader: Reader, row: Checkpoint, parent: Restored | None) -> Restored:
        if parent is not None:
            reader.merges, reader.then = parent.merges, parent.then
        head = reader.head(row)
        if row.snapshot is not None:
            values, visits = reader.whole(row)
        elif parent is None:
            values, visits = self.program.initial, dict[str, int]()
            reader.fold(row, head, values, visits)
        else:
            values, visits = dict(parent.values), dict(parent.visits)
            reader.lift(values, parent.then, reader.then)
            reader.fold(row, head, values, visits)
        made = Restored(row, head, values, visits)
        made.merges, made.then = reader.merges, reader.then
        return made

    def _with_pending(self, made: dict[str, Restored]) -> None:
        """Unfinished steps are few: the newest row's, and those that a fork left."""
        parents = {row.parent for row in self.rows}
        for row in self.rows:
            if row.id in parents:
                continue
            chain = self.journal.chain(self.thread, self.ns, row.id)
            if chain is not None and (chain.writes or chain.answers):
                made[row.id] = restore(self.program, self.thread, chain, bare=True)

    def _followers(self) -> dict[str, dict[int, Done]]:
        out: dict[str, dict[int, Done]] = {}
        digests = {d for row in self.rows for d in row.refs}
        chunks = dict(self.journal.chunks(self.thread, digests)) if digests else {}
        reader = Reader(self.program, self.thread, chunks)
        for row in reversed(self.rows):
            if row.parent is not None and row.parent not in out and row.source in ("loop", "update"):
                out[row.parent] = {place: done for place, done in reader.parts(row, reader.head(row)) if place >= 0}
        return out


def _ran(journal: Journal, program: Program, thread: str, row: Checkpoint) -> dict[int, Done]:
    chunks = journal.chunks(thread, row.refs) if row.refs else dict[bytes, bytes]()
    reader = Reader(program, thread, chunks)
    return {place: done for place, done in reader.parts(row, reader.head(row)) if place >= 0}


def _run(thread: str) -> Run:
    return Run(run_id="", thread=thread, lineage=thread)


def _required(target: Target) -> Target:
    if target.thread is None:
        raise ThreadWanted(
            "A thread_id is needed: the thread's id alone, or {'configurable': {'thread_id': ...}}",
            component="graph",
            operation="get_state",
        )
    return target


class ThreadWanted(ConfigurationError, ValueError):
    """A thread must be named."""
