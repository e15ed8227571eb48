"""A graph as a Mermaid flowchart, and in words."""

from __future__ import annotations

import re

from lawful.graph.command import END, START
from lawful.graph.parts import Blueprint
from lawful.graph.validate import ambiguous, together, unmerged_keys

_CSS = "classDef default fill:#f2f0ff,line-height:1.2\nclassDef first fill-opacity:0\nclassDef last fill:#bfb6fc"


def _id(name: str) -> str:
    """A name as Mermaid takes it: letters, digits and underscores; anything else as its code point."""
    return re.sub(r"[^A-Za-z0-9_]", lambda m: f"_{ord(m[0]):x}_", name)


def _label(text: str) -> str:
    return text.replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def drawn(graph: Blueprint) -> str:
    """The flowchart: solid edges always run, dotted ones are decided at run time."""
    lines = ["graph TD;", f"  {_id(START)}([start]):::first"]
    for spec in graph.nodes.values():
        shape = f'[["{_label(spec.name)}"]]' if spec.graph is not None else f'("{_label(spec.name)}")'
        lines.append(f"  {_id(spec.name)}{shape}")
    lines.append(f"  {_id(END)}([end]):::last")
    for edge in graph.edges:
        mark = f"|all of {len(edge.sources)}|" if edge.is_join and len(edge.sources) > 1 else ""
        lines += [f"  {_id(source)} -->{mark} {_id(edge.target)};" for source in edge.sources]
    for branch in graph.branches:
        lines += _branch(graph, branch.source, branch.targets, branch.path_map)
    for spec in graph.nodes.values():
        lines += [f"  {_id(spec.name)} -.-> {_id(target)};" for target in spec.destinations or ()]
    for name in _last(graph):
        lines.append(f"  {_id(name)} --> {_id(END)};")
    return "\n".join(lines) + "\n" + "\n".join(f"  {line}" for line in _CSS.splitlines()) + "\n"


def _branch(
    graph: Blueprint, source: str, targets: tuple[str, ...] | None, path_map: dict[object, str] | None
) -> list[str]:
    if path_map is not None:
        pairs = [(str(label), target) for label, target in path_map.items()]
    else:
        pairs = [("", t) for t in (targets if targets is not None else (*graph.nodes, END))]
    return [
        f"  {_id(source)} -.->{f'|{_label(label)}|' if label and label != target else ''} {_id(target)};"
        for label, target in pairs
    ]


def _last(graph: Blueprint) -> list[str]:
    """Nodes that nothing leads on from: they end their branch of work."""
    going = {s for e in graph.edges for s in e.sources} | {b.source for b in graph.branches}
    return [n for n, spec in graph.nodes.items() if n not in going and not spec.destinations]


def explained(graph: Blueprint, name: str) -> str:
    """The graph in words, one fact a line."""
    mode = "strict" if graph.strict else "lenient"
    lines = [f"graph {name} over {graph.schema.name} ({mode})", "", "state"]
    for key, channel in graph.schema.channels.items():
        lines.append(f"  {key}: {channel!r}")
    lines.append("nodes")
    for spec in graph.nodes.values():
        kind = "subgraph" if spec.graph is not None else "node"
        notes = [n for n, on in (("deferred", spec.defer), ("retries", bool(spec.retry))) if on]
        lines.append(f"  {spec.name} ({', '.join([kind, *notes])})")
    lines.append("edges")
    for edge in graph.edges:
        if edge.is_join:
            rule = edge.rule or "all"
            lines.append(f"  {' + '.join(edge.sources)} -> {edge.target} (join: {rule})")
        else:
            lines.append(f"  {edge.sources[0]} -> {edge.target}")
    for branch in graph.branches:
        where = ", ".join(branch.targets) if branch.targets is not None else "anywhere"
        lines.append(f"  {branch.source} -> {where} (decided by {branch.name})")
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
