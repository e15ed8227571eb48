"""pydantic-graph, newest: the builder API, `auto_instrument=False`; async only, so its sync cells are empty.

A cycle is a `BaseNode` that returns itself, a chain are steps, branches end in a join by `reduce_sum`. State is a dataclass
that nodes change in place: nothing is checked, copied or versioned. It has no store since 2.0.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from pydantic_graph import BaseNode, End, Graph, GraphBuilder, GraphRunContext, reduce_sum

from bench import shapes
from bench.jobs import Job, Mode, Reader, Shape

NAME = "pydantic-graph"


def version() -> str:
    """The distribution's version."""
    return installed("pydantic-graph")


@dataclass
class Carried:
    """`shapes.State`, and the number that a cycle stops at."""

    count: int = 0
    topic: str = "bench"
    items: list[int] = field(default_factory=lambda: list(shapes.ITEMS))
    stop: int = 0


@dataclass
class Bump(BaseNode[Carried, None, int]):
    """`shapes.abump` and its router in one."""

    async def run(self, ctx: GraphRunContext[Carried, None]) -> Bump | End[int]:
        ctx.state.count += 1
        return Bump() if ctx.state.count < ctx.state.stop else End(ctx.state.count)


def _new() -> Any:
    return GraphBuilder(state_type=Carried, output_type=int, auto_instrument=False)


def _job(graph: Graph[Any, Any, Any, Any], units: int, expect: int, meter: shapes.Meter | None = None) -> Job:
    async def acall() -> Any:
        return await graph.run(state=Carried(stop=units), infer_name=False)

    return Job(units, expect, acall=acall, peak=meter.peak if meter else None)


def cycle(steps: int, mode: Mode) -> Job | None:
    """A node that returns itself."""
    if mode != "async":
        return None
    g = _new()
    g.add(g.node(Bump), g.edge_from(g.start_node).transform(lambda ctx: Bump()).to(Bump))
    return _job(g.build(), steps, steps)


def _line(nodes: int) -> Any:
    g = _new()

    async def step(ctx: Any) -> int:
        ctx.state.count += 1
        return ctx.state.count

    steps = [g.step(step, node_id=f"n{i}") for i in range(nodes)]
    ends = [g.start_node, *steps, g.end_node]
    g.add(*(g.edge_from(a).to(b) for a, b in itertools.pairwise(ends)))
    return g.build(validate_graph_structure=False)


def chain(nodes: int, mode: Mode) -> Job | None:
    """Steps one after another."""
    return _job(_line(nodes), nodes, nodes) if mode == "async" else None


def fanout(branches: int, mode: Mode, pause: float = 0.0) -> Job | None:
    """A broadcast edge to as many steps, and a join."""
    if mode != "async":
        return None
    g = _new()

    async def one(ctx: Any) -> int:
        if pause:
            await asyncio.sleep(pause)
        return 1

    steps = [g.step(one, node_id=f"n{i}") for i in range(branches)]
    join = g.join(reduce_sum, initial=0)
    g.add(g.edge_from(g.start_node).to(*steps), g.edge_from(*steps).to(join), g.edge_from(join).to(g.end_node))
    return _job(g.build(), branches, branches)


def send(tasks: int, mode: Mode, waits: bool = True) -> Job | None:
    """A mapping edge; tasks give way once and are counted while in flight."""
    if mode != "async":
        return None
    g = _new()
    meter = shapes.Meter(counting=waits)

    async def spread(ctx: Any) -> list[int]:
        return list(range(tasks))

    async def one(ctx: Any) -> int:
        if meter.counting:
            with meter:
                await asyncio.sleep(0)
        elif waits:
            await asyncio.sleep(0)
        return ctx.inputs

    source, target = g.step(spread, node_id="spread"), g.step(one, node_id="one")
    join = g.join(reduce_sum, initial=0)
    edges = [g.edge_from(g.start_node).to(source), g.edge_from(source).map().to(target)]
    g.add(*edges, g.edge_from(target).to(join), g.edge_from(join).to(g.end_node))
    return _job(g.build(), tasks, tasks * (tasks - 1) // 2, meter if waits else None)


def concurrent(runs: int, steps: int, mode: Mode) -> Job | None:
    """Runs of one chain under one `gather`."""
    if mode != "async":
        return None
    graph = _line(steps)
    one: Callable[[], Any] = lambda: graph.run(state=Carried(), infer_name=False)  # noqa: E731

    async def acall() -> int:
        return sum(await asyncio.gather(*(one() for _ in range(runs))))

    return Job(runs * steps, runs * steps, acall=acall)


def stored(shape: Shape, size: int, path: Path, mode: Mode) -> Job | None:
    """It has no store."""
    return None


def reader(checkpoints: int, path: Path) -> Reader | None:
    """It has no store."""
    return None
