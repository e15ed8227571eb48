"""A pipeline run on answers written down beforehand: nothing acts, and what was not told is a failed test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lawful.core.errors import Error
from lawful.core.failure import nearest
from lawful.core.result import Result
from lawful.pipeline.guarding import Checked
from lawful.pipeline.machine import started
from lawful.pipeline.nodes import Branch, Guard, Guarded, Lambda, Pipeline, name_of
from lawful.pipeline.pipe import Pipe
from lawful.pipeline.scene import Leaf, Scene
from lawful.pipeline.streaming import Stream
from lawful.pipeline.walking import walk

I = TypeVar("I")
O = TypeVar("O")


class Untold(AssertionError):
    """A step was reached for which the script has no answer, or none left; no fallback and no retry sees this."""


class Script:
    """Answers for the steps and components of a pipeline, in place of what they would do.

    Pure functions and the questions of branches are run as they are; so are steps that say ``acts=False`` (parsers do)
    and the checks of guards, unless they are given an answer.
    """

    def __init__(self) -> None:
        self.trace: list[str] = []
        """The names of the steps that were done, in the order in which they were begun."""
        self.inputs: list[tuple[str, Any]] = []
        """The same with what each was given."""
        self.waits: list[float] = []
        """The seconds that retries and rate limits would have waited; nothing waits here."""
        self._answers: dict[str, list[Any]] = {}
        self._functions: dict[str, Callable[[Any], Any]] = {}

    def answer(self, step: Pipeline[Any, O] | str, *answers: Result[O, Exception] | O | BaseException) -> Script:
        """What ``step`` (or the step of that name) gives, one answer a call, in their order.

        An answer is a Result, a value, or an exception, which is raised: a control signal, or a bug.
        """
        self._answers.setdefault(_name(step), []).extend(answers)
        return self

    def compute(self, step: Pipeline[I, O] | str, function: Callable[[I], Result[O, Exception] | O]) -> Script:
        """What ``step`` gives whenever its answers are used up, worked out from its input."""
        self._functions[_name(step)] = function
        return self

    async def run(self, pipeline: Pipeline[I, O], value: I, *, env: Any = None) -> Result[O, Error]:
        """As `lawful.pipeline.run`, from the answers alone; may be called again, with the answers that are left.

        Raises: Untold, at the first step that has no answer, and before anything runs for an answer to a step that
        this pipeline does not have, to a pure function, or to the question of a branch.
        """
        self._known(pipeline)
        return await started(pipeline, value, self._scene(env))

    def stream(self, pipeline: Pipeline[I, O], value: I, *, env: Any = None) -> Stream[O]:
        """As `lawful.pipeline.stream`, from the answers alone. Raises: Untold, as `run` does."""
        self._known(pipeline)
        return Stream(pipeline, value, self._scene(env, Pipe()))

    def _scene(self, env: Any, pipe: Pipe | None = None) -> Scene:
        return Scene(self._perform, env, sleep=self._sleep, pipe=pipe)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def _known(self, pipeline: Pipeline[Any, Any]) -> None:
        steps, as_it_is = set[str](), set[str]()
        for node in walk(pipeline):
            names = as_it_is if isinstance(node, Branch) or (isinstance(node, Lambda) and node.pure) else steps
            names.add(name_of(node))
            if isinstance(node, Guarded) and isinstance(node.policy, Guard):
                steps.update(map(name_of, (*node.policy.before, *node.policy.after)))
        for name in (*self._answers, *self._functions):
            if name not in steps and name in as_it_is:
                raise Untold(
                    f"the script answers {name!r}, a pure function or the question of a branch, which runs as it is"
                )
            if name not in steps:
                raise Untold(f"the script answers {name!r}, which is no step of this pipeline.{nearest(name, steps)}")

    def unused(self) -> dict[str, int]:
        """How many answers are left, by step; a test may end with ``assert not script.unused()``."""
        return {name: len(left) for name, left in self._answers.items() if left}

    def _perform(self, leaf: Leaf, value: Any, scene: Scene, span: str) -> Any:
        name = name_of(leaf)
        told = name in self._answers or name in self._functions
        if isinstance(leaf, Lambda) and not told and (isinstance(leaf.run, Checked) or not leaf.acts):
            return leaf.run(value)
        self.trace.append(name)
        self.inputs.append((name, value))
        left = self._answers.get(name)
        if left:
            answer = left.pop(0)
            if isinstance(answer, BaseException):
                raise answer
        elif name in self._functions:
            answer = self._functions[name](value)
        else:
            told = "has no answer left for" if left is not None else "was not told what to answer for"
            raise Untold(f"the script {told} {name!r}, call {self.trace.count(name)}, input {value!r:.200}")
        return answer


def _name(step: Pipeline[Any, Any] | str) -> str:
    name = step if isinstance(step, str) else name_of(step)
    if not name:
        raise Untold(f"{step!r} is no step: answer the steps within it")
    return name
