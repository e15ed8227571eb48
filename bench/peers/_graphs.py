"""The contestants with LangGraph's names, LangGraph and `lawful`: every job of theirs, built from the same lines."""

from __future__ import annotations

import asyncio
import itertools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from bench import shapes, streamed
from bench.jobs import Job, Mode, Reader, Shape


class GraphPeer(ABC):
    """Jobs for everything in `bench.jobs.Peer`; a subclass says which library, and how its stores are opened."""

    NAME: str
    face: shapes.Face
    stored_options: Mapping[str, Any]
    """What invoke is given besides, where there is a store."""

    @abstractmethod
    def version(self) -> str:
        """The distribution's version."""

    @abstractmethod
    def open(self, path: Path) -> tuple[Any, Callable[[], None]]:
        """A checkpointer on a SQLite file, for the sync driver, and what closes it."""

    @abstractmethod
    async def aopen(self, path: Path) -> tuple[Any, Callable[[], Awaitable[None]]]:
        """The same for the async driver."""

    def _job(self, graph: Any, start: dict[str, Any], units: int, key: str, expect: Any, mode: Mode) -> Job:
        app = graph.compile()
        config = {"recursion_limit": units + 10}
        if mode == "sync":
            return Job(units, expect, call=lambda: total(app.invoke(start, config)[key]))

        async def acall() -> Any:
            return total((await app.ainvoke(start, config))[key])

        return Job(units, expect, acall=acall)

    def cycle(self, steps: int, mode: Mode) -> Job | None:
        """One node going round; a router is called after every step."""
        node = shapes.abump if mode == "async" else shapes.bump
        graph = self.face.loop(shapes.State, node, steps)
        return self._job(graph, shapes.start_state(), steps, "count", steps, mode)

    def chain(self, nodes: int, mode: Mode) -> Job | None:
        """Nodes one after another."""
        node = shapes.abump if mode == "async" else shapes.bump
        return self._job(self.face.line(nodes, node), shapes.start_state(), nodes, "count", nodes, mode)

    def fanout(self, branches: int, mode: Mode, pause: float = 0.0) -> Job | None:
        """Nodes side by side in one superstep, merged by `operator.add`."""
        graph = self.face.fan(branches, shapes.part(mode, pause))
        return self._job(graph, {"count": 0, "parts": []}, branches, "parts", branches, mode)

    def send(self, tasks: int, mode: Mode, waits: bool = True) -> Job | None:
        """One node sent to many times; async tasks that wait give way once and are counted while in flight."""
        meter = shapes.Meter()
        graph = self.face.spray(tasks, shapes.sent(mode, meter, waits))
        want = tasks * (tasks - 1) // 2
        job = self._job(graph, {"count": 0, "parts": []}, tasks, "parts", want, mode)
        if mode != "async" or not waits:
            return job
        return Job(job.units, job.expect, acall=job.acall, peak=meter.peak)

    def concurrent(self, runs: int, steps: int, mode: Mode) -> Job | None:
        """Many invocations of one short chain under one `gather`."""
        node = shapes.abump if mode == "async" else shapes.bump
        app = self.face.line(steps, node).compile()
        start = shapes.start_state()

        async def acall() -> Any:
            ends = await asyncio.gather(*(app.ainvoke(start) for _ in range(runs)))
            return sum(end["count"] for end in ends)

        return Job(runs * steps, runs * steps, acall=acall)

    def _shaped(self, shape: Shape, size: int, mode: Mode) -> tuple[Any, dict[str, Any], str, Any]:
        """Graph, input, the key to look at and what is found there."""
        face = self.face
        match shape:
            case "cycle":
                node = shapes.abump if mode == "async" else shapes.bump
                return face.loop(shapes.State, node, size), shapes.start_state(), "count", size
            case "kb-one":
                return face.loop(shapes.Kilobyte, shapes.kb_one, size), shapes.kilobyte(), "count", size
            case "kb-all":
                return face.loop(shapes.Kilobyte, shapes.kb_all, size), shapes.kilobyte(), "count", size
            case "list":
                return face.loop(shapes.Growing, shapes.grow, size), {"count": 0, "lines": []}, "count", size
            case "wide":
                node = shapes.together(size) if mode == "async" else shapes.part("sync")
                return face.fan(size, node), {"count": 0, "parts": []}, "parts", size
            case "turns":
                raise AssertionError("turns are driven by _turns")

    def stored(self, shape: Shape, size: int, path: Path, mode: Mode) -> Job | None:
        """The shape on a SQLite file; each invocation is a thread of its own, turns share one."""
        if shape == "turns":
            return self._turns(size, path)
        graph, start, key, expect = self._shaped(shape, size, mode)
        threads = itertools.count()

        def config() -> dict[str, Any]:
            return {"configurable": {"thread_id": f"t{next(threads)}"}, "recursion_limit": size + 10}

        if mode == "sync":
            saver, close = self.open(path)
            app = graph.compile(checkpointer=saver)
            more = self.stored_options
            return Job(size, expect, call=lambda: total(app.invoke(start, config(), **more)[key]), close=close)
        return self._astored(graph, start, key, config, Job(size, expect), path)

    def _astored(
        self,
        graph: Any,
        start: dict[str, Any],
        key: str,
        config: Callable[[], dict[str, Any]],
        job: Job,
        path: Path,
    ) -> Job:
        opened: list[Any] = []

        async def acall() -> Any:
            if not opened:
                saver, aclose = await self.aopen(path)
                opened.extend((graph.compile(checkpointer=saver), aclose))
            return total((await opened[0].ainvoke(start, config(), **self.stored_options))[key])

        async def aclose() -> None:
            if opened:
                await opened[1]()

        return Job(job.units, job.expect, acall=acall, aclose=aclose)

    def _turns(self, turns: int, path: Path) -> Job:
        """A04: one thread, one node, one invocation a turn."""
        saver, close = self.open(path)
        app = self.face.single(shapes.Talk, shapes.reply).compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "talk"}}

        def call() -> int:
            end: dict[str, Any] = {}
            for i in range(turns):
                said = {"messages": [{"role": "user", "content": shapes.text(shapes.TURN_TEXT, i)}]}
                end = app.invoke(said, config, **self.stored_options)
            return len(end["messages"])

        return Job(turns, 2 * turns, call=call, close=close)

    def reader(self, checkpoints: int, path: Path) -> Reader | None:
        """A thread of 1 KB state with that many checkpoints: the input's, and one for every step."""
        saver, close = self.open(path)
        # LangGraph writes a checkpoint for the input and one for the step that starts, so two are not steps of the node.
        app = self.face.loop(shapes.Kilobyte, shapes.kb_one, checkpoints - 2).compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "read"}, "recursion_limit": checkpoints + 10}
        app.invoke(shapes.kilobyte(), config, **self.stored_options)
        where = {"configurable": {"thread_id": "read"}}

        def history() -> int:
            return sum(1 for snapshot in app.get_state_history(where) if snapshot.values is not None)

        return Reader(history(), lambda: app.get_state(where).values["count"], checkpoints - 2, history, close)

    # What the suite `streams` asks for

    @abstractmethod
    def writer(self) -> Callable[[Any], None]:
        """The running node's stream writer."""

    @abstractmethod
    def message(self, number: int) -> Any:
        """A short answer with an id of its own."""

    @property
    @abstractmethod
    def add_messages(self) -> Any:
        """The reducer of a conversation."""

    def chunks(self, count: int, mode: Mode) -> Job:
        """One node writes so many chunks, one reader takes them."""
        return streamed.chunks(self.face, self, count, mode)

    def stalled(self, count: int, mode: Mode) -> Callable[[], float]:
        """The peak in KB while a reader stalls."""
        return streamed.stalled(self.face, self, count, mode)

    def conversation(self, messages: int) -> Job:
        """A message a step."""
        return streamed.conversation(self.face, self, messages)


def total(value: Any) -> Any:
    """A counter as it is, a merged list by its sum: what `Job.expect` is compared with."""
    return sum(value) if isinstance(value, list) else value
