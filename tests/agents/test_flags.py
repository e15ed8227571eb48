"""The flags of the default middleware: each with it on and off; and the offline evaluation that referees them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import lawful
from lawful import Agent
from lawful.agents.flags import FLAGS, variable
from lawful.agents.middleware import ORDER, Counsel, Middleware, Taint
from lawful.core.errors import ConfigurationError
from lawful.models.fake import Scripted
from lawful.testing.evaluation import Lift, Score, evaluate, referee
from lawful.testing.evaluation_tasks import TASKS

pytestmark = pytest.mark.unit

SRC = Path(lawful.__file__).parent


def stack(**options: Any) -> list[str]:
    found = Agent(Scripted("x"), **options).built["extra_middleware"]
    return [type(one).__name__ for one in found]


@pytest.mark.parametrize("name", list(FLAGS))
def test_each_flag_is_switched_by_code_and_by_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows: S4-035"""
    kind = type(FLAGS[name].make()).__name__
    assert (kind in stack()) is FLAGS[name].default
    assert stack(flags={name: True}) == [kind]
    monkeypatch.setenv(variable(name), "1")
    assert stack() == [kind]
    assert stack(flags={name: False}) == []
    monkeypatch.setenv(variable(name), "off")
    assert stack() == []
    monkeypatch.setenv(variable(name), "perhaps")
    with pytest.raises(ConfigurationError, match="neither yes nor no"):
        stack()


def test_off_is_the_same_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows: S4-003, S4-040"""
    for name in FLAGS:
        monkeypatch.delenv(variable(name), raising=False)
    assert stack() == []
    off, on = Agent(Scripted("x")).graph, Agent(Scripted("x"), flags=dict.fromkeys(FLAGS, True)).graph
    assert off.explain() == on.explain()


def test_a_callers_own_middleware_is_not_behind_flags() -> None:
    """Rows: S4-036"""

    class Mine(Middleware):
        pass

    assert stack(middleware=[Mine(), Taint()], flags=dict.fromkeys(FLAGS, False)) == ["Mine", "Taint"]
    mine = Taint()
    both = Agent(Scripted("x"), middleware=[mine], flags={"taint": True, "counsel": True})
    assert both.built["extra_middleware"][1] is mine
    assert len(both.built["extra_middleware"]) == 2
    again = both.on(None)
    assert again.built["extra_middleware"] == both.built["extra_middleware"]


def test_an_unknown_flag_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'taint'"):
        Agent(Scripted("x"), flags={"tain": True})


def test_the_flags_stand_in_the_documented_order() -> None:
    """Rows: S4-024"""
    kinds = [type(flag.make()).__name__ for flag in FLAGS.values()]
    assert kinds == [name for name in ORDER if name in kinds]
    page = (SRC.parent.parent / "docs" / "middleware.md").read_text(encoding="utf-8")
    rows = [row for row in re.findall(r"^\| `(\w+)\(", page, re.MULTILINE)]
    order = ["cache_reads", "taint", "Heartbeat", "counsel", "PromptCache"]
    assert rows[: len(order)] == order


def test_each_flag_names_its_evidence() -> None:
    """Rows: S4-035"""
    for flag in FLAGS.values():
        path, _, anchor = flag.evidence.partition("#")
        text = (SRC.parent.parent / path).read_text(encoding="utf-8")
        assert f"\n## {anchor.capitalize()}\n" in text


def test_all_middleware_lives_in_one_package() -> None:
    """Rows: S4-031"""
    found = {
        path.relative_to(SRC).parent.as_posix()
        for path in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and any(isinstance(b, ast.Name) and b.id == "Middleware" for b in node.bases)
    }
    assert found == {"agents/middleware"}


# The evaluation


def test_there_are_twenty_tasks_and_without_a_flag_the_weak_ones_fail() -> None:
    """Rows: S4-035"""
    assert len({task.name for task in TASKS}) == 20
    found = evaluate()
    assert (found.right, found.of) == (8, 20)
    assert found == evaluate()


@pytest.mark.parametrize(("flag", "right"), [("taint", 12), ("cache_reads", 12), ("counsel", 12), ("prompt_cache", 8)])
def test_a_flag_does_what_it_is_for_and_nothing_else(flag: str, right: int) -> None:
    """Rows: S4-035"""
    lift = referee(flag)
    assert (lift.off.right, lift.on.right) == (8, right)
    assert lift.holds is (right > 8)
    assert f"{flag}: off 8/20" in str(lift)


def test_all_together_do_all_tasks() -> None:
    assert evaluate(dict.fromkeys(FLAGS, True)).wrong == ()


def test_more_right_answers_at_too_many_tokens_do_not_earn_a_default() -> None:
    off = Score(10, 20, 1000)
    assert Lift("x", off, Score(11, 20, 1000)).holds
    assert not Lift("x", off, Score(11, 20, 2000)).holds
    assert not Lift("x", off, Score(10, 20, 500)).holds


def test_another_model_may_do_the_tasks() -> None:
    found = evaluate(model=lambda task: Scripted(task.wanted))
    assert found.right == 20


def test_counsel_is_a_flag_of_its_own() -> None:
    """Rows: S4-017"""
    assert stack(flags={"counsel": True}) == [Counsel.__name__]
