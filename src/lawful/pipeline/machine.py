"""The one interpreter that runs a pipeline: a loop over a stack of what is still to do, so that no nest is too deep."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar, cast

from lawful.core import events as ev
from lawful.core.context import current_task
from lawful.core.errors import ConfigurationError, Error, NetworkError, NodeTimeoutError
from lawful.core.failure import Failure
from lawful.core.result import Err, Ok, Result
from lawful.core.retry import RetryPolicy, next_delay
from lawful.core.signals import GraphInterrupt
from lawful.pipeline.caching import cache_key, fresh
from lawful.pipeline.circuits import Permit
from lawful.pipeline.frames import Again, Frame, Instead, Keep, Otherwise, Paired, Passage, Second, after_error, chained
from lawful.pipeline.group import Group
from lawful.pipeline.leaves import code_of, leaf_end, perform, settle, told_end
from lawful.pipeline.nodes import (
    Branch,
    Breaker,
    Cached,
    Each,
    Fallback,
    Guard,
    Guarded,
    Id,
    Lambda,
    Node,
    Par,
    Pipeline,
    Prim,
    RateLimit,
    Seq,
    Timeout,
    name_of,
)
from lawful.pipeline.scene import Adrift, Scene

I = TypeVar("I")
O = TypeVar("O")


async def run(pipeline: Pipeline[I, O], value: I, *, env: Any = None) -> Result[O, Error]:
    """The pipeline's result on ``value``: Ok, or the Err of the first step that ended in one.

    ``env`` is what steps get as ``run.env``; one that does not fit what they annotate is an Err before anything runs.
    A step that asks a question outside a graph's run ends it in a ConfigurationError, whatever stands around it.

    Raises: a control signal (an unknown outcome; inside a graph's node also a question) that a step raised;
    CancelledError; whatever a step raised that is no Failure, which is a bug.
    """
    return await started(pipeline, value, Scene(perform, env))


def run_sync(pipeline: Pipeline[I, O], value: I, *, env: Any = None) -> Result[O, Error]:
    """The same where no event loop is running.

    Raises: ConfigurationError, if one is; what `run` raises.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass  # outside of this block, so that no error of a step is told as one that arose in handling another
    else:
        raise ConfigurationError(
            "run_sync() inside an event loop would stop it: await run(...)", component="pipeline", operation="run_sync"
        )
    return asyncio.run(run(pipeline, value, env=env))


async def started(root: Pipeline[Any, Any], value: Any, scene: Scene) -> Result[Any, Any]:
    """A whole run in ``scene``: what only a graph's run can do is, outside of one, a typed error."""
    lacking = scene.lacks(root)
    if lacking is not None:
        return Err(lacking)
    try:
        return await interpret(root, value, scene)
    except Adrift as signal:
        return Err(signal.error)
    except GraphInterrupt as signal:
        if current_task.get() is not None:
            raise
        name = scene.asked[0] if scene.asked else ""
        return Err(
            ConfigurationError(
                f"step {name!r} asks a question, and nobody could answer it: make the pipeline a node of a graph that has"
                " a journal, and run that",
                component="pipeline",
                operation=name,
                details={"step": name, "questions": str(len(signal.interrupts))},
            )
        )


async def interpret(root: Pipeline[Any, Any], value: Any, scene: Scene) -> Result[Any, Any]:
    """What `run` does, control signals raised as they are."""
    stack: list[Frame] = [cast("Node", root)]
    try:
        return await _loop(stack, value, scene, scene.heard)
    except BaseException:
        for frame in reversed(stack):
            if isinstance(frame, Passage):
                frame.circuit.abandon(frame.permit)
        raise


async def _loop(stack: list[Frame], value: Any, scene: Scene, heard: bool) -> Result[Any, Any]:
    while stack:
        frame = stack.pop()
        match frame:
            case Lambda() | Prim():
                if heard:
                    end = await told_end(frame, value, scene)
                elif isinstance(frame, Lambda) and frame.pure:
                    value = frame.run(value)
                    continue
                else:
                    end = await leaf_end(frame, value, scene)
            case Seq():
                stack += (cast("Node", frame.then), cast("Node", frame.first))
                continue
            case Fallback():
                stack += (Otherwise(frame.otherwise, value), cast("Node", frame.first))
                continue
            case Id() | Otherwise() | Again() | Instead() | Second() | Paired() | Passage() | Keep():
                value = _passed(frame, value, stack)
                continue
            case _:
                # Kept on the stack meanwhile: should this raise, what lies on it is still to be let go.
                end = await _compound(frame, value, scene, stack)
        if isinstance(end, Err):
            end = await _unwind(stack, end, scene)
            if isinstance(end, Err):
                return end
        value = end.value
    return Ok(value)


def _passed(
    frame: Id[Any] | Otherwise | Again | Instead | Second | Paired | Passage | Keep, value: Any, stack: list[Frame]
) -> Any:
    """The part above ``frame`` ended well: the value to go on with."""
    match frame:
        case Id() | Otherwise() | Again() | Instead():
            return value
        case Second():
            stack += (Paired(value), cast("Node", frame.right))
            return frame.value
        case Paired():
            return frame.left, value
        case Passage():
            frame.circuit.leave(frame.permit)
            return value
        case Keep():
            slot = current_task.get()
            if slot is None or not (slot.planned or slot.asked):
                frame.put(value)
            return value


async def _unwind(stack: list[Frame], end: Err[Any], scene: Scene) -> Result[Any, Any]:
    """Off the stack with what an error skips, down to a fallback or another attempt: the input to go on with.

    The error itself where there is neither.
    """
    while stack:
        frame = stack.pop()
        match frame:
            case Otherwise():
                after_error(stack, frame, end)
                return Ok(frame.value)
            case Instead():
                end = Err(chained(end.error, frame.error))
            case Passage():
                frame.circuit.leave(frame.permit, end.error)
            case Again():
                again = await _again(frame, end.error, scene)
                if again:
                    stack += (frame, cast("Node", frame.inner))
                    return Ok(frame.value)
            case _:
                pass
    return end


async def _again(frame: Again, error: Exception, scene: Scene) -> bool:
    """Whether to try once more; the wait is over by then."""
    wait = next_delay(frame.policy, error, frame.attempt, scene.clock.random())
    if wait is None or _unkeyed() != frame.effects:
        # An effect without a key is told apart by its number in the node: a second attempt would perform it anew.
        return False
    if scene.heard:
        await scene.tell(ev.RetryScheduled(node=name_of(frame.inner), attempt=frame.attempt, delay=wait))
    await scene.sleep(wait)
    frame.attempt += 1
    return True


def _unkeyed() -> int:
    slot = current_task.get()
    return slot.counts.get("effects", 0) if slot is not None and slot.counts else 0


async def _compound(
    node: Par[Any, Any, Any] | Branch[Any, Any] | Each[Any, Any] | Guarded[Any, Any],
    value: Any,
    scene: Scene,
    stack: list[Frame],
) -> Result[Any, Any]:
    match node:
        case Branch():
            end = await _asked(node, value, scene)
            if isinstance(end, Err):
                return end
            stack.append(cast("Node", _arm(node, end.value)))
            return Ok(value)
        case Par(order="in turn"):
            stack += (Second(node.right, value), cast("Node", node.left))
            return Ok(value)
        case Par():
            return await _at_once(node, value, scene)
        case Each():
            return await Group((interpret(node.inner, one, scene) for one in list(value)), node.at_once).run()
        case Guarded():
            return await _guarded(node, value, scene, stack)


async def _guarded(node: Guarded[Any, Any], value: Any, scene: Scene, stack: list[Frame]) -> Result[Any, Any]:
    inner = cast("Node", node.inner)
    match node.policy:
        case Timeout(seconds):
            return await _within(seconds, inner, value, scene)
        case RetryPolicy() as policy:
            stack += (Again(inner, policy, value, _unkeyed()), inner)
        case Breaker(circuit):
            permit = circuit.enter()
            if not isinstance(permit, Permit):
                return Err(_open(circuit.component_id, permit))
            stack += (Passage(circuit, permit), inner)
        case RateLimit() as policy:
            refused = await _in_line(policy, value, scene)
            if refused is not None:
                return Err(refused)
            stack.append(inner)
        case Cached() as policy:
            return _looked_up(policy, inner, value, stack)
        case Guard(before, after):
            stack += cast("tuple[Node, ...]", (*reversed(after), inner, *reversed(before)))
    return Ok(value)


def _looked_up(policy: Cached, inner: Node, value: Any, stack: list[Frame]) -> Result[Any, Any]:
    try:
        at = cache_key(policy.name, policy.key, value)
    except Failure as error:
        return Err(error)
    held = policy.cache.get(at)
    if held is not None:
        return Ok(fresh(held.value))
    stack += (Keep(policy, at), inner)
    return Ok(value)


def _open(circuit: str, wait: float) -> NetworkError:
    return NetworkError(
        f"circuit {circuit!r} is open; the next try is in {wait:.3g} s",
        component="pipeline",
        operation="breaker",
        details={"circuit": circuit, "retry_after": f"{wait:.3f}"},
    )


async def _in_line(policy: RateLimit, value: Any, scene: Scene) -> Failure | None:
    """Wait for one's turn; who is cancelled while he waits gives his place back."""
    try:
        cost = 1.0 if policy.cost is None else policy.cost(value)
        wait = policy.limiter.reserve(cost)
    except Failure as error:
        return error
    if wait is None:
        return NetworkError(
            "the rate limit would make this call wait too long",
            component="pipeline",
            operation="rate_limit",
            details={"limiter": policy.limiter.component_id},
        )
    if wait > 0:
        try:
            await scene.sleep(wait)
        except BaseException:
            policy.limiter.give_back(cost)
            raise
    return None


async def _asked(node: Branch[Any, Any], value: Any, scene: Scene) -> Result[Any, Any]:
    if not scene.heard:
        return await settle(node.when, value)
    name, span = name_of(node), scene.span()
    await scene.tell(ev.NodeStarted(node=name, span=span))
    try:
        end = await settle(node.when, value)
    except BaseException as error:
        scene.say(ev.NodeFailed(node=name, span=span, code=code_of(error), message=str(error)))
        raise
    if isinstance(end, Err):
        scene.say(ev.NodeFailed(node=name, span=span, code=code_of(end.error), message=str(end.error)))
    else:
        scene.say(ev.NodeEnded(node=name, span=span))
    return end


async def _within(seconds: float, inner: Pipeline[Any, Any], value: Any, scene: Scene) -> Result[Any, Any]:
    group = Group(iter((interpret(inner, value, scene),)))
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


async def _at_once(root: Par[Any, Any, Any], value: Any, scene: Scene) -> Result[Any, Any]:
    """A whole nest of ``&`` as one group: its leaves are started left to right, its pairs made from their values."""
    leaves: list[Pipeline[Any, Any]] = []
    order: list[bool] = []  # what to do right to left: True a value, False a pair of the two before
    todo: list[Pipeline[Any, Any]] = [root]
    while todo:
        node = cast("Node", todo.pop())
        match node:
            case Par(left, right, kind) if kind == root.order:
                order.append(False)
                todo += (right, left)
            case _:
                order.append(True)
                leaves.append(node)
    jobs = (interpret(leaf, value, scene) for leaf in leaves)
    end = await Group(jobs, ahead=root.order == "ahead").run()
    if isinstance(end, Err):
        return end
    values, made = end.value, list[Any]()
    for is_leaf in reversed(order):
        made.append(values.pop() if is_leaf else (made.pop(), made.pop()))
    return Ok(made.pop())
