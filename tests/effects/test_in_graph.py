"""Effects in a real graph: a pause for approval, a pause for an unknown outcome, and one effect over all repeats."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

import pytest

from lawful.core.event_rules import unpaired
from lawful.core.events import EffectMoved, Event
from lawful.effects import Ledger, Opaque
from lawful.effects.policy import Policy, RequireApproval
from lawful.graph import END, START, Done, Paused, StateGraph
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from support.effects import STRONG, Forge, Publish, PullRequest

pytestmark = pytest.mark.integration


class State(TypedDict, total=False):
    repo: str
    address: str


def graph(publish: Publish, journal: Journal, *, swallow: bool = False) -> Any:
    async def open_it(state: State) -> State:
        try:
            address = await publish(PullRequest(state.get("repo", "")))
        except BaseException:
            if not swallow:
                raise
            address = "swallowed"
        return {"address": address}

    return StateGraph(State).add_node("open", open_it).add_edge(START, "open").add_edge("open", END).compile(journal)


def state_of(result: Any) -> Any:
    """The state of a run that came to its end."""
    assert isinstance(result, Done), result
    return result.state  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


async def test_an_approval_is_asked_answered_and_used_once(tmp_path: Path) -> None:
    """Rows: S2-016"""
    forge = Forge()
    publish = Publish(forge, policy=Policy("p", (RequireApproval(),)))
    journal = SQLiteJournal(tmp_path / "j.db")
    built = graph(publish, journal)
    paused = await built.run({"repo": "acme"}, thread="t1")
    assert isinstance(paused, Paused)
    (question,) = paused.questions
    assert (question.kind, question.value["effect"]) == ("approval", "publish")
    assert forge.calls == 0
    done = await built.resume("t1", question.answer(True))
    assert state_of(done) == {"repo": "acme", "address": "https://forge/acme"}
    assert forge.calls == 1
    journal.close()


@pytest.mark.parametrize("swallow", [False, True])
async def test_an_unknown_outcome_pauses_the_run_even_if_it_is_swallowed(tmp_path: Path, swallow: bool) -> None:
    """Ledger: L4"""
    forge = Forge(script=["lose"], sight=["none"])
    journal = SQLiteJournal(tmp_path / "j.db")
    built = graph(Publish(forge, STRONG), journal, swallow=swallow)
    paused = await built.run({"repo": "acme"}, thread="t1")
    assert isinstance(paused, Paused)
    assert [question.kind for question in paused.questions] == ["effect_recovery"]
    assert forge.calls == 1
    # Whoever goes on with the run only wakes it: the ledger looks again and decides.
    done = await built.run(None, thread="t1")
    assert state_of(done)["address"] == "https://forge/acme"
    assert (forge.calls, forge.applied) == (1, ["acme"])
    journal.close()


async def test_an_unknown_outcome_that_a_person_must_settle(tmp_path: Path) -> None:
    from lawful.core.questions import Principal
    from lawful.effects import Happened

    forge = Forge(script=["lose"])
    journal = SQLiteJournal(tmp_path / "j.db")
    built = graph(Publish(forge, Opaque()), journal)
    assert isinstance(await built.run({"repo": "acme"}, thread="t1"), Paused)
    assert isinstance(await built.run(None, thread="t1"), Paused)
    ledger = Ledger(journal)
    (row,) = ledger.unresolved(thread="t1")
    ledger.resolve(
        row.op_id,
        expected_version=row.version,
        decision=Happened("https://forge/acme"),
        by=Principal("alice"),
        reason="seen on the page",
    )
    done = await built.run(None, thread="t1")
    assert state_of(done)["address"] == "https://forge/acme"
    assert forge.calls == 1
    journal.close()


async def test_listeners_hear_each_state_of_an_operation(tmp_path: Path) -> None:
    """As far as the run moved it: to the approval that it waits for, then to its end. Rows: S0-050"""
    publish = Publish(Forge(), policy=Policy("p", (RequireApproval(),)))
    journal = SQLiteJournal(tmp_path / "j.db")
    built = graph(publish, journal)
    heard: list[Event] = []
    paused = await built.run({"repo": "acme"}, thread="t1", on_event=heard.append)
    first = [event for event in heard if isinstance(event, EffectMoved)]
    heard.clear()
    await built.resume("t1", paused.questions[0].answer(True), on_event=heard.append)
    then = [event for event in heard if isinstance(event, EffectMoved)]
    assert {event.tool for event in [*first, *then]} == {"publish"}
    assert len({event.op_id for event in [*first, *then]}) == 1
    states = [[event.state for event in moves] for moves in (first, then)]
    assert states == [["Planned"], ["Permitted", "InFlight", "Succeeded"]]
    assert unpaired(heard) == []
    journal.close()
