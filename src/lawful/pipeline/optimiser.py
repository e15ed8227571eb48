"""Rewrites that leave what a pipeline does as it is: named passes, each saying what it relies on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from msgspec import Struct

from lawful.pipeline.nodes import Branch, Each, Fallback, Guarded, Id, Lambda, Node, Par, Pipeline, Prim, Seq, Timeout
from lawful.pipeline.walking import children, fold, parts

I = TypeVar("I")
O = TypeVar("O")

_AnyPipeline = Pipeline[Any, Any]


class Pass(Struct, frozen=True):
    """One rewrite. Values, errors, control signals and the order of effects are the same before and after it."""

    name: str
    sound_for: str
    """What must hold for that; a step that was declared what it is not breaks it."""
    rewrite: Callable[[_AnyPipeline], _AnyPipeline]


def optimise(pipeline: Pipeline[I, O], passes: Sequence[Pass] | None = None) -> Pipeline[I, O]:
    """The pipeline after ``passes``, by default all of `PASSES`, each once and in their order."""
    found: _AnyPipeline = pipeline
    for one in PASSES if passes is None else passes:
        found = one.rewrite(found)
    return cast("Pipeline[I, O]", found)


def drop_identity(pipeline: _AnyPipeline) -> _AnyPipeline:
    """``identity >> t`` and ``t >> identity`` become ``t``."""
    return fold(pipeline, lambda node, inside: rebuilt(node, _without_identity(node, inside)), _rows)


def fuse_pure(pipeline: _AnyPipeline) -> _AnyPipeline:
    """Neighbouring pure functions in a chain become one."""
    return fold(pipeline, lambda node, inside: rebuilt(node, _fused(node, inside)), _rows)


def prune_fallback(pipeline: _AnyPipeline) -> _AnyPipeline:
    """``t | u`` becomes ``t`` where ``t`` cannot end in an error."""

    def join(node: _AnyPipeline, inside: list[tuple[_AnyPipeline, bool]]) -> tuple[_AnyPipeline, bool]:
        if inside and inside[0][1] and isinstance(cast("Node", node), Fallback):
            return inside[0]
        return rebuilt(node, [one for one, _ in inside]), _is_total(node, [total for _, total in inside])

    return fold(pipeline, join, children)[0]


def _is_total(node: _AnyPipeline, inside: list[bool]) -> bool:
    match cast("Node", node):
        case Id():
            return True
        case Lambda(pure=pure, total=total):
            return pure or total
        case Prim(component):
            return bool(getattr(component, "total", False))
        case Branch(when):
            return bool(getattr(when, "total", False)) and all(inside)
        case Fallback():
            return any(inside)
        case Guarded(_, Timeout()):
            return False
        case Seq() | Par() | Each() | Guarded():
            return all(inside)


def _rows(node: _AnyPipeline) -> tuple[_AnyPipeline, ...]:
    """Parts, with a whole chain of ``>>`` as one row: only there does the grouping not matter."""
    return parts(node) if isinstance(cast("Node", node), Seq) else children(node)


def _without_identity(node: _AnyPipeline, inside: list[_AnyPipeline]) -> list[_AnyPipeline]:
    if not isinstance(node, Seq):
        return inside
    return [one for one in inside if not isinstance(one, Id)] or inside[:1]


def _fused(node: _AnyPipeline, inside: list[_AnyPipeline]) -> list[_AnyPipeline]:
    if not isinstance(node, Seq):
        return inside
    made: list[_AnyPipeline] = []
    run: list[Lambda[Any, Any]] = []
    for one in inside:
        if isinstance(one, Lambda) and one.pure:
            run.append(one)
            continue
        made += _one(run)
        run = []
        made.append(one)
    return [*made, *_one(run)]


def _one(run: list[Lambda[Any, Any]]) -> list[_AnyPipeline]:
    if len(run) < 2:
        return [*run]
    names = [one.name for one in run]
    name = " >> ".join(names) if len(names) <= 4 else f"{names[0]} >> … >> {names[-1]} ({len(names)} functions)"
    return [replace(run[0], run=_Composed([one.run for one in run]), name=name)]


class _Composed:
    """Functions the one after the other."""

    def __init__(self, functions: list[Callable[[Any], Any]]) -> None:
        self._functions = functions

    def __call__(self, value: Any) -> Any:
        for function in self._functions:
            value = function(value)
        return value


def rebuilt(node: _AnyPipeline, inside: list[_AnyPipeline]) -> _AnyPipeline:
    """``node`` with other parts; of a chain there may be fewer than before. The very node if nothing changed."""
    match cast("Node", node):
        case Id() | Lambda() | Prim():
            return node
        case Seq(first, then) as chain:
            return chain if inside == [first, then] else _chain(inside)
        case Par(left, right) as pair:
            return pair if inside == [left, right] else Par(*inside)
        case Fallback(first, otherwise) as either:
            return either if inside == [first, otherwise] else Fallback(*inside)
        case Branch(_, arms) as choice:
            cases = [case for case, _ in arms]
            return replace(choice, arms=tuple(zip(cases, inside[:-1], strict=True)), otherwise=inside[-1])
        case Each() | Guarded() as around:
            return replace(around, inner=inside[0])


def _chain(row: list[_AnyPipeline]) -> _AnyPipeline:
    made = row[0]
    for one in row[1:]:
        made = Seq(made, one)
    return made


PASSES: tuple[Pass, ...] = (
    Pass("drop_identity", "every pipeline: identity is the unit of >>", drop_identity),
    Pass("prune_fallback", "steps declared pure or total, which never end in an error", prune_fallback),
    Pass("fuse_pure", "functions declared pure: no effect, no exception", fuse_pure),
)
