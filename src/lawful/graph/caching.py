"""Pure: what a node's result depends on, as the key it is kept under; and the result as bytes and back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from types import CodeType
from typing import Any, cast

from lawful.core.errors import CorruptRecord, ValidationError
from lawful.graph.policies import CachePolicy
from lawful.graph.program import Program
from lawful.graph.restored import Done
from lawful.graph.signature import unwrap
from lawful.graph.step_task import Task
from lawful.journal.cache_port import FullKey, Namespace

CALLED = "@task"
"""In the place of a graph's name: a task is the same in every graph that calls it."""


def namespace_of(scope: str, graph: str, node: str) -> Namespace:
    """Whose results these are: the tenant is the first label of every key."""
    return (scope, graph, node)


def key_of(task: Task) -> FullKey:
    """The key of a task's result: who may share it, the node's code, its input, and the run's context where that differs.

    Raises: ValidationError, where the input cannot be written down; whatever ``key_func`` raises.
    """
    node, run = task.task_node, task.run
    policy: CachePolicy = node.cache
    h = hashlib.blake2b(digest_size=20)
    told: list[bytes] = [*_sharers(task, policy), code_digest(node.fn)]
    given = task.enter()
    if policy.key_func is not None:
        told.append(_own_key(task, policy, given))
    else:
        told.append(_written(task, _plain(given), "input"))
        if policy.scope != "run" and run.context is not None:
            told.append(_written(task, run.context, "context"))
    for part in told:
        h.update(len(part).to_bytes(8, "big"))
        h.update(part)
    graph = CALLED if task.called else task.program.name
    return namespace_of(run.scope, graph, node.name), h.hexdigest()


def _plain(given: Any) -> Any:
    return list(cast("Any", given)) if type(given) is tuple else given


def _sharers(task: Task, policy: CachePolicy) -> Sequence[bytes]:
    root = task.run.root
    match policy.scope:
        case "run":
            return b"run", root.run_id.encode()
        case "thread":
            own = root.thread
            return (b"thread", own.encode()) if own is not None else (b"run", root.run_id.encode())
        case "shared":
            return b"shared", b""


def _own_key(task: Task, policy: CachePolicy, given: Any) -> bytes:
    assert policy.key_func is not None
    found: Any = policy.key_func(*given[0], **given[1]) if task.called else policy.key_func(given)
    if isinstance(found, str):
        return b"s" + found.encode("utf-8", "surrogatepass")
    if isinstance(found, bytes):
        return b"b" + found
    raise ValidationError(
        f"Node {task.node!r}: key_func must give a str or bytes, got {type(found).__name__}",
        component="graph",
        operation=f"node {task.node!r}",
        details={"node": task.node},
    )


def _written(task: Task, value: Any, what: str) -> bytes:
    try:
        return task.program.registry.encode_sorted(value)
    except ValidationError as error:
        raise ValidationError(
            f"Node {task.node!r}: its {what} cannot be part of a cache key ({error.message});"
            " give CachePolicy(key_func=...)",
            component="graph",
            operation=f"node {task.node!r}",
            details={"node": task.node},
        ) from error


def code_digest(fn: Any) -> bytes:
    """Of a function: where it stands and what it does, so that a changed one finds no old result.

    What it closes over or is bound to is not part of it.
    """
    h = hashlib.blake2b(digest_size=16)
    seen: set[int] = set()
    while fn is not None and id(fn) not in seen:  # a decorator's wrapper is the same code for all that it wraps
        seen.add(id(fn))
        plain = unwrap(fn)
        h.update(f"{plain.__module__}:{getattr(plain, '__qualname__', '')}".encode())
        code = getattr(plain, "__code__", None)
        if isinstance(code, CodeType):
            _digest(h, code)
        fn = getattr(plain, "__wrapped__", None)
    return h.digest()


def _digest(h: Any, code: CodeType) -> None:
    h.update(code.co_code)
    h.update("\x1f".join((*code.co_names, *code.co_varnames)).encode("utf-8", "surrogatepass"))
    for const in code.co_consts:
        if isinstance(const, CodeType):
            _digest(h, const)
        else:
            told = sorted(map(repr, cast("frozenset[Any]", const))) if isinstance(const, frozenset) else const
            h.update(repr(told).encode("utf-8", "surrogatepass"))


# The result


def keeps(task: Task) -> bool:
    """Whether the attempt's result may answer another: no effect, no person's answer and no unstored value is in it."""
    if task.planned or task.asked:
        return False
    return not any(key in task.program.untracked for key, _ in task.writes)


def packed(task: Task) -> bytes:
    """What the task did, as bytes. Raises: ValidationError for what cannot be stored."""
    sends = [[s.node, s.arg, s.timeout] for s in task.sends] if task.sends else None
    body = [task.writes, task.targets, sends]
    return task.program.registry.encode(body, where=f"node {task.node!r}")


def recalled(task: Task, blob: bytes) -> bool:
    """Give the task a kept result; False for one of another form of the graph.

    Raises: CorruptRecord, UnknownType, for bytes that the graph's codec does not read.
    """
    program = task.program
    body = program.registry.decode(blob, where=f"cached result of node {task.node!r}")
    try:
        done = Done(task.node, task.task_node, body)
    except (TypeError, ValueError, KeyError, IndexError) as error:
        wrong = CorruptRecord(
            f"The cached result of node {task.node!r} is of another form: clear_cache() forgets it",
            component="cache",
            operation=f"node {task.node!r}",
            details={"node": task.node},
            cause=error,
        )
        wrong.raw = blob
        raise wrong from error
    if not task.called and not _fits(program, done):
        return False
    task.writes, task.targets, task.sends = done.writes, done.targets, done.sends
    if task.called and done.writes:
        task.value = done.writes[0][1]
    return True


def _fits(program: Program, done: Done) -> bool:
    """Whether the graph still has what the result speaks of."""
    targets = [*(done.targets or ()), *(s.node for s in done.sends or ())]
    return all(k in program.kinds for k, _ in done.writes) and all(t in program.nodes for t in targets)
