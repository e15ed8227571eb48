"""Case A07: two nodes of one step ask at once; both questions are known in the first pause and answers reach the right node."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from lawful.effects import Lookup, effect
from lawful.graph import Command, Paused, Send, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, JournalBox, on
from support.pausing import HEX32, Calls, Log, asked, fan_of, ids, values

pytestmark = pytest.mark.unit


class Desk:
    """Two tools that each do an effect and ask; B is slower by a tenth of a second."""

    def __init__(self) -> None:
        self.sink: list[str] = []
        self.entered = Calls()
        sink = self.sink

        @effect("line", capability=Lookup("strong"), tool="note")
        def note(line: str) -> str:
            sink.append(line)
            return line

        @note.lookup
        def find(line: str) -> str | None:  # pyright: ignore[reportUnusedFunction]
            return line if line in sink else None

        self.note = note

    def a(self, state: Log) -> Log:
        self.entered("a")
        self.note("effect of a")
        return {"log": [f"a got {interrupt('a?')}"]}

    def b(self, state: Log) -> Log:
        self.entered("b")
        time.sleep(0.1)
        self.note("effect of b")
        return {"log": [f"b got {interrupt('b?')}"]}


def test_both_are_reported_and_the_slow_one_may_be_answered_first(drive: Drive, box: JournalBox) -> None:
    """Only B is answered at first, from another opening of the store; A keeps waiting; no effect is repeated.

    Cases: A07. Rules: 98, 113, 116, 130. Rows: S1-H03, S1-H04
    """
    desk = Desk()
    first = fan_of(desk.a, desk.b, checkpointer=box.open())
    found = ids(asked(drive.invoke(first, {"log": []}, on("t"))))
    assert set(found) == {"a?", "b?"}
    assert all(HEX32.fullmatch(one) for one in found.values())
    assert sorted(desk.sink) == ["effect of a", "effect of b"]
    second = fan_of(desk.a, desk.b, checkpointer=box.open())
    paused = drive.invoke(second, Command(resume={found["b?"]: "BEE"}), on("t"))
    assert ids(asked(paused)) == {"a?": found["a?"]}
    assert values(paused) == {"log": ["b got BEE"]}
    assert drive.invoke(second, Command(resume={found["a?"]: "AYE"}), on("t")) == {"log": ["a got AYE", "b got BEE"]}
    assert sorted(desk.sink) == ["effect of a", "effect of b"]
    assert desk.entered.of("b") == 2


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_replies_of_the_typed_face_in_either_order(drive: Drive, journal: Journal, order: str) -> None:
    """The same by question objects.

    Cases: A07. Rows: S1-H03
    """
    desk = Desk()
    graph = fan_of(desk.a, desk.b, checkpointer=journal)
    result = drive.run(graph, {"log": []}, on("t"))
    assert isinstance(result, Paused)
    by_node = {question.node: question for question in result.questions}
    for name in order:
        result = drive.resume(graph, "t", by_node[name].answer(name.upper()))
    assert result.state == {"log": ["a got A", "b got B"]}
    assert sorted(desk.sink) == ["effect of a", "effect of b"]


async def test_two_coroutines(journal: Journal, strict: bool) -> None:
    """Async nodes: the slow one is not cancelled by the quick one's question.

    Cases: A07. Rules: 98
    """
    calls = Calls()

    async def a(state: Log) -> Log:
        calls("a")
        return {"log": [f"a got {interrupt('a?')}"]}

    async def b(state: Log) -> Log:
        calls("b")
        await asyncio.sleep(0.1)
        return {"log": [f"b got {interrupt('b?')}"]}

    graph = fan_of(a, b, strict=strict, checkpointer=journal)
    found = ids(asked(await graph.ainvoke({"log": []}, on("t"))))
    assert set(found) == {"a?", "b?"}
    again = await graph.ainvoke(Command(resume={found["b?"]: "B"}), on("t"))
    assert values(again) == {"log": ["b got B"]}
    assert await graph.ainvoke(Command(resume="A"), on("t")) == {"log": ["a got A", "b got B"]}


def test_two_calls_of_one_tool(drive: Drive, journal: Journal, strict: bool) -> None:
    """Two Sends to one node: two questions, told apart by id though they read the same.

    Cases: A07. Rules: 113, 68
    """

    def tool(state: Log) -> Log:
        return {"log": [f"{state.get('n')}: {interrupt('sure?')}"]}

    def spread(state: Log) -> list[Send]:
        return [Send("tool", {"n": 1}), Send("tool", {"n": 2})]

    builder: Any = StateGraph(Log, strict=strict)
    graph = builder.add_node("tool", drive.node(tool)).add_conditional_edges("__start__", spread, ["tool"])
    graph = graph.compile(checkpointer=journal)
    one, two = asked(drive.invoke(graph, {"log": []}, on("t")))
    assert one.id != two.id
    again = drive.invoke(graph, Command(resume={two.id: "second"}), on("t"))
    assert [question.id for question in asked(again)] == [one.id]
    assert drive.invoke(graph, Command(resume={one.id: "first"}), on("t")) == {"log": ["1: first", "2: second"]}
