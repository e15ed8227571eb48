"""How a typed run ends: the flat union `Done | Paused | Failed`, for ``match``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar, cast, final

from lawful.core.errors import Failure
from lawful.core.questions import Question
from lawful.graph.command import INTERRUPT

S = TypeVar("S")


@final
@dataclass(frozen=True)
class Done(Generic[S]):
    """The run came to its end; ``state`` is an instance of the graph's state class."""

    state: S
    thread: str | None = field(default=None, compare=False)


@final
@dataclass(frozen=True)
class Paused:
    """The run waits for answers to ``questions``; at a breakpoint there are none. ``state`` is a plain dict."""

    questions: tuple[Question, ...]
    state: Any = None
    thread: str | None = field(default=None, compare=False)


@final
@dataclass(frozen=True)
class Failed:
    """The run failed with one of the thirteen errors; ``state`` is the last good state, as a plain dict."""

    error: Failure
    state: Any = None
    thread: str | None = field(default=None, compare=False)

    @property
    def message(self) -> str:
        return self.error.message


RunResult: TypeAlias = Done[S] | Paused | Failed


@final
@dataclass(frozen=True)
class GraphOutput(Generic[S]):
    """What ``invoke(..., version="v2")`` returns: the output, and the questions that wait.

    Reading it as the dict of version 1 works, with a DeprecationWarning.
    """

    value: S
    """An instance of the output's class, where that is a dataclass or a pydantic model; else a dict."""
    interrupts: tuple[Question, ...] = ()

    def _old(self) -> Mapping[str, Any]:
        warnings.warn("read .value and .interrupts of a GraphOutput, not its keys", DeprecationWarning, stacklevel=3)
        value: Any = self.value
        if isinstance(value, Mapping):
            told = dict(cast("Mapping[str, Any]", value))
        else:
            kind = cast("Any", type(value))
            fields = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "__pydantic_fields__", None) or ()
            told = {name: getattr(value, name) for name in fields}
        return {**told, INTERRUPT: self.interrupts} if self.interrupts else told

    def __getitem__(self, key: str) -> Any:
        return self._old()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._old()

    def __iter__(self) -> Iterator[str]:
        return iter(self._old())

    def get(self, key: str, default: Any = None) -> Any:
        """As of a dict; deprecated."""
        return self._old().get(key, default)
