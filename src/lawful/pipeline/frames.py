"""What lies on the interpreter's stack below a part: what to do once it has ended, well or in an error."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from lawful.core.failure import Failure, ForeignException, bare, revive
from lawful.core.result import Err, Result
from lawful.core.retry import RetryPolicy
from lawful.pipeline.caching import CacheKey, fresh
from lawful.pipeline.circuits import CircuitBreaker, Permit
from lawful.pipeline.nodes import Cached, Node, Pipeline

_DEEPEST = 32
"""Errors in the chain of a row of fallbacks: those before are no longer told."""


class Otherwise:
    """Below the first half of a fallback: what to do, and on which input, should that end in an error."""

    __slots__ = ("node", "value")

    def __init__(self, node: Pipeline[Any, Any], value: Any) -> None:
        self.node = node
        self.value = value


class Instead:
    """Below the second half: the error of the first, which becomes the cause of this one's."""

    __slots__ = ("depth", "error")

    def __init__(self, error: Exception, depth: int) -> None:
        self.error = error
        self.depth = depth


class Again:
    """Below a part that may be retried: the attempt that is being made, and on which input."""

    __slots__ = ("attempt", "effects", "inner", "policy", "value")

    def __init__(self, inner: Pipeline[Any, Any], policy: RetryPolicy, value: Any, effects: int) -> None:
        self.inner = inner
        self.policy = policy
        self.value = value
        self.attempt = 1
        self.effects = effects
        """How many effects without a key the node has performed so far."""


class Second:
    """Below the left half of a pair in turn: the right one and its input."""

    __slots__ = ("right", "value")

    def __init__(self, right: Pipeline[Any, Any], value: Any) -> None:
        self.right = right
        self.value = value


class Paired:
    """Below the right half: the value of the left one."""

    __slots__ = ("left",)

    def __init__(self, left: Any) -> None:
        self.left = left


class Passage:
    """Below a part behind a circuit breaker: the leave that it was given."""

    __slots__ = ("circuit", "permit")

    def __init__(self, circuit: CircuitBreaker, permit: Permit) -> None:
        self.circuit = circuit
        self.permit = permit


class Keep:
    """Below a part whose value goes into a cache."""

    __slots__ = ("key", "policy")

    def __init__(self, policy: Cached, key: CacheKey) -> None:
        self.policy = policy
        self.key = key

    def put(self, value: Any) -> None:
        self.policy.cache.put(self.key, fresh(value), self.policy.ttl)


Frame: TypeAlias = Node | Otherwise | Instead | Again | Second | Paired | Passage | Keep


def chained(error: Exception, before: Exception) -> Exception:
    """A copy of ``error`` at the end of whose causes stands ``before``: the original may be somebody's constant.

    The error itself, if it or one of its causes cannot be copied.
    """
    links: list[Failure] = []
    link: BaseException | None = error
    while isinstance(link, Failure) and len(links) < _DEEPEST:
        if link is before:
            return error
        links.append(link)
        link = link.__cause__
    if link is not None and not isinstance(link, ForeignException):
        # A cause that is not ours stays the last: it may hold anything and is not copied.
        return error
    made: Exception = before
    for one in reversed(links):
        copied = revive(type(one), one.message, made)
        copied.__dict__.update(one.__dict__)
        made = copied
    return bare(made)


def after_error(stack: list[Frame], frame: Otherwise, end: Err[Any]) -> Result[Any, Any]:
    """Put the second half of a fallback on the stack; where it is the last of a row, the row shares one frame."""
    error, depth = end.error, 1
    below = stack[-1] if stack else None
    if isinstance(below, Instead):
        stack.pop()
        if below.depth < _DEEPEST:
            error, depth = chained(error, below.error), below.depth + 1
    stack += (Instead(error, depth), cast("Node", frame.node))
    return Err(error)
