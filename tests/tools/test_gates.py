"""The governor's gates at their edges, each by itself and in their order, without any middleware in sight."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from lawful import effect
from lawful.core.errors import ConfigurationError
from lawful.core.messages import InvalidToolCall, Message, ToolCall, assistant
from lawful.testing import check_laws
from lawful.tools import Toolset, as_tool, tool
from lawful.tools.facts import Facts, add_facts, learnt
from lawful.tools.gates import EXTEND, GATES, Ask, Refuse, Rules, Ruling, Run, extension, rule_all
from lawful.tools.tally import Tally, add_tally, args_digest, before, counted

pytestmark = pytest.mark.unit


@tool
def look(at: str) -> str:
    """Look."""
    return at


@tool(sends_out=True)
def tell(whom: str) -> str:
    """Tell someone outside."""
    return whom


@tool(risk="high")
def wipe_table(table: str) -> str:
    """Drop it."""
    return table


@tool
def request_extended_budget(calls: int) -> str:
    """Ask for more calls."""
    return "ok"


@effect("charge", risk="high")
def refund(charge: str) -> str:
    """Refund."""
    return charge


TOOLS = Toolset([look, tell, wipe_table, refund])
BOTH = Facts(private_seen=True, external_seen=True)


def call(name: str = "look", **args: Any) -> ToolCall:
    return ToolCall(id="c", name=name, args=args or {"at": "x"})


def rules(one: ToolCall, turn: list[Message] | None = None, facts: Facts = Facts(), **changed: Any) -> Ruling:
    return rule_all([one], TOOLS, facts, Rules(**changed), counted(turn or []))[0]


def past(times: int, **args: Any) -> list[Message]:
    return [assistant(call(**args)) for _ in range(times)]


def different(times: int) -> list[Message]:
    return [assistant(call(at=str(n))) for n in range(times)]


def test_the_order_of_the_gates() -> None:
    """Rows: S4-050"""
    names = [gate.__name__ for gate in GATES]
    assert names == ["known", "fitting", "within_budget", "not_circling", "no_trifecta", "a_person_says_yes"]
    many = [*different(40), *past(7, whom="x")]
    assert isinstance(found := rules(call("luk"), many), Refuse)
    assert found.gate == "known"
    assert isinstance(found := rules(call(bad=1), many), Refuse)
    assert found.gate == "arguments"
    assert isinstance(found := rules(call(at="new"), many), Refuse)
    assert found.gate == "budget"


def test_an_unknown_tool_is_told_with_the_nearest_name_and_all_names() -> None:
    found = rules(call("luk"))
    assert isinstance(found, Refuse)
    assert "Did you mean 'look'" in found.message
    assert "look, tell, wipe_table, refund" in found.message


@pytest.mark.parametrize(("used", "refused"), [(39, False), (40, True)])
def test_the_budget_of_a_turn(used: int, refused: bool) -> None:
    """Rows: S4-054"""
    assert isinstance(rules(call(at="new"), different(used)), Refuse) is refused


@pytest.mark.parametrize(("autonomy", "allowed"), [(1.0, 40), (1.25, 50), (1.5, 60)])
def test_autonomy_and_extensions_widen_the_budget(autonomy: float, allowed: int) -> None:
    """Rows: S4-054"""
    assert isinstance(rules(call(at="new"), different(allowed - 1), autonomy=autonomy), Run)
    assert isinstance(rules(call(at="new"), different(allowed), autonomy=autonomy), Refuse)
    assert isinstance(rules(call(at="new"), different(allowed), Facts(extended=1), autonomy=autonomy), Run)


def test_asking_for_more_is_free_and_bounded() -> None:
    """Rows: S4-054"""
    more = Toolset([*TOOLS, request_extended_budget])
    [found] = rule_all([call(EXTEND, calls=10)], more, Facts(), Rules(), counted(different(60)))
    assert isinstance(found, Run)
    assert [extension(n, Rules()) for n in (-1, 50, 51)] == [0, 50, 50]
    [found] = rule_all([call(at="n")], more, Facts(), Rules(), counted(different(40)))
    assert isinstance(found, Refuse)
    assert EXTEND in found.message


@pytest.mark.parametrize(
    ("before", "gate", "ends"),
    [(1, None, False), (2, "loop", False), (4, "loop", False), (5, "loop", False), (6, "loop", True)],
)
def test_the_same_call_again_and_again(before: int, gate: str | None, ends: bool) -> None:
    """Rows: S4-053"""
    found = rules(call(), past(before))
    assert (found.gate if isinstance(found, Refuse) else None) == gate
    assert (found.ends_turn if isinstance(found, Refuse) else False) is ends


def test_the_warnings_grow_and_exempt_tools_are_left_alone() -> None:
    """Rows: S4-053"""
    said = [found.message for n in (2, 4, 6) if isinstance(found := rules(call(), past(n)), Refuse)]
    assert "try something else" in said[0]
    assert "last warning" in said[1]
    assert "turn ends" in said[2]
    assert isinstance(rules(call(), past(10), exempt=frozenset({"look"})), Run)


def test_long_arguments_that_differ_at_their_end_are_not_the_same_call() -> None:
    """Rows: S4-053"""
    long = "x" * 500
    assert isinstance(rules(call(at=long + "b"), past(6, at=long + "a")), Run)


@pytest.mark.parametrize("facts", [Facts(), Facts(private_seen=True), Facts(external_seen=True)])
def test_two_legs_are_no_trifecta(facts: Facts) -> None:
    """Rows: S4-052"""
    assert isinstance(rules(call("tell", whom="x"), facts=facts), Run)


def test_all_three_legs_ask_a_person_for_these_very_arguments() -> None:
    """Rows: S4-052"""
    one, other = rules(call("tell", whom="x"), facts=BOTH), rules(call("tell", whom="y"), facts=BOTH)
    assert isinstance(one, Ask)
    assert isinstance(other, Ask)
    assert "private data" in one.reasons[0]
    assert one.args_digest != other.args_digest
    assert isinstance(rules(call(), facts=BOTH), Run)


def test_a_leg_is_learnt_from_the_flags() -> None:
    """Rows: S4-052"""
    both = tool(name="inbox_of", reads_private=True, ingests_external=True)(look.function)
    assert learnt(both.traits) == BOTH
    assert learnt(look.traits) == Facts()


def test_high_risk_asks_each_time_and_effects_are_asked_about_by_their_ledger() -> None:
    """Rows: S4-051"""
    found = rules(call("wipe_table", table="x"))
    assert isinstance(found, Ask)
    assert found.reasons == ("it is of high risk",)
    assert as_tool(refund).traits.risk == "high"
    assert isinstance(rules(call("refund", charge="c")), Run)


def test_a_batch_is_ruled_before_anything_runs_and_counts_itself() -> None:
    calls = [call(at=str(n)) for n in range(42)]
    found = rule_all(calls, TOOLS, Facts(), Rules())
    assert [isinstance(one, Run) for one in found] == [True] * 40 + [False] * 2
    assert [isinstance(one, Run) for one in rule_all([call()] * 3, TOOLS, Facts(), Rules())] == [True, True, False]


def test_arguments_that_are_no_json_are_refused_and_the_rest_stands() -> None:
    broken = InvalidToolCall(id="b", name="look", args='{"at": ', error="cut off")
    found = rule_all([broken, call()], TOOLS, Facts(), Rules())
    assert isinstance(found[0], Refuse)
    assert isinstance(found[1], Run)


def test_facts_are_gathered_in_any_order() -> None:
    check_laws(add_facts, st.builds(Facts, st.booleans(), st.booleans(), st.integers(0, 5)))


@pytest.mark.parametrize("bad", [{"budget": 0}, {"autonomy": 2.0}, {"repeats": (3, 2, 7)}, {"repeats": (1, 2, 3)}])
def test_rules_that_no_run_could_keep_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="rules"):
        Rules(**bad)


def test_counts_of_a_turn_add_up_and_a_new_turn_begins_anew() -> None:
    one = counted([assistant(call(at="a"), call(at="b"))], "t1")
    both = add_tally(one, counted([assistant(call(at="a"))], "t1"))
    assert (both.rounds, both.calls, both.named) == (2, 3, {"look": 3})
    assert both == counted([assistant(call(at="a"), call(at="b")), assistant(call(at="a"))], "t1")
    last = [call(at="a")]
    past = before(both, last, [args_digest(each) for each in last])
    for name in ("look", "other"):
        assert past.of(name) == one.of(name)
    for at in ("a", "b", "c"):
        assert past.times(args_digest(call(at=at))) == one.times(args_digest(call(at=at)))
    assert past.calls == one.calls
    assert (one.most, both.most) == (1, 2)
    assert add_tally(both, one) == add_tally(one, both)
    new = Tally("t2", 1)
    assert add_tally(both, new) == new
