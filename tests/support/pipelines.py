"""Random pipelines whose steps write down what they did, and nests that are very deep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from lawful.core.errors import NetworkError, ParsingError
from lawful.core.result import Err, Result
from lawful.core.retry import RetryPolicy
from lawful.core.signals import ControlSignal, GraphInterrupt, OutcomeUnknown
from lawful.pipeline import (
    CircuitBreaker,
    MemoryCache,
    Pipeline,
    RateLimiter,
    Registry,
    always,
    branch,
    breaker,
    cached,
    each,
    guard,
    identity,
    in_turn,
    pure,
    rate_limit,
    retry,
    timeout,
)
from lawful.pipeline.leaves import perform
from lawful.pipeline.machine import interpret
from lawful.pipeline.scene import Scene

AnyPipeline = Pipeline[Any, Any]
Seen = tuple[Result[Any, Any] | tuple[str, str], list[tuple[str, str]]]

LOG: list[tuple[str, str]] = []
SAME: AnyPipeline = identity()
REGISTRY = Registry()


def _note(name: str, value: Any) -> None:
    LOG.append((name, repr(value)))


def _leaf(name: str, give: Callable[[Any], Any], **how: Any) -> AnyPipeline:
    def act(value: Any) -> Any:
        _note(name, value)
        return give(value)

    return REGISTRY.component(name, **how)(act)


def _async_leaf(name: str) -> AnyPipeline:
    async def act(value: Any) -> Any:
        _note(name, value)
        await asyncio.sleep(0)
        return (name, value)

    return REGISTRY.component(name)(act)


def _raise(error: BaseException) -> Callable[[Any], Any]:
    def give(_: Any) -> Any:
        raise error

    return give


def _pair(name: str) -> Callable[[Any], Any]:
    return lambda value: (name, value)


GOOD = [_leaf("a", _pair("a"), total=True), _leaf("b", _pair("b")), _async_leaf("c")]
BAD = [
    _leaf("parse", lambda _: Err(ParsingError("bad"))),
    _leaf("net", _raise(NetworkError("down"))),
]
GRAVE = [
    _leaf("lost", _raise(OutcomeUnknown("op"))),
    _leaf("ask", _raise(GraphInterrupt(["?"]))),
]


@REGISTRY.choice("even", total=True)
def even(value: Any) -> bool:
    return len(repr(value)) % 2 == 0


@REGISTRY.choice("checked", errors=(ParsingError,))
def checked(value: Any) -> Any:
    return Err(ParsingError("too long")) if len(repr(value)) > 40 else value


def _quiet(name: str, give: Callable[[Any], Any]) -> AnyPipeline:
    """A step that only observes: nothing is written down of it."""

    async def look(value: Any) -> Any:
        await asyncio.sleep(0)
        return give(value)

    return REGISTRY.component(name, independent=True, cacheable=True)(look)


QUIET = [_quiet("look", _pair("look")), _quiet("miss", lambda _: Err(NetworkError("missed")))]
SLOW = REGISTRY.keep(RateLimiter(1e9, component_id="slow"))
TWICE = _leaf("twice", lambda value: [value, value], total=True)
WRAP = pure(_pair("wrap"), "wrap")
SPLIT = pure(repr, "repr")


def _listed(inner: AnyPipeline) -> AnyPipeline:
    return TWICE >> each(inner, at_once=1)


TWO = RetryPolicy(initial_interval=0, jitter=False, max_attempts=2)


def _joined(inner: st.SearchStrategy[AnyPipeline]) -> st.SearchStrategy[AnyPipeline]:
    two = st.tuples(inner, inner)
    return st.one_of(
        two.map(lambda ab: ab[0] >> ab[1]),
        two.map(lambda ab: ab[0] | ab[1]),
        two.map(lambda ab: ab[0] & ab[1]),
        two.map(lambda ab: branch(even, ab[0], ab[1])),
        inner.map(_listed),
        inner.map(lambda t: retry(t, TWO)),
        inner.map(lambda t: timeout(t, 60)),
        two.map(lambda ab: in_turn(ab[0], ab[1])),
        two.map(lambda ab: branch(always(True), ab[0], ab[1])),
        inner.map(lambda t: guard(t, before=[checked], after=[checked])),
        inner.map(lambda t: rate_limit(t, SLOW)),
        inner.map(lambda t: breaker(t, REGISTRY.find("never open"))),
    )


REGISTRY.keep(CircuitBreaker("never open", failures=10**9))
REGISTRY.keep(MemoryCache("mem"))


def remembered(tree: AnyPipeline) -> AnyPipeline:
    """``tree`` behind a cache that nothing is in yet."""
    return cached(tree, MemoryCache(), name="any")


def trees(*groups: list[AnyPipeline]) -> st.SearchStrategy[AnyPipeline]:
    """Pipelines of up to eight leaves of these groups and identity."""
    return st.recursive(st.sampled_from([leaf for group in groups for leaf in group] + [SAME]), _joined, max_leaves=8)


REGISTERED = trees(GOOD, BAD, GRAVE, QUIET)
"""Every kind but plain functions: what JSON can say."""
ANY = trees(GOOD, BAD, GRAVE, QUIET, [WRAP, SPLIT])
SUCCEEDING = trees(GOOD, [WRAP, SPLIT])
OBSERVING = trees(QUIET, [WRAP, SPLIT])
"""Pipelines of which nothing can be seen but their result."""


async def _seen(tree: AnyPipeline, value: Any) -> Seen:
    LOG.clear()
    try:
        end: Any = await interpret(tree, value, Scene(perform))
    except ControlSignal as signal:
        end = (type(signal).__name__, str(signal))
    return end, LOG.copy()


def seen(tree: AnyPipeline, value: Any = 0) -> Seen:
    """What can be observed of a run: its result or its control signal, and what its steps did, in their order."""
    return asyncio.run(_seen(tree, value))


LEAVES = 50_000
Join = Callable[[AnyPipeline, AnyPipeline], AnyPipeline]


def seq(a: AnyPipeline, b: AnyPipeline) -> AnyPipeline:
    return a >> b


def both(a: AnyPipeline, b: AnyPipeline) -> AnyPipeline:
    return a & b


def either(a: AnyPipeline, b: AnyPipeline) -> AnyPipeline:
    return a | b


def left(join: Join, leaf: AnyPipeline, leaves: int = LEAVES) -> AnyPipeline:
    tree = leaf
    for _ in range(leaves - 1):
        tree = join(tree, leaf)
    return tree


def right(join: Join, leaf: AnyPipeline, leaves: int = LEAVES) -> AnyPipeline:
    tree = leaf
    for _ in range(leaves - 1):
        tree = join(leaf, tree)
    return tree


def balanced(join: Join, leaf: AnyPipeline, leaves: int = LEAVES) -> AnyPipeline:
    row = [leaf] * leaves
    while len(row) > 1:
        row = [join(*row[i : i + 2]) if i + 1 < len(row) else row[i] for i in range(0, len(row), 2)]
    return row[0]
