"""Laws of durability and time travel over random graphs: how it is stored changes no result, and a replay ends alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.graph import Command
from lawful.journal.memory import MemoryJournal
from lawful.testing.graphs import Block, build, limit, plans
from support.graphs import on

pytestmark = pytest.mark.property

MODES = ("sync", "async", "exit")


def ended(graph: Any, thread: str, given: Any, durability: str, most: int) -> Any:
    """The run to its end, every question answered by its own text."""
    config = on(thread, limit=most)
    result = graph.invoke(given, config, durability=durability)
    while asked := result.get("__interrupt__"):
        answers = {question.id: str(question.value) for question in asked}
        result = graph.invoke(Command(resume=answers), config, durability=durability)
    return result


@settings(max_examples=25, deadline=None)
@given(plans(questions=True, max_leaves=4))
def test_how_a_run_is_stored_changes_no_result(plan: Block) -> None:
    """Nor does what is stored in the end tell anything else. Rules: 105, 106, 107, 109."""
    graph = build(plan).compile(checkpointer=MemoryJournal())
    ends = [ended(graph, mode, {}, mode, limit(plan)) for mode in MODES]
    assert ends[0] == ends[1] == ends[2]
    told = [graph.get_state(on(mode)) for mode in MODES]
    assert told[0].values == told[1].values == told[2].values
    assert {(entry.next, (entry.metadata or {}).get("step")) for entry in told} == {
        ((), (told[0].metadata or {})["step"])
    }


@settings(max_examples=25, deadline=None)
@given(plans(questions=True, max_leaves=4), st.data())
def test_a_replay_from_anywhere_ends_as_the_run_did(plan: Block, data: st.DataObject) -> None:
    """And leaves every checkpoint as it was, on a branch that begins where it was told to. Rules: 153, 154, 156, 163."""
    graph = build(plan).compile(checkpointer=MemoryJournal())
    whole = ended(graph, "t", {}, "sync", limit(plan))
    before = list(graph.get_state_history(on("t")))
    point = data.draw(st.sampled_from([entry for entry in before if entry.next]))
    mode = data.draw(st.sampled_from(MODES))
    config = {**point.config, "recursion_limit": limit(plan)}
    result = graph.invoke(None, config, durability=mode)
    if result.get("__interrupt__"):
        result = ended(graph, "t", None, mode, limit(plan))
    assert result == whole
    after = list(graph.get_state_history(on("t")))
    assert after[-len(before) :] == before
    assert after[: -len(before)][-1].parent_config == point.config
    assert after[0].values == before[0].values
