"""What is wrong with a graph, told before it runs; and what can only be reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lawful.core.errors import GraphBuildError, nearest
from lawful.graph.channels import LAST
from lawful.graph.command import END, ROOT, START, UNSET
from lawful.graph.handlers import check_handlers, functions, handler_for
from lawful.graph.parts import Blueprint, EdgeSpec
from lawful.graph.policies import checked_cache_policy, limited, timeout_of
from lawful.graph.signature import hints, is_async


def _refuse(message: str, **details: str) -> GraphBuildError:
    return GraphBuildError(message, component="graph", operation="compile", details=details)


def check_build(graph: Blueprint, breakpoints: Sequence[str]) -> None:
    """Raises: GraphBuildError, naming the place and the nearest valid name."""
    names = set(graph.nodes)
    _check_edges(graph, names)
    _check_branches(graph, names)
    check_breakpoints(names | set(functions(graph)), breakpoints)
    _check_timeouts(graph)
    _check_destinations(graph, names)
    check_handlers(graph)
    _check_caches(graph)
    if graph.strict:
        _check_joins(graph)
        _check_resets(graph)


def _check_edges(graph: Blueprint, names: set[str]) -> None:
    leaves_start = any(START in e.sources for e in graph.edges) or any(b.source == START for b in graph.branches)
    if not leaves_start:
        raise _refuse(
            "Graph must have an entrypoint: add at least one edge from START to another node"
            f"{', e.g. add_edge(START, ' + repr(next(iter(graph.nodes))) + ')' if graph.nodes else ''}"
        )
    for edge in graph.edges:
        for source in edge.sources:
            if source not in names and source != START:
                raise _refuse(f"Found edge starting at unknown node {source!r}.{nearest(source, names)}", node=source)
        if edge.target not in names and edge.target != END:
            raise _refuse(
                f"Found edge ending at unknown node {edge.target!r}.{nearest(edge.target, [*names, END])}",
                node=edge.target,
            )


def _check_branches(graph: Blueprint, names: set[str]) -> None:
    for branch in graph.branches:
        if branch.source not in names and branch.source != START:
            raise _refuse(
                f"Found conditional edge starting at unknown node {branch.source!r}.{nearest(branch.source, names)}",
                node=branch.source,
            )
        for target in branch.targets or ():
            if target not in names and target != END:
                raise _refuse(
                    f"At {branch.source!r} node, {branch.name!r} branch found unknown target {target!r}."
                    f"{nearest(target, [*names, END])}",
                    node=branch.source,
                    target=target,
                )


def check_breakpoints(names: set[str], breakpoints: Sequence[str]) -> None:
    """Raises: GraphBuildError for a breakpoint at a node that does not exist."""
    for name in breakpoints:
        if name != "*" and name not in names:
            raise _refuse(f"Interrupt node {name!r} not found.{nearest(name, names)}", node=name)


def _check_destinations(graph: Blueprint, names: set[str]) -> None:
    for spec in graph.nodes.values():
        for target in spec.destinations or ():
            if target not in names and target != END:
                raise _refuse(
                    f"Node {spec.name!r} says that it may go to unknown node {target!r}.{nearest(target, [*names, END])}",
                    node=spec.name,
                    target=target,
                )


def _check_timeouts(graph: Blueprint) -> None:
    for spec in graph.nodes.values():
        told = spec.timeout if spec.timeout is not None else graph.defaults.get("timeout")
        if told is None:
            continue
        limit = limited(timeout_of(told, f"Node {spec.name!r}: timeout"))
        if limit is None:
            continue
        shown = limit.run_timeout or limit.idle_timeout
        if spec.graph is not None and not spec.graph.is_async:
            raise _refuse(
                f"Node {spec.name!r} is a graph of sync functions, which cannot be stopped, so timeout={shown} could not"
                " hold. Make one of its nodes async, or bound its run: compile(limits=Limits(seconds=...)).",
                node=spec.name,
            )
        if spec.graph is None and not is_async(spec.fn):
            raise _refuse(
                f"Node {spec.name!r} is a sync function and cannot be stopped, so timeout={shown} could not hold."
                " Make it async, or leave the limit to what it calls.",
                node=spec.name,
            )


def _check_caches(graph: Blueprint) -> None:
    for spec in graph.nodes.values():
        checked_cache_policy(spec.cache or graph.defaults.get("cache"), f"Node {spec.name!r}")


# Joins of which one source can be skipped


def roots_of(graph: Blueprint) -> dict[str, frozenset[str]]:
    """For each node, what sets it off: START, and nodes that only a decision (route, Command, Send) leads to.

    Two nodes with equal roots run together or not at all, as far as plain edges tell.
    """
    into: dict[str, set[str]] = {n: set() for n in (*graph.nodes, START)}
    for edge in graph.edges:
        if edge.target != END:
            into[edge.target].update(edge.sources)
    chosen = {t for b in graph.branches for t in b.targets or () if t != END}
    chosen |= {d for s in graph.nodes.values() for d in s.destinations or ()}
    # Where a handler takes a node over, the node's edges are not followed: what comes after it can be skipped.
    chosen |= {s.name for s in graph.nodes.values() if handler_for(graph, s) is not None}
    found: dict[str, frozenset[str]] = {}
    for name in into:
        seen: set[str] = set()
        stack = [name]
        roots: set[str] = set()
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            if at == START or at in chosen or not into[at]:
                roots.add(at)
            stack.extend(into[at])
        found[name] = frozenset(roots)
    return found


def ambiguous(graph: Blueprint) -> list[tuple[EdgeSpec, dict[str, frozenset[str]]]]:
    """Joins without a stated rule whose sources are not set off by the same things."""
    roots = roots_of(graph)
    out: list[tuple[EdgeSpec, dict[str, frozenset[str]]]] = []
    for edge in graph.edges:
        if not edge.is_join or edge.rule is not None:
            continue
        of = {s: roots[s] for s in edge.sources}
        if len(set(of.values())) > 1:
            out.append((edge, of))
    return out


def _check_joins(graph: Blueprint) -> None:
    for edge, of in ambiguous(graph):
        common = frozenset[str].intersection(*of.values())
        skipped = sorted(s for s, r in of.items() if r - common) or sorted(of)
        raise _refuse(
            f"The join of {list(edge.sources)} into {edge.target!r} is ambiguous: {', '.join(map(repr, skipped))} can run"
            " or be skipped without the others. State its rule: add_edge([...], target, join='all') waits for every one,"
            " join='activated' for those that ran.",
            join=edge.target,
            sources=", ".join(edge.sources),
        )


# A class whose every return would reset a field


def _check_resets(graph: Blueprint) -> None:
    schema = graph.schema
    if schema.kind != "dataclass":
        return
    plain = [
        k
        for k in schema.keys
        if schema.channels[k].kind == LAST and k in schema.defaults and schema.defaults[k] is not UNSET
    ]
    if not plain:
        return
    for spec in graph.nodes.values():
        if spec.graph is None and hints(spec.fn).get("return") is schema.typ:
            raise _refuse(
                f"Node {spec.name!r} returns {schema.name}, whose field {plain[0]!r} has the default"
                f" {schema.defaults[plain[0]]!r}: every return that does not set it would reset it."
                " Make its default UNSET, or return a dict.",
                node=spec.name,
                key=plain[0],
            )


# What can only be reported, since what a node writes is not known before it runs


def together(graph: Blueprint) -> list[tuple[str, ...]]:
    """Groups of nodes that plain edges start in the same step."""
    after: dict[str, set[str]] = {}
    for edge in graph.edges:
        if not edge.is_join and edge.target != END:
            after.setdefault(edge.sources[0], set()).add(edge.target)
    return [tuple(sorted(group)) for group in after.values() if len(group) > 1]


def unmerged_keys(graph: Blueprint) -> tuple[str, ...]:
    """Keys that two nodes of one step must not both write."""
    return tuple(k for k, c in graph.schema.channels.items() if c.kind == LAST and k != ROOT)


def unreachable(graph: Blueprint, targets: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Nodes that no edge or declared route leads to; a Command or Send still may."""
    reached = {t for ts in targets.values() for t in ts}
    return tuple(sorted(n for n in graph.nodes if n not in reached))
