"""Messages where nodes leave them: which values are messages, where they lie, and what is told beside each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from lawful.core.chunks import MessageChunk
from lawful.core.messages import Message
from lawful.graph.command import overwritten
from lawful.graph.step_task import Task

TOLD_KEYS: Final = ("thread_id", "checkpoint_id", "checkpoint_ns", "task_id", "run_id", "assistant_id", "graph_id")
"""The keys of ``configurable`` that a message's metadata may show; what else stands there may be secret."""


def is_message(value: Any) -> bool:
    """Whether a value is a message: ours, or another library's that has an id and speaks in ``content_blocks``."""
    if isinstance(value, Message | MessageChunk):
        return True
    kind = cast("type[Any]", type(value))
    return hasattr(kind, "content_blocks") and hasattr(value, "id")


def message_id(message: Any) -> str | None:
    """The id, where it has one."""
    known = getattr(message, "id", None)
    return known if isinstance(known, str) else None


def messages_in(values: Iterable[Any]) -> Iterator[Any]:
    """The messages among the values, or right inside lists and tuples among them."""
    for given in values:
        value = overwritten(given)[1]
        if isinstance(value, list | tuple):
            yield from (item for item in cast("Sequence[Any]", value) if is_message(item))
        elif is_message(value):
            yield value


def values_of(state: Any) -> Iterable[Any]:
    """The top level of a state in any of its forms: a dict, an instance of a class, a message or a list of them."""
    if isinstance(state, Mapping):
        return cast("Mapping[str, Any]", state).values()
    kind = cast("Any", type(state))
    fields = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "__pydantic_fields__", None)
    return [getattr(state, name, None) for name in fields] if fields else [state]


def metadata_of(task: Task, tags: Sequence[str] | None, more: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is told beside a message: the user's metadata, the run's ids, and where in the graph it came from.

    ``tags`` are those of the model's call that made it, told beside the run's; None where a node made it.
    """
    config = task.run.config
    given: Mapping[str, Any] = config.get("configurable") or {}
    ids = {key: given[key] for key in TOLD_KEYS if key in given}
    if task.run.thread is not None:
        ids["thread_id"] = task.run.thread
    told: dict[str, Any] = {
        **dict(config.get("metadata") or {}),
        **dict(task.task_node.metadata),
        **ids,
        **(more or {}),
        "langgraph_step": task.base.step,
        "langgraph_node": task.node,
        "langgraph_triggers": task.triggers,
        "langgraph_path": task.path,
        "langgraph_checkpoint_ns": task.ns,
    }
    if tags is not None and (all_tags := [*(config.get("tags") or ()), *tags]):
        told["tags"] = all_tags
    return told
