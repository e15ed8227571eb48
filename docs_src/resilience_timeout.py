"""An async node is stopped when it runs too long, or gives no sign of life for too long."""

from __future__ import annotations

import asyncio
from typing import TypedDict

from lawful import START, Runtime, StateGraph, TimeoutPolicy
from lawful.core.errors import NodeTimeoutError


class Job(TypedDict, total=False):
    rows: int
    stuck: bool


async def load(job: Job, runtime: Runtime[None]) -> Job:
    for _ in range(5):
        await asyncio.sleep(5 if job.get("stuck") else 0.02)
        runtime.heartbeat()
    return {"rows": 5}


limit = TimeoutPolicy(run_timeout=2, idle_timeout=0.3, refresh_on="heartbeat")
graph = StateGraph(Job).add_node(load, timeout=limit).add_edge(START, "load").compile()


async def main() -> None:
    print(await graph.ainvoke({}))
    try:
        await graph.ainvoke({"stuck": True})
    except NodeTimeoutError as error:
        print(error.node, "passed its", error.kind, "limit of", error.timeout, "s")


asyncio.run(main())

# prints: {'rows': 5}
# prints: load passed its idle limit of 0.3 s
