"""Watching a run: each node's update as it ends, and what a node says meanwhile."""

from __future__ import annotations

import asyncio
from typing import TypedDict

from lawful import START, StateGraph, get_stream_writer


class Page(TypedDict, total=False):
    address: str
    size: int


async def fetch(page: Page) -> Page:
    get_stream_writer()(f"fetching {page.get('address')}")
    return {"size": 512}


graph = StateGraph(Page).add_node(fetch).add_edge(START, "fetch").compile()


async def main() -> None:
    async with graph.astream({"address": "a"}, stream_mode=["custom", "updates"]) as events:
        async for mode, event in events:
            print(mode, event)


asyncio.run(main())

# prints: custom fetching a
# prints: updates {'fetch': {'size': 512}}
