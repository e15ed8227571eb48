"""The laws of the algebra as values: equations over pipelines, held by whatever ``observe`` can see of a run."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from lawful.core.laws import Equal, Law
from lawful.core.result import Ok
from lawful.pipeline.build import identity, in_turn, pure
from lawful.pipeline.nodes import Pipeline
from lawful.pipeline.optimiser import PASSES, Pass, optimise

_Tree: TypeAlias = Pipeline[Any, Any]
_SAME: _Tree = identity()
Observe: TypeAlias = Callable[[_Tree], tuple[Any, Any]]
"""How a run ends (a Result, or whatever stands for a control signal), and what its steps did, in their order."""


def pipeline_laws(observe: Observe, equal: Equal = operator.eq) -> tuple[Law, ...]:
    """The laws that hold for every pipeline, by what ``observe`` sees; arguments of sort "t" are pipelines that fit.

    Those of values only compare the ends; where two run at once, what they did is compared without its order.
    """

    def both(name: str, equation: str, arity: int, sides: Callable[..., tuple[_Tree, _Tree]]) -> Law:
        def seen(*trees: _Tree) -> tuple[Any, Any]:
            left, right = sides(*trees)
            return observe(left), observe(right)

        return Law(name, equation, ("t",) * arity, seen, equal)

    return (
        both("left unit", "identity >> t == t", 1, _left),
        both("right unit", "t >> identity == t", 1, _right),
        both("associativity of >>", "(t >> u) >> v == t >> (u >> v)", 3, _grouped),
        both("associativity of |", "(t | u) | v == t | (u | v)", 3, _chosen),
        both("optimising", "optimise(t) == t", 1, _optimised),
        *(both(f"pass {one.name}", f"{one.name}(t) == t", 1, _rewritten(one)) for one in PASSES),
        Law(
            "swap", "t & u == swap(u & t), where both succeed", ("t", "t"), lambda t, u: _swapped(observe, t, u), equal
        ),
        Law("fallback of itself", "t | t == t, where t succeeds", ("t",), lambda t: _idempotent(observe, t), equal),
        Law(
            "in turn",
            "in_turn(t, u) is t, then u on the same input",
            ("t", "t"),
            lambda t, u: _turns(observe, t, u),
            equal,
        ),
    )


def _left(t: _Tree) -> tuple[_Tree, _Tree]:
    return _SAME >> t, t


def _right(t: _Tree) -> tuple[_Tree, _Tree]:
    return t >> _SAME, t


def _grouped(t: _Tree, u: _Tree, v: _Tree) -> tuple[_Tree, _Tree]:
    return (t >> u) >> v, t >> (u >> v)


def _chosen(t: _Tree, u: _Tree, v: _Tree) -> tuple[_Tree, _Tree]:
    return (t | u) | v, t | (u | v)


def _optimised(t: _Tree) -> tuple[_Tree, _Tree]:
    return optimise(t), t


def _rewritten(one: Pass) -> Callable[[_Tree], tuple[_Tree, _Tree]]:
    return lambda t: (one.rewrite(t), t)


def _swap(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    return pair[1], pair[0]


def _swapped(observe: Observe, t: _Tree, u: _Tree) -> tuple[Any, Any]:
    (one, first), (other, second) = observe(t & u), observe((u & t) >> pure(_swap))
    if not isinstance(one, Ok):
        return None, None
    return (one, sorted(map(repr, first))), (other, sorted(map(repr, second)))


def _idempotent(observe: Observe, t: _Tree) -> tuple[Any, Any]:
    end, did = observe(t)
    return (observe(t | t), (end, did)) if isinstance(end, Ok) else (None, None)


def _turns(observe: Observe, t: _Tree, u: _Tree) -> tuple[Any, Any]:
    whole, (first, did) = observe(in_turn(t, u)), observe(t)
    if not isinstance(first, Ok):
        return whole, (first, did)
    then, did_then = observe(u)
    if not isinstance(then, Ok):
        return whole, (then, [*did, *did_then])
    values = cast("tuple[Ok[Any], Ok[Any]]", (first, then))
    return whole, (Ok((values[0].value, values[1].value)), [*did, *did_then])
