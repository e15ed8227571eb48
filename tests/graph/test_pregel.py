"""The low-level form: channels, nodes that subscribe to them, and what is refused before it runs."""

from __future__ import annotations

import operator
from threading import Event
from typing import Any, TypedDict

import pytest

from lawful.core.errors import EmptyInputError, GraphBuildError, GraphRecursionError, InvalidUpdateError
from lawful.core.events import NodeEnded
from lawful.core.retry import RetryPolicy
from lawful.graph import (
    START,
    BinaryOperatorAggregate,
    CachePolicy,
    Command,
    EphemeralValue,
    LastValue,
    Runtime,
    StateGraph,
    Topic,
    interrupt,
)
from lawful.graph.channels import NamedBarrierValue
from lawful.graph.managed import IsLastStep, RemainingStepsManager
from lawful.graph.pregel import ChannelWriteEntry, NodeBuilder, Pregel, PregelNode
from lawful.journal.port import Journal
from lawful.stores import MemoryCache
from support.graphs import Drive, JournalBox, on

pytestmark = pytest.mark.unit


def doubled(text: str) -> str:
    return text + text


def one_node(**options: Any) -> Pregel:
    node = NodeBuilder().subscribe_only("a").do(doubled).write_to("b")
    return Pregel(
        nodes={"node": node},
        channels={"a": EphemeralValue(str), "b": EphemeralValue(str)},
        input_channels=["a"],
        output_channels=["b"],
        **options,
    )


def test_one_node_reads_a_channel_and_writes_another(drive: Drive) -> None:
    """Rows: S1-P02. Rules: 164."""
    graph = one_node()
    assert drive.invoke(graph, {"a": "foo"}) == {"b": "foofoo"}
    assert drive.stream(graph, {"a": "foo"}) == [{"b": "foofoo"}]
    assert drive.stream(graph, {"a": "foo"}, stream_mode="updates") == [{"node": {"b": "foofoo"}}]
    assert drive.stream(graph, {"a": "foo"}, stream_mode="tasks")[0]["triggers"] == ("a",)


def test_single_names_give_and_take_bare_values(drive: Drive) -> None:
    """Rows: S1-P02."""
    node = NodeBuilder().subscribe_only("a").do(doubled).write_to("b")
    channels = {"a": EphemeralValue(str), "b": LastValue(str)}
    graph = Pregel(nodes={"node": node}, channels=channels, input_channels="a", output_channels="b")
    assert drive.invoke(graph, "foo") == "foofoo"
    assert drive.stream(graph, "foo", stream_mode="updates") == [{"node": {"b": "foofoo"}}]
    shown = Pregel(
        nodes={"node": node}, channels=channels, input_channels="a", output_channels="b", stream_channels="b"
    )
    assert drive.stream(shown, "foo", stream_mode="updates") == [{"node": "foofoo"}]


def test_nodes_chain_by_channels_and_the_output_is_what_was_last_written(drive: Drive) -> None:
    """Rows: S1-P01, S1-P05."""

    def until_long(text: str) -> str | None:
        return text + text if len(text) < 10 else None

    node = NodeBuilder().subscribe_only("value").do(until_long).write_to(ChannelWriteEntry("value", skip_none=True))
    graph = Pregel(
        nodes={"node": node},
        channels={"value": EphemeralValue(str)},
        input_channels=["value"],
        output_channels=["value"],
    )
    assert drive.invoke(graph, {"value": "a"}) == {"value": "a" * 16}
    assert drive.stream(graph, {"value": "a"}) == [{"value": "a" * n} for n in (2, 4, 8, 16)]


def test_topics_and_aggregates_gather_over_steps(drive: Drive) -> None:
    """Rows: S1-P02."""
    first = NodeBuilder().subscribe_only("a").do(doubled).write_to("b", "all", sum=len)
    second = NodeBuilder().subscribe_to("b").do(lambda given: given["b"] + "!").write_to("all", sum=len)
    graph = Pregel(
        nodes={"first": first, "second": second},
        channels={
            "a": EphemeralValue(str),
            "b": EphemeralValue(str),
            "all": Topic(str, accumulate=True),
            "sum": BinaryOperatorAggregate(int, operator.add),
        },
        input_channels=["a"],
        output_channels=["all", "sum"],
    )
    assert drive.invoke(graph, {"a": "x"}) == {"all": ["xx", "xx!"], "sum": 5}


def test_what_a_node_subscribes_to_and_what_it_only_reads(drive: Drive, journal: Journal) -> None:
    """Rows: S1-P02. Rules: 14."""
    seen: list[Any] = []

    def look(given: dict[str, Any]) -> int:
        seen.append(given)
        return given.get("a", -1)

    node = NodeBuilder().subscribe_to("a").subscribe_to("bell", read=False).read_from("kept").do(look)
    node.write_to("kept", ring=7)
    graph = Pregel(
        nodes={"node": node},
        channels={
            "a": EphemeralValue(int),
            "bell": EphemeralValue(str),
            "kept": LastValue(int),
            "ring": LastValue(int),
        },
        input_channels=["a", "bell"],
        output_channels=["kept", "ring"],
        checkpointer=journal,
    )
    assert drive.invoke(graph, {"a": 1}, on("t")) == {"kept": 1, "ring": 7}
    assert drive.invoke(graph, {"bell": "ding"}, on("t")) == {"kept": -1, "ring": 7}
    assert seen == [{"a": 1}, {"kept": 1}]
    assert drive.get_state(graph, on("t")).values == {"kept": -1, "ring": 7}
    steps = [(s.metadata["source"], s.metadata["step"]) for s in drive.get_state_history(graph, on("t"))]
    assert steps == [("loop", 2), ("input", 1), ("loop", 0), ("input", -1)]


def test_an_update_writes_as_the_node_would(drive: Drive, journal: Journal) -> None:
    """Rules: 145."""
    graph = one_node(checkpointer=journal)
    drive.update_state(graph, on("t"), "put")
    assert drive.get_state(graph, on("t")).values == {"b": "put"}


def test_a_thread_of_a_low_level_graph_is_restored_in_another_process(drive: Drive, box: JournalBox) -> None:
    """Rules: 90, 92, 96. Rows: S1-050."""
    ended = Event()

    def hear(event: Any) -> None:
        if isinstance(event, NodeEnded):
            ended.set()

    def build(fail: bool) -> Pregel:
        def work(number: int) -> int:
            if fail:
                # The async driver leaves threads behind when a sibling fails: the other is to have ended by then.
                assert drive.name == "sync" or ended.wait(10)
                raise ConnectionError("down")
            return number * 10

        steady = NodeBuilder().subscribe_only("in").do(lambda n: n + 1).write_to("log")
        shaky = NodeBuilder().subscribe_only("in").do(work).write_to("log")
        return Pregel(
            nodes={"steady": steady, "shaky": shaky},
            channels={"in": EphemeralValue(int), "log": BinaryOperatorAggregate(list[Any], _gather)},
            input_channels="in",
            output_channels="log",
            checkpointer=box.open(),
        )

    with pytest.raises(ConnectionError):
        drive.invoke(build(True), 1, on("t"), on_event=hear)
    ended.clear()
    assert drive.get_state(build(False), on("t")).next == ("shaky",)
    assert drive.invoke(build(False), None, on("t")) == [10, 2]
    with pytest.raises(ConnectionError):
        drive.invoke(build(True), 2, on("t"), on_event=hear)
    assert drive.invoke(build(False), 3, on("t")) == [10, 2, 30, 4], "new input ends the unfinished step"


def _gather(left: list[Any], right: Any) -> list[Any]:
    return [*left, *(right if isinstance(right, list) else [right])]  # pyright: ignore[reportUnknownVariableType]


def test_a_barrier_waits_for_both_and_is_consumed(drive: Drive) -> None:
    """Rules: 28. Rows: S1-C06."""
    runs: list[str] = []

    def joined(_: Any) -> str:
        runs.append("join")
        return "joined"

    graph = Pregel(
        nodes={
            "a": NodeBuilder().subscribe_only("in").do(lambda n: n).write_to("b", gate="a"),
            "b": NodeBuilder().subscribe_only("b").do(lambda n: n).write_to(gate="b"),
            "join": NodeBuilder().subscribe_only("gate").do(joined).write_to("out"),
        },
        channels={
            "in": EphemeralValue(int),
            "b": EphemeralValue(int),
            "gate": NamedBarrierValue(str, {"a", "b"}),
            "out": LastValue(str),
        },
        input_channels="in",
        output_channels="out",
    )
    assert drive.invoke(graph, 1) == "joined"
    assert runs == ["join"]


def test_nodes_are_composed_retried_tagged_and_given_their_runtime(drive: Drive) -> None:
    """Rows: S1-P02."""
    tries: list[int] = []

    def shaky(number: int, runtime: Runtime[Any]) -> int:
        tries.append(runtime.attempt)
        if len(tries) < 2:
            raise ConnectionError
        return number + 1

    quick = RetryPolicy(initial_interval=0.001, jitter=False)
    retried = (
        NodeBuilder().subscribe_only("a").do(shaky).add_retry_policies(quick).meta("tagged", who="me").write_to("b")
    )
    composed = NodeBuilder().subscribe_only("b").do(lambda n: n + 1).do(lambda n: n * 10).write_to("c")
    graph = Pregel(
        nodes={"retried": retried, "composed": composed},
        channels={"a": LastValue(int), "b": LastValue(int), "c": LastValue(int)},
        input_channels="a",
        output_channels="c",
    )
    assert drive.invoke(graph, 1) == 30
    assert tries == [1, 2]
    tries.clear()
    told = drive.stream(graph, 1, stream_mode="tasks")[0]
    assert told["metadata"] == {"who": "me", "tags": ["tagged"]}


def test_a_node_answers_from_the_cache(drive: Drive) -> None:
    """By its own policy, or by one that is given for all. Rules: 187."""
    calls: list[int] = []

    def slow(number: int) -> int:
        calls.append(number)
        return number * 2

    def built(node: NodeBuilder, **options: Any) -> Pregel:
        return Pregel(
            nodes={"slow": node.subscribe_only("a").do(slow).write_to("b")},
            channels={"a": LastValue(int), "b": LastValue(int)},
            input_channels="a",
            output_channels="b",
            cache=MemoryCache(),
            **options,
        )

    policy = CachePolicy(scope="shared", key_func=str)
    for graph in (built(NodeBuilder().add_cache_policy(policy)), built(NodeBuilder(), cache_policy=policy)):
        assert [drive.invoke(graph, 3), drive.invoke(graph, 3), drive.invoke(graph, 4)] == [6, 6, 8]
        assert calls == [3, 4]
        calls.clear()


@pytest.mark.parametrize("auto_validate", [True, False])
def test_a_graph_is_checked_when_it_is_made(auto_validate: bool) -> None:
    with pytest.raises(GraphBuildError, match="nobody"):
        Pregel(
            nodes={"node": NodeBuilder().subscribe_only("nobody").do(doubled).write_to("a")},
            channels={"a": LastValue(str)},
            input_channels="a",
            output_channels="a",
            auto_validate=auto_validate,
        )


async def test_async_nodes_are_awaited() -> None:
    async def bang(text: str) -> str:
        return text + "!"

    node = NodeBuilder().subscribe_only("a").do(bang).do(doubled).write_to("b")
    graph = Pregel(
        nodes={"node": node},
        channels={"a": LastValue(str), "b": LastValue(str)},
        input_channels="a",
        output_channels="b",
    )
    assert await graph.ainvoke("x") == "x!x!"


def test_a_graph_is_a_node_and_a_low_level_graph_is_a_node_of_a_state_graph(drive: Drive, journal: Journal) -> None:
    """Rules: 203, 119."""

    class Text(TypedDict, total=False):
        text: str

    def ask(state: Text) -> Text:
        return {"text": state.get("text", "") + interrupt("more?")}

    asking = StateGraph(Text).add_node(ask).add_edge(START, "ask").compile()
    low = Pregel(
        nodes={"node": NodeBuilder().subscribe_only("in").do(asking).write_to("out")},
        channels={"in": EphemeralValue(Any), "out": LastValue(Any)},
        input_channels="in",
        output_channels="out",
    )
    outer = StateGraph(Text).add_node("low", low).add_edge(START, "low").compile(checkpointer=journal)
    paused = drive.invoke(outer, {"text": "a"}, on("t"))
    assert [q.value for q in paused["__interrupt__"]] == ["more?"]
    assert drive.invoke(outer, Command(resume="b"), on("t")) == {"text": "ab"}


def test_managed_values_are_read_like_channels(drive: Drive) -> None:
    """Rules: 52."""
    seen: list[Any] = []

    def look(given: dict[str, Any]) -> int:
        seen.append((given["left"], given["last"]))
        return given["a"] + 1

    graph = Pregel(
        nodes={"node": NodeBuilder().subscribe_to("a").read_from("left", "last").do(look).write_to("a")},
        channels={"a": LastValue(int), "left": RemainingStepsManager, "last": IsLastStep},
        input_channels="a",
        output_channels="a",
    )
    with pytest.raises(GraphRecursionError):
        drive.invoke(graph, 0, {"recursion_limit": 3})
    assert seen == [(3, False), (2, False), (1, True), (0, False)]


def test_a_run_needs_one_step_for_each_step_of_its_nodes(drive: Drive) -> None:
    """Rules: 50."""
    graph = one_node()
    assert drive.invoke(graph, {"a": "x"}, {"recursion_limit": 1}) == {"b": "xx"}


@pytest.mark.parametrize(
    "change, told",
    [
        ({"input_channels": ["aa"]}, r"Input channel 'aa', which is not known. Did you mean 'a'\?"),
        ({"output_channels": ["bb"]}, r"Output channel 'bb', which is not known. Did you mean 'b'\?"),
        ({"stream_channels": ["bb"]}, r"Stream channel 'bb', which is not known"),
        ({"input_channels": ["b"]}, "Input channel b is not subscribed to by any node"),
        ({"nodes": {"node": NodeBuilder().subscribe_only("q").do(doubled)}}, "Node node subscribes to channel 'q'"),
        ({"nodes": {"node": NodeBuilder().subscribe_to("a").read_from("q")}}, "Node node reads channel 'q'"),
        ({"nodes": {"node": NodeBuilder().subscribe_only("a").write_to("q")}}, "Node node writes channel 'q'"),
        ({"nodes": {"node": NodeBuilder().do(doubled)}}, "subscribes to no channel"),
        ({"nodes": {"no:de": NodeBuilder().subscribe_only("a")}}, "Node name 'no:de'"),
        ({"nodes": {"node": doubled}}, "must be a NodeBuilder"),
        ({"channels": {"a": EphemeralValue(str), "b": str}}, "b: expected a channel"),
        ({"interrupt_before_nodes": ["nod"]}, r"Interrupt node 'nod' not found. Did you mean 'node'\?"),
        ({"nodes": {"node": NodeBuilder().subscribe_only("a").do(doubled).set_timeout(1)}}, "make it async"),
    ],
)
def test_what_cannot_run_right_is_told_when_it_is_built(change: dict[str, Any], told: str) -> None:
    """Rules: 3. Rows: S1-P02."""
    given: dict[str, Any] = {
        "nodes": {"node": NodeBuilder().subscribe_only("a").do(doubled).write_to("b")},
        "channels": {"a": EphemeralValue(str), "b": EphemeralValue(str)},
        "input_channels": ["a"],
        "output_channels": ["b"],
    }
    Pregel(**given).validate()
    with pytest.raises(ValueError, match=told) as error:
        Pregel(**{**given, **change})
    assert isinstance(error.value, GraphBuildError)


def test_a_builder_has_one_kind_of_subscription() -> None:
    with pytest.raises(ValueError, match="subscribed to a single channel"):
        NodeBuilder().subscribe_only("a").subscribe_to("b")
    with pytest.raises(ValueError, match="other channels"):
        NodeBuilder().subscribe_to("a").subscribe_only("b")
    with pytest.raises(ValueError, match="single channels"):
        NodeBuilder().subscribe_only("a").read_from("b")
    with pytest.raises(ValueError, match="callable"):
        NodeBuilder().do(3)
    assert isinstance(NodeBuilder().subscribe_only("a").build(), PregelNode)


def test_wrong_input_and_wrong_writes_are_refused_and_leniently_taken(
    drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    """Rules: 30, 97. Rows: S1-048."""
    strict = one_node()
    with pytest.raises(InvalidUpdateError, match=r"'aa' is not an input channel. Did you mean 'a'\?"):
        drive.invoke(strict, {"aa": "x"})
    with pytest.raises(InvalidUpdateError, match="Expected a dict of the input channels"):
        drive.invoke(strict, "x")
    with pytest.raises(InvalidUpdateError, match="expected str, got int"):
        drive.invoke(strict, {"a": 1})
    with pytest.raises(EmptyInputError):
        drive.invoke(strict, {})
    lenient = one_node(strict=False)
    with pytest.raises(EmptyInputError, match="Received no input"):
        drive.invoke(lenient, {"aa": "x"})
    assert drive.invoke(lenient, {"a": 1}) == {"b": 2}


def test_breakpoints_drawing_and_words(journal: Journal) -> None:
    """Rules: 123."""
    graph = one_node(checkpointer=journal, interrupt_before_nodes=["node"], name="low")
    assert graph.invoke({"a": "x"}, on("t")) is None
    assert graph.get_state(on("t")).next == ("node",)
    assert graph.invoke(None, on("t")) == {"b": "xx"}
    assert "__start__ --> node" in graph.draw_mermaid()
    assert "graph low" in graph.explain()
    assert sorted(graph.get_input_jsonschema()["properties"]) == ["a"]
    assert graph.with_config({"recursion_limit": 5}).invoke({"a": "x"}, on("u")) is None


def test_two_writers_of_one_value_conflict_and_nothing_is_applied(drive: Drive, journal: Journal) -> None:
    """Rules: 19. Rows: S1-041."""
    graph = Pregel(
        nodes={n: NodeBuilder().subscribe_only("in").do(lambda x: x).write_to("out", "seen") for n in ("a", "b")},
        channels={"in": EphemeralValue(int), "out": LastValue(int), "seen": Topic(int, accumulate=True)},
        input_channels="in",
        output_channels=["out", "seen"],
        checkpointer=journal,
    )
    with pytest.raises(InvalidUpdateError, match=r"At key 'out': .* Written by 'a', 'b'"):
        drive.invoke(graph, 1, on("t"))
    assert drive.get_state(graph, on("t")).values == {"in": 1}
