"""Map-reduce: a text is cut into parts, each part is worked on by itself, and the results become one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

from msgspec import Struct

from lawful.agents.members import facts_of
from lawful.agents.patterns.speaker import Speaker, ask
from lawful.core.reducers import append
from lawful.graph.builder import StateGraph
from lawful.graph.command import START, Send
from lawful.graph.compiled import CompiledStateGraph
from lawful.tools.facts import Facts, add_facts


class Mapped(Struct, frozen=True):
    """What came of one part, in the parts' order."""

    at: int
    text: str


class MapState(TypedDict):
    input: str
    mapped: Annotated[list[Mapped], append]
    output: str
    facts: Annotated[Facts, add_facts]
    """What was seen by those whose words are in here."""


class _Part(TypedDict):
    at: int
    text: str
    facts: Facts


def map_reduce(
    split: Callable[[str], Sequence[str]], work: Speaker, reduce: Speaker, *, checkpointer: Any = None
) -> CompiledStateGraph[MapState]:
    """A graph over `MapState`: give it an ``input``, read its ``output``.

    ``split`` is pure and cuts the input; ``work`` is asked about each part, all at once (``max_concurrency`` bounds it);
    ``reduce`` is given the results, in the order of the parts. A part that fails leaves the others' results saved.
    """

    def parts(state: MapState) -> list[Send] | str:
        facts, texts = facts_of(state), enumerate(split(state["input"]))
        found = [Send("map", {"at": at, "text": text, "facts": facts}) for at, text in texts]
        return found or "reduce"

    async def one(part: _Part) -> dict[str, Any]:
        found = await ask(work, part["text"], part["facts"])
        return {"mapped": [Mapped(part["at"], found.text)], "facts": found.facts}

    async def whole(state: MapState) -> dict[str, Any]:
        texts = [mapped.text for mapped in sorted(state.get("mapped") or [], key=_place)]
        found = await ask(reduce, "\n\n".join(texts), facts_of(state))
        return {"output": found.text, "facts": found.facts}

    graph = StateGraph(MapState, name="map_reduce")
    graph.add_node("map", one, input_schema=_Part).add_node("reduce", whole)
    graph.add_conditional_edges(START, parts, ["map", "reduce"]).add_edge("map", "reduce")
    return graph.compile(checkpointer=checkpointer, name="map_reduce")


def _place(mapped: Mapped) -> int:
    return mapped.at
