"""Rewrites that leave what a pipeline does as it is: named passes, each saying what it relies on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from msgspec import Struct

from lawful.core.retry import RetryPolicy
from lawful.pipeline.nodes import (
    Branch,
    Cached,
    Constant,
    Each,
    Fallback,
    Guarded,
    Id,
    Lambda,
    Node,
    Par,
    Pipeline,
    Prim,
    Seq,
)
from lawful.pipeline.walking import children, count, fold, names, parts

I = TypeVar("I")
O = TypeVar("O")

_AnyPipeline = Pipeline[Any, Any]


class Pass(Struct, frozen=True):
    """One rewrite. Values, errors, control signals and the order of effects are the same before and after it."""

    name: str
    sound_for: str
    """What must hold for that; a step that was declared what it is not breaks it."""
    rewrite: Callable[[_AnyPipeline], _AnyPipeline]


class Rewrite(Struct, frozen=True):
    """What one pass did."""

    name: str
    sound_for: str
    before: int
    """Nodes before it."""
    after: int
    gone: tuple[str, ...]
    """Names of steps that are no longer there."""
    new: tuple[str, ...]


def optimise(pipeline: Pipeline[I, O], passes: Sequence[Pass] | None = None) -> Pipeline[I, O]:
    """The pipeline after ``passes``, by default all of `PASSES`, each once and in their order."""
    found: _AnyPipeline = pipeline
    for one in PASSES if passes is None else passes:
        found = one.rewrite(found)
    return cast("Pipeline[I, O]", found)


def rewrites(pipeline: Pipeline[Any, Any], passes: Sequence[Pass] | None = None) -> tuple[Rewrite, ...]:
    """What each pass of `optimise` would change; those that would change nothing are left out."""
    told: list[Rewrite] = []
    found: _AnyPipeline = pipeline
    for one in PASSES if passes is None else passes:
        made = one.rewrite(found)
        if made is not found:
            old, new = Counter(names(found)), Counter(names(made))
            gone, came = tuple((old - new).elements()), tuple((new - old).elements())
            told.append(Rewrite(one.name, one.sound_for, count(found), count(made), gone, came))
        found = made
    return tuple(told)


def drop_identity(pipeline: _AnyPipeline) -> _AnyPipeline:
    """``identity >> t`` and ``t >> identity`` become ``t``."""
    return fold(pipeline, lambda node, inside: rebuilt(node, _without_identity(node, inside)), _rows)


def fuse_pure(pipeline: _AnyPipeline) -> _AnyPipeline:
    """Neighbouring pure functions in a chain become one."""
    return fold(pipeline, lambda node, inside: rebuilt(node, _fused(node, inside)), _rows)


def constant_branch(pipeline: _AnyPipeline) -> _AnyPipeline:
    """A branch whose question is `always` the same becomes the arm of that answer."""

    def join(node: _AnyPipeline, inside: list[_AnyPipeline]) -> _AnyPipeline:
        if isinstance(node, Branch) and isinstance(cast("Any", node).when, Constant):
            answer = cast("Any", node).when.answer
            cases = [case for case, _ in cast("Any", node).arms]
            return next((arm for case, arm in zip(cases, inside, strict=False) if case == answer), inside[-1])
        return rebuilt(node, inside)

    return fold(pipeline, join, children)


def hoist_independent(pipeline: _AnyPipeline) -> _AnyPipeline:
    """A pair in turn, all of whose steps are independent, starts both halves at once."""

    def join(node: _AnyPipeline, inside: list[tuple[_AnyPipeline, bool]]) -> tuple[_AnyPipeline, bool]:
        made = rebuilt(node, [one for one, _ in inside])
        free = _is_independent(node, [free for _, free in inside])
        if free and isinstance(cast("Node", made), Par) and cast("Any", made).order == "in turn":
            made = replace(cast("Any", made), order="ahead")
        return made, free

    return fold(pipeline, join, children)[0]


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
        case Guarded(_, policy):
            return isinstance(policy, RetryPolicy) and all(inside)
        case Seq() | Par() | Each():
            return all(inside)


def _is_independent(node: _AnyPipeline, inside: list[bool]) -> bool:
    """Whether all of it only observes. A policy with a state of its own would notice being asked in vain."""
    match cast("Node", node):
        case Lambda(pure=pure, independent=independent):
            return pure or independent
        case Prim(component):
            return bool(getattr(component, "independent", False))
        case Branch(when):
            return (isinstance(when, Constant) or bool(getattr(when, "independent", False))) and all(inside)
        case Guarded(_, policy):
            return isinstance(policy, RetryPolicy | Cached) and all(inside)
        case Id() | Seq() | Par() | Each() | Fallback():
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
    told = [one.name for one in run]
    name = " >> ".join(told) if len(told) <= 4 else f"{told[0]} >> … >> {told[-1]} ({len(told)} functions)"
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
            same = inside == [first, then] or (len(inside) > 2 and inside == [*parts(chain)])
            return chain if same else _chain(inside)
        case Par(left, right) as pair:
            return pair if inside == [left, right] else Par(inside[0], inside[1], pair.order)
        case Fallback(first, otherwise) as either:
            return either if inside == [first, otherwise] else Fallback(inside[0], inside[1])
        case Branch(_, arms, otherwise) as choice:
            if inside == [*(arm for _, arm in arms), otherwise]:
                return choice
            cases = [case for case, _ in arms]
            return replace(choice, arms=tuple(zip(cases, inside[:-1], strict=True)), otherwise=inside[-1])
        case Each(inner) | Guarded(inner) as around:
            return around if inside == [inner] else replace(around, inner=inside[0])


def _chain(row: list[_AnyPipeline]) -> _AnyPipeline:
    made = row[0]
    for one in row[1:]:
        made = Seq(made, one)
    return made


PASSES: tuple[Pass, ...] = (
    Pass("drop_identity", "every pipeline: identity is the unit of >>", drop_identity),
    Pass("constant_branch", "questions made by always(), whose answer does not depend on the input", constant_branch),
    Pass("prune_fallback", "steps declared pure or total, which never end in an error", prune_fallback),
    Pass(
        "hoist_independent",
        "steps declared pure or independent: begun beside others or in vain, nobody notices",
        hoist_independent,
    ),
    Pass("fuse_pure", "functions declared pure: no effect, no exception", fuse_pure),
)
