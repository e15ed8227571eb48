"""How a typed run ends: the flat union `Done | Paused | Failed`, for ``match``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar, final

from lawful.core.errors import Failure
from lawful.core.questions import Question

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
