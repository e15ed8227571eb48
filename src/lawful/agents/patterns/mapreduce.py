"""Map-reduce: a text is cut into parts, each part is worked on by itself, and the results become one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

from msgspec import Struct

from lawful.agents.patterns.speaker import Speaker, ask
from lawful.core.reducers import append
from lawful.graph.builder import StateGraph
from lawful.graph.command import START, Send
from lawful.graph.compiled import CompiledStateGraph


class Mapped(Struct, frozen=True):
    """What came of one part, in the parts' order."""

    at: int
    text: str


class MapState(TypedDict):
    input: str
    mapped: Annotated[list[Mapped], append]
    output: str


class _Part(TypedDict):
    at: int
    text: str


def map_reduce(
    split: Callable[[str], Sequence[str]], work: Speaker, reduce: Speaker, *, checkpointer: Any = None
) -> CompiledStateGraph[MapState]:
    """A graph over `MapState`: give it an ``input``, read its ``output``.

    ``split`` is pure and cuts the input; ``work`` is asked about each part, all at once (``max_concurrency`` bounds it);
    ``reduce`` is given the results, in the order of the parts. A part that fails leaves the others' results saved.
    """

    def parts(state: MapState) -> list[Send] | str:
        found = [Send("map", {"at": at, "text": text}) for at, text in enumerate(split(state["input"]))]
        return found or "reduce"

    async def one(part: _Part) -> dict[str, list[Mapped]]:
        return {"mapped": [Mapped(part["at"], await ask(work, part["text"]))]}

    async def whole(state: MapState) -> dict[str, str]:
        texts = [mapped.text for mapped in sorted(state.get("mapped") or [], key=_place)]
        return {"output": await ask(reduce, "\n\n".join(texts))}

    graph = StateGraph(MapState, name="map_reduce")
    graph.add_node("map", one, input_schema=_Part).add_node("reduce", whole)
    graph.add_conditional_edges(START, parts, ["map", "reduce"]).add_edge("map", "reduce")
    return graph.compile(checkpointer=checkpointer, name="map_reduce")


def _place(mapped: Mapped) -> int:
    return mapped.at
