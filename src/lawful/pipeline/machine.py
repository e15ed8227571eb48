"""The one interpreter that runs a pipeline: a loop over a stack of what is still to do, so that no nest is too deep."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any, TypeAlias, TypeVar, cast

from lawful.core.clock import SystemClock
from lawful.core.errors import ConfigurationError, Error, NodeTimeoutError
from lawful.core.failure import Failure
from lawful.core.result import Err, Ok, Result
from lawful.core.retry import RetryPolicy, next_delay
from lawful.core.signals import find_signal
from lawful.pipeline.group import Group
from lawful.pipeline.nodes import Branch, Each, Fallback, Guarded, Id, Lambda, Node, Par, Pipeline, Prim, Seq, Timeout

I = TypeVar("I")
O = TypeVar("O")

Leaf: TypeAlias = Prim[Any, Any] | Lambda[Any, Any]
Perform: TypeAlias = Callable[[Leaf, Any], Any]
"""How a step that is not pure is done: a value, a Result, or an awaitable of either."""


class _Otherwise:
    """On the stack below the first half of a fallback: what to do, and on which input, should that end in an error."""

    __slots__ = ("node", "value")

    def __init__(self, node: Pipeline[Any, Any], value: Any) -> None:
        self.node = node
        self.value = value


class _Again:
    """On the stack below a part that may be retried: the attempt that is being made, and on which input."""

    __slots__ = ("attempt", "inner", "policy", "value")

    def __init__(self, inner: Pipeline[Any, Any], policy: RetryPolicy, value: Any, attempt: int) -> None:
        self.inner = inner
        self.policy = policy
        self.value = value
        self.attempt = attempt


_Frame: TypeAlias = Node | _Otherwise | _Again
_CLOCK = SystemClock()


async def run(pipeline: Pipeline[I, O], value: I) -> Result[O, Error]:
    """The pipeline's result on ``value``: Ok, or the Err of the first step that ended in one.

    Raises: a control signal (a question, an unknown outcome) that a step raised; CancelledError; whatever a step
    raised that is no Failure, which is a bug.
    """
    return await interpret(pipeline, value, perform)


def run_sync(pipeline: Pipeline[I, O], value: I) -> Result[O, Error]:
    """The same where no event loop is running.

    Raises: ConfigurationError, if one is; what `run` raises.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run(pipeline, value))
    raise ConfigurationError(
        "run_sync() inside an event loop would stop it: await run(...)", component="pipeline", operation="run_sync"
    )


def perform(leaf: Leaf, value: Any) -> Any:
    """The step's own function or component, called."""
    if isinstance(leaf, Prim):
        return leaf.component(value)
    return _in_thread(leaf.run, value) if leaf.blocking else leaf.run(value)


async def interpret(root: Pipeline[Any, Any], value: Any, perform: Perform) -> Result[Any, Any]:
    """The same as `run`, with the steps that are not pure done by ``perform``."""
    stack: list[_Frame] = [cast("Node", root)]
    while stack:
        frame = stack.pop()
        match frame:
            case Lambda(pure=True):
                value = frame.run(value)
                continue
            case Lambda() | Prim():
                end = await _leaf(frame, value, perform)
            case Seq():
                stack += (cast("Node", frame.then), cast("Node", frame.first))
                continue
            case Fallback():
                stack += (_Otherwise(frame.otherwise, value), cast("Node", frame.first))
                continue
            case Id() | _Otherwise() | _Again():
                continue
            case _:
                end = await _compound(frame, value, perform, stack)
        if isinstance(end, Err):
            end = await _unwind(stack, end)
            if isinstance(end, Err):
                return end
        value = end.value
    return Ok(value)


async def _unwind(stack: list[_Frame], end: Err[Any]) -> Result[Any, Any]:
    """Off the stack with what an error skips, down to a fallback or another attempt: the input to go on with.

    The error itself where there is neither.
    """
    while stack:
        frame = stack.pop()
        if isinstance(frame, _Otherwise):
            stack.append(cast("Node", frame.node))
            return Ok(frame.value)
        if isinstance(frame, _Again):
            wait = next_delay(frame.policy, end.error, frame.attempt, _CLOCK.random())
            if wait is not None:
                await asyncio.sleep(wait)
                frame.attempt += 1
                stack += (frame, cast("Node", frame.inner))
                return Ok(frame.value)
    return end


async def _compound(
    node: Par[Any, Any, Any] | Branch[Any, Any] | Each[Any, Any] | Guarded[Any, Any],
    value: Any,
    perform: Perform,
    stack: list[_Frame],
) -> Result[Any, Any]:
    match node:
        case Branch():
            end = await settle(node.when, value)
            if isinstance(end, Err):
                return end
            stack.append(cast("Node", _arm(node, end.value)))
            return Ok(value)
        case Par():
            return await _at_once(node, value, perform)
        case Each():
            return await Group((interpret(node.inner, one, perform) for one in list(value)), node.at_once).run()
        case Guarded(inner, policy):
            if isinstance(policy, Timeout):
                return await _within(policy.seconds, inner, value, perform)
            stack += (_Again(inner, policy, value, 1), cast("Node", inner))
            return Ok(value)


async def _within(seconds: float, inner: Pipeline[Any, Any], value: Any, perform: Perform) -> Result[Any, Any]:
    group = Group(iter((interpret(inner, value, perform),)))
    error = NodeTimeoutError(
        f"not done within {seconds:g} s", component="pipeline", operation="timeout", details={"seconds": f"{seconds:g}"}
    )
    alarm = asyncio.get_running_loop().call_later(seconds, group.expire, error)
    try:
        end = await group.run()
    finally:
        alarm.cancel()
    return end if isinstance(end, Err) else Ok(end.value[0])


def _arm(node: Branch[Any, Any], answer: Any) -> Pipeline[Any, Any]:
    return next((arm for case, arm in node.arms if case == answer), node.otherwise)


async def _at_once(root: Par[Any, Any, Any], value: Any, perform: Perform) -> Result[Any, Any]:
    """A whole nest of ``&`` as one group: its leaves are started left to right, its pairs made from their values."""
    leaves: list[Pipeline[Any, Any]] = []
    order: list[bool] = []  # what to do right to left: True a value, False a pair of the two before
    todo: list[Pipeline[Any, Any]] = [root]
    while todo:
        node = todo.pop()
        is_leaf = not isinstance(node, Par)
        order.append(is_leaf)
        if isinstance(node, Par):
            par = cast("Par[Any, Any, Any]", node)
            todo += (par.right, par.left)
        else:
            leaves.append(node)
    end = await Group(interpret(leaf, value, perform) for leaf in leaves).run()
    if isinstance(end, Err):
        return end
    values, made = end.value, list[Any]()
    for is_leaf in reversed(order):
        made.append(values.pop() if is_leaf else (made.pop(), made.pop()))
    return Ok(made.pop())


async def _leaf(leaf: Leaf, value: Any, perform: Perform) -> Result[Any, Any]:
    try:
        answer = perform(leaf, value)
        if hasattr(answer, "__await__"):
            answer = await answer
    except Failure as error:
        return Err(error)
    except caught_by(leaf) as error:
        return Err(_mapped(leaf, error))
    return cast("Result[Any, Any]", answer) if isinstance(answer, Ok | Err) else Ok(answer)


def caught_by(leaf: Leaf) -> tuple[type[Exception], ...]:
    """The exceptions of this step that are errors and not bugs."""
    return leaf.catch if isinstance(leaf, Lambda) else ()


def _mapped(leaf: Leaf, error: Exception) -> Failure:
    kind = leaf.error if isinstance(leaf, Lambda) else None
    assert kind is not None
    name = leaf.name if isinstance(leaf, Lambda) else ""
    return kind(
        f"{name}: {type(error).__name__}: {error}",
        component="pipeline",
        operation=name,
        details={"step": name, "exception": type(error).__qualname__},
        cause=error,
    )


async def settle(function: Callable[[Any], Any], value: Any) -> Result[Any, Any]:
    """What ``function(value)`` gives, whichever of its forms it has: a value, a Result, an awaitable, a Failure."""
    try:
        answer = function(value)
        if hasattr(answer, "__await__"):
            answer = await cast("Awaitable[Any]", answer)
    except Failure as error:
        return Err(error)
    return cast("Result[Any, Any]", answer) if isinstance(answer, Ok | Err) else Ok(answer)


async def _in_thread(function: Callable[[Any], Any], value: Any) -> Any:
    """``function(value)`` in a thread, in this context; when cancelled meanwhile, it is waited for: nothing runs on."""
    loop = asyncio.get_running_loop()
    context = copy_context()

    def call() -> Any:
        return context.run(function, value)

    work = loop.run_in_executor(None, call)
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None or _is_signal(work.exception()):
        return work.result()
    raise cancelled


def _is_signal(error: BaseException | None) -> bool:
    return error is not None and find_signal(error) is not None
