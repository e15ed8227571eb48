"""Control signals, and the latch that no user code can swallow.

A signal is written into the running task's slot *before* it is raised. However the attempt then ends, the slot's
signal wins: a bare ``except``, ``finally: return`` or ``gather(return_exceptions=True)`` cannot turn a pause into a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class ControlSignal(BaseException):
    """Ends an attempt without being an error: ``except Exception``, fallback and retry do not see it."""


class GraphBubbleUp(ControlSignal):
    """LangGraph's name for signals that leave a node."""


class GraphInterrupt(GraphBubbleUp):
    """The node asks; ``interrupts`` are its questions (records of graph or core)."""

    def __init__(self, interrupts: Sequence[Any] = ()) -> None:
        super().__init__(interrupts)
        self.interrupts: tuple[Any, ...] = tuple(interrupts)


class OutcomeUnknown(ControlSignal):
    """Nobody knows whether an effect happened; only the ledger may say what is next.

    ``op_id`` is the operation, ``tool`` its effect's name, ``reason`` what is known; ``fence`` is the newest attempt's
    number and ``next_step`` what can be done ("reconcile", "resolve" or "execute").
    """

    def __init__(self, op_id: str, tool: str = "", reason: str = "", *, fence: int = 0, next_step: str = "") -> None:
        super().__init__(op_id, tool, reason)
        self.op_id = op_id
        self.tool = tool
        self.reason = reason
        self.fence = fence
        self.next_step = next_step

    def __str__(self) -> str:
        return f"outcome of {self.tool or 'effect'} {self.op_id} unknown: {self.reason}"


class ParentCommand(GraphBubbleUp):
    """A subgraph's node commands the graph that holds it."""

    def __init__(self, command: Any) -> None:
        super().__init__(command)
        self.command = command


class GraphDrained(GraphBubbleUp):
    """The run was asked to stop after its step, and did."""

    def __init__(self, reason: str = "shutdown") -> None:
        super().__init__(reason)
        self.reason = reason


class Latch(Protocol):
    """The slot of an attempt, as far as signals care."""

    signal: ControlSignal | None


def rank(signal: ControlSignal) -> int:
    """Of several signals in one attempt the lowest rank wins."""
    match signal:
        case OutcomeUnknown():
            return 0
        case ParentCommand():
            return 1
        case GraphInterrupt():
            return 2
        case GraphDrained():
            return 3
        case _:
            return 4


def latch(slot: Latch, signal: ControlSignal) -> ControlSignal:
    """Record ``signal`` in ``slot`` and return what the slot holds now.

    A stronger signal replaces a weaker one; questions are gathered, each once.
    """
    held = slot.signal
    if held is None:
        slot.signal = signal
    elif isinstance(held, GraphInterrupt) and isinstance(signal, GraphInterrupt):
        more = [q for q in signal.interrupts if q not in held.interrupts]
        if more:
            slot.signal = GraphInterrupt((*held.interrupts, *more))
    elif rank(signal) < rank(held):
        slot.signal = signal
    assert slot.signal is not None
    return slot.signal


def find_signal(error: BaseException) -> ControlSignal | None:
    """The strongest signal in ``error``, exception groups searched to the bottom; questions are gathered.

    An Exception is none, whatever it is beside that: it tells of another run that is over.
    """
    if isinstance(error, ControlSignal) and not isinstance(error, Exception):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    pot = _Pot()
    for inner in error.exceptions:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        found = find_signal(inner)  # pyright: ignore[reportUnknownArgumentType]
        if found is not None:
            latch(pot, found)
    return pot.signal


class _Pot:
    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal: ControlSignal | None = None
