"""A graph in words, and what can only be reported of it before it runs."""

from __future__ import annotations

from collections.abc import Sequence

from lawful.core.effect_port import EffectPort
from lawful.graph.handlers import handler_for
from lawful.graph.parts import Blueprint
from lawful.graph.validate import ambiguous, together, unmerged_keys


def explained(graph: Blueprint, name: str, effects: Sequence[EffectPort] = ()) -> str:
    """One fact a line: state keys and their merges, nodes, edges, joins and their rules, what to know."""
    mode = "strict" if graph.strict else "lenient"
    lines = [f"graph {name} over {graph.schema.name} ({mode})", "", "state"]
    for key, channel in graph.schema.channels.items():
        merge = getattr(channel, "operator", None)
        by = (
            f", merged by {getattr(merge, 'id', None) or getattr(merge, '__name__', merge)}"
            if merge is not None
            else ""
        )
        lines.append(f"  {key}: {channel!r}{by}")
    lines.append("nodes")
    for spec in graph.nodes.values():
        kind = "subgraph" if spec.graph is not None else "node"
        told = (
            ("deferred", spec.defer),
            ("retries", spec.retry or graph.defaults.get("retry")),
            ("time limit", spec.timeout if spec.timeout is not None else graph.defaults.get("timeout")),
            ("cached", spec.cache or graph.defaults.get("cache")),
            ("failures go to " + (handler_for(graph, spec) or ""), handler_for(graph, spec)),
        )
        notes = [name for name, on in told if on]
        lines.append(f"  {spec.name} ({', '.join([kind, *notes])})")
    lines.append("edges")
    for edge in graph.edges:
        if edge.is_join:
            lines.append(f"  {' + '.join(edge.sources)} -> {edge.target} (join: {edge.rule or 'all'})")
        else:
            lines.append(f"  {edge.sources[0]} -> {edge.target}")
    for branch in graph.branches:
        where = ", ".join(branch.targets) if branch.targets is not None else "anywhere"
        lines.append(f"  {branch.source} -> {where} (decided by {branch.name})")
    if effects:
        lines += ["effects", *(f"  {each.tool}: {each.told}" for each in effects)]
    return "\n".join(lines + _reports(graph)) + "\n"


def _reports(graph: Blueprint) -> list[str]:
    """What cannot be refused before the run, since it is not known what a node writes."""
    lines: list[str] = []
    keys = unmerged_keys(graph)
    for group in together(graph):
        if keys:
            lines.append(f"  {', '.join(group)} run in one step: no two of them may write {', '.join(keys)}")
    for edge, _ in ambiguous(graph):
        lines.append(f"  the join into {edge.target} can be skipped: it states no rule")
    return ["to know", *lines] if lines else []
