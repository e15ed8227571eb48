"""pydantic-graph, newest: the builder API, `auto_instrument=False`; a step is a node, branches end in a join."""

from __future__ import annotations

import itertools
from importlib.metadata import version as installed
from typing import Any

from pydantic_graph import GraphBuilder, reduce_sum

from bench.jobs import Job
from bench.pipes.work import bump, sleeper

NAME = "pydantic-graph"


def version() -> str:
    """The distribution's."""
    return installed("pydantic-graph")


def _job(g: Any, units: int, expect: Any) -> Job:
    graph = g.build(validate_graph_structure=False)

    async def acall() -> Any:
        return await graph.run(inputs=0, infer_name=False)

    return Job(units, expect, acall=acall)


def chain(steps: int) -> Job:
    """Steps one after another, each with the output of the one before."""
    g: Any = GraphBuilder(input_type=int, output_type=int, auto_instrument=False)

    async def one(ctx: Any) -> int:
        return await bump(ctx.inputs)

    made = [g.step(one, node_id=f"n{i}") for i in range(steps)]
    g.add(*(g.edge_from(a).to(b) for a, b in itertools.pairwise([g.start_node, *made, g.end_node])))
    return _job(g, steps, steps)


def told(steps: int) -> None:
    """Its events are those of its tracing, which is another thing."""


def pure_chain(steps: int) -> None:
    """It has async steps only."""


def fused(steps: int) -> None:
    """It has no optimiser."""


def optimising(steps: int) -> None:
    """It has no optimiser."""


def fanout(branches: int, pause: float) -> Job:
    """A broadcast edge to sleepers, and a join."""
    g: Any = GraphBuilder(input_type=int, output_type=int, auto_instrument=False)
    wait = sleeper(pause)

    async def one(ctx: Any) -> int:
        return await wait(ctx.inputs)

    made = [g.step(one, node_id=f"n{i}") for i in range(branches)]
    join = g.join(reduce_sum, initial=0)
    g.add(g.edge_from(g.start_node).to(*made), g.edge_from(*made).to(join), g.edge_from(join).to(g.end_node))
    return _job(g, branches, branches)


def debate(agents: int, pause: float) -> Job:
    """The same."""
    return fanout(agents, pause)
