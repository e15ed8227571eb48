"""`JournalSaver`: a journal of ours as the checkpointer of LangGraph itself."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lawful.compat.exporting import seen
from lawful.compat.keeping import Found, Keeper
from lawful.compat.langgraph_codecs import langgraph_registry
from lawful.core.codec import Registry
from lawful.core.lazy import late
from lawful.graph.program import Program
from lawful.journal.ids import thread_key
from lawful.journal.port import Journal

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver as _Base
else:
    _Base = late("langgraph.checkpoint.base", "BaseCheckpointSaver", extra="langgraph")

T = TypeVar("T")
_TUPLE: Callable[..., Any] = late("langgraph.checkpoint.base", "CheckpointTuple")
_METADATA: Callable[[Any, Any], dict[str, Any]] = late(
    "langgraph.checkpoint.base", "get_serializable_checkpoint_metadata"
)


class _Native:
    def __init__(self, program: Program) -> None:
        self._program = program

    @property
    def registry(self) -> Registry:
        return self._program.registry

    def seen(self, journal: Journal, thread: str, ns: str, id: str | None) -> Found | None:
        return seen(journal, self._program, thread, ns, id)


class JournalSaver(_Base[Any]):
    """A checkpointer for LangGraph over any journal: ``graph.compile(checkpointer=JournalSaver(SQLiteJournal(path)))``.

    What a step changed is stored, not the whole state: a conversation of 200 turns takes a twentieth of what LangGraph's own
    saver makes of it. ``types`` are the classes that the graph's state holds beside plain data, langchain's messages and
    LangGraph's own; nothing is imported by a stored name, and a value of another class is refused when it is written.
    ``graph`` is a compiled graph of ours whose threads lie in the same journal: they are shown by LangGraph's names, for
    reading.

    Raises (put, put_writes): ValidationError, naming class and place, for a class that is not among ``types``.
    """

    def __init__(
        self, journal: Journal, *, types: Sequence[Any] = (), registry: Registry | None = None, graph: Any = None
    ) -> None:
        super().__init__()
        self.journal = journal
        self.registry = langgraph_registry() if registry is None else registry
        for each in types:
            self.registry.register_annotation(each, where="types")
        self._native = _Native(graph.program) if graph is not None else None
        self._keeper = Keeper(journal, self.registry, self._native)

    # Reading

    def get_tuple(self, config: Any) -> Any:
        """The checkpoint that ``config`` names, or the thread's newest; None where there is none."""
        thread, ns, id = _place(config)
        found = self._keeper.get(thread, ns, id)
        return None if found is None else _shown(found)

    def list(
        self, config: Any, *, filter: dict[str, Any] | None = None, before: Any = None, limit: int | None = None
    ) -> Iterator[Any]:
        """Checkpoints, newest first, whose metadata equals ``filter``; with ``config=None`` those of every thread."""
        given: dict[str, Any] = config["configurable"] if config is not None else {}
        thread = thread_key(given["thread_id"]) if "thread_id" in given else None
        found = self._keeper.list(
            thread,
            given.get("checkpoint_ns"),
            id=given.get("checkpoint_id"),
            filter=filter,
            before=before["configurable"].get("checkpoint_id") if before else None,
            limit=limit,
        )
        return (_shown(each) for each in found)

    # Writing

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Store a checkpoint that was made from the one in ``config``."""
        thread, ns, parent = _place(config)
        self._keeper.put(thread, ns, parent, checkpoint, _METADATA(config, metadata))
        return _config(config["configurable"]["thread_id"], ns, checkpoint["id"])

    def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Store what a task of an unfinished step wrote."""
        thread, ns, checkpoint = _place(config)
        self._keeper.put_writes(thread, ns, checkpoint or "", writes, task_id, task_path)

    def get_next_version(self, current: Any, channel: Any) -> Any:
        """One more, in the form of LangGraph's own savers, so that a thread can be carried to them and back."""
        before = current if isinstance(current, int) else int((current or "0").partition(".")[0])
        return f"{before + 1:032}.{'0' * 18}"

    # Whole threads

    def delete_thread(self, thread_id: str) -> None:
        """Forget a thread."""
        self._keeper.delete(thread_key(thread_id))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, its whole history, to one that is empty."""
        self._keeper.copy(thread_key(source_thread_id), thread_key(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Forget all but the newest checkpoint of each namespace ("keep_latest"), or all ("delete").

        A thread that has a `DeltaChannel` of LangGraph's is left whole by "keep_latest", as it is rebuilt from its history.
        """
        for thread in thread_ids:
            self._keeper.prune(thread_key(thread), strategy)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Forget the checkpoints whose metadata has one of these as ``run_id``."""
        self._keeper.delete_runs([str(run) for run in run_ids])

    # The same beside an event loop

    async def aget_tuple(self, config: Any) -> Any:
        return await _beside(lambda: self.get_tuple(config))

    async def alist(
        self, config: Any, *, filter: dict[str, Any] | None = None, before: Any = None, limit: int | None = None
    ) -> AsyncIterator[Any]:
        each = self.list(config, filter=filter, before=before, limit=limit)
        while (found := await _beside(lambda: next(each, None))) is not None:
            yield found

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return await _beside(lambda: self.put(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await _beside(lambda: self.put_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        await _beside(lambda: self.delete_thread(thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await _beside(lambda: self.copy_thread(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await _beside(lambda: self.prune(thread_ids, strategy=strategy))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await _beside(lambda: self.delete_for_runs(run_ids))

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> JournalSaver:
        """A saver that also takes these classes, which a graph's schema names and the program has loaded already."""
        made = copy(self)
        made.registry = self.registry.child()
        for place in extra_allowlist:
            cls = getattr(sys.modules.get(place[0]), place[-1], None)
            if isinstance(cls, type) and made.registry.codec_of(cls) is None:
                made.registry.register_annotation(cls, where=".".join(place))
        made._keeper = Keeper(self.journal, made.registry, self._native)
        return made


def _place(config: Mapping[str, Any]) -> tuple[str, str, str | None]:
    given = config["configurable"]
    return thread_key(given["thread_id"]), given.get("checkpoint_ns", ""), given.get("checkpoint_id") or None


def _config(thread: Any, ns: str, id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": id}}


def _shown(found: Found) -> Any:
    return _TUPLE(
        config=_config(found.thread, found.ns, found.id),
        checkpoint=found.checkpoint,
        metadata=found.metadata,
        parent_config=_config(found.thread, found.ns, found.parent) if found.parent is not None else None,
        pending_writes=[(task, channel, value) for _, task, (_, channel, value) in found.writes],
    )


async def _beside(work: Callable[[], T]) -> T:
    return cast("T", await late("asyncio").to_thread(work))
