"""One thread has one writer at a time: a second caller waits its turn, or is told so at once."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypedDict

from lawful import START, MemoryJournal, StateGraph, append
from lawful.core.errors import ThreadBusy


class Chat(TypedDict, total=False):
    lines: Annotated[list[str], append]


working = asyncio.Event()


async def answer(chat: Chat) -> Chat:
    working.set()
    await asyncio.sleep(0.05)
    return {"lines": [f"answer {len(chat.get('lines', []))}"]}


graph = StateGraph(Chat).add_node(answer).add_edge(START, "answer").compile(checkpointer=MemoryJournal())


async def main() -> None:
    await asyncio.gather(*(graph.ainvoke({"lines": [f"message {n}"]}, thread="t") for n in range(5)))
    print(len(graph.get_state("t").values["lines"]), "lines")

    working.clear()
    first = asyncio.create_task(graph.ainvoke({"lines": ["one more"]}, thread="t"))
    await working.wait()
    try:
        await graph.ainvoke({"lines": ["at once"]}, thread="t", busy="reject")
    except ThreadBusy:
        print("busy")
    await first


asyncio.run(main())

# prints: 10 lines
# prints: busy
