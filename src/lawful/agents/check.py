"""Before anything runs: where private data, what outsiders wrote and a way out can come together, from what is declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from lawful.agents.agent import Agent
from lawful.agents.holdings import Graph, Holding, blueprint_of, holdings
from lawful.core.errors import ConfigurationError
from lawful.effects.capability import Opaque, promise
from lawful.graph.builder import StateGraph
from lawful.graph.command import END, START, Command
from lawful.graph.compiled import CompiledStateGraph
from lawful.graph.signature import hints, unwrap
from lawful.tools.definition import AnyTool, Tool
from lawful.tools.toolset import Toolset


class Meeting(Struct, frozen=True):
    """A way on which an outsider's words can send private data out: one tool for each of its three parts."""

    private: Holding
    external: Holding
    outward: Holding

    @property
    def text(self) -> str:
        """The path in words."""
        read, heard = _told(self.private), _told(self.external)
        return f"{read} reads private data, {heard} lets in what outsiders wrote, {_told(self.outward)} sends out"


class Checked(Struct, frozen=True):
    """What `check` found."""

    meetings: tuple[Meeting, ...]
    undeclared: tuple[Holding, ...]
    """Tools of which nobody said what they do."""
    opaque: tuple[Holding, ...]
    """Effects whose outcome cannot be looked up: after a crash in the wrong moment a person is asked."""
    tools: int

    @property
    def ok(self) -> bool:
        return not self.meetings


def check(thing: Any, *, strict: bool = False) -> Checked:
    """Look at an agent, a graph (of a pattern or one's own), a toolset or a list of tools; nothing is run.

    Within one agent everything can meet. Between nodes of a graph, what a node knows reaches the nodes after it; in a graph
    with a journal it reaches every node, by the thread's next run. A way out is a tool that declares ``sends_out`` and any
    effect that does not declare ``stays_inside``. With ``strict``, an undeclared tool counts as all three.

    A graph's own code is looked into as `holdings` says. What a store or a file carries from one run to another is not seen.

    Raises: ConfigurationError, for what is none of these.
    """
    if not isinstance(thing, Agent | CompiledStateGraph | StateGraph | Tool | Toolset | list | tuple):
        raise ConfigurationError(
            f"{type(thing).__name__} is no agent, graph or tool that could be checked",
            component="agents",
            operation="check",
        )
    held = holdings(thing)
    flow = _Flow(thing)
    return Checked(
        tuple(_meetings(held, flow, strict)),
        tuple(one for one in held if not one.tool.traits.declared),
        tuple(one for one in held if is_opaque(one.tool)),
        len(held),
    )


def is_opaque(tool: AnyTool) -> bool:
    """Whether it is an effect whose outcome nobody can look up."""
    return tool.effect is not None and promise(tool.effect.promised, Opaque) is not None


def _meetings(held: Sequence[Holding], flow: _Flow, strict: bool) -> Iterable[Meeting]:
    """One for each way out: the first tools of the two other kinds whose words can reach it."""

    def wild(one: Holding) -> bool:
        return strict and not one.tool.traits.declared

    for out in held:
        if not (out.tool.traits.outward or wild(out)):
            continue
        near = [one for one in held if flow.reaches(one.place, out.place)]
        private = next((one for one in near if one.tool.traits.reads_private or wild(one)), None)
        external = next((one for one in near if one.tool.traits.ingests_external or wild(one)), None)
        if private is not None and external is not None:
            yield Meeting(private, external, out)


class _Flow:
    """Whether what is known at one place can be known at another."""

    def __init__(self, thing: Any) -> None:
        self._levels: dict[tuple[str, ...], Mapping[str, frozenset[str]]] = {}
        self._kept: set[tuple[str, ...]] = set()
        found: Any = thing.graph if isinstance(thing, Agent) else thing  # pyright: ignore[reportUnknownMemberType]
        if isinstance(found, CompiledStateGraph | StateGraph):
            self._add(cast("Graph", found), ())

    def _add(self, graph: Graph, place: tuple[str, ...]) -> None:
        here = (*place, graph.name or "graph")
        self._levels[here] = _reach(graph)
        if getattr(graph, "checkpointer", None) not in (None, False):
            self._kept.add(here)
        for name, spec in blueprint_of(graph).nodes.items():
            inner: Any = spec.graph
            if isinstance(inner, CompiledStateGraph | StateGraph):
                self._add(cast("Graph", inner), (*here, name))

    def reaches(self, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Both lie in one piece of code, or the nodes that hold them are so connected, or something around them repeats."""
        if one == other:
            return True
        same = _common(one, other)
        if any(one[:size] in self._kept for size in range(1, same + 1)):
            return True
        level = self._levels.get(one[:same])
        if level is None or same in (len(one), len(other)):
            return True
        if other[same] in level[one[same]]:
            return True
        around = ((one[size], self._levels.get(one[:size])) for size in range(1, same))
        return any(level is not None and node in level[node] for node, level in around)


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many names both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _reach(graph: Graph) -> Mapping[str, frozenset[str]]:
    """For each node, all nodes that can come after it in one run; itself, if it lies on a circle."""
    blueprint = blueprint_of(graph)
    names = frozenset(blueprint.nodes)
    after: dict[str, set[str]] = {name: _jumps(spec, names) for name, spec in blueprint.nodes.items()}
    for edge in blueprint.edges:
        for source in edge.sources:
            after.setdefault(source, set()).add(edge.target)
    for branch in blueprint.branches:
        after.setdefault(branch.source, set()).update(names if branch.targets is None else branch.targets)
    return {name: _closure(name, after) for name in names}


def _jumps(spec: Any, names: frozenset[str]) -> set[str]:
    """Where a node may go by a Command that it returns."""
    if spec.destinations is not None:
        return set(spec.destinations)
    if spec.fn is None:
        return set()
    note = hints(unwrap(spec.fn)).get("return") if callable(unwrap(spec.fn)) else None
    return set(names) if Command.__name__ in str(note) else set()


def _closure(name: str, after: Mapping[str, set[str]]) -> frozenset[str]:
    found: set[str] = set()
    left = [name]
    while left:
        for target in after.get(left.pop(), ()):
            if target not in found and target not in (START, END):
                found.add(target)
                left.append(target)
    return frozenset(found)


def _told(one: Holding) -> str:
    return f"{one.tool.name} (in {one.where})" if one.place else one.tool.name
