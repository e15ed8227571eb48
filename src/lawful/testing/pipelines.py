"""Random pipelines of one's own steps, what can be observed of them, and whether steps keep what they declare."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from hypothesis import strategies as st

from lawful.core.laws import Law
from lawful.core.result import Err, Result
from lawful.core.retry import RetryPolicy
from lawful.core.signals import ControlSignal
from lawful.pipeline.build import branch, identity, in_turn, retry, timeout
from lawful.pipeline.laws import pipeline_laws
from lawful.pipeline.leaves import perform
from lawful.pipeline.machine import interpret
from lawful.pipeline.nodes import Lambda, Pipeline, Prim, name_of
from lawful.pipeline.scene import Leaf, Scene
from lawful.testing.laws import check_equations

AnyPipeline: TypeAlias = Pipeline[Any, Any]
Observed: TypeAlias = tuple[Result[Any, Any] | tuple[str, str], list[tuple[str, str]]]
"""The result, or a control signal's class and text; then the steps that were done, each with its input, in their order."""

_TWICE = RetryPolicy(initial_interval=0, jitter=False, max_attempts=2)


def _even(value: Any) -> bool:
    return len(repr(value)) % 2 == 0


def pipelines(leaves: Sequence[AnyPipeline], *, max_leaves: int = 8) -> st.SearchStrategy[AnyPipeline]:
    """Pipelines joined of ``leaves`` and identity in every way; each leaf must take whatever the others give."""

    def joined(inner: st.SearchStrategy[AnyPipeline]) -> st.SearchStrategy[AnyPipeline]:
        two = st.tuples(inner, inner)
        return st.one_of(
            two.map(lambda ab: ab[0] >> ab[1]),
            two.map(lambda ab: ab[0] | ab[1]),
            two.map(lambda ab: ab[0] & ab[1]),
            two.map(lambda ab: in_turn(ab[0], ab[1])),
            two.map(lambda ab: branch(_even, ab[0], ab[1])),
            inner.map(lambda t: retry(t, _TWICE)),
            inner.map(lambda t: timeout(t, 60)),
        )

    same: AnyPipeline = identity()
    return st.recursive(st.sampled_from([*leaves, same]), joined, max_leaves=max_leaves)


def observe(pipeline: AnyPipeline, value: Any = 0, *, env: Any = None) -> Observed:
    """Runs ``pipeline`` on an event loop of its own and tells what can be seen of it.

    Of steps declared pure or independent nothing is written down, for nobody is to notice them.
    """
    did: list[tuple[str, str]] = []

    def noted(leaf: Leaf, given: Any, scene: Scene, span: str) -> Any:
        if not _quiet(leaf):
            did.append((name_of(leaf), repr(given)))
        return perform(leaf, given, scene, span)

    async def seen() -> Any:
        try:
            return await interpret(pipeline, value, Scene(noted, env))
        except ControlSignal as signal:
            return type(signal).__name__, str(signal)

    return asyncio.run(seen()), did


def _quiet(leaf: Leaf) -> bool:
    part = leaf if isinstance(leaf, Lambda) else leaf.component
    return bool(getattr(part, "independent", False))


def check_pipelines(leaves: Sequence[AnyPipeline], value: Any = 0, *, env: Any = None, max_examples: int = 50) -> None:
    """Check the laws of the algebra on random pipelines of ``leaves``, run on ``value``.

    What breaks one is a step that declares what it is not, or one that remembers earlier runs.

    Raises: LawBroken, with the smallest pipelines found.
    """
    laws = pipeline_laws(lambda tree: observe(tree, value, env=env))
    check_equations("the pipelines", laws, {"t": pipelines(leaves)}, max_examples=max_examples)


def step_laws(step: AnyPipeline, *, env: Any = None) -> tuple[Law, ...]:
    """What a step owes by its declarations, as laws over its inputs (sort "a").

    Never to change them; if it is pure, cacheable or independent, to answer alike; if it is total, never to end in an
    error; if it names its errors, in no other.
    """

    def end(value: Any) -> Any:
        return observe(step, value, env=env)[0]

    def untouched(value: Any) -> tuple[Any, Any]:
        before = copy.deepcopy(value)
        end(value)
        return value, before

    laws = [Law("untouched", "step(a) leaves a as it was", ("a",), untouched)]
    part = step if isinstance(step, Lambda) else step.component if isinstance(step, Prim) else None
    if any(getattr(part, what, False) for what in ("pure", "cacheable", "independent")):
        laws.append(Law("repeatable", "step(a) == step(a)", ("a",), lambda a: (end(a), end(a))))
    declared: Any = () if getattr(part, "total", False) else getattr(part, "errors", None)
    if declared is not None:
        laws.append(
            Law("declared errors", "step(a) ends well or in an error that it names", ("a",), _named(end, declared))
        )
    return tuple(laws)


def _named(end: Any, declared: Sequence[type[Exception]]) -> Any:
    """Sides that are equal unless the error is another than was declared: that one is then shown."""

    def sides(value: Any) -> tuple[Any, Any]:
        found = end(value)
        error: Any = cast("Err[Any]", found).error if isinstance(found, Err) else None
        return (None if error is None or isinstance(error, tuple(declared)) else error), None

    return sides


def check_step(step: AnyPipeline, inputs: st.SearchStrategy[Any], *, env: Any = None, max_examples: int = 100) -> None:
    """Check that ``step`` keeps what it declares, on ``inputs``; it is really run.

    Raises: LawBroken, with the smallest input found; what the step raises that is no Failure.
    """
    check_equations(f"step {name_of(step)!r}", step_laws(step, env=env), {"a": inputs}, max_examples=max_examples)
