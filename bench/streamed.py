"""What is streamed and what grows by messages, for the contestants with LangGraph's names: the jobs of the suite `streams`."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import Callable
from typing import Annotated, Any, Protocol, TypedDict

from bench import shapes
from bench.jobs import Job, Mode

CHUNK = 1_000
"""Bytes of each chunk that a stalled reader does not take."""
STALL = 0.02
"""Seconds for which it stalls, ten times."""

BURST = 16
"""Chunks that an async node writes between two awaits."""


class Nothing(TypedDict, total=False):
    """A state that nobody writes."""

    done: int


class Library(Protocol):
    """What a contestant's module names beside its `Face`."""

    def writer(self) -> Callable[[Any], None]: ...
    def message(self, number: int) -> Any: ...

    @property
    def add_messages(self) -> Any: ...


def writing(library: Library, mode: Mode, count: int, make: Callable[[], Any]) -> Callable[[Any], Any]:
    """A node that writes ``count`` chunks; the async one gives way after every `BURST`, as a read from a socket does."""
    if mode == "async":

        async def awrite(state: Any) -> dict[str, Any]:
            write = library.writer()
            for number in range(count):
                write(make())
                if number % BURST == 0:
                    await asyncio.sleep(0)
            return {"done": 1}

        return awrite

    def write_all(state: Any) -> dict[str, Any]:
        write = library.writer()
        for _ in range(count):
            write(make())
        return {"done": 1}

    return write_all


def chunks(face: shapes.Face, library: Library, count: int, mode: Mode) -> Job:
    """One node writes, one reader reads."""
    app = face.single(Nothing, writing(library, mode, count, lambda: 1)).compile()
    if mode == "sync":
        return Job(count, count, call=lambda: sum(app.stream({}, stream_mode="custom")))

    async def acall() -> int:
        return sum([chunk async for chunk in app.astream({}, stream_mode="custom")])

    return Job(count, count, acall=acall)


def stalled(face: shapes.Face, library: Library, count: int, mode: Mode) -> Callable[[], float]:
    """The peak of what Python allocates, in KB, while a reader that stalls ten times takes ``count`` chunks."""
    app = face.single(Nothing, writing(library, mode, count, lambda: bytes(CHUNK))).compile()
    every = max(1, count // 10)

    def read() -> None:
        for number, _ in enumerate(app.stream({}, stream_mode="custom")):
            if number % every == 0:
                time.sleep(STALL)

    async def aread() -> None:
        number = 0
        async for _ in app.astream({}, stream_mode="custom"):
            if number % every == 0:
                await asyncio.sleep(STALL)
            number += 1

    def measure() -> float:
        tracemalloc.start()
        try:
            read() if mode == "sync" else asyncio.run(aread())
            return tracemalloc.get_traced_memory()[1] / 1024
        finally:
            tracemalloc.stop()

    return measure


def conversation(face: shapes.Face, library: Library, messages: int) -> Job:
    """One node adds a message a step until there are so many."""
    add = library.add_messages

    class Growing(TypedDict):
        count: int
        messages: Annotated[list[Any], add]

    Growing.__annotations__["messages"] = Annotated[list[Any], add]
    Growing.__annotations__["count"] = int

    def turn(state: Any) -> dict[str, Any]:
        return {"count": state["count"] + 1, "messages": [library.message(state["count"])]}

    app = face.loop(Growing, turn, messages).compile()
    config = {"recursion_limit": messages + 10}
    start = {"count": 0, "messages": []}
    return Job(messages, messages, call=lambda: len(app.invoke(start, config)["messages"]))
