"""Twenty small tasks that need no network, and what a flag does to them: score, tokens, score for 1,000 tokens.

The tasks' models are characters: rules that stand for one known weakness each (they obey what they read, read again, go in
circles) or for none. So this tells whether a part does what it is for and what it costs, and not how well a model of flesh
and blood does; for that, give one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from lawful.agents.agent import Agent
from lawful.agents.flags import FLAGS
from lawful.core.errors import Failure
from lawful.models.port import ChatModel
from lawful.testing.evaluation_tasks import TASKS, Task


class Score(Struct, frozen=True):
    """What a set of tasks came to."""

    right: int
    of: int
    tokens: int
    """Read and written, of all tasks."""
    wrong: tuple[str, ...] = ()
    """Names of the tasks that were not done."""

    @property
    def per_thousand(self) -> float:
        """Tasks done for 1,000 tokens."""
        return 1000 * self.right / self.tokens if self.tokens else 0.0


class Lift(Struct, frozen=True):
    """A flag, off and on."""

    flag: str
    off: Score
    on: Score

    @property
    def holds(self) -> bool:
        """Whether the flag earns a default of on: more is done, and not less for the tokens."""
        return self.on.right > self.off.right and self.on.per_thousand >= self.off.per_thousand

    def __str__(self) -> str:
        def told(score: Score) -> str:
            return f"{score.right}/{score.of}, {score.per_thousand:.2f} for 1,000 tokens"

        return f"{self.flag}: off {told(self.off)}; on {told(self.on)}"


def evaluate(
    flags: Mapping[str, bool] | None = None,
    *,
    tasks: Sequence[Task] = TASKS,
    model: Callable[[Task], ChatModel[Any]] | None = None,
) -> Score:
    """Do the tasks under these flags, all others off; with ``model`` by another model than the tasks' characters.

    Raises: ConfigurationError, for a flag that there is not.
    """
    switches = {**dict.fromkeys(FLAGS, False), **(flags or {})}
    wrong: list[str] = []
    tokens = 0
    for task in tasks:
        made = task.set_up()
        agent = Agent(made.model if model is None else model(task), tools=made.tools, flags=switches)
        try:
            answer = agent.invoke(task.prompt)
        except Failure:
            wrong.append(task.name)
            tokens += getattr(made.model, "spent", 0)
            continue
        tokens += answer.usage.prompt + answer.usage.completion
        if not task.good(answer.text):
            wrong.append(task.name)
    return Score(len(tasks) - len(wrong), len(tasks), tokens, tuple(wrong))


def referee(flag: str, *, model: Callable[[Task], ChatModel[Any]] | None = None) -> Lift:
    """The tasks with the flag off and on, everything else off."""
    return Lift(flag, evaluate({flag: False}, model=model), evaluate({flag: True}, model=model))
