"""What an agent's turn took, and its five moments as methods to override: start, step, action, observation, finish."""

from __future__ import annotations

from typing import Any, assert_never, cast

import msgspec
from msgspec import Struct

from lawful.core.clock import SYSTEM, Clock
from lawful.core.events import (
    Event,
    NodeStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    ToolArguments,
    ToolCalled,
    ToolEnded,
    ToolFailed,
    ToolStarted,
)


class TurnStats(Struct, frozen=True):
    """What a turn took."""

    rounds: int
    """How often the model was asked."""
    tool_calls: int
    """How many calls it made, those that were refused included."""
    seconds: float
    """From the call of the agent to its return, by the agent's clock; while a turn waits for a person nothing passes."""
    success: bool
    """Whether there is an answer: neither an error nor a pause."""


class AgentCallbacks:
    """Subclass it, override what you need, and give an instance as ``on_event``: ``agent.invoke("...", on_event=Mine())``.

    It hears the agent that it was given to, in every form of asking it, and not the agents inside that one. What a method
    raises is logged, and the turn goes on. One instance may serve many turns at once. ``clock`` is what seconds are taken by.
    """

    def __init__(self, *, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._turns: dict[str, _Turn] = {}
        self._inner: dict[str, str] = {}
        """Runs inside a turn, each with the turn's own."""

    def on_start(self, thread: str | None) -> None:
        """A turn begins, or goes on after a pause."""

    def on_step(self, number: int) -> None:
        """The model is about to be asked, from 1."""

    def on_action(self, tool: str, args: dict[str, Any]) -> None:
        """The model has called a tool; whether the call runs is for the gates to say."""

    def on_observation(self, tool: str, output: Any, ok: bool) -> None:
        """What came of a call: its output as JSON, or in words why there is none."""

    def on_finish(self, stats: TurnStats) -> None:
        """The turn ended, in whatever way; the numbers are of this run, not of those before a pause."""

    def __call__(self, event: Event) -> None:
        turn = self._turns.get(event.run_id)
        match event:
            case RunStarted():
                self._begin(event)
            case RunFinished() | RunFailed():
                self._inner.pop(event.run_id, None)
                if turn is not None:
                    self._end(event.run_id, turn, isinstance(event, RunFinished) and event.outcome == "success")
            case NodeStarted(node="model", attempt=1) if turn is not None:
                turn.rounds += 1
                self.on_step(turn.rounds)
            case ToolStarted() | ToolArguments() | ToolCalled() | ToolEnded() | ToolFailed() if turn is not None:
                self._of_tool(turn, event)
            case _:
                pass

    def _of_tool(self, turn: _Turn, event: ToolStarted | ToolArguments | ToolCalled | ToolEnded | ToolFailed) -> None:
        if isinstance(event, ToolStarted):
            turn.tools[event.span] = event.tool, []
            return
        if event.span not in turn.tools:
            return
        tool, pieces = turn.tools[event.span]
        match event:
            case ToolArguments(text=text):
                pieces.append(text)
            case ToolCalled():
                turn.calls += 1
                self.on_action(tool, _args("".join(pieces)))
            case ToolEnded(output=output):
                del turn.tools[event.span]
                self.on_observation(tool, output, True)
            case ToolFailed(message=message, code=code):
                del turn.tools[event.span]
                self.on_observation(tool, message or code, False)
            case _:
                assert_never(event)

    def _begin(self, event: RunStarted) -> None:
        outer = event.parent_run_id
        if outer is not None and (outer in self._turns or outer in self._inner):
            self._inner[event.run_id] = outer
            return
        self._turns[event.run_id] = _Turn(self._clock.monotonic())
        self.on_start(event.thread)

    def _end(self, run_id: str, turn: _Turn, success: bool) -> None:
        del self._turns[run_id]
        self.on_finish(TurnStats(turn.rounds, turn.calls, self._clock.monotonic() - turn.began, success))


class _Turn:
    """One turn under way."""

    __slots__ = ("began", "calls", "rounds", "tools")

    def __init__(self, began: float) -> None:
        self.began = began
        self.rounds = 0
        self.calls = 0
        self.tools: dict[str, tuple[str, list[str]]] = {}
        """By span: the tool, and the pieces of its arguments."""


def _args(text: str) -> dict[str, Any]:
    """The arguments of a call; none where they are no JSON object, which the gates refuse."""
    try:
        found = msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
