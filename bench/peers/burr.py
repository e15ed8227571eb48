"""Burr, newest: function actions, no tracker, no hooks; SQLite by its own `SQLitePersister`.

An application holds its state, so a run needs one of its own; they are made before the clock starts and set back to the
first state inside it, which is to Burr's favour. Branches are `MapStates`, which runs each as a small application in a
thread pool (sync) or under `gather` (async); a fan-out of different nodes and a Send are the same thing to it. It offers
no async form of its own SQLite store, no checkpoints other than the whole state, and no history to read.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import time
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from burr.core import ApplicationBuilder, Condition, GraphBuilder, State, action, default
from burr.core.parallelism import MapStates, RunnableGraph
from burr.core.persistence import SQLitePersister

from bench import shapes
from bench.jobs import Job, Mode, Reader, Shape

NAME = "burr"


def version() -> str:
    """The version of apache-burr, which `burr` installs."""
    return installed("apache-burr")


@action(reads=["count"], writes=["count"])
def bump(state: State) -> State:
    """`shapes.bump`."""
    return state.update(count=state["count"] + 1)


@action(reads=["count"], writes=["count"])
async def abump(state: State) -> State:
    """`shapes.abump`."""
    return state.update(count=state["count"] + 1)


@action(reads=["count", *shapes.FIELDS], writes=["count", *shapes.FIELDS])
def kb_one(state: State) -> State:
    """`shapes.kb_one`."""
    return state.update(**shapes.kb_one(state))


@action(reads=["count", *shapes.FIELDS], writes=["count", *shapes.FIELDS])
def kb_all(state: State) -> State:
    """`shapes.kb_all`."""
    return state.update(**shapes.kb_all(state))


@action(reads=["count", "lines"], writes=["count", "lines"])
def grow(state: State) -> State:
    """`shapes.grow`."""
    new = shapes.grow(state)
    return state.update(count=new["count"], lines=state["lines"] + new["lines"])


@action(reads=["messages"], writes=["messages"])
def talk(state: State, said: dict[str, str]) -> State:
    """`shapes.reply`, the user's message being an input."""
    heard = [*state["messages"], said]
    return state.update(messages=heard + shapes.reply({"messages": heard})["messages"])


@action(reads=[], writes=[])
def done(state: State) -> State:
    """Where a cycle would go on to; runs halt before it."""
    return state


def looped(node: Any, steps: int) -> Any:
    """A graph of one action that goes round until it has counted to ``steps``."""
    again = Condition.lmda(lambda state: state["count"] < steps, ["count"])
    builder = GraphBuilder().with_actions(node=node, done=done)
    return builder.with_transitions(("node", "node", again), ("node", "done", default)).build()


def _job(graph: Any, entry: str, start: dict[str, Any], units: int, mode: Mode, **halt: list[str]) -> Job | None:
    if mode == "mixed":  # a sync action under arun is called on the loop itself, not in a thread
        return None
    app = ApplicationBuilder().with_graph(graph).with_entrypoint(entry).with_state(**start).build()
    first = app.state

    def call() -> Any:
        app.update_state(first)
        return app.run(**halt)[2]["count"]

    async def acall() -> Any:
        app.update_state(first)
        return (await app.arun(**halt))[2]["count"]

    return Job(units, units, call=call) if mode == "sync" else Job(units, units, acall=acall)


def cycle(steps: int, mode: Mode) -> Job | None:
    """One action going round by a condition."""
    graph = looped(abump if mode == "async" else bump, steps)
    return _job(graph, "node", shapes.start_state(), steps, mode, halt_before=["done"])


def _line(nodes: int, mode: Mode) -> Any:
    node = abump if mode == "async" else bump
    names = [f"n{i}" for i in range(nodes)]
    builder = GraphBuilder().with_actions(**dict.fromkeys(names, node))
    return builder.with_transitions(*itertools.pairwise(names)).build()


def chain(nodes: int, mode: Mode) -> Job | None:
    """Actions one after another."""
    return _job(_line(nodes, mode), "n0", shapes.start_state(), nodes, mode, halt_after=[f"n{nodes - 1}"])


class Branches(MapStates):
    """As many small applications as there are branches; their numbers are added up."""

    def __init__(self, count: int, graph: RunnableGraph) -> None:
        super().__init__()
        self.count, self.graph = count, graph

    def action(self, state: State, inputs: dict[str, Any]) -> Any:
        return self.graph

    def states(self, state: State, context: Any, inputs: dict[str, Any]) -> Any:
        for i in range(self.count):
            yield state.update(count=i)

    def reduce(self, state: State, states: Any) -> Any:
        return state.update(count=sum(one["part"] for one in states))

    @property
    def reads(self) -> list[str]:
        return ["count"]

    @property
    def writes(self) -> list[str]:
        return ["count"]


class AsyncBranches(Branches):
    """`Branches` under `gather`."""

    async def reduce(self, state: State, states: Any) -> Any:
        return state.update(count=sum([one["part"] async for one in states]))

    def is_async(self) -> bool:
        return True


def _branched(count: int, node: Any, mode: Mode, expect: int, meter: shapes.Meter | None = None) -> Job | None:
    if mode == "mixed":
        return None
    graph = RunnableGraph(GraphBuilder().with_actions(node=node).build(), "node", ["node"])
    kind = AsyncBranches if mode == "async" else Branches
    outer = GraphBuilder().with_actions(all=kind(count, graph)).build()
    job = _job(outer, "all", {"count": 0}, count, mode, halt_after=["all"])
    assert job is not None
    return Job(count, expect, call=job.call, acall=job.acall, peak=meter.peak if meter else None)


def fanout(branches: int, mode: Mode, pause: float = 0.0) -> Job | None:
    """`MapStates` with the same action everywhere."""

    @action(reads=["count"], writes=["part"])
    def one(state: State) -> State:
        if pause:
            time.sleep(pause)
        return state.update(part=1)

    @action(reads=["count"], writes=["part"])
    async def aone(state: State) -> State:
        if pause:
            await asyncio.sleep(pause)
        return state.update(part=1)

    return _branched(branches, aone if mode == "async" else one, mode, branches)


def send(tasks: int, mode: Mode, waits: bool = True) -> Job | None:
    """`MapStates`; async tasks give way once and are counted while in flight."""
    meter = shapes.Meter(counting=waits)

    @action(reads=["count"], writes=["part"])
    def one(state: State) -> State:
        return state.update(part=state["count"])

    @action(reads=["count"], writes=["part"])
    async def aone(state: State) -> State:
        if meter.counting:
            with meter:
                await asyncio.sleep(0)
        elif waits:
            await asyncio.sleep(0)
        return state.update(part=state["count"])

    want = tasks * (tasks - 1) // 2
    if mode == "async":
        return _branched(tasks, aone, mode, want, meter if waits else None)
    return _branched(tasks, one, mode, want)


def concurrent(runs: int, steps: int, mode: Mode) -> Job | None:
    """Applications made beforehand from one graph, set back and run under one `gather`."""
    if mode != "async":
        return None
    graph = _line(steps, mode)
    start = shapes.start_state()
    apps = [
        ApplicationBuilder().with_graph(graph).with_entrypoint("n0").with_state(**start).build() for _ in range(runs)
    ]
    first = apps[0].state
    last = [f"n{steps - 1}"]

    async def one(app: Any) -> int:
        app.update_state(first)
        return (await app.arun(halt_after=last))[2]["count"]

    async def acall() -> int:
        return sum(await asyncio.gather(*(one(app) for app in apps)))

    return Job(runs * steps, runs * steps, acall=acall)


STORED: dict[Shape, tuple[Any, dict[str, Any]]] = {
    "cycle": (bump, shapes.start_state()),
    "kb-one": (kb_one, shapes.kilobyte()),
    "kb-all": (kb_all, shapes.kilobyte()),
    "list": (grow, {"count": 0, "lines": []}),
}


def _store(path: Path) -> Any:
    link = sqlite3.connect(path, check_same_thread=False)
    link.execute("PRAGMA journal_mode=WAL")
    link.execute("PRAGMA synchronous=NORMAL")
    store = SQLitePersister(str(path), connection=link)
    store.initialize()
    return store


def stored(shape: Shape, size: int, path: Path, mode: Mode) -> Job | None:
    """The whole state as JSON after every action; WAL and synchronous=NORMAL as the others have."""
    if mode != "sync" or (shape not in STORED and shape != "turns"):
        return None
    store = _store(path)
    ids = itertools.count()
    if shape == "turns":
        graph = GraphBuilder().with_actions(talk=talk).with_transitions(("talk", "talk")).build()

        def turns() -> int:
            builder = ApplicationBuilder().with_graph(graph).with_entrypoint("talk").with_state(messages=[])
            app = builder.with_identifiers(app_id=f"t{next(ids)}").with_state_persister(store).build()
            for i in range(size):
                said = {"role": "user", "content": shapes.text(shapes.TURN_TEXT, i)}
                app.run(halt_after=["talk"], inputs={"said": said})
            return len(app.state["messages"])

        return Job(size, 2 * size, call=turns, close=store.connection.close)
    node, start = STORED[shape]
    graph = looped(node, size)

    def call() -> Any:
        builder = ApplicationBuilder().with_graph(graph).with_entrypoint("node").with_state(**start)
        app = builder.with_identifiers(app_id=f"t{next(ids)}").with_state_persister(store).build()
        return app.run(halt_before=["done"])[2]["count"]

    return Job(size, size, call=call, close=store.connection.close)


def reader(checkpoints: int, path: Path) -> Reader | None:
    """Burr keeps states, but reads no history of them."""
    return None
