"""The node functions that all contestants run, and the graphs that LangGraph and `lawful` build from the same lines."""

from __future__ import annotations

import asyncio
import operator
import random
import string
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from bench.jobs import Mode

ITEMS = list(range(20))
FIELDS = [f"f{i}" for i in range(10)]
KB_FIELD = 100
"""Characters in each of the ten fields of the 1 KB state."""
LIST_ITEM = 5_000
"""Characters appended a step to the growing list."""
TURN_TEXT = 1_000
"""Characters of each message: one in, one out a turn."""


class State(TypedDict):
    """Three keys, one of them a list of 20: what cycle and chain carry."""

    count: int
    topic: str
    items: list[int]


class Parts(TypedDict):
    """What fan-out and Send merge into."""

    count: int
    parts: Annotated[list[int], operator.add]


class Kilobyte(TypedDict):
    """A flat state of 1 KB."""

    count: int
    f0: str
    f1: str
    f2: str
    f3: str
    f4: str
    f5: str
    f6: str
    f7: str
    f8: str
    f9: str


class Growing(TypedDict):
    """A list that only grows."""

    count: int
    lines: Annotated[list[str], operator.add]


class Talk(TypedDict):
    """A conversation: one message in and one out a turn."""

    messages: Annotated[list[dict[str, str]], operator.add]


_POOL = "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=65_536))


def text(size: int, seed: int) -> str:
    """``size`` characters that differ from seed to seed and do not compress to nothing."""
    head = f"{seed:08d}"
    start = (seed * 7919) % 50_000
    return head + _POOL[start : start + size - len(head)]


def start_state() -> dict[str, Any]:
    """The input of cycle and chain."""
    return {"count": 0, "topic": "bench", "items": list(ITEMS)}


def kilobyte() -> dict[str, Any]:
    """The input of the 1 KB shapes."""
    return {"count": 0} | {name: text(KB_FIELD, i) for i, name in enumerate(FIELDS)}


@dataclass
class Meter:
    """How many tasks were in flight at once."""

    now: int = 0
    top: int = 0
    counting: bool = True
    """Only until the warm-up has looked: counting is no engine's cost."""

    def peak(self) -> int:
        """The most there were; from now on nothing is counted."""
        self.counting = False
        return self.top

    def __enter__(self) -> None:
        self.now += 1
        if self.now > self.top:
            self.top = self.now

    def __exit__(self, *_: object) -> None:
        self.now -= 1


def bump(state: Any) -> dict[str, Any]:
    """The step of cycle and chain: one key of three is written."""
    return {"count": state["count"] + 1}


async def abump(state: Any) -> dict[str, Any]:
    """`bump`, async."""
    return {"count": state["count"] + 1}


def kb_one(state: Any) -> dict[str, Any]:
    """One field of ten is new: 100 B of a 1 KB state."""
    n = state["count"] + 1
    return {"count": n, FIELDS[n % 10]: text(KB_FIELD, n)}


def kb_all(state: Any) -> dict[str, Any]:
    """Every field is new: 1 KB a step."""
    n = state["count"] + 1
    return {"count": n} | {name: text(KB_FIELD, n * 10 + i) for i, name in enumerate(FIELDS)}


def grow(state: Any) -> dict[str, Any]:
    """One line of 5 KB more."""
    n = state["count"] + 1
    return {"count": n, "lines": [text(LIST_ITEM, n)]}


def reply(state: Any) -> dict[str, Any]:
    """One answer of 1,000 characters."""
    n = len(state["messages"])
    return {"messages": [{"role": "assistant", "content": text(TURN_TEXT, 1_000_000 + n)}]}


def part(mode: Mode, pause: float = 0.0) -> Callable[[Any], Any]:
    """A branch: one number into the merged list, after sleeping for ``pause`` seconds if that is not 0."""
    if mode == "async":
        if pause:

            async def asleep(state: Any) -> dict[str, Any]:
                await asyncio.sleep(pause)
                return {"parts": [1]}

            return asleep

        async def apart(state: Any) -> dict[str, Any]:
            return {"parts": [1]}

        return apart
    if pause:

        def sleepy(state: Any) -> dict[str, Any]:
            time.sleep(pause)
            return {"parts": [1]}

        return sleepy

    def plain(state: Any) -> dict[str, Any]:
        return {"parts": [1]}

    return plain


def sent(mode: Mode, meter: Meter, waits: bool = True) -> Callable[[Any], Any]:
    """A task of Send: its number into the merged list. Async and waiting, it gives way once, so that all overlap."""
    if mode == "async" and not waits:

        async def straight(state: Any) -> dict[str, Any]:
            return {"parts": [state["count"]]}

        return straight
    if mode == "async":

        async def apiece(state: Any) -> dict[str, Any]:
            if meter.counting:
                with meter:
                    await asyncio.sleep(0)
            else:
                await asyncio.sleep(0)
            return {"parts": [state["count"]]}

        return apiece

    def piece(state: Any) -> dict[str, Any]:
        return {"parts": [state["count"]]}

    return piece


def together(count: int) -> Callable[[Any], Any]:
    """A branch that waits until ``count`` of them are running, so that all end in the same moment."""
    waiting: list[asyncio.Future[None]] = []

    async def node(state: Any) -> dict[str, Any]:
        mine = asyncio.get_running_loop().create_future()
        waiting.append(mine)
        if len(waiting) == count:
            for one in waiting:
                one.set_result(None)
            waiting.clear()
        await mine
        return {"parts": [1]}

    return node


@dataclass(frozen=True)
class Face:
    """The five names that the two libraries share, and what `StateGraph` is given besides."""

    StateGraph: Any
    START: str
    END: str
    Send: Any
    options: dict[str, Any] = field(default_factory=dict)

    def loop(self, schema: Any, node: Any, steps: int) -> Any:
        """One node that goes round until it has counted to ``steps``."""
        end = self.END

        def more(state: Any) -> str:
            return "node" if state["count"] < steps else end

        graph = self.StateGraph(schema, **self.options)
        graph.add_node("node", node)
        graph.add_edge(self.START, "node")
        graph.add_conditional_edges("node", more, ["node", end])
        return graph

    def line(self, nodes: int, node: Any) -> Any:
        """``nodes`` nodes one after another."""
        graph = self.StateGraph(State, **self.options)
        last = self.START
        for i in range(nodes):
            name = f"n{i}"
            graph.add_node(name, node)
            graph.add_edge(last, name)
            last = name
        graph.add_edge(last, self.END)
        return graph

    def fan(self, branches: int, node: Any) -> Any:
        """``branches`` nodes side by side, all from START."""
        graph = self.StateGraph(Parts, **self.options)
        for i in range(branches):
            name = f"n{i}"
            graph.add_node(name, node)
            graph.add_edge(self.START, name)
            graph.add_edge(name, self.END)
        return graph

    def spray(self, tasks: int, node: Any) -> Any:
        """One node, sent to ``tasks`` times from START."""
        send = self.Send

        def route(state: Any) -> list[Any]:
            return [send("node", {"count": i}) for i in range(tasks)]

        graph = self.StateGraph(Parts, **self.options)
        graph.add_node("node", node)
        graph.add_conditional_edges(self.START, route, ["node"])
        graph.add_edge("node", self.END)
        return graph

    def single(self, schema: Any, node: Any) -> Any:
        """One node, once."""
        graph = self.StateGraph(schema, **self.options)
        graph.add_node("node", node)
        graph.add_edge(self.START, "node")
        graph.add_edge("node", self.END)
        return graph
