"""What graph tests share: one face over the sync and the async driver, journals of both kinds, configs and small reducers."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import pytest

from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from support import pg

T = TypeVar("T")

Graph: TypeAlias = Any
"""A compiled graph; untyped here, since tests use graphs over many state classes through one face."""

Config: TypeAlias = dict[str, Any]

DRIVES = ("sync", "async")
# A stage of its own: the whole suite once more, against a server.
_SERVER = [pytest.param("postgres", marks=pytest.mark.postgres)] if os.environ.get("LAWFUL_POSTGRES") else []
JOURNALS: tuple[Any, ...] = ("memory", "sqlite", *_SERVER)


class Drive(Protocol):
    """Runs a compiled graph to its end through one driver, whatever the driver."""

    @property
    def name(self) -> str:
        """ "sync" or "async"."""
        ...

    def invoke(self, graph: Graph, input: Any, config: Config | None = None, **options: Any) -> Any: ...

    def stream(self, graph: Graph, input: Any, config: Config | None = None, **options: Any) -> list[Any]:
        """Every event, in the order in which it came."""
        ...

    def watch(
        self, graph: Graph, input: Any, see: Callable[[Any], object], config: Config | None = None, **options: Any
    ) -> None:
        """Stream, and call ``see`` with each event while the run waits."""
        ...

    def batch(self, graph: Graph, inputs: Sequence[Any], config: Config | None = None, **options: Any) -> list[Any]: ...

    def get_state(self, graph: Graph, config: Config, **options: Any) -> Any: ...

    def get_state_history(self, graph: Graph, config: Config, **options: Any) -> list[Any]: ...

    def update_state(self, graph: Graph, config: Config, values: Any, **options: Any) -> Config: ...

    def run(self, graph: Graph, input: Any, config: Config | None = None, **options: Any) -> Any:
        """Done, Paused or Failed."""
        ...

    def resume(self, graph: Graph, thread: str, *replies: Any, **options: Any) -> Any:
        """Done, Paused or Failed."""
        ...

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end in the driver's loop; of the sync driver in one made for it."""
        ...

    def node(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """``body`` as this driver runs it best: itself, or a coroutine function of the same name and annotations."""
        ...


class SyncDrive:
    """The caller's thread and lent threads."""

    name = "sync"

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            return runner.run(work)

    def invoke(self, graph: Graph, input: Any, config: Config | None = None, **options: Any) -> Any:
        return graph.invoke(input, config, **options)

    def stream(self, graph: Graph, input: Any, config: Config | None = None, **options: Any) -> list[Any]:
        return list(graph.stream(input, config, **options))

    def watch(
        self, graph: Graph, input: Any, see: Callable[[Any], object], config: Config | None = None, **options: Any
    ) -> None:
        for event in graph.stream(input, config, **options):
            see(event)

    def batch(self, graph: Graph, inputs: Sequence[Any], config: Config | None = None, **options: Any) -> list[Any]:
        return list(graph.batch(list(inputs), config, **options))

    def get_state(self, graph: Graph, config: Config, **options: Any) -> Any:
        return graph.get_state(config, **options)

    def get_state_history(self, graph: Graph, config: Config, **options: Any) -> list[Any]:
        return list(graph.get_state_history(config, **options))

    def update_state(self, graph: Graph, config: Config, values: Any, **options: Any) -> Config:
        return graph.update_state(config, values, **options)

    def run(self, graph: Graph, input: Any, config: Config | None = None, **options: Any) -> Any:
        return graph.run_sync(input, config, **options)

    def resume(self, graph: Graph, thread: str, *replies: Any, **options: Any) -> Any:
        return graph.resume_sync(thread, *replies, **options)

    def node(self, body: Callable[..., Any]) -> Callable[..., Any]:
        return body


class AsyncDrive:
    """One event loop for the whole of a test; sync nodes run in threads beside it."""

    name = "async"

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def invoke(self, graph: Graph, input: Any, config: Config | None = None, **options: Any) -> Any:
        return self.wait(graph.ainvoke(input, config, **options))

    def stream(self, graph: Graph, input: Any, config: Config | None = None, **options: Any) -> list[Any]:
        async def gather() -> list[Any]:
            return [event async for event in graph.astream(input, config, **options)]

        return self.wait(gather())

    def watch(
        self, graph: Graph, input: Any, see: Callable[[Any], object], config: Config | None = None, **options: Any
    ) -> None:
        async def follow() -> None:
            async for event in graph.astream(input, config, **options):
                see(event)

        self.wait(follow())

    def batch(self, graph: Graph, inputs: Sequence[Any], config: Config | None = None, **options: Any) -> list[Any]:
        return self.wait(graph.abatch(list(inputs), config, **options))

    def get_state(self, graph: Graph, config: Config, **options: Any) -> Any:
        return self.wait(graph.aget_state(config, **options))

    def get_state_history(self, graph: Graph, config: Config, **options: Any) -> list[Any]:
        async def gather() -> list[Any]:
            return [entry async for entry in graph.aget_state_history(config, **options)]

        return self.wait(gather())

    def update_state(self, graph: Graph, config: Config, values: Any, **options: Any) -> Config:
        return self.wait(graph.aupdate_state(config, values, **options))

    def run(self, graph: Graph, input: Any, config: Config | None = None, **options: Any) -> Any:
        return self.wait(graph.run(input, config, **options))

    def resume(self, graph: Graph, thread: str, *replies: Any, **options: Any) -> Any:
        return self.wait(graph.resume(thread, *replies, **options))

    def node(self, body: Callable[..., Any]) -> Callable[..., Any]:
        async def attempt(*args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(0)
            return body(*args, **kwargs)

        # As functools.wraps does, but inspect must still see a coroutine function with the body's own parameters.
        attempt.__name__ = body.__name__
        attempt.__qualname__ = body.__qualname__
        attempt.__module__ = body.__module__
        attempt.__wrapped__ = body  # pyright: ignore[reportFunctionMemberAccess]
        attempt.__annotations__ = dict(body.__annotations__)
        return attempt


@contextlib.contextmanager
def driving(kind: str) -> Generator[Drive]:
    """The driver of that kind; for property tests, which may not use the fixture."""
    if kind == "sync":
        yield SyncDrive()
        return
    # A factory of its own, so that no loop is left set for the thread.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        yield AsyncDrive(runner)


_SCOPES = itertools.count()


@cache
def _schema() -> str:
    return pg.shared().schema()


class JournalBox:
    """One place where a journal keeps its rows, opened as often as a test likes: the second opening is another process's."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self._folder = folder
        self._memory: MemoryJournal | None = None
        self._opened: list[Journal] = []
        self._scope = ""

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return self._folder / "journal.db"

    def open(self) -> Journal:
        """A journal over this box's rows; the memory kind is always the same object."""
        if self.kind == "memory":
            if self._memory is None:
                self._memory = MemoryJournal()
                self._opened.append(self._memory)
            return self._memory
        journal = self._on_server() if self.kind == "postgres" else SQLiteJournal(str(self.path))
        self._opened.append(journal)
        return journal

    def _on_server(self) -> Journal:
        # A scope of its own, for a schema of its own would take longer than most tests.
        self._scope = self._scope or f"s{next(_SCOPES)}"
        return pg.shared().journal(_schema(), scope=self._scope)

    def close(self) -> None:
        for journal in self._opened:
            journal.close()
        self._opened.clear()


@contextlib.contextmanager
def boxed(kind: str, folder: Path) -> Generator[JournalBox]:
    """A box that closes whatever was opened; for property tests, which may not use the fixture."""
    box = JournalBox(kind, folder)
    try:
        yield box
    finally:
        box.close()


def on(
    thread: str | None = None,
    *,
    checkpoint: str | None = None,
    ns: str | None = None,
    limit: int | None = None,
    **more: Any,
) -> Config:
    """A run's config: thread, checkpoint id, namespace, recursion limit; ``more`` are its other top-level keys."""
    configurable: dict[str, Any] = {}
    if thread is not None:
        configurable["thread_id"] = thread
    if checkpoint is not None:
        configurable["checkpoint_id"] = checkpoint
    if ns is not None:
        configurable["checkpoint_ns"] = ns
    told: Config = {"configurable": configurable, **more}
    if limit is not None:
        told["recursion_limit"] = limit
    return told


def names(updates: Sequence[Mapping[str, Any]]) -> list[str]:
    """The nodes of an "updates" stream, in the order in which they came; framework keys (``__...__``) left out."""
    return [name for update in updates for name in update if not name.startswith("__")]


def concat(left: list[str], right: list[str]) -> list[str]:
    """Lists of text, one after the other."""
    return left + right


def mark(name: str) -> Any:
    """A node that adds its name to the key ``trail``."""

    def body(state: Any) -> Any:
        return {"trail": [name]}

    body.__name__ = name
    return body


def total(left: int, right: int) -> int:
    """Their sum."""
    return left + right


def arrows(graph: Graph) -> set[tuple[str, str, str]]:
    """The edges of a graph's Mermaid drawing as (source, target, "-->" or "-.->"); labels left out."""
    found: set[tuple[str, str, str]] = set()
    for line in graph.draw_mermaid().splitlines():
        match = re.fullmatch(r"\s*(\w+)\s*(-->|-\.->|==>)\s*(?:\|[^|]*\|)?\s*(\w+);?\s*", line.replace("&nbsp;", " "))
        if match is not None:
            found.add((match[1], match[3], match[2]))
    return found
