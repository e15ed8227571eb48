"""`explain` says what the wiring is and what no build can know: the join rules, the routes, and who may write together."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.core.errors import GraphBuildError
from lawful.graph import END, START, StateGraph
from lawful.journal.memory import MemoryJournal
from support.pausing import Log

pytestmark = pytest.mark.unit


def a(log: Log) -> Log:
    return {}


def nowhere(log: Log) -> str:
    return END


def lines(builder: Any) -> list[str]:
    return [line.strip() for line in builder.compile().explain().splitlines()]


def test_each_edge_and_route_has_a_line_of_its_own() -> None:
    """Rows: S1-013."""
    builder = StateGraph(Log).add_node("a", a).add_node("b", a, defer=True).add_edge(START, "a")
    builder.add_conditional_edges("a", nowhere, ["b", END])
    told = lines(builder)
    assert "__start__ -> a" in told
    assert "b (node, deferred)" in told
    assert any(line.startswith("a -> b, __end__ (decided by nowhere)") for line in told)
    assert "to know" not in told


@pytest.mark.parametrize("rule", ["all", "activated"])
def test_a_join_tells_its_rule(rule: str) -> None:
    """Rows: S1-013."""
    builder = StateGraph(Log).add_node("a", a).add_node("b", a).add_node("c", a).add_edge(START, "a")
    builder.add_edge(START, "b").add_edge(["a", "b"], "c", join=rule)
    assert f"a + b -> c (join: {rule})" in lines(builder)


def test_nodes_of_one_step_and_the_keys_that_only_one_may_write_are_reported() -> None:
    """Two writers cannot be refused at build, since what a node writes is known only when it ran. Rows: S1-041."""
    builder = StateGraph(Log).add_node("left", a).add_node("right", a).add_node("after", a)
    builder.add_edge(START, "left").add_edge(START, "right").add_edge("left", "after")
    [report] = [line for line in lines(builder) if "run in one step" in line]
    assert report == "left, right run in one step: no two of them may write word, n"


def test_a_join_that_lenient_mode_lets_pass_is_reported() -> None:
    """Rows: S1-013."""

    def build(strict: bool) -> Any:
        builder = StateGraph(Log, strict=strict).add_node("a", a).add_node("b", a).add_node("c", a)
        builder.add_edge(START, "a").add_conditional_edges(START, nowhere, ["b", END])
        return builder.add_edge(["a", "b"], "c")

    with pytest.raises(GraphBuildError):
        build(strict=True).compile(MemoryJournal())
    assert "the join into c can be skipped: it states no rule" in lines(build(strict=False))
