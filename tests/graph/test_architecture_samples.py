"""The samples of the graph architecture specification, as they stand: what is wrong with each is said, and where."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

import lawful.graph
from lawful import append, untracked
from lawful.core.errors import GraphBuildError, InvalidUpdateError
from lawful.graph import START, StateGraph
from lawful.journal.memory import MemoryJournal

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parent.parent / "data" / "graph_architecture_samples"


class Counted(TypedDict, total=False):
    messages: list[str]
    counter: int
    error: str


def process_func(state: Counted) -> Counted:
    return {"messages": [*state.get("messages", []), "processed"], "counter": state.get("counter", 0) + 1}


def decide_func(state: Counted) -> Counted:
    return {}


def _run(name: str, names: dict[str, Any], upto: str = "") -> dict[str, Any]:
    """Execute the sample, or its text before ``upto``, with ``names`` for what it leaves to the reader."""
    text = (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")
    if upto:
        assert upto in text
        text = text.partition(upto)[0]
    exec(compile(text, f"{name}.txt", "exec", dont_inherit=True), names)
    return names


@pytest.fixture
def as_langgraph(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample's own import line finds this library under the name that it was written for."""
    monkeypatch.setitem(sys.modules, "langgraph.graph", lawful.graph)


FUNCTIONS = {"process_func": process_func, "decide_func": decide_func}


@pytest.mark.usefixtures("as_langgraph")
def test_the_first_sample_is_refused_for_its_missing_entry() -> None:
    """Rules: 3. Rows: S1-018, S0-091."""
    with pytest.raises(GraphBuildError, match=r"START|__start__"):
        _run("state_graph", dict(FUNCTIONS))


@pytest.mark.usefixtures("as_langgraph")
def test_with_an_entry_its_unmapped_route_is_refused_at_the_step() -> None:
    """Rules: 45. Rows: S1-005, S1-018. Cases: A03."""
    names = _run("state_graph", dict(FUNCTIONS), upto="# Compile graph")
    workflow = names["graph"].add_edge(START, "process").compile(checkpointer=MemoryJournal())
    with pytest.raises(InvalidUpdateError, match="continue") as refused:
        workflow.invoke({"messages": [], "counter": 0}, {"configurable": {"thread_id": "t"}})
    assert "decide" in str(refused.value)
    assert workflow.get_state("t").values["counter"] == 1, "the last good state is shown"


@pytest.mark.usefixtures("as_langgraph")
def test_with_a_path_map_it_loops_five_times() -> None:
    """Rows: S1-010, S1-018."""
    names = _run("state_graph", dict(FUNCTIONS), upto="graph.add_conditional_edges(")

    def route(state: Counted) -> str:
        return "continue" if state.get("counter", 0) < 5 else "end"

    graph: StateGraph[Any] = names["graph"].add_edge(START, "process")
    graph.add_conditional_edges("decide", route, {"continue": "process", "end": "__end__"})
    result = graph.compile().invoke({"messages": [], "counter": 0})
    assert result == {"messages": ["processed"] * 5, "counter": 5}


def test_the_conversation_state_works_with_its_two_markers() -> None:
    """Rules: 26. Rows: S1-012, S1-C09."""
    names: dict[str, Any] = {"TypedDict": TypedDict, "Annotated": Annotated, "untracked": untracked, "append": append}
    schema = _run("conversation_state", names)["ConversationState"]

    def answer(state: dict[str, Any]) -> dict[str, Any]:
        assert state["context"] == {"user": "Ada"}
        return {"history": ["answered"]}

    journal = MemoryJournal()
    graph: Any = StateGraph(schema).add_node("answer", answer).add_edge(START, "answer").compile(checkpointer=journal)
    given: dict[str, Any] = {"messages": [{"text": "hello"}], "context": {"user": "Ada"}, "history": ["asked"]}
    result = graph.invoke(given, {"configurable": {"thread_id": "t"}})
    assert result["history"] == ["asked", "answered"]
    assert result["context"] == {"user": "Ada"}
    assert graph.get_state("t").values == {"messages": [{"text": "hello"}], "history": ["asked", "answered"]}


def test_the_nested_sample_is_refused_for_the_subgraphs_missing_entry() -> None:
    """Rules: 3. Rows: S1-018."""
    names: dict[str, Any] = {
        "StateGraph": StateGraph,
        "MainState": Counted,
        "SubState": Counted,
        "sub_process": process_func,
    }
    with pytest.raises(GraphBuildError, match=r"START|__start__"):
        _run("nested_graphs", names)


def test_the_router_sample_is_refused_for_the_node_it_starts_from() -> None:
    """Rules: 3. Rows: S1-018."""
    graph: StateGraph[Any] = StateGraph(Counted)
    _run("complex_routing", {"State": Counted, "graph": graph})
    with pytest.raises(GraphBuildError, match="process"):
        graph.add_node("processes", process_func).add_edge(START, "processes").compile()


@pytest.mark.parametrize(
    "counter, error, target",
    [(0, "", "continue"), (11, "", "summarize"), (0, "broken", "error_handler")],
)
def test_the_routers_unknown_targets_are_refused_at_the_step(counter: int, error: str, target: str) -> None:
    """Rules: 45. Rows: S1-005, S1-018."""

    def process(state: Counted) -> Counted:
        return {"counter": state.get("counter", 0)}

    graph: StateGraph[Any] = StateGraph(Counted).add_node("process", process).add_edge(START, "process")
    _run("complex_routing", {"State": Counted, "graph": graph})
    with pytest.raises(InvalidUpdateError, match=target):
        graph.compile().invoke({"counter": counter, "error": error})
