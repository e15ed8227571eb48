"""How nodes are named where a graph is described: by text, by a member of an enum, or by themselves."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, get_args, get_origin

from lawful.core.errors import GraphBuildError
from lawful.graph.command import Command
from lawful.graph.pipelines import is_pipeline, name_as_node
from lawful.graph.signature import hints, name_of, takes_nothing


def commanded(fn: Any) -> tuple[str, ...] | None:
    """Where a node's ``Command[Literal[...]]`` return annotation says that it may go."""
    hint = hints(fn).get("return")
    if get_origin(hint) is Command and get_args(hint):
        return allowed(get_args(hint)[0])
    return None


def named(node: Any, action: Any) -> tuple[str, Any]:
    if isinstance(node, str):
        if action is None:
            raise GraphBuildError(f"Node {node!r} needs a callable", component="graph", operation="add_node")
        return plain_name(node), action
    if action is not None:
        raise GraphBuildError(f"A node's name must be a str, got {node!r:.80}", component="graph", operation="add_node")
    return (name_as_node(node) if is_pipeline(node) else name_of(node)), node


def check_callable(name: str, fn: Any) -> None:
    if not callable(fn):
        raise GraphBuildError(f"Node {name!r} must be callable, got {type(fn).__name__}", component="graph")
    if takes_nothing(fn):
        why = f"Node {name!r} takes no argument; a node is called with the state"
        raise GraphBuildError(why, component="graph", operation="add_node")


def version_of(version: Any, name: str) -> int:
    if isinstance(version, int) and not isinstance(version, bool) and version >= 1:
        return version
    why = f"Node {name!r}: version is an int of at least 1, got {version!r:.80}"
    raise GraphBuildError(why, component="graph", operation="add_node")


def plain_name(name: Any) -> str:
    return str(name.value) if isinstance(name, enum.Enum) else str(name)


def name_at(key: Any) -> str:
    """A node's name where an edge names it: a str, a str Enum, or the node's own callable."""
    if isinstance(key, str):
        return plain_name(key)
    if callable(key):
        return name_of(key)
    raise GraphBuildError(f"An edge names nodes, got {key!r:.80}", component="graph", operation="add_edge")


def names(given: Sequence[str] | str | None) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(map(plain_name, given))


def allowed(hint: Any) -> tuple[str, ...] | None:
    """The targets that a ``Literal`` (or a list of one) return annotation allows."""
    if get_origin(hint) in (list, Sequence, tuple) and get_args(hint):
        hint = get_args(hint)[0]
    args = get_args(hint)
    if str(get_origin(hint)) == "typing.Literal" and all(isinstance(a, str) for a in args):
        return tuple(str(a) for a in args)
    return None
