"""The one door to what langchain_core brings into a graph: known here by a Protocol, opened where something of it is met."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

from lawful.core.lazy import late

ROOT = "langchain"
"""How the names of that family's packages begin."""
CORE = "langchain_core."
IDS = "langchain:"
"""How the type ids of its classes begin."""


class Bridge(Protocol):
    """What `lawful.compat.bridge` knows of langchain_core; nothing else of this library touches its classes."""

    def type_id(self, cls: type) -> str | None:
        """The id under which values of one of its classes are stored; None for a class that is not in the table."""
        ...

    def class_of(self, type_id: str) -> Any:
        """The class of one of these ids, or None."""
        ...

    def entry(self, message: Any) -> Any:
        """A message of its with an id; a chunk as the message that it is a piece of."""
        ...

    def forms(self, update: Any) -> list[Any]:
        """An update of a conversation, plain forms made its messages; all with ids."""
        ...

    def around(self, call: Callable[[Any, Any], Any], awaits: bool) -> Callable[[Any, Any], Any]:
        """A node's call, with what models inside it look up: config, and who listens to their tokens."""
        ...

    def callbacks(self, task: Any) -> list[Any]:
        """The handlers that its components get to see inside ``task``."""
        ...

    def as_function(self, runnable: Any) -> Callable[..., Any]:
        """A component of its as a function of a state and a config. Raises: TypeError, for anything else."""
        ...

    def as_node_tool(self, tool: Any) -> Any:
        """A tool of its as one of ours, whose result is what it gives for a whole call: a message of its, a Command."""
        ...

    def tool_message(self, content: Any, call: str | None, name: str, failed: bool, id: str | None) -> Any:
        """The closing result of a call as a message of its."""
        ...


def bridge() -> Bridge:
    """Raises: ConfigurationError, naming the extra, where langchain_core is not installed."""
    return late("lawful.compat.bridge", "BRIDGE")


def is_neighbour(cls: type) -> bool:
    """Whether a class is langchain's, or derived from one of its; a look at names, which imports nothing."""
    return cls.__module__.startswith(ROOT) or any(base.__module__.startswith(ROOT) for base in cls.__mro__[1:-1])


def is_message(value: object) -> bool:
    """Whether a value is one of its classes of messages, or the module of them."""
    if isinstance(value, ModuleType):
        return value.__name__.startswith(CORE + "messages")
    return isinstance(value, type) and any(
        base.__name__ == "BaseMessage" and base.__module__.startswith(CORE) for base in value.__mro__
    )


def met(value: object) -> bool:
    """Whether a value is, or is made of, something of langchain's: an instance, a class, a function, a module."""
    if isinstance(value, type):
        return is_neighbour(value)
    named = getattr(value, "__module__", None) or getattr(value, "__name__", None)
    return (isinstance(named, str) and named.startswith(ROOT)) or is_neighbour(type(value))
