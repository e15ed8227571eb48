"""Rules of graphs inside graphs: namespaces, persistence, what goes in and comes back, pausing and reading inside."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.errors import ThreadBusy
from lawful.graph import END, START, Command, Runtime, Send, StateGraph, get_stream_writer, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on
from support.pausing import Calls, Log, asked, by_name, chain, checkpoint_id

pytestmark = pytest.mark.unit


class Inner(TypedDict, total=False):
    """The child's state: it shares `log` with the parent and keeps `seen` to itself."""

    log: Annotated[list[str], concat]
    seen: Annotated[list[str], concat]


def look(state: Inner) -> Inner:
    """The child's only node: notes how often this child has been here."""
    return {"seen": ["x"], "log": [f"visit {len(state.get('seen', [])) + 1}"]}


def child(drive: Drive, strict: bool = True, checkpointer: Any = None) -> Any:
    return chain(drive, look, strict=strict, reads=Inner, checkpointer=checkpointer)


def holding(inner: Any, name: str = "hold", *, strict: bool = True, checkpointer: Any = None) -> Any:
    """A parent whose only node is the child itself."""
    builder: Any = StateGraph(Log, strict=strict)
    return builder.add_node(name, inner).add_edge(START, name).compile(checkpointer=checkpointer)


def caller(drive: Drive, *calls: Any, name: str = "call") -> Any:
    """A node that invokes each of the given graphs in turn, as its driver does, and keeps their last log entries."""
    if drive.name == "async":

        async def call_async(state: Log) -> Log:
            return {"log": [(await graph.ainvoke({"log": []}))["log"][-1] for graph in calls]}

        call_async.__name__ = call_async.__qualname__ = name
        return call_async

    def call(state: Log) -> Log:
        return {"log": [graph.invoke({"log": []})["log"][-1] for graph in calls]}

    call.__name__ = call.__qualname__ = name
    return call


def calling(drive: Drive, *calls: Any, strict: bool = True, checkpointer: Any = None, **options: Any) -> Any:
    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("call", caller(drive, *calls)).add_edge(START, "call")
    return builder.compile(checkpointer=checkpointer, **options)


def left_ask(state: Log) -> Log:
    return {"log": ["inner " + interrupt("inner?")]}


# Namespaces


def test_a_namespace_names_node_and_task(drive: Drive, journal: Journal, strict: bool) -> None:
    """``node:taskid``, the parent's before it with a bar between; the stream shows it split at the bar.

    Rules: 133. Rows: S1-K07
    """

    def leaf(state: Log) -> Log:
        return {"log": ["leaf"]}

    inner = chain(drive, leaf, strict=strict)
    middle = holding(inner, "inner", strict=strict)
    outer = holding(middle, "middle", strict=strict, checkpointer=journal)
    events = drive.stream(outer, {"log": []}, on("t"), stream_mode="tasks", subgraphs=True)
    task = {event["name"]: event["id"] for _, event in events if "input" in event}
    seen = {event["name"]: ns for ns, event in events if "input" in event}
    assert seen == {
        "middle": (),
        "inner": (f"middle:{task['middle']}",),
        "leaf": (f"middle:{task['middle']}", f"inner:{task['inner']}"),
    }
    assert sorted(journal.namespaces("t")) == ["", "|".join(seen["inner"]), "|".join(seen["leaf"])]


def test_by_default_every_visit_starts_fresh(drive: Drive, journal: Journal, strict: bool) -> None:
    """The child shares the journal but its namespace holds the task's id.

    Rules: 134. Rows: S1-K07
    """
    graph = calling(drive, child(drive, strict), strict=strict, checkpointer=journal)
    result = [drive.invoke(graph, {"log": []}, on("t")) for _ in range(3)][-1]
    assert result["log"] == ["visit 1"] * 3
    names = [ns for ns in journal.namespaces("t") if ns]
    assert len(names) == 3
    assert all(ns.startswith("call:") for ns in names)


def test_a_child_can_pause_and_go_on_inside(drive: Drive, journal: Journal, strict: bool) -> None:
    """Inner nodes that finished are not run again, the code around the call is.

    Rules: 134, 141. Rows: S1-H08
    """
    calls = Calls()

    def before(state: Log) -> Log:
        calls("before")
        return {"log": ["before"]}

    inner = chain(drive, before, left_ask, strict=strict)
    if drive.name == "async":

        async def call_async(state: Log) -> Log:
            calls("call")
            return {"log": (await inner.ainvoke({"log": []}))["log"]}

        call: Any = call_async
    else:

        def call_sync(state: Log) -> Log:
            calls("call")
            return {"log": inner.invoke({"log": []})["log"]}

        call = call_sync
    builder: Any = StateGraph(Log, strict=strict)
    graph = builder.add_node("call", call).add_edge(START, "call").compile(checkpointer=journal)
    paused = drive.invoke(graph, {"log": ["in"]}, on("t"))
    assert [question.value for question in asked(paused)] == ["inner?"]
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["in", "before", "inner ada"]}
    assert (calls.of("call"), calls.of("before")) == (2, 1)


def test_a_child_with_its_own_persistence_remembers(drive: Drive, journal: Journal, strict: bool) -> None:
    """checkpointer=True: its namespace is the node's name alone, so runs of the thread share it.

    Rules: 135. Rows: S1-K07
    """
    graph = calling(drive, child(drive, strict, True), strict=strict, checkpointer=journal)
    result = [drive.invoke(graph, {"log": []}, on("t")) for _ in range(3)][-1]
    assert result["log"] == ["visit 1", "visit 2", "visit 3"]
    assert sorted(journal.namespaces("t")) == ["", "call"]
    assert drive.invoke(graph, {"log": []}, on("other"))["log"] == ["visit 1"]


def test_a_child_with_its_own_persistence_remembers_as_a_node_too(drive: Drive, journal: Journal) -> None:
    """The same where the graph is the node.

    Rules: 135
    """
    graph = holding(child(drive, checkpointer=True), checkpointer=journal)
    result = [drive.invoke(graph, {"log": []}, on("t")) for _ in range(3)][-1]
    assert result["log"] == ["visit 1", "visit 2", "visit 3"]
    assert sorted(journal.namespaces("t")) == ["", "hold"]


def test_a_loop_shares_the_childs_memory(drive: Drive, journal: Journal, strict: bool) -> None:
    """Turns of one run meet the state that the turn before left.

    Rules: 135
    """
    inner = child(drive, strict, True)

    def more(state: Log) -> str:
        return "call" if len(state.get("log", [])) < 3 else END

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("call", caller(drive, inner)).add_edge(START, "call")
    graph = builder.add_conditional_edges("call", more, ["call", END]).compile(checkpointer=journal)
    assert drive.invoke(graph, {"log": []}, on("t")) == {"log": ["visit 1", "visit 2", "visit 3"]}


def test_a_child_without_persistence_stores_nothing(drive: Drive, journal: Journal, strict: bool) -> None:
    """checkpointer=False: it runs, it remembers nothing, it has no namespace in the store.

    Rules: 136
    """
    graph = calling(drive, child(drive, strict, False), strict=strict, checkpointer=journal)
    result = [drive.invoke(graph, {"log": []}, on("t")) for _ in range(2)][-1]
    assert result["log"] == ["visit 1", "visit 1"]
    assert list(journal.namespaces("t")) == [""]


def test_further_calls_of_one_visit_are_numbered(drive: Drive, journal: Journal, strict: bool) -> None:
    """The second gets "|1", the third "|2"; each remembers for itself.

    Rules: 137
    """
    inner = child(drive, strict, True)
    graph = calling(drive, inner, inner, inner, strict=strict, checkpointer=journal)
    result = [drive.invoke(graph, {"log": []}, on("t")) for _ in range(2)][-1]
    assert result["log"] == ["visit 1"] * 3 + ["visit 2"] * 3
    assert sorted(journal.namespaces("t")) == ["", "call", "call|1", "call|2"]


def test_further_calls_of_fresh_children_are_numbered_too(drive: Drive, journal: Journal) -> None:
    """Their namespaces differ by the same number.

    Rules: 137, 134
    """
    graph = calling(drive, child(drive), child(drive), checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"), subgraphs=True)
    seen = [ns for ns, _ in events]
    assert seen[-1] == ()
    first, second = seen[0], seen[1]
    assert len(first) == 1
    assert second == (*first, "1")


def test_two_children_with_memory_share_nothing(drive: Drive, journal: Journal, strict: bool) -> None:
    """One compiled graph under two node names has two namespaces.

    Rules: 138
    """
    inner = child(drive, strict, True)
    builder: Any = StateGraph(Log, strict=strict)
    for name in ("one", "two"):
        builder.add_node(name, caller(drive, inner, name=name)).add_edge(START, name)
    builder.add_node("three", caller(drive, inner, inner, name="three")).add_edge("one", "three")
    graph = builder.compile(checkpointer=journal)
    assert drive.invoke(graph, {"log": []}, on("t")) == {"log": ["visit 1"] * 4}
    assert sorted(journal.namespaces("t")) == ["", "one", "three", "three|1", "two"]


def test_a_child_with_a_thread_of_its_own_is_independent(drive: Drive, journal: Journal, strict: bool) -> None:
    """It has its own journal and root namespace there, and its questions too.

    Rules: 139
    """
    inner = child(drive, strict, journal)
    if drive.name == "async":

        async def call_async(state: Log) -> Log:
            return {"log": (await inner.ainvoke({"log": []}, on("own")))["log"][-1:]}

        call: Any = call_async
    else:

        def call_sync(state: Log) -> Log:
            return {"log": inner.invoke({"log": []}, on("own"))["log"][-1:]}

        call = call_sync
    builder: Any = StateGraph(Log, strict=strict)
    graph = builder.add_node("call", call).add_edge(START, "call").compile(checkpointer=journal)
    result = [drive.invoke(graph, {"log": []}, on("t")) for _ in range(2)][-1]
    assert result["log"] == ["visit 1", "visit 2"]
    assert list(journal.namespaces("t")) == [""]
    assert list(journal.namespaces("own")) == [""]
    assert drive.get_state(inner, on("own")).values["seen"] == ["x", "x"]


def test_a_child_may_not_take_its_own_roots_thread(drive: Drive, journal: Journal) -> None:
    """That would wait for itself for ever, so it is told at once.

    Rules: 139
    """
    inner = child(drive, checkpointer=journal)
    if drive.name == "async":

        async def call_async(state: Log) -> Log:
            return {"log": (await inner.ainvoke({"log": []}, on("t")))["log"]}

        call: Any = call_async
    else:

        def call_sync(state: Log) -> Log:
            return {"log": inner.invoke({"log": []}, on("t"))["log"]}

        call = call_sync
    builder: Any = StateGraph(Log)
    graph = builder.add_node("call", call).add_edge(START, "call").compile(checkpointer=journal)
    began = time.monotonic()
    with pytest.raises(ThreadBusy):
        drive.invoke(graph, {"log": []}, on("t"))
    assert time.monotonic() - began < 5


def test_sends_to_a_child_each_have_a_namespace(drive: Drive, journal: Journal, strict: bool) -> None:
    """Three packets to one graph: three tasks, three namespaces, three questions.

    Rules: 133, 72
    """

    def ask(state: Log) -> Log:
        return {"log": [f"{state.get('word')} {interrupt(state.get('word'))}"]}

    inner = chain(drive, ask, strict=strict)

    # Not annotated with the state: a router's schema would add its keys to the graph's.
    def spread(state: Any) -> list[Send]:
        return [Send("inner", {"word": name}) for name in "xyz"]

    class Shared(TypedDict, total=False):
        log: Annotated[list[str], concat]

    builder: Any = StateGraph(Shared, strict=strict)
    graph = (
        builder.add_node("inner", inner).add_conditional_edges(START, spread, ["inner"]).compile(checkpointer=journal)
    )
    questions = asked(drive.invoke(graph, {"log": []}, on("t")))
    assert [question.value for question in questions] == ["x", "y", "z"]
    assert len({question.id for question in questions}) == 3
    assert len([ns for ns in journal.namespaces("t") if ns]) == 3
    answers = {question.id: question.value.upper() for question in questions}
    assert drive.invoke(graph, Command(resume=answers), on("t")) == {"log": ["x X", "y Y", "z Z"]}


# What goes in and comes back


def test_strict_takes_only_what_the_child_added(drive: Drive, journal: Journal) -> None:
    """A list shared with the child holds each item once, at any depth; the update shows the delta.

    Rules: 140. Rows: S0-094, S1-014, S1-018. Cases: A01
    """

    def leaf(state: Log) -> Log:
        return {"log": ["leaf"]}

    def leaf_too(state: Log) -> Log:
        return {"log": ["leaf too"]}

    inner = chain(drive, leaf, leaf_too)
    middle = holding(inner, "inner")
    outer = holding(middle, "middle", checkpointer=journal)
    events = drive.stream(outer, {"log": ["in"]}, on("t"), stream_mode=["updates", "values"])
    assert events[-2:] == [
        ("updates", {"middle": [{"log": ["leaf"]}, {"log": ["leaf too"]}]}),
        ("values", {"log": ["in", "leaf", "leaf too"]}),
    ]


def test_lenient_adds_the_childs_whole_output_again(drive: Drive, journal: Journal) -> None:
    """As LangGraph: a reducer key is doubled.

    Rules: 140
    """

    def leaf(state: Log) -> Log:
        return {"log": ["leaf"]}

    graph = holding(chain(drive, leaf, strict=False), strict=False, checkpointer=journal)
    assert drive.invoke(graph, {"log": ["in"]}, on("t")) == {"log": ["in", "in", "leaf"]}


def test_only_shared_keys_go_in_and_come_back(drive: Drive, journal: Journal, strict: bool) -> None:
    """The parent's keys that the child does not know stay out, the child's own stay in.

    Rules: 140
    Rows: S0-094
    """
    seen: list[Any] = []

    class Narrow(TypedDict, total=False):
        word: str
        hidden: str

    def work(state: Narrow) -> Narrow:
        seen.append(dict(state))
        return {"word": "changed", "hidden": "mine"}

    inner = chain(drive, work, strict=strict, reads=Narrow)
    graph = holding(inner, strict=strict, checkpointer=journal)
    assert drive.invoke(graph, {"log": ["in"], "word": "given", "n": 1}, on("t")) == {
        "log": ["in"],
        "word": "changed",
        "n": 1,
    }
    assert seen == [{"word": "given"}]


def test_a_plain_key_comes_back_as_the_last_value(drive: Drive, journal: Journal, strict: bool) -> None:
    """Several writes inside are one write outside.

    Rules: 140, 19
    """

    def one(state: Log) -> Log:
        return {"word": "one"}

    def two(state: Log) -> Log:
        return {"word": "two"}

    graph = holding(chain(drive, one, two, strict=strict), strict=strict, checkpointer=journal)
    assert drive.invoke(graph, {"log": [], "word": "zero"}, on("t")) == {"log": [], "word": "two"}


def test_where_reducers_differ_the_childs_final_value_is_one_write(drive: Drive, journal: Journal) -> None:
    """The parent replaces, the child appends: the parent gets the child's list as it ended.

    Rules: 140
    """

    class Replaced(TypedDict, total=False):
        seen: list[str]

    inner = chain(drive, look, reads=Inner)
    builder: Any = StateGraph(Replaced)
    graph = builder.add_node("hold", inner).add_edge(START, "hold").compile(checkpointer=journal)
    assert drive.invoke(graph, {"seen": ["old"]}, on("t")) == {"seen": ["old", "x"]}


def test_a_delta_survives_a_pause(drive: Drive, journal: Journal) -> None:
    """What the child wrote before its question is in the delta after the answer, once.

    Rules: 140, 141
    """

    def before(state: Log) -> Log:
        return {"log": ["before"]}

    graph = holding(chain(drive, before, left_ask), checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["in", "before", "inner ada"]}


# Failure inside


def test_a_failure_inside_is_the_holders_failure(drive: Drive, journal: Journal, strict: bool) -> None:
    """The same exception comes out; a resume runs only the inner node that failed.

    Rules: 141, 91, 92. Rows: S1-P15
    """
    calls = Calls()

    def first(state: Log) -> Log:
        calls("first")
        return {"log": ["first"]}

    def flaky(state: Log) -> Log:
        if calls("flaky") == 1:
            raise ValueError("inside")
        return {"word": "flaky"}

    inner = chain(drive, first, flaky, strict=strict)
    graph = holding(inner, strict=strict, checkpointer=journal)
    with pytest.raises(ValueError, match="inside"):
        drive.invoke(graph, {"log": []}, on("t"))
    assert by_name(drive.get_state(graph, on("t")))["hold"].error == "ValueError('inside')"
    result = drive.invoke(graph, None, on("t"))
    assert (result["log"], result["word"]) == (["first"], "flaky")
    assert (calls.of("first"), calls.of("flaky")) == (1, 2)


# Reading and editing inside


def paused_inside(drive: Drive, journal: Journal, strict: bool = True) -> Any:
    """A thread "t" that waits at a question two graphs down."""

    def before(state: Log) -> Log:
        return {"word": "before"}

    inner = chain(drive, before, left_ask, strict=strict)
    middle = holding(inner, "inner", strict=strict)
    graph = holding(middle, "middle", strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    return graph


def test_a_task_refers_to_its_childs_state(drive: Drive, journal: Journal, strict: bool) -> None:
    """A config that get_state and get_state_history take.

    Rules: 88. Rows: S1-K07
    """
    graph = paused_inside(drive, journal, strict)
    (task,) = drive.get_state(graph, on("t")).tasks
    assert task.state == {"configurable": {"thread_id": "t", "checkpoint_ns": f"middle:{task.id}"}}
    middle = drive.get_state(graph, task.state)
    assert middle.next == ("inner",)
    inner = drive.get_state(graph, middle.tasks[0].state)
    assert (inner.next, inner.values["word"]) == (("left_ask",), "before")
    assert [question.value for question in inner.interrupts] == ["inner?"]
    told = drive.get_state_history(graph, middle.tasks[0].state)
    assert [entry.next for entry in told] == [("left_ask",), ("before",), ("__start__",)]


def test_nested_snapshots_on_demand(drive: Drive, journal: Journal, strict: bool) -> None:
    """subgraphs=True puts the snapshots in place of the configs, to the bottom.

    Rules: 88
    """
    graph = paused_inside(drive, journal, strict)
    outer = drive.get_state(graph, on("t"), subgraphs=True)
    middle = outer.tasks[0].state
    inner = middle.tasks[0].state
    assert (outer.next, middle.next, inner.next) == (("middle",), ("inner",), ("left_ask",))
    assert inner.tasks[0].state is None
    assert inner.values["word"] == "before"


def test_a_childs_snapshot_names_all_its_ancestors(drive: Drive, journal: Journal, strict: bool) -> None:
    """checkpoint_map holds every namespace on the way, metadata.parents the same without itself.

    Rules: 89. Rows: S1-K02, S1-K07
    """
    graph = paused_inside(drive, journal, strict)
    outer = drive.get_state(graph, on("t"), subgraphs=True)
    middle = outer.tasks[0].state
    inner = middle.tasks[0].state
    places = {
        snapshot.config["configurable"]["checkpoint_ns"]: checkpoint_id(snapshot) for snapshot in (outer, middle, inner)
    }
    assert len(places) == 3
    assert inner.config["configurable"]["checkpoint_map"] == places
    own = inner.config["configurable"]["checkpoint_ns"]
    assert inner.metadata["parents"] == {ns: one for ns, one in places.items() if ns != own}
    assert middle.metadata["parents"] == {"": checkpoint_id(outer)}
    assert outer.metadata["parents"] == {}


def test_a_childs_state_can_be_edited(drive: Drive, journal: Journal, strict: bool) -> None:
    """update_state with the child's config acts inside it; the run then goes on with the edited state.

    Rules: 142. Rows: S1-H05
    """

    def before(state: Log) -> Log:
        return {"word": "before"}

    def use(state: Log) -> Log:
        return {"log": [f"{state.get('word')}"]}

    inner = chain(drive, before, use, strict=strict, interrupt_before=["use"])
    graph = holding(inner, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    (task,) = drive.get_state(graph, on("t")).tasks
    assert drive.get_state(graph, task.state).next == ("use",)
    drive.update_state(graph, task.state, {"word": "edited"})
    assert drive.get_state(graph, task.state).values["word"] == "edited"
    result = drive.invoke(graph, None, on("t"))
    assert result["log"] == ["edited"]


def test_an_unknown_namespace_is_refused(drive: Drive, journal: Journal, strict: bool) -> None:
    """For reading, history and updating.

    Rules: 142
    """
    graph = paused_inside(drive, journal, strict)
    config = on("t", ns="nope")
    for call in (
        lambda: drive.get_state(graph, config),
        lambda: drive.get_state_history(graph, config),
        lambda: drive.update_state(graph, config, {"word": "x"}),
    ):
        with pytest.raises(ValueError, match=r"Subgraph.*nope.*not found"):
            call()


# What is passed down


@dataclass(frozen=True)
class Who:
    """A run's context."""

    name: str


def test_context_and_writer_pass_down(drive: Drive, journal: Journal, strict: bool) -> None:
    """The child's nodes see the root's context, and what they write is in the root's stream.

    Rules: 143
    """

    def leaf(state: Log, runtime: Runtime[Who]) -> Log:
        get_stream_writer()({"hello": runtime.context.name})
        return {"word": runtime.context.name}

    def build(context: Any) -> Any:
        return StateGraph(Log, context_schema=context, strict=strict)

    inner = build(Who).add_node("leaf", drive.node(leaf)).add_edge(START, "leaf").compile()
    graph = build(Who).add_node("hold", inner).add_edge(START, "hold").compile(checkpointer=journal)
    events = drive.stream(
        graph, {"log": []}, on("t"), context=Who("ada"), stream_mode=["custom", "values"], subgraphs=True
    )
    custom = [(len(ns), event) for ns, mode, event in events if mode == "custom"]
    assert custom == [(1, {"hello": "ada"})]
    assert events[-1] == ((), "values", {"log": [], "word": "ada"})


def test_durability_passes_down(drive: Drive, journal: Journal, strict: bool) -> None:
    """A child that pauses under "exit" is still there to be resumed.

    Rules: 143, 109
    """
    graph = holding(chain(drive, left_ask, strict=strict), strict=strict, checkpointer=journal)
    paused = drive.invoke(graph, {"log": []}, on("t"), durability="exit")
    assert [question.value for question in asked(paused)] == ["inner?"]
    assert drive.invoke(graph, Command(resume="ada"), on("t"), durability="exit")["log"] == ["inner ada"]


def test_a_child_takes_its_roots_lease(drive: Drive, journal: Journal, strict: bool) -> None:
    """Under "reject" a nested run does not collide with the run that holds it, nor do its siblings.

    Rules: 143
    """
    inner = child(drive, strict)
    builder: Any = StateGraph(Log, strict=strict)
    for name in ("one", "two"):
        builder.add_node(name, caller(drive, inner, name=name)).add_edge(START, name)
    graph = builder.compile(checkpointer=journal)
    assert drive.invoke(graph, {"log": []}, on("t"), busy="reject") == {"log": ["visit 1", "visit 1"]}


# Drawing


def test_subgraphs_are_drawn_inside_their_nodes(drive: Drive) -> None:
    """The inner node's name is in the drawing; also where a function only refers to the graph.

    Rules: 144
    """

    def leaf_of_the_inner_graph(state: Log) -> Log:
        return {"log": ["leaf"]}

    inner = chain(drive, leaf_of_the_inner_graph)
    assert "leaf_of_the_inner_graph" in str(holding(inner).get_graph(xray=True).draw_mermaid())

    def call(state: Log) -> Log:
        return {"log": inner.invoke({"log": []})["log"]}

    builder: Any = StateGraph(Log)
    graph = builder.add_node("call", call).add_edge(START, "call").compile()
    assert "leaf_of_the_inner_graph" in str(graph.get_graph(xray=True).draw_mermaid())


# Commands to the parent


def test_a_command_to_the_parent_is_the_holders_result(drive: Drive, journal: Journal, strict: bool) -> None:
    """Update and goto act outside; what the child had written for itself is not returned.

    Rules: 58, 61
    """

    def first(state: Log) -> Log:
        return {"log": ["not returned"]}

    def jump(state: Log) -> Any:
        return Command(graph=Command.PARENT, update={"word": "jumped"}, goto="after")

    def after(state: Log) -> Log:
        return {"log": [f"after {state.get('word')}"]}

    inner = chain(drive, first, jump, strict=strict)
    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("hold", inner).add_node("after", drive.node(after)).add_edge(START, "hold")
    graph = builder.compile(checkpointer=journal)
    assert drive.invoke(graph, {"log": ["in"]}, on("t")) == {"log": ["in", "after jumped"], "word": "jumped"}


def test_a_pause_two_levels_down_is_resumed_from_the_root(drive: Drive, journal: Journal) -> None:
    """Two levels down, with an answer by id, from the root's config.

    Rules: 133, 141. Rows: S1-H08
    """
    graph = paused_inside(drive, journal)
    (question,) = drive.get_state(graph, on("t")).interrupts
    done = drive.invoke(graph, Command(resume={question.id: "ada"}), on("t"))
    assert done == {"log": ["in", "inner ada"], "word": "before"}
    assert drive.get_state(graph, on("t")).next == ()
