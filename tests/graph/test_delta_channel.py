"""DeltaChannel: a reducer that takes a step's writes at once, on journals that store what was written."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.errors import GraphBuildError, InvalidUpdateError, ResumeRefused
from lawful.core.merge_messages import merge_messages
from lawful.core.messages import Message, assistant, user
from lawful.core.reducers import add_messages, append
from lawful.graph import END, START, DeltaChannel, Overwrite, Send, StateGraph
from lawful.graph.channels import MISSING, BinaryOperatorAggregate
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.journal.records import Batch, PutCheckpoint
from support.graphs import Drive, JournalBox, on

pytestmark = pytest.mark.unit


def joined(state: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*state, *(item for write in writes for item in write)]


class Log(TypedDict, total=False):
    lines: Annotated[list[str], DeltaChannel(joined)]


class Plain(TypedDict, total=False):
    lines: Annotated[list[str], operator.add]


def state_of(**fields: Any) -> Any:
    """A TypedDict of annotations that are made at run time."""
    made: Any = TypedDict
    return made("State", fields, total=False)


def turns(schema: Any, count: int = 3, size: int = 300) -> Any:
    """A graph that writes ``lines`` in two parallel nodes, ``count`` times over."""
    graph = StateGraph(schema)

    def first(state: Any) -> Any:
        return {"lines": [f"first {len(state['lines'])}".ljust(size)]}

    def second(state: Any) -> Any:
        return {"lines": [f"second {len(state['lines'])}".ljust(size)]}

    def again(state: Any) -> Any:
        return ["first", "second"] if len(state["lines"]) < 1 + 2 * count else END

    graph.add_node(first).add_node(second).add_edge(START, "first").add_edge(START, "second")
    return graph.add_conditional_edges("first", again, ["first", "second", END])


def test_it_behaves_as_a_reducer_key_and_stores_only_what_was_written(drive: Drive, box: JournalBox) -> None:
    """Rules: 211. Rows: S1-C10, S1-072."""
    graph = turns(Log, 30).compile(checkpointer=box.open())
    plain = turns(Plain, 30).compile()
    result = drive.invoke(graph, {"lines": ["go"]}, on("t"))
    assert result == drive.invoke(plain, {"lines": ["go"]})
    other = turns(Log, 30).compile(checkpointer=box.open())
    assert drive.get_state(other, on("t")).values == result
    rows = box.open().history("t")
    assert sum(len(r.delta) for r in rows) < 900 * len(rows), "bytes a step do not grow with the value"
    history = [s.values.get("lines", []) for s in drive.get_state_history(other, on("t"))]
    assert [len(lines) for lines in history] == sorted((len(lines) for lines in history), reverse=True)


def test_the_reducer_is_called_once_a_step_with_all_writes_in_task_order(drive: Drive) -> None:
    """Rules: 211, 35."""
    calls: list[list[Any]] = []

    def told(state: list[str], writes: Sequence[list[str]]) -> list[str]:
        calls.append(list(writes))
        return joined(state, writes)

    def fan(state: Any) -> list[Send]:
        return [Send("leaf", n) for n in "cab"]

    def leaf(name: str) -> Any:
        return {"lines": [name]}

    graph = StateGraph(state_of(lines=Annotated[list[str], DeltaChannel(told)])).add_node(fan).add_node(leaf)
    drive.invoke(graph.add_edge(START, "fan").compile(), {"lines": ["in"]})
    assert calls == [[["in"]], [["c"], ["a"], ["b"]]]


@given(st.lists(st.lists(st.lists(st.text("ab", max_size=1), max_size=2), max_size=3), max_size=5))
def test_it_equals_the_fold_write_by_write(steps: list[list[list[str]]]) -> None:
    """Rules: 211."""
    batch, single = DeltaChannel(joined, list), BinaryOperatorAggregate(list, operator.add)
    left, right = batch.initial(), single.initial()
    for writes in steps:
        before = list(left)
        left, right, old = batch.update(left, writes), single.update(right, writes), left
        assert old == before, "a value that was read is not changed"
    assert left == right


def test_overwrite_replaces_and_two_conflict(drive: Drive, journal: Journal) -> None:
    """Rules: 212, 22."""

    def build(*writes: Any) -> Any:
        graph = StateGraph(Log)
        for n, write in enumerate(writes):
            graph.add_node(f"n{n}", partial(_written, write)).add_edge(START, f"n{n}")
        return graph.compile(checkpointer=journal)

    graph = build(["a"], Overwrite(["over"]), ["c"])
    assert drive.invoke(graph, {"lines": ["in"]}, on("t")) == {"lines": ["over"]}
    assert drive.get_state(graph, on("t")).values == {"lines": ["over"]}
    with pytest.raises(InvalidUpdateError, match="only one Overwrite"):
        drive.invoke(build(Overwrite([]), Overwrite([])), {"lines": []}, on("u"))


def test_whole_values_are_stored_now_and_then_by_their_size(journal: Journal) -> None:
    """Rules: 212. When that is, is decided by bytes, not by a count."""
    graph = turns(Log, 40).compile(checkpointer=journal)
    graph.invoke({"lines": ["go"]}, on("t"))
    rows = journal.history("t")
    whole = [r for r in rows if r.snapshot is not None]
    assert 1 <= len(whole) < len(rows) / 3


def test_the_measure_since_the_last_whole_value_is_stored_and_equal_in_all_modes() -> None:
    """Rules: 213. It is a row's weight in bytes; metadata has no counters of ours."""
    found: dict[str, list[Any]] = {}
    for mode in ("sync", "async"):
        journal = MemoryJournal()
        turns(Log, 6).compile(checkpointer=journal).invoke({"lines": ["go"]}, on("t"), durability=mode)
        rows = journal.history("t")
        found[mode] = [(r.step, r.weight, r.snapshot is not None) for r in rows]
        assert all("counters_since_delta_snapshot" not in r.metadata for r in rows)
    assert found["sync"] == found["async"]
    weights = [w for _, w, whole in reversed(found["sync"]) if not whole]
    assert weights
    assert all(w > 0 for w in weights)


def test_saving_at_the_exit_keeps_order_and_value_over_several_runs(drive: Drive, box: JournalBox) -> None:
    """Rules: 214."""
    for turn in (1, 2, 3):
        graph = turns(Log, turn).compile(checkpointer=box.open())
        result = drive.invoke(graph, {"lines": ["go"]}, on("t"), durability="exit")
        assert drive.get_state(turns(Log).compile(checkpointer=box.open()), on("t")).values == result
    assert len(box.open().history("t")) == 3
    assert drive.get_state(graph, on("t")).values["lines"].count("go") == 3


def _written(write: Any, state: Any) -> Any:
    return {"lines": write}


class Watching(MemoryJournal):
    """Holds, after each commit, that what it made visible can be read."""

    def __init__(self, look: Any) -> None:
        super().__init__()
        self.look = look
        self.seen: list[int] = []

    def commit(self, batch: Batch) -> None:
        super().commit(batch)
        if any(isinstance(r, PutCheckpoint) for r in batch.records):
            self.seen.append(len(self.look(self)))


def test_no_checkpoint_is_visible_before_the_writes_it_is_made_of() -> None:
    """Rules: 215."""
    bare = turns(Log, 5)

    def look(journal: Journal) -> list[str]:
        return bare.compile(checkpointer=journal).get_state("t").values.get("lines", [])

    journal = Watching(look)
    result = bare.compile(checkpointer=journal).invoke({"lines": ["go"]}, on("t"))
    assert journal.seen == sorted(journal.seen)
    assert journal.seen[-1] == len(result["lines"])


def talk(state: list[Message], writes: Sequence[Any]) -> list[Message]:
    for write in writes:
        state = list(merge_messages(state, write))
    return state


@pytest.mark.parametrize("reducer", [talk, add_messages], ids=["batch", "add_messages"])
def test_messages_get_their_ids_before_they_are_stored(drive: Drive, box: JournalBox, reducer: Any) -> None:
    """Rules: 216."""

    chat = state_of(messages=Annotated[list[Message], DeltaChannel(reducer)])

    def answer(state: Any) -> Any:
        return {"messages": [assistant("hello")]}

    def build() -> Any:
        return StateGraph(chat).add_node(answer).add_edge(START, "answer").compile(checkpointer=box.open())

    result = drive.invoke(build(), {"messages": [user("hi")]}, on("t"))
    ids = [m.id for m in result["messages"]]
    assert len(set(ids)) == 2
    assert None not in ids
    for _ in range(2):
        assert [m.id for m in drive.get_state(build(), on("t")).values["messages"]] == ids


@pytest.mark.parametrize("reducer", [append, add_messages], ids=["append", "add_messages"])
def test_a_thread_of_a_plain_reducer_goes_on_with_the_same_reducer_in_a_delta_channel(
    drive: Drive, box: JournalBox, reducer: Any
) -> None:
    """Rules: 217."""
    typ = list[str] if reducer is append else list[Message]

    def build(merge: Any) -> Any:
        def node(state: Any) -> Any:
            return {"items": ["more"]}

        graph = StateGraph(state_of(items=Annotated[typ, merge])).add_node(node).add_edge(START, "node")
        return graph.compile(checkpointer=box.open())

    before = drive.invoke(build(reducer), {"items": ["old"]}, on("t"))["items"]
    changed = build(DeltaChannel(reducer))
    assert drive.get_state(changed, on("t")).values["items"] == before
    after = drive.invoke(changed, {"items": ["new"]}, on("t"))["items"]
    assert after[:2] == before
    assert len(after) == 4
    assert drive.get_state(build(reducer), on("t")).values["items"] == after, "and back again"


def test_another_reducer_cannot_take_over_stored_writes(drive: Drive, box: JournalBox) -> None:
    """Rules: 217. What was stored is writes, and another merge of them gives another value."""
    drive.invoke(turns(Plain).compile(checkpointer=box.open()), {"lines": ["go"]}, on("t"))
    with pytest.raises(ResumeRefused, match="'lines'"):
        drive.get_state(turns(Log).compile(checkpointer=box.open()), on("t"))


def test_an_update_of_a_fresh_thread_stores_the_whole_value(drive: Drive, journal: Journal) -> None:
    """Rules: 218."""
    graph = turns(Log).compile(checkpointer=journal)
    drive.update_state(graph, on("t"), {"lines": ["seed"]}, as_node="first")
    row = journal.history("t")[0]
    assert row.snapshot is not None
    assert drive.get_state(graph, on("t")).values == {"lines": ["seed"]}


def test_what_cannot_be_a_delta_channel_is_refused() -> None:
    """Rules: 5."""
    wrong: Any
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match="snapshot_frequency must be a positive int"):
            DeltaChannel(joined, snapshot_frequency=wrong)
    for wrong in (partial(operator.add, 1, 2), 3):
        with pytest.raises(GraphBuildError, match="must take"):
            DeltaChannel(wrong)
    channel = DeltaChannel(joined, list, snapshot_frequency=7)
    assert (channel.reducer, channel.snapshot_frequency, channel.initial()) == (joined, 7, [])
    assert DeltaChannel(joined, int | str).initial() is MISSING


def test_writes_are_held_to_the_type_that_the_reducer_takes(drive: Drive) -> None:
    """Rules: 211. Rows: S1-048."""
    graph = StateGraph(Log).add_node("node", partial(_written, "not a list")).add_edge(START, "node").compile()
    with pytest.raises(InvalidUpdateError, match="expected list"):
        drive.invoke(graph, {"lines": []})
