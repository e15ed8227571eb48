"""What an unchanged LangGraph graph would lose, skip or do twice: read off its parts and its nodes' source, nothing is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct

from lawful.compat.sources import Source, source_of
from lawful.core.errors import ConfigurationError, nearest
from lawful.core.lazy import late

START, END = "__start__", "__end__"
Kind: TypeAlias = Literal[
    "dropped_key", "route_to_nowhere", "effect_before_pause", "parallel_writers", "skippable_join"
]

MEANS: Mapping[Kind, str] = {
    "dropped_key": "written, and not in the state",
    "route_to_nowhere": "no node has that name",
    "effect_before_pause": "done again when the run is resumed",
    "parallel_writers": "in one step, without a reducer",
    "skippable_join": "may wait for ever",
}
"""What each kind of finding is about, in a few words."""


class Finding(Struct, frozen=True):
    """One thing that goes wrong, or may."""

    kind: Kind
    node: str
    file: str
    line: int
    text: str
    """What, and what to do about it."""


def audit_graph(graph: Any) -> list[Finding]:
    """Everything that is found in a StateGraph of LangGraph's, or a compiled one; the graphs that its nodes hold included.

    Nothing of the graph is run. What cannot be seen in the source (keys made at run time, lambdas without a source) is passed
    over: no finding is no promise.

    Raises: ConfigurationError, for anything else.
    """
    return list(_audited(graph, set()))


def _audited(graph: Any, seen: set[int]) -> Iterator[Finding]:
    plan = _Plan(_builder(graph))
    if id(plan.builder) in seen:
        return
    seen.add(id(plan.builder))
    for name, source in plan.sources.items():
        yield from _dropped(plan, name, source)
        yield from _lost(plan, name, source)
        yield from _repeated(name, source)
    yield from _astray(plan)
    yield from _parallel(plan)
    yield from _skippable(plan)
    for spec in plan.builder.nodes.values():
        held = getattr(spec, "runnable", None)
        if _is_graph(held):
            yield from _audited(held, seen)


def _is_graph(held: Any) -> bool:
    return hasattr(held, "builder") or (hasattr(held, "nodes") and hasattr(held, "branches"))


def _builder(graph: Any) -> Any:
    found = getattr(graph, "builder", graph)
    kind = late("langgraph.graph", "StateGraph", extra="langgraph")
    if not isinstance(found, kind):
        raise ConfigurationError(
            f"a {type(graph).__name__} is no StateGraph of LangGraph's, compiled or not",
            component="compat",
            operation="audit",
        )
    return found


class _Plan:
    """A graph's parts, as the checks want them."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder
        self.names: set[str] = set(builder.nodes)
        self.channels: Mapping[str, Any] = builder.channels
        self.keys = {key for key in (*builder.channels, *builder.managed)}
        self.sources: dict[str, Source] = {}
        self.ways: dict[str, dict[str, bool]] = {}
        """From, to, and whether it is always taken."""
        for name, spec in builder.nodes.items():
            if (fn := _function(getattr(spec, "runnable", spec))) is not None and (found := source_of(fn)) is not None:
                self.sources[name] = found
        for start, end in builder.edges:
            self.ways.setdefault(start, {})[end] = True
        self.routers: list[tuple[str, str, Source | None, Mapping[Any, str] | None]] = []
        for start, branches in builder.branches.items():
            for label, spec in branches.items():
                fn = _function(spec.path)
                source = source_of(fn) if fn is not None else None
                self.routers.append((start, label, source, spec.ends))
                for end in self._ends(spec, source):
                    self.ways.setdefault(start, {}).setdefault(end, False)
        for name, source in self.sources.items():
            for target in source.gotos:
                self.ways.setdefault(name, {}).setdefault(target.name, False)

    def _ends(self, spec: Any, source: Source | None) -> Iterable[str]:
        if spec.ends:
            return [str(end) for end in spec.ends.values()]
        return [end.name for end in source.returned_names] if source is not None else []

    def reached(self, start: str) -> set[str]:
        """Every node that a run can come to from here."""
        found, waiting = set[str](), [start]
        while waiting:
            for end in self.ways.get(waiting.pop(), {}):
                if end not in found and end != END:
                    found.add(end)
                    waiting.append(end)
        joined = {t for sources, t in self.builder.waiting_edges if found & set(sources)} - found
        for each in joined:
            found |= {each, *self.reached(each)}
        return found

    def sure(self) -> set[str]:
        """Every node that each run comes to, by edges that are no choice."""
        found, waiting = set[str](), [START]
        while waiting:
            for end, always in self.ways.get(waiting.pop(), {}).items():
                if always and end not in found and end != END:
                    found.add(end)
                    waiting.append(end)
        return found

    def place(self, name: str) -> tuple[str, int]:
        source = self.sources.get(name)
        return (source.file, source.line) if source is not None else ("", 0)


def _function(runnable: Any) -> Callable[..., Any] | None:
    """The user's function inside what LangGraph made of it."""
    for name in ("func", "afunc"):
        found = getattr(runnable, name, None)
        if callable(found):
            return cast("Callable[..., Any]", found)
    return runnable if callable(runnable) and hasattr(runnable, "__code__") else None


def _dropped(plan: _Plan, name: str, source: Source) -> Iterator[Finding]:
    if "__root__" in plan.channels:
        return
    for key in source.written:
        if key.name not in plan.keys:
            hint = nearest(key.name, plan.keys)
            text = f"{name} writes {key.name!r}, which is no key of the state: LangGraph drops it without a word.{hint}"
            yield Finding("dropped_key", name, source.file, key.line, text)


def _lost(plan: _Plan, name: str, source: Source) -> Iterator[Finding]:
    for target in source.gotos:
        if target.name not in plan.names and target.name != END:
            hint = nearest(target.name, plan.names)
            text = (
                f"{name} goes to {target.name!r}, and there is no such node: the run ends there without a word.{hint}"
            )
            yield Finding("route_to_nowhere", name, source.file, target.line, text)


def _astray(plan: _Plan) -> Iterator[Finding]:
    for start, label, source, ends in plan.routers:
        told: Mapping[Any, str] = ends or {}
        for end in told.values():
            if str(end) not in plan.names and str(end) != END:
                file, line = (source.file, source.line) if source is not None else ("", 0)
                hint = nearest(str(end), plan.names)
                text = f"the route {label} after {start} may lead to {end!r}, and there is no such node.{hint}"
                yield Finding("route_to_nowhere", start, file, line, text)
        if source is None:
            continue
        known = set(map(str, told)) if told else plan.names | {END}
        for target in source.returned_names:
            if target.name not in known:
                hint = nearest(target.name, known)
                text = f"the route {label} after {start} returns {target.name!r}, which leads nowhere.{hint}"
                yield Finding("route_to_nowhere", start, source.file, target.line, text)


def _repeated(name: str, source: Source) -> Iterator[Finding]:
    if source.pause is None:
        return
    for call in source.calls:
        if call.line < source.pause:
            text = (
                f"{name} calls {call.name} before it pauses (line {source.pause}): a resumed run starts the node anew and calls"
                " it again. Pause first, or make it an effect of its own"
            )
            yield Finding("effect_before_pause", name, source.file, call.line, text)


def _parallel(plan: _Plan) -> Iterator[Finding]:
    told: set[tuple[str, str, str]] = set()
    for ends in plan.ways.values():
        sure = sorted(end for end in ends if end in plan.names)
        for at, one in enumerate(sure):
            for two in sure[at + 1 :]:
                if not (ends[one] and ends[two]):
                    continue
                for key in _shared(plan, one, two):
                    if (one, two, key) not in told:
                        told.add((one, two, key))
                        yield _both(plan, one, two, key)


def _shared(plan: _Plan, one: str, two: str) -> list[str]:
    first, second = plan.sources.get(one), plan.sources.get(two)
    if first is None or second is None:
        return []
    both = {key.name for key in first.written} & {key.name for key in second.written}
    return sorted(key for key in both if type(plan.channels.get(key)).__name__ == "LastValue")


def _both(plan: _Plan, one: str, two: str, key: str) -> Finding:
    source = plan.sources[two]
    line = next(each.line for each in source.written if each.name == key)
    text = f"{one} and {two} write {key!r} in one step, and it has no reducer: that step fails when both do. Annotate the key"
    return Finding("parallel_writers", two, source.file, line, text)


def _skippable(plan: _Plan) -> Iterator[Finding]:
    for sources, target in sorted(plan.builder.waiting_edges):
        for source in sorted(sources):
            if _may_be_skipped(plan, source, set(sources)):
                file, line = plan.place(source)
                text = (
                    f"the join of {', '.join(sorted(sources))} into {target} waits for {source}, which a route can pass by:"
                    f" then {target} never runs. Say what is meant: join='all' or join='activated'"
                )
                yield Finding("skippable_join", target, file, line, text)


def _may_be_skipped(plan: _Plan, source: str, sources: set[str]) -> bool:
    """Whether a run can come to another source of the join and not to this one: some way to it is a choice."""
    if source in plan.sure():
        return False
    waiting, seen = [source], set[str]()
    while waiting:
        here = waiting.pop()
        into = [(start, ends[here]) for start, ends in plan.ways.items() if here in ends]
        into += [(start, True) for starts, end in plan.builder.waiting_edges if end == here for start in starts]
        for start, always in into:
            if not always:
                others = {end for end in plan.ways.get(start, {}) if end != here}
                if any(end == END or not sources - {source} <= plan.reached(here) for end in others) or not others:
                    return True
            elif start not in seen and start != START:
                seen.add(start)
                waiting.append(start)
    return False
