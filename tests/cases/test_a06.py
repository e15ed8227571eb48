"""Case A06: an effect before two questions happens once, in one process and over restarts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lawful.effects import Lookup, effect
from lawful.graph import START, Command, StateGraph, interrupt
from lawful.journal.port import Journal
from support import restarts
from support.children import TESTS, run
from support.graphs import Drive, JournalBox, on
from support.pausing import Calls, Log, asked

pytestmark = pytest.mark.integration

PROGRAM = TESTS / "support" / "restarts.py"


def lines(sink: Path) -> list[str]:
    return sink.read_text(encoding="utf-8").splitlines()


def test_once_in_one_process(drive: Drive, journal: Journal, tmp_path: Path) -> None:
    """The node is entered three times, its effect happens at the first.

    Cases: A06. Rules: 111, 118. Rows: S1-H02
    """
    sink = tmp_path / "sink"
    graph = restarts.build(sink, journal)
    assert [question.value for question in asked(drive.invoke(graph, {"log": []}, on("t")))] == ["first?"]
    assert [question.value for question in asked(drive.invoke(graph, Command(resume="A"), on("t")))] == ["second?"]
    assert drive.invoke(graph, Command(resume="B"), on("t")) == {"log": ["wrote effect", "A", "B"]}
    assert lines(sink) == ["effect"]


def test_once_over_openings_of_the_store(drive: Drive, box: JournalBox, tmp_path: Path) -> None:
    """A new graph over a new opening for each answer.

    Cases: A06. Rows: S0-103, S1-H07
    """
    sink = tmp_path / "sink"
    drive.invoke(restarts.build(sink, box.open()), {"log": []}, on("t"))
    for answer in ("A", "B"):
        result = drive.invoke(restarts.build(sink, box.open()), Command(resume=answer), on("t"))
    assert result == {"log": ["wrote effect", "A", "B"]}
    assert lines(sink) == ["effect"]


@pytest.mark.parametrize("end", ["", "kill"])
def test_once_over_restarts(tmp_path: Path, end: str) -> None:
    """Three processes, each gone (variant: killed) before the next begins.

    Cases: A06. Rules: 113. Rows: S0-103, S1-H07
    """
    db, sink = str(tmp_path / "journal.db"), tmp_path / "sink"
    code = -9 if end else 0
    told = [json.loads(run(PROGRAM, db, str(sink), what, end, code=code)) for what in ("start", "A", "B")]
    assert told == [{"waits": ["first?"]}, {"waits": ["second?"]}, {"done": ["wrote effect", "A", "B"]}]
    assert lines(sink) == ["effect"]


async def test_once_with_an_async_effect(journal: Journal) -> None:
    """The same with coroutines throughout.

    Cases: A06
    """
    sink: list[str] = []
    calls = Calls()

    @effect("line", capability=Lookup("strong"))
    async def note(line: str) -> str:
        sink.append(line)
        return line

    @note.lookup
    async def find(line: str) -> str | None:  # pyright: ignore[reportUnusedFunction]
        return line if line in sink else None

    async def node(state: Log) -> Log:
        calls("node")
        receipt = await note("effect")
        return {"log": [receipt, interrupt("first?"), interrupt("second?")]}

    builder: Any = StateGraph(Log)
    graph = builder.add_node("node", node).add_edge(START, "node").compile(checkpointer=journal)
    await graph.ainvoke({"log": []}, on("t"))
    await graph.ainvoke(Command(resume="A"), on("t"))
    assert await graph.ainvoke(Command(resume="B"), on("t")) == {"log": ["effect", "A", "B"]}
    assert (sink, calls.of("node")) == (["effect"], 3)
