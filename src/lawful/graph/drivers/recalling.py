"""Ask the cache before tasks start, and tell it what they gave; what is kept for this run only stays in its memory."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from lawful.core.errors import Failure
from lawful.graph import orders as o
from lawful.graph.caching import key_of, packed, recalled
from lawful.graph.drivers.threads import lend
from lawful.graph.persist import Recorder
from lawful.graph.policies import CachePolicy
from lawful.graph.step_task import DONE, PENDING, Task
from lawful.journal.cache_port import FullKey

_log = logging.getLogger("lawful.graph")


def waits(cache: Any, tasks: Sequence[Task]) -> bool:
    """Whether asking or telling the cache of these tasks waits for a disk or a network."""
    return bool(getattr(cache, "blocking", True)) and any(_policy(task).scope != "run" for task in tasks)


def recall(tasks: Sequence[Task], cache: Any, recorder: Recorder | None) -> o.Recalled:
    """Look up each task's result; what goes wrong in that is the task's own failure, when it starts."""
    keyed = {task: key for task in tasks if (key := _keyed(task)) is not None}
    shared = [key for task, key in keyed.items() if _policy(task).scope != "run"]
    found: dict[FullKey, bytes] = {}
    try:
        found.update(cache.get(shared) if shared else ())
    except BaseException as error:  # noqa: BLE001 - the seam: whatever a cache raises, the nodes that ask it fail
        for task in keyed:
            task.unfit = error
        return o.Recalled(tasks)
    for task, key in keyed.items():
        blob = found.get(key) if _policy(task).scope != "run" else _own(task, key)
        if blob is not None:
            _fill(task, blob, recorder)
    return o.Recalled(tasks)


def _policy(task: Task) -> CachePolicy:
    return task.task_node.cache


def _keyed(task: Task) -> FullKey | None:
    try:
        task.cache_key = key_of(task)
    except BaseException as error:  # noqa: BLE001 - the seam: key_func is the user's, and may raise anything
        task.unfit = error
    return task.cache_key


def _fill(task: Task, blob: bytes, recorder: Recorder | None) -> None:
    try:
        if not recalled(task, blob):
            return
        task.status, task.cached, task.closed = DONE, True, True
        if recorder is not None and not task.called:
            recorder.seal(task)
    except BaseException as error:  # noqa: BLE001 - the same seam: what cannot be read is the task's failure
        task.unfit = error
        task.status, task.cached, task.closed = PENDING, False, False
        task.writes, task.targets, task.sends = [], None, None


def _memory(task: Task) -> dict[FullKey, tuple[bytes, float | None]]:
    return task.run.shared.setdefault("cached", {})


def _own(task: Task, key: FullKey) -> bytes | None:
    value, until = _memory(task).get(key, (None, None))
    return value if until is None or task.run.clock.monotonic() < until else None


def remember(task: Task, key: FullKey, cache: Any) -> None:
    """Keep the task's result. A cache that cannot is no reason to fail: the result is there."""
    policy = _policy(task)
    try:
        blob = packed(task)
        if policy.scope == "run":
            until = None if policy.ttl is None else task.run.clock.monotonic() + policy.ttl
            _memory(task)[key] = (blob, until)
        else:
            cache.set({key: (blob, policy.ttl)})
    except Exception as error:  # noqa: BLE001 - the seam: a cache may raise anything
        level = logging.WARNING if isinstance(error, Failure) else logging.ERROR
        _log.log(level, "The result of node %s is not cached: %s", task.node, error)


def remember_beside(loop: Any, task: Task, key: FullKey, cache: Any) -> Any:
    """As `remember`, in a lent thread; the future in ``loop`` is done when it is."""
    done = loop.create_future()

    def work() -> None:
        remember(task, key, cache)
        loop.call_soon_threadsafe(done.set_result, None)

    lend(work)
    return done
