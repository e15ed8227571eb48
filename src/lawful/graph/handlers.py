"""From what a graph says of error handlers to the nodes that they are; what is wrong with one is told at build."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lawful.core.errors import GraphBuildError
from lawful.graph.handling import DEFAULT, handler_name, told
from lawful.graph.parts import Blueprint, NodeSpec, subgraph_of
from lawful.graph.policies import NodeError
from lawful.graph.program import Accept, Node
from lawful.graph.runtime import caller
from lawful.graph.signature import is_async, takes_nothing

_MORE: Mapping[str, tuple[Any, Any]] = {"error": (NodeError, told)}


def handler_for(graph: Blueprint, spec: NodeSpec) -> str | None:
    """The node that handles the failure of ``spec``, or None."""
    if spec.handler is not None:
        return handler_name(spec.name)
    return DEFAULT if graph.defaults.get("handler") is not None else None


def functions(graph: Blueprint) -> dict[str, Any]:
    """Every error handler of a graph, by the name of its node."""
    found = {handler_name(s.name): s.handler for s in graph.nodes.values() if s.handler is not None}
    default = graph.defaults.get("handler")
    return {**found, DEFAULT: default} if default is not None else found


def handlers(graph: Blueprint, accept: Accept) -> dict[str, Node]:
    """The nodes of a graph's error handlers. Raises: GraphBuildError, for a parameter that nothing can fill."""
    out: dict[str, Node] = {}
    for name, fn in functions(graph).items():
        call = caller(fn, "Error handler", _MORE)
        node = Node(name, fn, call=call, is_async=is_async(fn), view=dict, accept=accept)
        node.handles = True
        node.triggers = (name,)
        out[name] = node
    return out


def check_handlers(graph: Blueprint) -> None:
    """Raises: GraphBuildError for a handler that cannot be called as one, or a node of the default one's name."""
    if DEFAULT in graph.nodes:
        raise GraphBuildError(
            f"Node name {DEFAULT!r} is reserved for the error handler of set_node_defaults",
            component="graph",
            operation="compile",
            details={"node": DEFAULT},
        )
    for name, fn in functions(graph).items():
        if subgraph_of(fn) is not None or not callable(fn) or takes_nothing(fn):
            raise GraphBuildError(
                f"{name}: an error handler is a function of the node's input (and of `error: NodeError`),"
                f" got {fn!r:.80}",
                component="graph",
                operation="compile",
                details={"node": name},
            )
