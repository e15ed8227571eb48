"""What langchain_core brings into a graph of ours: its messages in state, its models and runnables inside nodes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from lawful.core.lazy import late
from lawful.core.messages import Message, RemoveMessage, fresh_id
from lawful.core.neighbours import IDS
from lawful.graph.runtime import config_of
from lawful.graph.step_task import Task

EXTRA: Final = "langchain"
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "messages.human": ("HumanMessage", "HumanMessageChunk"),
    "messages.ai": ("AIMessage", "AIMessageChunk"),
    "messages.system": ("SystemMessage", "SystemMessageChunk"),
    "messages.chat": ("ChatMessage", "ChatMessageChunk"),
    "messages.tool": ("ToolMessage", "ToolMessageChunk"),
    "messages.function": ("FunctionMessage", "FunctionMessageChunk"),
    "messages.modifier": ("RemoveMessage",),
    "documents.base": ("Document",),
}
"""langchain_core's modules, and the classes of theirs that a state may hold: a closed table."""
PLACES: Final[Mapping[str, tuple[str, str]]] = {
    f"{IDS}{name}": (f"langchain_core.{module}", name) for module, names in MODULES.items() for name in names
}
"""Type id to module and name."""
_BY_PLACE: Final[Mapping[tuple[str, str], str]] = {place: type_id for type_id, place in PLACES.items()}


class LangchainBridge:
    """The `Bridge` of core/neighbours.py."""

    def type_id(self, cls: type) -> str | None:
        return _BY_PLACE.get((cls.__module__, cls.__qualname__))

    def class_of(self, type_id: str) -> Any:
        place = PLACES.get(type_id)
        return None if place is None else late(place[0], place[1], extra=EXTRA)

    def entry(self, message: Any) -> Any:
        whole = late("langchain_core.messages").message_chunk_to_message(message)
        return whole if whole.id is not None else whole.model_copy(update={"id": fresh_id()})

    def forms(self, update: Any) -> list[Any]:
        several = isinstance(update, list) or (
            isinstance(update, tuple) and not _is_pair(cast("tuple[Any, ...]", update))
        )
        given: Sequence[Any] = cast("Sequence[Any]", update) if several else [cast("Any", update)]
        convert: Callable[[list[Any]], list[Any]] = late("langchain_core.messages").convert_to_messages
        to_langchain: Callable[[Any], Any] = late("lawful.compat.langchain_messages", "to_langchain")
        own = (Message, RemoveMessage)
        return [self.entry(to_langchain(each) if isinstance(each, own) else convert([each])[0]) for each in given]

    def around(self, call: Callable[[Any, Any], Any], awaits: bool) -> Callable[[Any, Any], Any]:
        if awaits:

            async def arun(given: Any, task: Task) -> Any:
                with _configured(task):
                    return await call(given, task)

            return arun

        def run(given: Any, task: Task) -> Any:
            with _configured(task):
                return call(given, task)

        return run

    def callbacks(self, task: Task) -> list[Any]:
        given = task.run.config.get("callbacks")
        handlers: list[Any] = list(getattr(given, "handlers", given) or ())
        base = late("langchain_core.callbacks.base", "BaseCallbackHandler")
        out = [handler for handler in handlers if isinstance(handler, base)]
        if task.run.hub is not None or task.run.teller is not None:
            out.append(late("lawful.compat.tokens", "listening")(task))
        return out

    def as_function(self, runnable: Any) -> Callable[..., Any]:
        if not isinstance(runnable, late("langchain_core.runnables", "Runnable", extra=EXTRA)):
            raise TypeError(f"{type(runnable).__name__} is no Runnable")

        def node(state: Any, config: Any) -> Any:
            return runnable.invoke(state, config)

        node.__name__ = node.__qualname__ = str(getattr(runnable, "name", None) or type(runnable).__name__)
        return node

    def as_node_tool(self, tool: Any) -> Any:
        return late("lawful.compat.node_tools", "as_node_tool")(tool)

    def tool_message(self, content: Any, call: str | None, name: str, failed: bool, id: str | None) -> Any:
        kind = late("langchain_core.messages", "ToolMessage", extra=EXTRA)
        return kind(content, tool_call_id=call or "", name=name, status="error" if failed else "success", id=id)


@contextmanager
def _configured(task: Task) -> Generator[None, None, None]:
    """For the time of a node: the config that runnables called without one take up."""
    variable = late("langchain_core.runnables.config", "var_child_runnable_config")
    token = variable.set(config_of(task))
    try:
        yield
    finally:
        variable.reset(token)


def _is_pair(given: tuple[Any, ...]) -> bool:
    return len(given) == 2 and isinstance(given[0], str) and isinstance(given[1], str | list)


BRIDGE: Final = LangchainBridge()
