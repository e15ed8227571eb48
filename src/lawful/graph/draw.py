"""A graph as nodes and arrows, and these as a Mermaid flowchart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from zlib import crc32

from msgspec import Struct

from lawful.graph.command import END, START
from lawful.graph.handlers import functions, handler_for
from lawful.graph.instead import missing
from lawful.graph.parts import Blueprint, subgraph_of
from lawful.graph.signature import unwrap

_WORDS = (
    "end",
    "graph",
    "subgraph",
    "style",
    "class",
    "classdef",
    "click",
    "default",
    "flowchart",
    "linkstyle",
    "call",
    "href",
)
_CSS = ("classDef default fill:#f2f0ff,line-height:1.2", "classDef first fill-opacity:0", "classDef last fill:#bfb6fc")


class Arrow(Struct, frozen=True):
    """One edge of a drawing."""

    source: str
    target: str
    data: str | None = None
    """What is written on it: the route's label, or the rule of a join."""
    conditional: bool = False
    """Whether it is decided at run time."""


class Drawing:
    """Nodes and arrows of a graph; ``inside`` holds the drawings of the graphs that its nodes hold."""

    def __init__(self, graph: Blueprint, xray: bool) -> None:
        names = [*graph.nodes, *functions(graph)]
        self.nodes: dict[str, str] = {START: "start", **{n: n for n in names}, END: "end"}
        """Each node's name and label."""
        self.edges: list[Arrow] = _arrows(graph)
        self.inside: dict[str, Drawing] = {}
        if xray:
            for name, spec in graph.nodes.items():
                held = spec.graph if spec.graph is not None else graph_within(spec.fn)
                if held is not None:
                    self.inside[name] = Drawing(held.blueprint, xray)
        self.holders = frozenset(n for n, s in graph.nodes.items() if s.graph is not None)

    def draw_mermaid(self) -> str:
        """The flowchart: solid arrows always run, dotted ones are decided at run time."""
        lines = ["graph TD;", *self._lines("", "  ")]
        return "\n".join([*lines, *(f"  {line}" for line in _CSS)]) + "\n"

    if not TYPE_CHECKING:  # to a type checker no name is known that is not there

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name, ("nodes", "edges", "inside", "draw_mermaid"))

    def _lines(self, prefix: str, indent: str) -> list[str]:
        lines: list[str] = []
        for name, label in self.nodes.items():
            at = _id(prefix + name)
            if name in self.inside:
                lines.append(f'{indent}subgraph {at}["{_label(label)}"]')
                lines += self.inside[name]._lines(f"{prefix}{name}:", indent + "  ")
                lines.append(f"{indent}end")
            elif name == START:
                lines.append(f"{indent}{at}([start]):::first")
            elif name == END:
                lines.append(f"{indent}{at}([end]):::last")
            else:
                shape = f'[["{_label(label)}"]]' if name in self.holders else f'("{_label(label)}")'
                lines.append(f"{indent}{at}{shape}")
        for arrow in self.edges:
            line = "-.->" if arrow.conditional else "-->"
            data = f"|{_label(arrow.data)}|" if arrow.data else ""
            lines.append(f"{indent}{_id(prefix + arrow.source)} {line}{data} {_id(prefix + arrow.target)};")
        return lines


def _id(name: str) -> str:
    """A name as Mermaid takes it: letters, digits, underscores; no two names share one, none is a word of Mermaid's."""
    safe = re.sub(r"[^A-Za-z0-9_]", "_", name)
    if safe != name or name.lower() in _WORDS:
        return f"{safe}_{crc32(name.encode('utf-8', 'surrogatepass')):08x}"
    return safe


def _label(text: str) -> str:
    return (
        re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", text)
        .replace('"', "&quot;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
    )


def _arrows(graph: Blueprint) -> list[Arrow]:
    out: list[Arrow] = []
    for edge in graph.edges:
        data = f"all of {len(edge.sources)}" if edge.is_join and len(edge.sources) > 1 else None
        out += [Arrow(source, edge.target, data) for source in edge.sources]
    for branch in graph.branches:
        out += _routes(graph, branch.source, branch.targets, branch.path_map)
    for spec in graph.nodes.values():
        out += [Arrow(spec.name, target, None, True) for target in spec.destinations or ()]
    going = {a.source for a in out}
    out += [Arrow(name, END) for name in graph.nodes if name not in going]
    handled = [(spec.name, handler_for(graph, spec)) for spec in graph.nodes.values()]
    out += [Arrow(name, handler, "error", True) for name, handler in handled if handler is not None]
    return out


def _routes(
    graph: Blueprint, source: str, targets: tuple[str, ...] | None, path_map: Mapping[Any, str] | None
) -> list[Arrow]:
    if path_map is not None:
        return [Arrow(source, t, str(k) if str(k) != t else None, True) for k, t in path_map.items()]
    return [Arrow(source, t, None, True) for t in (targets if targets is not None else (*graph.nodes, END))]


def graph_within(fn: Any) -> Any:
    """A compiled graph that a function refers to by a closure or a global name, if there is one; a best effort."""
    plain = unwrap(fn)
    code = getattr(plain, "__code__", None)
    if code is None:
        return None
    known: dict[str, Any] = getattr(plain, "__globals__", {})
    found = [known[n] for n in code.co_names if n in known]
    for cell in getattr(plain, "__closure__", None) or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not filled yet
            continue
    return next((f for f in found if subgraph_of(f) is not None), None)
