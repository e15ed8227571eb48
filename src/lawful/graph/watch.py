"""Under ``debug=True``: notice a node that changes its input in place, by digests before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from lawful.core.errors import InvalidUpdateError, ValidationError
from lawful.graph.step_task import Task


def watched(call: Callable[[Any, Task], Any], awaits: bool) -> Callable[[Any, Task], Any]:
    """The same call, refused where nested mutable values of the input are not what they were.

    Fresh copies keep a node's own list, dict or set from leaking; what lies deeper is shared, so a change to it would be
    seen by parallel nodes and by the next step. Raises: InvalidUpdateError naming the node and the key.
    """

    def checked(given: Any, task: Task) -> Any:
        before = _digests(given, task)
        value = call(given, task)
        _compare(before, task)
        return value

    async def achecked(given: Any, task: Task) -> Any:
        before = _digests(given, task)
        value = await call(given, task)
        _compare(before, task)
        return value

    return achecked if awaits else checked


def _digests(given: Any, task: Task) -> dict[str, list[tuple[Any, bytes]]]:
    """By key, each changeable value below it with its bytes; what cannot be stored is not watched."""
    return {key: _below(value, task) for key, value in _parts(given).items()}


def _below(value: Any, task: Task) -> list[tuple[Any, bytes]]:
    """The values that the node shares with others: below a container that it has a copy of, or the value itself."""
    items: list[Any]
    if type(value) is list:
        items = cast("list[Any]", value)
    elif type(value) is dict:
        items = list(cast("dict[Any, Any]", value).values())
    else:
        items = [value]
    found: list[tuple[Any, bytes]] = []
    for item in items:
        if _can_change(item):
            try:
                found.append((item, task.program.registry.encode_sorted(item)))
            except ValidationError:
                continue
    return found


def _can_change(value: Any) -> bool:
    return not isinstance(value, (str, bytes, int, float, bool, frozenset, type(None)))


def _parts(given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return dict(cast("Mapping[str, Any]", given))
    cls = cast("Any", type(given))
    fields = getattr(cls, "__dataclass_fields__", None) or getattr(cls, "__pydantic_fields__", None)
    if fields:
        return {k: getattr(given, k, None) for k in fields}
    return {"the state": given}


def _compare(before: Mapping[str, list[tuple[Any, bytes]]], task: Task) -> None:
    for key, values in before.items():
        for value, told in values:
            if task.program.registry.encode_sorted(value) != told:
                raise InvalidUpdateError(
                    f"Node {task.node!r} changed what lies inside {key!r} in place; return the new value instead",
                    component="graph",
                    operation=f"node {task.node!r}",
                    details={"node": task.node, "key": key},
                )
