"""A thread meets a graph that is no longer the one that wrote it: what fits goes on, what does not is refused by name."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.errors import ResumeRefused
from lawful.core.reducers import reducer
from lawful.graph import START, Command, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on
from support.pausing import Log, asked, chain

pytestmark = pytest.mark.unit


def before(log: Log) -> Log:
    return {"log": ["before"]}


def ask(state: Any) -> dict[str, list[str]]:
    return {"log": [interrupt("go on?")]}


def test_a_thread_that_waits_at_a_node_that_is_gone_is_refused(drive: Drive, journal: Journal, strict: bool) -> None:
    """The node is named and nothing is written: the graph that has it goes on as if nothing had been.

    Rows: S1-S07
    """
    old = chain(drive, before, ask, strict=strict, checkpointer=journal)
    assert asked(drive.invoke(old, {"log": []}, on("t")))
    stored = list(journal.history("t"))
    new = chain(drive, before, strict=strict, checkpointer=journal)
    for given in (None, Command(resume="1")):
        with pytest.raises(ResumeRefused, match="'ask'") as refused:
            drive.invoke(new, given, on("t"))
        assert "'t'" in str(refused.value)
    assert list(journal.history("t")) == stored
    assert drive.invoke(old, Command(resume="1"), on("t")) == {"log": ["before", "1"]}


class Wide(TypedDict, total=False):
    log: Annotated[list[str], concat]
    note: str


class Narrow(TypedDict, total=False):
    log: Annotated[list[str], concat]


def over(schema: Any, journal: Journal, strict: bool) -> Any:
    builder: Any = StateGraph(schema, strict=strict)
    return builder.add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=journal)


def test_a_value_whose_key_is_gone_is_not_dropped_in_silence(drive: Drive, journal: Journal) -> None:
    """Strict names the key; lenient goes on without it.

    Rows: S1-S07
    """
    drive.invoke(over(Wide, journal, True), {"log": ["in"], "note": "keep me"}, on("t"))
    with pytest.raises(ResumeRefused, match="'note'"):
        drive.invoke(over(Narrow, journal, True), Command(resume="1"), on("t"))
    assert drive.get_state(over(Wide, journal, True), on("t")).values["note"] == "keep me"
    done = drive.invoke(over(Narrow, journal, False), Command(resume="1"), on("t"))
    assert done == {"log": ["in", "1"]}


def test_a_key_that_is_new_has_its_first_value(drive: Drive, journal: Journal, strict: bool) -> None:
    drive.invoke(over(Narrow, journal, strict), {"log": ["in"]}, on("t"))
    done = drive.invoke(over(Wide, journal, strict), Command(resume="1"), on("t"))
    assert done == {"log": ["in", "1"]}


def joined(old: list[str], new: list[str]) -> list[str]:
    return old + new


def reversed_(old: list[str], new: list[str]) -> list[str]:
    return new + old


NODES = 24


def merging(by: Any, journal: Journal, stop: int = 0) -> Any:
    """A chain of nodes that each add some bytes, merged by ``by``; it stops before node number ``stop``."""

    def step(state: Any) -> dict[str, list[str]]:
        return {"log": ["step" * 8]}

    state: Any = TypedDict("state", {"log": Annotated[list[str], by]}, total=False)  # pyright: ignore
    builder: Any = StateGraph(state).add_sequence([(f"n{n}", step) for n in range(NODES)]).add_edge(START, "n0")
    return builder.compile(journal, interrupt_before=[f"n{stop}"] if stop else None)


CHANGES: list[tuple[Any, Any]] = [
    (joined, reversed_),
    (reducer(version=1)(joined), reducer(version=2)(joined)),
]


@pytest.mark.parametrize("then, now", CHANGES, ids=["another function", "another version"])
def test_stored_writes_are_not_merged_by_another_reducer(drive: Drive, journal: Journal, then: Any, now: Any) -> None:
    """A step is stored as what was written, so another merge would give another state: key and reducers are named.

    Rows: S1-S07
    """
    stop = next(n for n in range(2, NODES) if not snapshot_at(drive, journal, then, n))
    wanted = drive.get_state(merging(then, journal), on(f"t{stop}")).values
    new = merging(now, journal)
    for meet in (lambda: drive.get_state(new, on(f"t{stop}")), lambda: drive.invoke(new, None, on(f"t{stop}"))):
        with pytest.raises(ResumeRefused, match="'log'") as refused:
            meet()
        assert "joined" in str(refused.value)
    assert drive.get_state(merging(then, journal), on(f"t{stop}")).values == wanted
    assert len(drive.invoke(merging(then, journal), None, on(f"t{stop}"))["log"]) == NODES + 1


def snapshot_at(drive: Drive, journal: Journal, by: Any, stop: int) -> bool:
    """Whether thread ``t<stop>``, run up to there, ends with a checkpoint that holds its values whole."""
    drive.invoke(merging(by, journal, stop), {"log": ["in"]}, on(f"t{stop}"))
    chain = journal.chain(f"t{stop}")
    assert chain is not None
    return chain.tip.snapshot is not None


def test_from_whole_values_another_reducer_may_go_on_and_is_remembered(drive: Drive, journal: Journal) -> None:
    """Wherever the thread was left: what the new graph wrote it reads, and the old one does not read it otherwise.

    Rows: S1-S07
    """
    old, new = merging(joined, journal), merging(reversed_, journal)
    whole = [n for n in range(1, NODES) if snapshot_at(drive, journal, joined, n)]
    assert whole
    for stop in whole:
        done = drive.invoke(new, None, on(f"t{stop}"))
        assert drive.get_state(new, on(f"t{stop}")).values == done
        with contextlib.suppress(ResumeRefused):
            assert drive.get_state(old, on(f"t{stop}")).values == done


def test_an_update_by_hand_remembers_its_reducer_too(drive: Drive, journal: Journal) -> None:
    """Rows: S1-S07."""
    new = merging(reversed_, journal)
    for stop in (n for n in range(1, NODES) if snapshot_at(drive, journal, joined, n)):
        drive.update_state(new, on(f"t{stop}"), {"log": ["by hand"]}, as_node=f"n{stop - 1}")
        assert drive.get_state(new, on(f"t{stop}")).values["log"][0] == "by hand"
