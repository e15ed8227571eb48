"""What goes into the machine and what comes out: events and orders, as plain values that can be logged and replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from lawful.core.questions import Question
from lawful.graph.step_task import Task
from lawful.journal.cache_port import FullKey
from lawful.journal.records import Record

# Events


class Began(Struct, frozen=True):
    """The run starts: with a graph's input, a Command, or None to go on."""

    input: Any


class TaskEnded(Struct, frozen=True):
    """An attempt is over; the task's slot holds how."""

    task: Task


class TimerFired(Struct, frozen=True):
    """The delay that was asked for is over."""

    task: Task


class Rang(Struct, frozen=True):
    """The alarm that was set for a running task; ``now`` is on the clock's monotonic scale."""

    task: Task
    now: float


class Recalled(Struct, frozen=True):
    """The cache was asked for these tasks; the slots of those it had a result for hold it."""

    tasks: Sequence[Task]


class DrainAsked(Struct, frozen=True):
    """The run is to stop once its step has ended."""

    reason: str


class Committed(Struct, frozen=True):
    """What was to be committed is durable."""


class CommitRefused(Struct, frozen=True):
    """It is not, and nothing of it was written."""

    error: BaseException


class Cancelled(Struct, frozen=True):
    """The run was cancelled from outside."""

    error: BaseException


Event: TypeAlias = Began | TaskEnded | TimerFired | Rang | Recalled | DrainAsked | Committed | CommitRefused | Cancelled

# Orders


class Start(Struct, frozen=True):
    """Run an attempt of each of these tasks."""

    tasks: Sequence[Task]


class Cancel(Struct, frozen=True):
    """Stop these tasks as far as they can be stopped; each still ends with TaskEnded."""

    tasks: Sequence[Task]


class Sleep(Struct, frozen=True):
    """Feed TimerFired after ``seconds``."""

    task: Task
    seconds: float


class Alarm(Struct, frozen=True):
    """Feed Rang after ``seconds``, if the task still runs then."""

    task: Task
    seconds: float


class Recall(Struct, frozen=True):
    """Ask the cache for these tasks, then feed Recalled."""

    tasks: Sequence[Task]


class Remember(Struct, frozen=True):
    """Keep the task's result in the cache; nothing waits for it."""

    task: Task
    key: FullKey


class Commit(Struct, frozen=True):
    """Write these records as one, then feed Committed or CommitRefused."""

    records: Sequence[Record]
    last: bool = False
    """Nothing of this run follows: the lease may be given up with it."""
    background: bool = False
    """The run goes on meanwhile."""


class Finish(Struct, frozen=True):
    """The run is over."""

    outcome: Outcome


Order: TypeAlias = Start | Cancel | Sleep | Alarm | Recall | Remember | Commit | Finish

# Outcomes


class Ended(Struct, frozen=True):
    """Nothing is left to do."""

    output: Any


class Halted(Struct, frozen=True):
    """The run waits: for answers, or at a breakpoint (no questions then)."""

    output: Any
    questions: tuple[Question, ...]
    why: str = "pending"
    """"pending" at questions, "interrupt_before" or "interrupt_after" at a breakpoint."""


class Broke(Struct, frozen=True):
    """The run failed with this exception, or left with this signal."""

    error: BaseException
    output: Any = None


Outcome: TypeAlias = Ended | Halted | Broke
