"""Replay from the record: node code runs again, nobody is called, and changed code is named where it first diverges."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.errors import ConfigurationError
from lawful.effects import effect
from lawful.graph import END, START, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from support.graphs import concat

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    log: Annotated[list[str], concat]
    n: int


class Program:
    """A loop with an effect and a question, whose code can be changed."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.ran = 0
        self.word = "sent"
        self.rounds = 2
        self.journal = MemoryJournal()

        @effect("key")
        def send(key: str, text: str) -> str:
            self.sent.append(key)
            return f"receipt of {key}"

        self.send = send

    def build(self) -> Any:
        def work(state: State) -> State:
            self.ran += 1
            n = state.get("n", 0) + 1
            return {"n": n, "log": [self.word, self.send(f"{len(state.get('log', []))}", f"text {n}")]}

        def ask(state: State) -> State:
            return {"log": [f"{interrupt('go on?')} {interrupt('sure?')}"]}

        def more(state: State) -> str:
            return "work" if state.get("n", 0) % self.rounds else END

        graph = StateGraph(State).add_node(work).add_node(ask).add_edge(START, "work").add_edge("work", "ask")
        return graph.add_conditional_edges("ask", more, {"work": "work", END: END}).compile(self.journal)

    def live(self) -> Any:
        """Two inputs, each two rounds, each round with two questions."""
        graph = self.build()
        for given in ({"log": ["first"]}, {"log": ["second"]}):
            result = graph.run_sync(given, thread="t")
            while hasattr(result, "questions"):
                result = graph.resume_sync("t", *(q.answer(f"yes to {q.value}") for q in result.questions))
        return graph


def stored(journal: MemoryJournal) -> Any:
    rows = [row.id for row in journal.history("t")]
    return rows, journal.read(lambda tx: [(row.op_id, row.version) for row in tx.operations()])


def test_the_same_code_gives_the_same_and_nobody_is_called() -> None:
    """Ledger: L10; Rows: S2-023"""
    program = Program()
    graph = program.live()
    before, sent, ran = stored(program.journal), list(program.sent), program.ran
    assert len(sent) == 4
    found = graph.replay_recorded("t")
    assert found.same, found
    assert found.steps == 10
    assert program.sent == sent
    assert program.ran > ran
    assert stored(program.journal) == before
    assert graph.questions("t") == ()


def test_changed_code_is_named_where_it_first_diverges() -> None:
    program = Program()
    program.live()
    program.word = "posted"
    found = program.build().replay_recorded("t")
    assert found.divergence is not None
    assert (found.divergence.step, found.divergence.nodes, found.divergence.key) == (1, ("work",), "log")
    assert "posted" in found.divergence.now
    assert found.steps == 1
    assert len(program.sent) == 4


def test_another_route_is_a_divergence_too() -> None:
    program = Program()
    program.live()
    program.rounds = 1
    found = program.build().replay_recorded("t")
    assert found.divergence is not None
    assert found.divergence.nodes == ("ask",)
    assert (found.divergence.key, found.divergence.recorded) == ("", "then work")


def test_what_the_record_does_not_answer_is_a_gap() -> None:
    """Ledger: L10"""
    program = Program()
    program.live()
    other = Program()
    other.journal = program.journal

    @effect("key", tool="post")
    def post(key: str, text: str) -> str:
        raise AssertionError("called")

    other.send = post
    found = other.build().replay_recorded("t")
    assert found.gap is not None
    assert "no outcome of operation post:1" in found.gap.message
    assert found.divergence is not None
    assert found.divergence.nodes == ("work",)


def test_other_arguments_are_a_gap_and_no_call() -> None:
    program = Program()
    program.live()

    def work(state: State) -> State:
        return {"log": [program.send(f"{len(state.get('log', []))}", "another text")]}

    graph = StateGraph(State).add_node(work).add_node("ask", work).add_edge(START, "work").add_edge("work", "ask")
    found = graph.compile(program.journal).replay_recorded("t")
    assert found.gap is not None
    assert "other arguments" in found.gap.message
    assert len(program.sent) == 4


def test_a_thread_that_still_waits_is_replayed_as_far_as_it_is_recorded() -> None:
    program = Program()
    graph = program.build()
    graph.run_sync({"log": ["x"]}, thread="t")
    found = graph.replay_recorded("t")
    assert found.same, found
    assert found.steps == 2
    assert len(graph.questions("t")) == 1


def test_a_thread_without_a_history_is_told() -> None:
    with pytest.raises(ConfigurationError, match="no history"):
        Program().build().replay_recorded("nothing")


def test_code_that_breaks_now_is_a_divergence_and_no_exception() -> None:
    program = Program()
    program.live()
    program.word = None  # pyright: ignore[reportAttributeAccessIssue]
    found = program.build().replay_recorded("t")
    assert found.divergence is not None
    assert found.divergence.nodes == ("work",)
    assert "InvalidUpdateError" in found.divergence.now


async def test_async_nodes_are_replayed_too() -> None:
    journal, sent = MemoryJournal(), list[str]()

    @effect("key")
    async def send(key: str) -> str:
        sent.append(key)
        return f"receipt of {key}"

    async def work(state: State) -> State:
        return {"log": [await send("a")]}

    graph = StateGraph(State).add_node(work).add_edge(START, "work").compile(journal)
    await graph.ainvoke({"log": []}, {"configurable": {"thread_id": "t"}})
    import asyncio

    found = await asyncio.to_thread(graph.replay_recorded, "t")
    assert (found.same, found.steps) == (True, 2)
    assert sent == ["a"]


def counting(journal: MemoryJournal, **options: Any) -> Any:
    def one(state: State) -> State:
        return {"n": state.get("n", 0) + 1}

    def two(state: State) -> State:
        return {"n": state.get("n", 0) * 2}

    graph = StateGraph(State).add_node(one).add_node(two).add_edge(START, "one").add_edge("one", "two")
    return graph.compile(journal, **options)


def test_what_ran_without_records_is_a_gap_and_not_the_same() -> None:
    """Durability "exit" stores how a run ended, not its steps."""
    graph = counting(MemoryJournal())
    graph.invoke({"n": 1}, thread="t", durability="exit")
    found = graph.replay_recorded("t")
    assert not found.same
    assert found.gap is not None
    assert "durability 'exit'" in found.gap.message


def test_what_is_recorded_before_it_is_replayed() -> None:
    graph = counting(MemoryJournal())
    for durability in ("sync", "exit", "sync"):
        graph.invoke({"n": 1}, thread="t", durability=durability)
    found = graph.replay_recorded("t")
    assert found.steps == 3
    assert found.gap is not None
    assert found.divergence is not None
    assert found.divergence.step == 6


def test_a_change_from_outside_is_gone_on_from() -> None:
    graph = counting(MemoryJournal(), interrupt_before=["two"])
    config = {"configurable": {"thread_id": "t"}}
    graph.invoke({"n": 1}, config)
    graph.update_state(config, {"n": 10})
    assert graph.invoke(None, config)["n"] == 20
    found = graph.replay_recorded("t")
    assert found.same, found
    assert found.steps == 3


def test_a_stop_that_the_graph_asks_for_is_gone_past() -> None:
    graph = counting(MemoryJournal(), interrupt_before=["two"])
    config = {"configurable": {"thread_id": "t"}}
    graph.invoke({"n": 1}, config)
    assert graph.invoke(None, config)["n"] == 4
    found = graph.replay_recorded("t")
    assert found.same, found
    assert found.steps == 3


def test_a_thread_that_began_with_a_change_from_outside_is_replayed() -> None:
    graph = counting(MemoryJournal())
    config = {"configurable": {"thread_id": "t"}}
    graph.update_state(config, {"n": 3}, as_node="one")
    assert graph.invoke(None, config)["n"] == 6
    found = graph.replay_recorded("t")
    assert found.same, found
    assert found.steps == 1
