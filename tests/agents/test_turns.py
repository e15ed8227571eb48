"""The turns of a user over a journal: which one is open, how often it is tried, how long it is kept, and what is deleted."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful import Agent, SQLiteJournal, tool
from lawful.agents import TurnOpen, TurnOver, TurnRules, Turns, turn_rules
from lawful.agents.turn_rules import NOBODY, Book
from lawful.core.clock import FixedClock
from lawful.core.errors import ConfigurationError, InvalidThreadId, LLMError
from lawful.core.messages import ToolCall
from lawful.graph.outcome import Done, Failed, Paused
from lawful.journal.memory import MemoryJournal
from lawful.journal.records import Lease
from lawful.models.fake import Scripted
from support.tree import environment

pytestmark = pytest.mark.unit

BROKEN = LLMError("the line is dead", component="models")


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    made = MemoryJournal() if request.param == "memory" else SQLiteJournal(tmp_path / "turns.db")
    yield made
    made.close()


@tool
def look(at: str) -> str:
    """Look at something."""
    return f"nothing at {at}"


LOOKS = ToolCall("look", {"at": "door"}, id="l")


def turns_of(
    journal: Any, *said: Any, clock: FixedClock | None = None, tools: Any = (look,), **rules: Any
) -> Turns[str]:
    agent = Agent(Scripted(*said), tools=list(tools), journal=journal)
    return Turns(agent, rules=TurnRules(**rules), clock=clock or FixedClock())


def stored(journal: Any) -> list[str]:
    return [row.thread for row in journal.threads()]


async def test_a_turn_that_ends_well_leaves_nothing(journal: Any) -> None:
    """Rows: S4-045"""
    turns = turns_of(journal, LOOKS, "nothing there")
    assert await turns.run("ada", "what is at the door?") == Done("nothing there")
    assert stored(journal) == []
    assert turns.book("ada") == NOBODY


def test_a_turns_thread_is_the_user_and_twelve_digits(journal: Any) -> None:
    """Rows: S4-045"""
    turns = turns_of(journal)
    one = turns.start("ada")
    assert re.fullmatch(r"ada:[0-9a-f]{12}", one.thread)
    assert turns.start("ada:bob").thread != one.thread
    for bad in ("", "a\nb", "x" * 250):
        with pytest.raises(InvalidThreadId):
            turns.start(bad)


async def test_a_failed_turn_is_gone_on_with_where_it_stood_twice_at_most(journal: Any) -> None:
    """Rows: S4-045"""
    turns = turns_of(journal, LOOKS, BROKEN, BROKEN, BROKEN, "never asked")
    failed = await turns.run("ada", "what is at the door?")
    assert isinstance(failed, Failed)
    [turn] = turns.book("ada").unfinished
    for tries in (2, 3):
        assert isinstance(await turns.resume("ada"), Failed)
        assert turns.book("ada").unfinished[0].tries == tries
    with pytest.raises(TurnOver, match="failed 3 times"):
        await turns.resume("ada")
    assert stored(journal) == [turn.thread]  # and still to be looked at


async def test_what_was_done_before_the_failure_is_not_done_again(journal: Any) -> None:
    """Rows: S4-045"""
    looked: list[str] = []

    @tool
    def look(at: str) -> str:
        """Look at something."""
        looked.append(at)
        return "nothing"

    turns = turns_of(journal, LOOKS, BROKEN, "nothing there", tools=[look])
    assert isinstance(await turns.run("ada", "go"), Failed)
    assert await turns.resume("ada") == Done("nothing there")
    assert looked == ["door"]
    assert stored(journal) == []


@pytest.mark.parametrize("when_open", ["refuse", "aside", "drop"])
def test_a_new_turn_never_loses_the_old_ones_checkpoints_in_silence(journal: Any, when_open: Any) -> None:
    """Rows: S4-045"""
    turns = turns_of(journal, LOOKS, BROKEN, "new", "old")
    assert isinstance(turns.run_sync("ada", "first"), Failed)
    [old] = turns.book("ada").unfinished
    if when_open == "refuse":
        with pytest.raises(TurnOpen, match=re.escape(old.thread)) as caught:
            turns.run_sync("ada", "second")
        assert caught.value.details["thread"] == old.thread
        assert turns.book("ada").open == old
        assert turns.run_sync("bob", "mine") == Done("new")  # another user's is another matter
        return
    assert turns.run_sync("ada", "second", when_open=when_open) == Done("new")
    if when_open == "drop":
        assert turns.book("ada") == NOBODY
        assert stored(journal) == []
        return
    assert turns.book("ada").aside == (old,)
    assert stored(journal) == [old.thread]
    with pytest.raises(TurnOver):
        turns.resume_sync("ada")
    assert turns.resume_sync("ada", thread=old.thread) == Done("old")
    assert stored(journal) == []


@pytest.mark.parametrize("passed, kept", [(3599.9, True), (3600.0, False)])
def test_an_unfinished_turn_is_kept_for_an_hour(journal: Any, passed: float, kept: bool) -> None:
    """Rows: S4-045"""
    clock = FixedClock()
    turns = turns_of(journal, LOOKS, BROKEN, "done", clock=clock)
    assert isinstance(turns.run_sync("ada", "go"), Failed)
    clock.advance(passed)
    if kept:
        assert turns.resume_sync("ada") == Done("done")
    else:
        with pytest.raises(TurnOver, match="no unfinished turn"):
            turns.resume_sync("ada")
    assert stored(journal) == []


def test_expiry_sweeps_every_user(journal: Any) -> None:
    """Rows: S4-045"""
    clock = FixedClock()
    turns = turns_of(journal, *[LOOKS, BROKEN] * 3, clock=clock, ttl=60.0)
    for user in ("ada", "bob"):
        turns.run_sync(user, "go")
    clock.advance(45)
    turns.run_sync("eve", "go")
    clock.advance(30)
    assert turns.expire() == 2
    assert [thread[:3] for thread in stored(journal)] == ["eve"]
    assert turns.expire() == 0


async def test_a_turn_that_waits_for_a_person_does_not_expire_and_an_answer_is_no_retry(journal: Any) -> None:
    """Rows: S4-045"""
    clock = FixedClock()
    turns = turns_of(journal, LOOKS, "nothing", clock=clock, tools=[look.with_(approval=True)], retries=0)
    waiting = await turns.run("ada", "go")
    assert isinstance(waiting, Paused)
    clock.advance(1_000_000)
    assert turns.expire() == 0
    assert await turns.resume("ada", waiting.questions[0].answer(True)) == Done("nothing")


def test_a_process_that_died_before_it_could_say_so_waits_too(journal: Any) -> None:
    clock = FixedClock()
    turns = turns_of(journal, LOOKS, "nothing", clock=clock, tools=[look.with_(approval=True)])
    turn = turns.start("ada")
    agent = Agent(Scripted(LOOKS, "nothing"), tools=[look.with_(approval=True)], journal=journal)
    assert agent.invoke("go", thread=turn.thread).questions
    clock.advance(1_000_000)
    assert turns.expire() == 0
    assert turns.book("ada").open == turn


def test_a_turn_that_is_being_worked_on_is_not_deleted(journal: Any) -> None:
    clock = FixedClock()
    turns = turns_of(journal, LOOKS, BROKEN, clock=clock)
    turns.run_sync("ada", "go")
    [turn] = turns.book("ada").unfinished
    lease = journal.acquire(turn.thread, "somebody", 60.0)
    assert isinstance(lease, Lease)
    clock.advance(5_000)
    assert turns.book("ada").open == turn
    journal.release(lease)
    assert turns.book("ada") == NOBODY
    assert stored(journal) == []


def test_a_turn_goes_on_from_two_steps_back(journal: Any) -> None:
    """Rows: S4-045"""
    wrong = ToolCall("look", {"at": "window"}, id="w")
    turns = turns_of(journal, LOOKS, wrong, BROKEN, ToolCall("look", {"at": "roof"}, id="r"), "a roof", retries=0)
    assert isinstance(turns.run_sync("ada", "go"), Failed)
    with pytest.raises(TurnOver, match="failed 1 times"):
        turns.resume_sync("ada")
    turn = turns.rollback("ada")  # to before the second answer
    assert turn.tries == 0
    loop = turns._agent.loop  # pyright: ignore[reportPrivateUsage]
    texts = [m.text for m in loop.get_state(turn.thread).values["messages"] if m.role == "tool"]
    assert texts == ["nothing at door"]
    assert turns.resume_sync("ada") == Done("a roof")
    with pytest.raises(TurnOver, match="no unfinished"):
        turns.rollback("ada")


def test_no_further_back_than_the_beginning(journal: Any) -> None:
    turns = turns_of(journal, LOOKS, BROKEN)
    turns.run_sync("ada", "go")
    before = turns.book("ada")
    for steps in (0, 40):
        with pytest.raises(TurnOver, match="steps to go back"):
            turns.rollback("ada", steps_back=steps)
    assert turns.book("ada") == before


def test_clearing_drops_all_of_a_users(journal: Any) -> None:
    """Rows: S4-045"""
    turns = turns_of(journal, *[LOOKS, BROKEN] * 3)
    turns.run_sync("ada", "one")
    turns.run_sync("ada", "two", when_open="aside")
    turns.run_sync("bob", "three")
    assert turns.clear("ada") == 2
    assert [thread[:3] for thread in stored(journal)] == ["bob"]
    assert turns.clear("ada") == 0


def test_a_deletion_that_a_crash_cut_short_is_made_up_for(journal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows: S4-045"""
    turns = turns_of(journal, LOOKS, "nothing")
    turn = turns.start("ada")
    turns._agent.run_sync("go", thread=turn.thread)  # pyright: ignore[reportPrivateUsage]

    def dies(self: object, thread: str) -> None:
        raise KeyboardInterrupt

    kind = MemoryJournal if isinstance(journal, MemoryJournal) else SQLiteJournal

    with monkeypatch.context() as patch:
        patch.setattr(kind, "delete_thread", dies)
        with pytest.raises(KeyboardInterrupt):
            turns.end("ada", success=True)
    assert stored(journal) == [turn.thread]
    assert turns.book("ada") == NOBODY
    assert stored(journal) == []


async def test_of_many_that_begin_at_once_one_has_the_turn(journal: Any) -> None:
    """Rows: S4-045"""
    turns = turns_of(journal)

    def begin() -> bool:
        try:
            turns.start("ada")
        except TurnOpen:
            return False
        return True

    won = await asyncio.gather(*(asyncio.to_thread(begin) for _ in range(8)))
    assert sum(won) == 1


CHILD = """
import os, sys
from lawful import Agent, tool
from lawful.agents import Turns
from lawful.core.messages import ToolCall
from lawful.models.fake import Scripted

@tool
def look(at: str) -> str:
    "Look."
    os._exit(9)

agent = Agent(Scripted(ToolCall("look", {"at": "door"}, id="l")), tools=[look], journal=sys.argv[1])
Turns(agent).run_sync("ada", "go")
"""


@pytest.mark.crash
def test_another_process_goes_on_with_a_killed_ones_turn(tmp_path: Path) -> None:
    """Rows: S4-045"""
    path = tmp_path / "turns.db"
    ran = subprocess.run([sys.executable, "-c", CHILD, str(path)], env=environment(), timeout=60)
    assert ran.returncode == 9
    with closing(SQLiteJournal(path)) as journal:
        turns = Turns(Agent(Scripted("nothing there"), tools=[look], journal=journal))
        with pytest.raises(TurnOpen):
            turns.start("ada")
        assert turns.resume_sync("ada") == Done("nothing there")
        assert stored(journal) == []


def test_an_agent_needs_a_journal_and_rules_must_be_ones_that_can_be_kept() -> None:
    with pytest.raises(ConfigurationError, match="no journal"):
        Turns(Agent(Scripted()))
    with pytest.raises(ConfigurationError):
        TurnRules(retries=-1)
    with pytest.raises(ConfigurationError):
        TurnRules(ttl=0.0)


MOVES: dict[str, Callable[[Book, float, str], Book]] = {
    "start": lambda book, now, thread: turn_rules.started(book, now, thread),
    "aside": lambda book, now, thread: turn_rules.started(book, now, thread, "aside"),
    "replace": lambda book, now, thread: turn_rules.started(book, now, thread, "drop"),
    "again": lambda book, now, thread: turn_rules.gone_on(book, now, TurnRules())[0],
    "back": lambda book, now, thread: turn_rules.rolled_back(book, now)[0],
    "wait": lambda book, now, thread: turn_rules.waiting(book, now, turn_rules.found(book).thread),
    "sweep": lambda book, now, thread: turn_rules.swept(book, now, TurnRules(ttl=50.0)),
    "end": lambda book, now, thread: turn_rules.dropped(book, {turn_rules.found(book).thread}),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(MOVES)), st.floats(0, 40))))
def test_no_thread_is_ever_lost_from_the_book(moves: list[tuple[str, float]]) -> None:
    """Rows: S4-045"""
    book, now, begun = NOBODY, 0.0, set[str]()
    for at, (name, passed) in enumerate(moves):
        now += passed
        try:
            book = MOVES[name](book, now, f"ada:{at}")
        except (TurnOpen, TurnOver):
            continue
        if name in ("start", "aside", "replace"):
            begun.add(f"ada:{at}")
        held = [one.thread for one in book.unfinished]
        assert sorted(held + list(book.leaving)) == sorted(begun)
        assert all(one.tries <= 3 for one in book.unfinished)
