"""A call's arguments are checked once: the gate's check is the one whose values the function gets."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from lawful.agents import Agent
from lawful.core.messages import ToolCall, assistant
from lawful.journal.memory import MemoryJournal
from lawful.models.fake import Scripted
from lawful.tools import Rules, Toolset, fitted, tool
from lawful.tools.facts import NOTHING
from lawful.tools.gates import Run, rule_all

pytestmark = pytest.mark.unit


class Seen:
    """A tool whose validator counts."""

    def __init__(self) -> None:
        self.checks = 0
        self.got: list[int] = []

        def count(value: int) -> int:
            self.checks += 1
            return value + 100

        def keep(n: int) -> str:
            self.got.append(n)
            return "kept"

        keep.__annotations__["n"] = Annotated[int, AfterValidator(count)]  # names what only this function knows
        self.tool = tool(pure_read=True)(keep)


def call(n: Any, id: str = "c1") -> ToolCall:
    return ToolCall("keep", {"n": n}, id=id)


@pytest.mark.parametrize("kept", [False, True])
def test_a_validator_runs_once_for_each_call(kept: bool) -> None:
    """Rows: S0-131"""
    seen = Seen()
    model = Scripted(assistant(call(1), call(2, "c2")), assistant(call(3, "c3")), "done")
    agent = Agent(model, tools=[seen.tool], journal=MemoryJournal() if kept else None)
    assert agent.invoke("go").text == "done"
    assert sorted(seen.got) == [101, 102, 103]
    assert seen.checks == 3


async def test_other_arguments_are_checked_anew_and_nothing_is_taken_twice() -> None:
    seen = Seen()
    one = call(1)
    [ruling] = rule_all([one], Toolset([seen.tool]), NOTHING, Rules())
    assert isinstance(ruling, Run)
    await seen.tool.acall(call(1))  # equal, but not the call that was ruled
    assert seen.checks == 2
    await seen.tool.acall(one)
    assert seen.checks == 2
    await seen.tool.acall(one)  # a retry gets values of its own
    assert seen.checks == 3
    assert seen.got == [101, 101, 101]


def test_what_may_not_run_leaves_nothing_behind() -> None:
    seen = Seen()
    one = call(1)
    asking = seen.tool.with_(approval=True)
    rule_all([one], Toolset([asking]), NOTHING, Rules())
    assert fitted.take(one.args, asking.arguments) is None
    rule_all([one] * 40, Toolset([seen.tool]), NOTHING, Rules(budget=1))
    assert fitted.take(one.args, seen.tool.arguments) is None


def test_calls_that_never_run_are_forgotten() -> None:
    seen = Seen()
    many = [call(n, f"c{n}") for n in range(fitted.MOST + 10)]
    rule_all(many, Toolset([seen.tool]), NOTHING, Rules(budget=10_000))
    assert fitted.take(many[0].args, seen.tool.arguments) is None
    assert fitted.take(many[-1].args, seen.tool.arguments) == {"n": fitted.MOST + 9 + 100}
