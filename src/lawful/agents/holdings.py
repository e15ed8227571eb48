"""Which tools an agent, a graph or a function can come to use, and at which places: found without running anything."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct

from lawful.agents.agent import Agent
from lawful.agents.loop import Loop
from lawful.effects.effect import Effect
from lawful.effects.short import FunctionEffect
from lawful.graph.builder import StateGraph
from lawful.graph.compiled import CompiledStateGraph
from lawful.graph.signature import unwrap
from lawful.tools.definition import AnyTool, Tool, as_tool
from lawful.tools.toolset import Toolset

Graph: TypeAlias = "CompiledStateGraph[Any] | StateGraph[Any]"


KINDS: Final = (Agent, CompiledStateGraph, StateGraph, Tool, FunctionEffect, Effect, Toolset)
"""What is looked for wherever it is."""


class Holding(Struct, frozen=True):
    """A tool, and where it is used."""

    tool: AnyTool
    place: tuple[str, ...]
    """Names of graphs and nodes from the outside in."""

    @property
    def where(self) -> str:
        return " > ".join(self.place)


def holdings(thing: Any) -> list[Holding]:
    """All tools within an agent, a graph, a tool or several of these.

    A function is looked into by what it closes over and by the names of its module that it uses; what it imports or makes
    while it runs is not seen.
    """
    walk = _Walk()
    return list({(id(one.tool), one.place): one for one in walk.of(thing, ())}.values())


def blueprint_of(graph: Graph) -> Any:
    """The nodes and edges of a graph."""
    return graph.blueprint if isinstance(graph, CompiledStateGraph) else graph


class _Walk:
    """One walk; what lies on the way to where it is is not entered again."""

    def __init__(self) -> None:
        self._inside: set[int] = set()

    def of(self, thing: Any, place: tuple[str, ...]) -> Iterator[Holding]:
        if id(thing) in self._inside:
            return
        self._inside.add(id(thing))
        try:
            yield from self._of(thing, place)
        finally:
            self._inside.discard(id(thing))

    def _of(self, thing: Any, place: tuple[str, ...]) -> Iterator[Holding]:
        kind = cast("type[Any]", type(thing))
        if issubclass(kind, Agent):
            yield from self.of(thing.graph, place)
        elif issubclass(kind, CompiledStateGraph | StateGraph):
            yield from self._graph(thing, place)
        elif issubclass(kind, Tool):
            yield from self._tool(thing, place)
        elif issubclass(kind, FunctionEffect | Effect):
            yield Holding(as_tool(thing), place)
        elif issubclass(kind, Toolset | list | tuple | set | frozenset):
            for one in cast("Iterable[Any]", thing):
                yield from self.of(one, place)
        elif issubclass(kind, dict):
            for one in cast("dict[Any, Any]", thing).values():
                yield from self.of(one, place)
        else:
            yield from self._code(thing, place)

    def _graph(self, graph: Graph, place: tuple[str, ...]) -> Iterator[Holding]:
        here = (*place, graph.name or "graph")
        for name, spec in blueprint_of(graph).nodes.items():
            yield from self.of(spec.graph if spec.graph is not None else spec.fn, (*here, name))

    def _tool(self, tool: AnyTool, place: tuple[str, ...]) -> Iterator[Holding]:
        """A tool that asks an agent is what that agent's tools are."""
        inner = [] if tool.effect is not None else list(self._code(tool.function, (*place, tool.name)))
        yield from inner or [Holding(tool, place)]

    def _code(self, thing: Any, place: tuple[str, ...]) -> Iterator[Holding]:
        if isinstance(thing, functools.partial):
            for one in (thing.func, *thing.args, *thing.keywords.values()):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
                yield from self.of(one, place)
            return
        held = getattr(thing, "__self__", None)
        if isinstance(held, Loop):
            if thing.__name__ == "tool_node":
                yield from self.of(held.tools, place)
        elif isinstance(thing, types.MethodType):
            for one in _fields(held).values():
                yield from self.of(one, place)
        plain = unwrap(thing)
        if isinstance(plain, types.FunctionType):
            for one in _used(plain):
                yield from self.of(one, place)


def _fields(held: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", getattr(held, "__dict__", {}))


def _used(fn: types.FunctionType) -> Iterator[Any]:
    """What a function closes over, and what it names of its module; of other modules' code only values of our kinds."""
    for cell in fn.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue  # not filled yet
    for name in _names(fn.__code__):
        found = fn.__globals__.get(name)
        own = isinstance(found, types.FunctionType) and found.__module__ == fn.__module__
        if isinstance(found, KINDS) or (own and not fn.__module__.startswith("lawful.")):
            yield found


def _names(code: types.CodeType) -> Iterator[str]:
    """The global names of a function's code, its inner functions' included."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _names(const)
