"""Looking through a pipeline without running it: its nodes in order, and folds from the leaves up, none of them recursive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

from lawful.pipeline.nodes import Branch, Each, Fallback, Guarded, Id, Lambda, Node, Par, Pipeline, Prim, Seq, name_of

T = TypeVar("T")


def children(node: Pipeline[Any, Any]) -> tuple[Pipeline[Any, Any], ...]:
    """The parts that a node is made of, left to right."""
    match cast("Node", node):
        case Id() | Prim() | Lambda():
            return ()
        case Seq(first, then):
            return (first, then)
        case Par(left, right):
            return (left, right)
        case Fallback(first, otherwise):
            return (first, otherwise)
        case Branch(_, arms, otherwise):
            return (*(arm for _, arm in arms), otherwise)
        case Each(inner) | Guarded(inner):
            return (inner,)


def parts(node: Pipeline[Any, Any]) -> tuple[Pipeline[Any, Any], ...]:
    """The same with a whole nest of one associative kind (``>>``, ``&`` as drawn, ``|``) as one row."""
    kind = _nest(node)
    if kind is None:
        return children(node)
    row: list[Pipeline[Any, Any]] = []
    todo = [node]
    while todo:
        top = todo.pop()
        if _nest(top) == kind:
            todo += reversed(children(top))
        else:
            row.append(top)
    return tuple(row)


def _nest(node: Pipeline[Any, Any]) -> str | None:
    """Which nest the node may be a part of."""
    match cast("Node", node):
        case Seq():
            return ">>"
        case Par(order=order):
            return order
        case Fallback():
            return "|"
        case _:
            return None


def walk(pipeline: Pipeline[Any, Any]) -> Iterator[Pipeline[Any, Any]]:
    """Every node, a part after the whole it belongs to, left to right."""
    todo = [pipeline]
    while todo:
        node = todo.pop()
        yield node
        todo += reversed(children(node))


def count(pipeline: Pipeline[Any, Any]) -> int:
    """How many nodes it has; one that is used twice counts twice."""
    return sum(1 for _ in walk(pipeline))


def names(pipeline: Pipeline[Any, Any]) -> list[str]:
    """What its steps, components and branches are called, in the order of `walk`, repetitions included."""
    return [name for node in walk(pipeline) if (name := name_of(node))]


def fold(
    pipeline: Pipeline[Any, Any],
    join: Callable[[Pipeline[Any, Any], list[T]], T],
    split: Callable[[Pipeline[Any, Any]], Sequence[Pipeline[Any, Any]]] = children,
) -> T:
    """``join(node, what it gave for the node's parts)``, from the leaves up, parts left to right."""
    todo: list[tuple[Pipeline[Any, Any], int]] = [(pipeline, -1)]
    made: list[T] = []
    while todo:
        node, ready = todo.pop()
        if ready < 0:
            inside = split(node)
            todo.append((node, len(inside)))
            todo += ((one, -1) for one in reversed(inside))
            continue
        given = made[len(made) - ready :]
        del made[len(made) - ready :]
        made.append(join(node, given))
    return made.pop()
