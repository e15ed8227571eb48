"""Hand-written Python: what somebody would write who needs only this one program; the floor, not a rival.

No engine: loops over functions, `dict.update`, `asyncio.gather`, threads where sync nodes are to overlap. It checks
nothing, copies nothing, can be neither resumed nor interrupted. Its store is one table, one row and one commit a step,
holding what the step wrote as JSON; WAL and synchronous=NORMAL as the others have.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import platform
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench import shapes
from bench.jobs import Job, Mode, Reader, Shape

NAME = "plain Python"


def version() -> str:
    """Python's."""
    return platform.python_version()


def cycle(steps: int, mode: Mode) -> Job | None:
    """A while loop."""

    def call() -> int:
        state = shapes.start_state()
        while state["count"] < steps:
            state.update(shapes.bump(state))
        return state["count"]

    async def acall() -> int:
        state = shapes.start_state()
        while state["count"] < steps:
            update = await shapes.abump(state) if mode == "async" else await asyncio.to_thread(shapes.bump, state)
            state.update(update)
        return state["count"]

    return Job(steps, steps, call=call) if mode == "sync" else Job(steps, steps, acall=acall)


def chain(nodes: int, mode: Mode) -> Job | None:
    """A for loop over functions."""
    steps, asteps = [shapes.bump] * nodes, [shapes.abump] * nodes

    def call() -> int:
        state = shapes.start_state()
        for step in steps:
            state.update(step(state))
        return state["count"]

    async def acall() -> int:
        state = shapes.start_state()
        if mode == "async":
            for astep in asteps:
                state.update(await astep(state))
        else:
            for step in steps:
                state.update(await asyncio.to_thread(step, state))
        return state["count"]

    return Job(nodes, nodes, call=call) if mode == "sync" else Job(nodes, nodes, acall=acall)


def _branches(node: Any, inputs: list[Any], mode: Mode, expect: int, threads: bool = False) -> Job:
    def merged(updates: Any) -> int:
        parts: list[int] = []
        for update in updates:
            parts.extend(update["parts"])
        return sum(parts)

    def call() -> int:
        if not threads:
            return merged(map(node, inputs))
        with ThreadPoolExecutor(len(inputs)) as pool:
            return merged(pool.map(node, inputs))

    async def acall() -> int:
        if mode == "async":
            return merged(await asyncio.gather(*map(node, inputs)))
        return merged(await asyncio.gather(*(asyncio.to_thread(node, one) for one in inputs)))

    count = len(inputs)
    return Job(count, expect, call=call) if mode == "sync" else Job(count, expect, acall=acall)


def fanout(branches: int, mode: Mode, pause: float = 0.0) -> Job | None:
    """A loop over the branches; `gather` if async, a thread each if sync nodes are to overlap."""
    state = {"count": 0, "parts": []}
    return _branches(shapes.part(mode, pause), [state] * branches, mode, branches, threads=pause > 0)


def send(tasks: int, mode: Mode, waits: bool = True) -> Job | None:
    """The same function over many inputs."""
    meter = shapes.Meter()
    node = shapes.sent(mode, meter, waits)
    job = _branches(node, [{"count": i} for i in range(tasks)], mode, tasks * (tasks - 1) // 2)
    return job if mode != "async" or not waits else Job(job.units, job.expect, acall=job.acall, peak=meter.peak)


def concurrent(runs: int, steps: int, mode: Mode) -> Job | None:
    """As many coroutines under one `gather`."""
    one = chain(steps, mode)
    assert one is not None

    async def acall() -> int:
        assert one.acall is not None
        return sum(await asyncio.gather(*(one.acall() for _ in range(runs))))

    return Job(runs * steps, runs * steps, acall=acall)


class Table:
    """One row and one commit a step."""

    def __init__(self, path: Path) -> None:
        self.link = sqlite3.connect(path, isolation_level=None)
        self.link.execute("PRAGMA journal_mode=WAL")
        self.link.execute("PRAGMA synchronous=NORMAL")
        self.link.execute("CREATE TABLE IF NOT EXISTS step(thread TEXT, n INTEGER, body TEXT, PRIMARY KEY(thread, n))")

    def write(self, thread: str, n: int, update: dict[str, Any]) -> None:
        self.link.execute("INSERT INTO step VALUES(?, ?, ?)", (thread, n, json.dumps(update)))


NODES: dict[Shape, tuple[Callable[[Any], dict[str, Any]], Callable[[], dict[str, Any]]]] = {
    "cycle": (shapes.bump, shapes.start_state),
    "kb-one": (shapes.kb_one, shapes.kilobyte),
    "kb-all": (shapes.kb_all, shapes.kilobyte),
    "list": (shapes.grow, lambda: {"count": 0, "lines": []}),
}


def stored(shape: Shape, size: int, path: Path, mode: Mode) -> Job | None:
    """The loop, and a row a step."""
    if mode != "sync" or shape == "wide":
        return None
    table = Table(path)
    ids = itertools.count()

    def turns() -> int:
        thread, messages = f"t{next(ids)}", []
        for i in range(size):
            new = [{"role": "user", "content": shapes.text(shapes.TURN_TEXT, i)}]
            new += shapes.reply({"messages": messages + new})["messages"]
            messages += new
            table.write(thread, i, {"messages": new})
        return len(messages)

    if shape == "turns":
        return Job(size, 2 * size, call=turns, close=table.link.close)
    node, make = NODES[shape]

    def call() -> int:
        thread, state = f"t{next(ids)}", make()
        while state["count"] < size:
            update = node(state)
            table.write(thread, state["count"], update)
            lines = update.pop("lines", None)
            state.update(update)
            if lines:
                state["lines"].extend(lines)
        return state["count"]

    return Job(size, size, call=call, close=table.link.close)


def reader(checkpoints: int, path: Path) -> Reader | None:
    """Folds the rows of a thread: the last state by all of them, every snapshot by one pass."""
    job = stored("kb-one", checkpoints - 1, path, "sync")
    assert job is not None
    assert job.call is not None
    job.call()
    link = sqlite3.connect(path)
    query = "SELECT body FROM step WHERE thread = 't0' ORDER BY n"

    def get_state() -> int:
        state = shapes.kilobyte()
        for (body,) in link.execute(query):
            state.update(json.loads(body))
        return state["count"]

    def history() -> int:
        states = [shapes.kilobyte()]
        for (body,) in link.execute(query):
            states.append(states[-1] | json.loads(body))
        return len(states)

    def close() -> None:
        link.close()
        job.close()

    return Reader(history(), get_state, checkpoints - 1, history, close)
