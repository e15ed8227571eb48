"""A journal of ours under LangGraph itself: the same runs as with its own saver, in a fraction of the bytes."""

# LangGraph tells its types in part only.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportIndexIssue=false

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph")
pytest.importorskip("langgraph.checkpoint.sqlite")

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.types import Command, Send, interrupt

from lawful.compat import JournalSaver
from lawful.core.clock import SYSTEM
from lawful.core.errors import CorruptRecord, HeadMoved, ValidationError
from lawful.core.secret import Secret
from lawful.graph import StateGraph as OurGraph
from lawful.graph import interrupt as our_interrupt
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from support.pg import shared, skipped
from support.third_party import ValueJournal

pytestmark = pytest.mark.integration


class Talk(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    seen: Annotated[list[str], operator.add]


@pytest.fixture(
    params=["memory", "sqlite", "third party", pytest.param("postgres", marks=[pytest.mark.postgres, skipped])]
)
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    makers: dict[str, Callable[[], Journal]] = {
        "memory": MemoryJournal,
        "sqlite": lambda: SQLiteJournal(tmp_path / "j.db"),
        "third party": lambda: ValueJournal(SYSTEM),
        "postgres": lambda: shared().journal(),
    }
    made = makers[request.param]()
    yield made
    made.close()


def thread(name: str = "t", **more: Any) -> Any:
    return {"configurable": {"thread_id": name, **more}}


def say(state: Talk) -> Any:
    return {
        "messages": [AIMessage(f"reply {len(state['messages'])}", id=f"a{len(state['messages'])}")],
        "seen": ["say"],
    }


def chat() -> StateGraph[Any]:
    return StateGraph(Talk).add_node("say", say).add_edge(START, "say").add_edge("say", END)


def ask(state: Talk) -> Any:
    first = interrupt("one?")
    second = interrupt("two?")
    return {"seen": [f"{first}{second}"]}


def fan(state: Talk) -> list[Send]:
    return [Send("each", {"n": n}) for n in range(3)]


def each(state: Any) -> Any:
    return {"seen": [f"each {state['n']}"]}


def inner() -> Any:
    return StateGraph(Talk).add_node("ask", ask).add_edge(START, "ask").compile()


def wide() -> StateGraph[Any]:
    made = StateGraph(Talk).add_node("plan", lambda state: {"seen": ["plan"]}).add_node("each", each)
    made.add_node("ask", inner()).add_node("end", say)
    made.add_edge(START, "plan").add_conditional_edges("plan", fan, ["each"]).add_edge("plan", "ask")
    return made.add_edge(["each", "ask"], "end")


def told(graph: Any, config: Any) -> list[Any]:
    """A thread's history without what differs from run to run."""
    out: list[Any] = []
    for snapshot in graph.get_state_history(config):
        tasks = [(t.name, t.path, t.result, t.error, [i.value for i in t.interrupts]) for t in snapshot.tasks]
        source = {k: snapshot.metadata[k] for k in ("source", "step")}
        out.append((snapshot.values, snapshot.next, source, tasks, snapshot.parent_config is None))
    return out


def played(saver: Any) -> list[Any]:
    """A run with branches, a nested question asked twice, an update, a fork; what each step gave, and the history."""
    graph, config = wide().compile(checkpointer=saver), thread()
    out: list[Any] = [graph.invoke({"messages": [HumanMessage("hello", id="h")], "seen": []}, config)]
    out[-1]["__interrupt__"] = [i.value for i in out[-1]["__interrupt__"]]
    out.append([i.value for i in graph.invoke(Command(resume="a"), config)["__interrupt__"]])
    out.append(graph.invoke(Command(resume="b"), config))
    graph.update_state(config, {"seen": ["by hand"]}, as_node="plan")
    out.append(graph.get_state(config).next)
    past = [s for s in graph.get_state_history(config) if s.next == ("each", "each", "each", "ask")][-1:]
    out += [[i.value for i in graph.invoke(None, s.config)["__interrupt__"]] for s in past]
    return [*out, *told(graph, config)]


def test_langgraph_gives_the_same_on_a_journal_as_on_its_own_saver(journal: Journal) -> None:
    """Branches, Sends, nested questions, updates, forks and the whole history.

    Rows: S1-K08
    """
    assert played(JournalSaver(journal)) == played(InMemorySaver())


async def test_the_async_forms_give_the_same(journal: Journal) -> None:
    saver = JournalSaver(journal)
    graph = chat().compile(checkpointer=saver)
    for n in range(3):
        config = thread()
        config["metadata"] = {"run_id": f"r{n}"}
        await graph.ainvoke({"messages": [HumanMessage(str(n), id=str(n))], "seen": []}, config)
    state = await graph.aget_state(thread())
    assert [m.content for m in state.values["messages"]] == ["0", "reply 1", "1", "reply 3", "2", "reply 5"]
    assert len([s async for s in graph.aget_state_history(thread())]) == 9
    await saver.acopy_thread("t", "u")
    assert (await graph.aget_state(thread("u"))).values == state.values
    await saver.aprune(["u"])
    assert len([s async for s in graph.aget_state_history(thread("u"))]) == 1
    every = [t async for t in saver.alist(thread(), filter={"run_id": "r1"})]
    assert [t.metadata["step"] for t in every] == [4, 3, 2]
    assert [t async for t in saver.alist(thread(), before=every[1].config, limit=1, filter={"run_id": "r1"})] == every[
        2:
    ]
    await saver.adelete_for_runs(["r1"])
    assert [t.metadata["run_id"] async for t in saver.alist(thread())] == ["r2"] * 3 + ["r0"] * 3
    await saver.adelete_thread("t")
    assert (await graph.aget_state(thread())).values == {}
    assert (await graph.aget_state(thread("u"))).values == state.values


def test_another_process_goes_on_from_what_is_stored(tmp_path: Path) -> None:
    for n in range(4):
        with_new = SQLiteJournal(tmp_path / "j.db")
        graph = chat().compile(checkpointer=JournalSaver(with_new))
        graph.invoke({"messages": [HumanMessage(str(n) * 600, id=str(n))], "seen": []}, thread())
        with_new.close()
    graph = chat().compile(checkpointer=JournalSaver(SQLiteJournal(tmp_path / "j.db")))
    lengths = [len(s.values.get("messages", ())) for s in graph.get_state_history(thread())]
    assert lengths == [8, 7, 6, 6, 5, 4, 4, 3, 2, 2, 1, 0]


def test_a_conversation_costs_its_messages_and_not_their_square(tmp_path: Path) -> None:
    """60 turns of 1 KB each way: 120 KB of text, of which LangGraph's own saver makes some 20 MB."""
    journal = SQLiteJournal(tmp_path / "j.db")

    def long(state: Talk) -> Any:
        return {"messages": [AIMessage(f"{len(state['messages']):04}" * 250)]}

    made = StateGraph(Talk).add_node("say", long).add_edge(START, "say").compile(checkpointer=JournalSaver(journal))
    for n in range(60):
        made.invoke({"messages": [HumanMessage(f"{n:04}" * 250)], "seen": []}, thread())
    journal.close()
    assert sum(os.path.getsize(file) for file in tmp_path.iterdir()) < 1_000_000


@dataclass
class Money:
    cents: int


class Bill(TypedDict):
    total: Money


def bill(saver: Any) -> Any:
    made = StateGraph(Bill).add_node("add", lambda state: {"total": Money(state["total"].cents + 1)})
    return made.add_edge(START, "add").compile(checkpointer=saver)


def test_a_class_of_the_program_is_stored_where_it_is_named_and_refused_where_it_is_not(journal: Journal) -> None:
    assert bill(JournalSaver(journal, types=[Money])).invoke({"total": Money(1)}, thread()) == {"total": Money(2)}
    assert bill(JournalSaver(journal, types=[Money])).get_state(thread()).values == {"total": Money(2)}
    with pytest.raises(ValidationError, match="Money"):
        bill(JournalSaver(journal)).invoke({"total": Money(1)}, thread("u"))


def test_a_strict_langgraph_names_the_schemas_classes_itself(journal: Journal) -> None:
    saver = JournalSaver(journal).with_allowlist([(__name__, "Money"), ("not.loaded", "Thing")])
    assert bill(saver).invoke({"total": Money(1)}, thread()) == {"total": Money(2)}


def test_checkpoints_are_listed_by_metadata_across_threads(journal: Journal) -> None:
    saver = JournalSaver(journal)
    graph = chat().compile(checkpointer=saver)
    for name in ("a", "b"):
        config = thread(name)
        config["metadata"] = {"who": name, "odd key": 1}
        graph.invoke({"messages": [HumanMessage("hi")], "seen": []}, config)
    every = list(saver.list(None))
    assert len(every) == 6
    assert [t.checkpoint["id"] for t in every] == sorted((t.checkpoint["id"] for t in every), reverse=True)
    assert {t.config["configurable"]["thread_id"] for t in saver.list(None, filter={"who": "b"})} == {"b"}
    assert len(list(saver.list(None, filter={"source": "loop", "odd key": 1}))) == 4
    assert list(saver.list(None, filter={"odd key": 2})) == []
    assert len(list(saver.list(thread("a"), limit=2))) == 2
    newest = saver.get_tuple(thread("a"))
    assert newest is not None
    older = list(saver.list(thread("a"), before=newest.config))
    assert [t.metadata["step"] for t in older] == [0, -1]
    assert newest.parent_config == older[0].config
    again = saver.get_tuple(older[1].config)
    assert again is not None
    assert again.metadata["source"] == "input"


@pytest.mark.parametrize(
    "text", ["source' OR '1'='1", "source') --", "x') UNION SELECT 1 --", "$.source", 'step"', "%", "a.b", "source]"]
)
def test_a_filter_of_a_listing_is_data_whatever_its_keys_say(journal: Journal, text: str) -> None:
    """CVE-2025-67644: a hostile metadata key in LangGraph's own call for it."""
    saver = JournalSaver(journal)
    config = thread()
    config["metadata"] = {"who": text}
    chat().compile(checkpointer=saver).invoke({"messages": [HumanMessage("hi")], "seen": []}, config)
    for filter in ({text: 1}, {text: "loop"}, {"source": "loop", text: None}, {"source": text}):
        assert list(saver.list(thread(), filter=filter)) == []
        assert list(saver.list(None, filter=filter)) == []
    assert len(list(saver.list(None, filter={"who": text}))) == 3


def test_a_secret_reaches_no_journal_by_way_of_langgraph(journal: Journal, tmp_path: Path) -> None:
    """Neither itself nor its text, in a state, a write or a checkpoint's metadata. Rows: S1-084."""
    planted = f"pl4nted-{os.urandom(8).hex()}"
    secret = Secret(planted)
    for leaked in (secret, planted, {"deep": [f"<{planted}>"]}):

        def leak(state: Talk, leaked: Any = leaked) -> Any:
            return {"seen": [leaked]}

        graph = (
            StateGraph(Talk).add_node("leak", leak).add_edge(START, "leak").compile(checkpointer=JournalSaver(journal))
        )
        with pytest.raises(ValidationError):
            graph.invoke({"messages": [], "seen": []}, thread())
    config = thread("noted")
    config["metadata"] = {"note": f"with {planted}"}
    with pytest.raises(ValidationError):
        chat().compile(checkpointer=JournalSaver(journal)).invoke({"messages": [], "seen": []}, config)
    files = shared().folder if "Postgres" in type(journal).__name__ else tmp_path
    if files is not tmp_path:
        shared().run("CHECKPOINT")
    assert [f for f in files.rglob("*") if f.is_file() and planted.encode() in f.read_bytes()] == []
    assert secret.reveal() == planted


def test_the_checkpoints_of_a_run_are_forgotten_and_the_others_stay(journal: Journal) -> None:
    saver = JournalSaver(journal)
    graph = chat().compile(checkpointer=saver)
    for n in range(3):
        config = thread()
        config["metadata"] = {"run_id": f"r{n}"}
        graph.invoke({"messages": [HumanMessage(str(n), id=str(n))], "seen": []}, config)
    config = thread("alone")
    config["metadata"] = {"run_id": "r1"}
    graph.invoke({"messages": [HumanMessage("x")], "seen": []}, config)
    before = [t for t in saver.list(thread()) if t.metadata["run_id"] != "r1"]
    saver.delete_for_runs(["r1"])
    assert list(saver.list(thread())) == before
    assert saver.get_tuple(thread("alone")) is None
    assert [info.thread for info in journal.threads()] == ["t"]
    assert len(graph.invoke({"messages": [HumanMessage("more")], "seen": []}, thread())["messages"]) == 8


def test_an_unfinished_rewriting_is_brought_to_its_end(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    saver = JournalSaver(journal)
    graph = chat().compile(checkpointer=saver)
    for n in range(2):
        config = thread()
        config["metadata"] = {"run_id": f"r{n}"}
        graph.invoke({"messages": [HumanMessage(str(n), id=str(n))], "seen": []}, config)
    copy: Callable[..., None] = journal.copy_thread

    def killed(source: str, target: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(journal, "copy_thread", killed)
    with pytest.raises(KeyboardInterrupt):
        saver.delete_for_runs(["r0"])
    assert saver.get_tuple(thread()) is None
    monkeypatch.setattr(journal, "copy_thread", copy)
    saver.delete_for_runs(["r0"])
    assert [t.metadata["run_id"] for t in saver.list(thread())] == ["r1"] * 3
    assert [info.thread for info in journal.threads()] == ["t"]


def test_pruning_keeps_what_a_thread_goes_on_from(journal: Journal) -> None:
    saver = JournalSaver(journal)
    graph = chat().compile(checkpointer=saver)
    for n in range(3):
        graph.invoke({"messages": [HumanMessage(str(n) * 600)], "seen": []}, thread())
    saver.prune(["t"])
    assert len(list(saver.list(thread()))) == 1
    assert len(graph.invoke({"messages": [HumanMessage("on")], "seen": []}, thread())["messages"]) == 8
    with pytest.raises(ValidationError, match=r"keep_latest.*Did you mean|Did you mean.*keep_latest"):
        saver.prune(["t"], strategy="keep_lates")
    saver.prune(["t"], strategy="delete")
    assert saver.get_tuple(thread()) is None


def test_special_writes_are_replaced_and_others_kept_as_they_came(journal: Journal) -> None:
    saver = JournalSaver(journal)
    chat().compile(checkpointer=saver).invoke({"messages": [HumanMessage("x")], "seen": []}, thread())
    tip = saver.get_tuple(thread())
    assert tip is not None
    task = "11111111-1111-1111-1111-111111111111"
    saver.put_writes(tip.config, [("seen", 1), ("__resume__", ["a"])], task, "~b")
    saver.put_writes(tip.config, [("seen", 2), ("messages", 3)], task, "~b")
    saver.put_writes(tip.config, [("__resume__", ["b"])], task, "~b")
    saver.put_writes(tip.config, [("__error__", ValueError("no"))], task, "~b")
    saver.put_writes(tip.config, [("seen", 0)], "22222222-2222-2222-2222-222222222222", "~a")
    found = saver.get_tuple(thread())
    assert found is not None
    assert found.pending_writes == [
        ("22222222-2222-2222-2222-222222222222", "seen", 0),
        (task, "__resume__", ["b"]),
        (task, "__error__", "ValueError('no')"),
        (task, "seen", 1),
        (task, "messages", 3),
    ]


def test_a_thread_of_a_graph_of_ours_is_not_taken_for_langgraphs(journal: Journal) -> None:
    ours = OurGraph(Bill).add_node("add", lambda state: {"total": state["total"]}).add_edge("__start__", "add")
    ours.compile(checkpointer=journal).invoke({"total": Money(1)}, thread="t")
    saver = JournalSaver(journal, types=[Money])
    with pytest.raises(CorruptRecord, match="JournalSaver"):
        saver.get_tuple(thread())
    before = journal.history("t")
    with pytest.raises(CorruptRecord, match="JournalSaver"):
        bill(saver).invoke({"total": Money(5)}, thread())
    assert journal.history("t") == before


def test_threads_of_a_graph_of_ours_are_seen_by_langgraphs_names(journal: Journal) -> None:
    class Log(TypedDict):
        seen: Annotated[list[str], operator.add]

    def asks(state: Log) -> Any:
        return {"seen": [our_interrupt("well?")]}

    made = OurGraph(Log).add_node("asks", asks).add_edge("__start__", "asks").compile(checkpointer=journal)
    made.invoke({"seen": ["begun"]}, thread="t")
    saver = JournalSaver(journal, graph=made)
    tip = saver.get_tuple(thread())
    assert tip is not None
    assert tip.checkpoint["channel_values"] == {"seen": ["begun"], "branch:to:asks": None}
    assert tip.metadata["source"] == "loop"
    [(_, channel, asked)] = tip.pending_writes or []
    assert (channel, [each.value for each in asked]) == ("__interrupt__", ["well?"])
    rows = list(saver.list(thread()))
    assert [row.metadata["step"] for row in rows] == [0, -1]
    assert rows[0].parent_config == rows[1].config
    saver.copy_thread("t", "u")
    saver.delete_thread("t")
    assert saver.get_tuple(thread()) is None
    assert saver.get_tuple(thread("u")) is not None


def test_a_checkpoint_older_than_the_newest_is_refused(journal: Journal) -> None:
    saver = JournalSaver(journal)
    graph = chat().compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("x")], "seen": []}, thread())
    tip, *_, first = list(saver.list(thread()))
    with pytest.raises(HeadMoved):
        saver.put(tip.config, first.checkpoint, first.metadata, {})
