"""LangGraph with its beta `DeltaChannel` for growing lists: a contestant in the rows about bytes only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.channels.delta import DeltaChannel

from bench import shapes
from bench.jobs import Job, Mode, Reader, Shape
from bench.peers.langgraph import LangGraph


def extend(old: list[Any], batch: Any) -> list[Any]:
    """The old list and then every write's items: `operator.add` over a batch."""
    return [*old, *(item for write in batch for item in write)]


class Growing(TypedDict):
    """`shapes.Growing`, its list stored as deltas."""

    count: int
    lines: Annotated[list[str], DeltaChannel(extend)]


class Talk(TypedDict):
    """`shapes.Talk`, its list stored as deltas."""

    messages: Annotated[list[dict[str, str]], DeltaChannel(extend)]


DELTA = {shapes.Growing: Growing, shapes.Talk: Talk}


class DeltaFace(shapes.Face):
    """The same graphs over the schemas above."""

    def loop(self, schema: Any, node: Any, steps: int) -> Any:
        return super().loop(DELTA.get(schema, schema), node, steps)

    def single(self, schema: Any, node: Any) -> Any:
        return super().single(DELTA.get(schema, schema), node)


class LangGraphDelta(LangGraph):
    """Only what grows; everything else is as in `langgraph`."""

    NAME = "langgraph+delta"
    face = DeltaFace(LangGraph.face.StateGraph, LangGraph.face.START, LangGraph.face.END, LangGraph.face.Send)

    def cycle(self, steps: int, mode: Mode) -> Job | None:
        return None

    def chain(self, nodes: int, mode: Mode) -> Job | None:
        return None

    def fanout(self, branches: int, mode: Mode, pause: float = 0.0) -> Job | None:
        return None

    def send(self, tasks: int, mode: Mode, waits: bool = True) -> Job | None:
        return None

    def concurrent(self, runs: int, steps: int, mode: Mode) -> Job | None:
        return None

    def stored(self, shape: Shape, size: int, path: Path, mode: Mode) -> Job | None:
        return super().stored(shape, size, path, mode) if shape in ("list", "turns") else None

    def reader(self, checkpoints: int, path: Path) -> Reader | None:
        return None


peer = LangGraphDelta()
