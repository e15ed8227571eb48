"""What a build accepts, refuses and says: names, edges, reducers, checkpointers, schemas, defaults."""

from __future__ import annotations

import enum
import logging
import warnings
from typing import Annotated, Any, Literal, TypedDict

import pytest

from lawful import END, START, Command, RetryPolicy, StateGraph
from lawful.core.errors import ConfigurationError, GraphBuildError
from lawful.graph import RemainingSteps, Topic
from lawful.graph.session import ThreadMissing
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on

pytestmark = pytest.mark.unit


class Text(TypedDict, total=False):
    text: str


class Trail(TypedDict):
    trail: Annotated[list[str], concat]


def step(state: Text) -> Text:
    return {"text": "step"}


def other(state: Text) -> Text:
    return {"text": "other"}


# names


@pytest.mark.parametrize("name", ["__start__", "__end__", "a|b", "a:b", "|", ":"])
def test_reserved_names_and_characters_are_refused(name: str, strict: bool) -> None:
    """Rules: 1. Rows: S1-003, S0-091."""
    graph = StateGraph(Text, strict=strict)
    with pytest.raises(ValueError, match=r"reserved|must not|not allowed") as refused:
        graph.add_node(name, step)
    assert isinstance(refused.value, GraphBuildError)


def test_a_name_is_given_once(strict: bool) -> None:
    """Rules: 1. Rows: S0-091."""
    graph = StateGraph(Text, strict=strict).add_node("write", step)
    with pytest.raises(ValueError, match="write"):
        graph.add_node("write", other)


@pytest.mark.parametrize("name", ["naïve", "a b", "a.b", "branch", "x" * 200])
def test_other_names_are_fine(name: str, strict: bool, drive: Drive) -> None:
    """Rules: 1."""
    graph = StateGraph(Text, strict=strict).add_node(name, step).add_edge(START, name).compile()
    assert drive.invoke(graph, {"text": "in"}) == {"text": "step"}


def test_a_node_may_be_named_like_a_state_key(strict: bool, drive: Drive) -> None:
    """Rules: 1."""
    graph = StateGraph(Text, strict=strict).add_node("text", step).add_edge(START, "text").compile()
    assert drive.invoke(graph, {"text": "in"}) == {"text": "step"}


def test_a_node_added_after_compile_is_warned_about_and_left_out(
    strict: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Rules: 1."""
    builder = StateGraph(Text, strict=strict).add_node(step).add_edge(START, "step")
    compiled = builder.compile()
    with warnings.catch_warnings(record=True) as warned, caplog.at_level(logging.WARNING):
        warnings.simplefilter("always")
        builder.add_node(other).add_edge("step", "other")
    assert len(warned) + len(caplog.records) >= 1
    assert compiled.invoke({"text": "in"}) == {"text": "step"}
    assert builder.compile().invoke({"text": "in"}) == {"text": "other"}


class Shout:
    def __call__(self, state: Text) -> Text:
        return {"text": "shout"}


class Verb(enum.StrEnum):
    WRITE = "write"


def test_the_name_comes_from_the_function(strict: bool) -> None:
    """Rules: 2. Rows: S1-003."""
    graph = StateGraph(Text, strict=strict).add_node(step).add_edge(START, "step").compile()
    assert graph.invoke({"text": "in"}) == {"text": "step"}


def test_the_name_comes_from_the_class_of_a_callable(strict: bool) -> None:
    """Rules: 2."""
    graph = StateGraph(Text, strict=strict).add_node(Shout()).add_edge(START, "Shout").compile()
    assert graph.invoke({"text": "in"}) == {"text": "shout"}


def test_an_enum_member_that_is_a_string_is_a_name(strict: bool) -> None:
    """Rules: 2."""
    graph = StateGraph(Text, strict=strict).add_node(Verb.WRITE, step).add_edge(START, Verb.WRITE).compile()
    assert list(graph.stream({"text": "in"}, stream_mode="updates")) == [{"write": {"text": "step"}}]


def test_add_node_is_a_decorator(strict: bool) -> None:
    """Rules: 2."""
    builder = StateGraph(Text, strict=strict)

    @builder.add_node
    def written(state: Text) -> Text:  # pyright: ignore[reportUnusedFunction]
        return {"text": "decorated"}

    assert builder.add_edge(START, "written").compile().invoke({"text": "in"}) == {"text": "decorated"}


def test_every_builder_call_gives_the_builder_back(strict: bool) -> None:
    """Rows: S1-005."""
    builder = StateGraph(Text, strict=strict)

    def onward(state: Text) -> Literal["other", "__end__"]:
        return "other"

    assert builder.add_node("step", step) is builder
    assert builder.add_sequence([other]) is builder
    assert builder.set_entry_point("step") is builder
    assert builder.set_finish_point("other") is builder
    assert builder.add_conditional_edges("step", onward) is builder
    assert builder.add_edge(START, "other") is builder
    assert builder.set_node_defaults(retry_policy=RetryPolicy(max_attempts=2)) is builder
    assert builder.validate() is builder


def test_the_graph_compiled_first_does_not_change(strict: bool) -> None:
    """Compile freezes. Rules: 1."""
    builder = StateGraph(Text, strict=strict).add_node(step).add_edge(START, "step")
    first = builder.compile()
    drawn = first.get_graph().draw_mermaid()
    builder.add_node("late", other)
    assert first.get_graph().draw_mermaid() == drawn


# edges


def refused(builder: StateGraph[Any], **options: Any) -> str:
    """The message of the GraphBuildError that compile raises."""
    with pytest.raises(GraphBuildError) as caught:
        builder.compile(**options)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def test_a_graph_needs_an_edge_from_start(strict: bool) -> None:
    """Rules: 3. Rows: S0-091."""
    assert "START" in refused(StateGraph(Text, strict=strict).add_node(step).add_edge("step", END))


def test_an_edge_to_an_unknown_node_is_refused_with_the_nearest(strict: bool) -> None:
    """Rules: 3. Rows: S0-091."""
    told = refused(StateGraph(Text, strict=strict).add_node(step).add_edge(START, "step").add_edge("step", "setp"))
    assert "'setp'" in told
    assert "'step'" in told


def test_an_edge_from_an_unknown_node_is_refused_with_the_nearest(strict: bool) -> None:
    """Rules: 3. Rows: S0-091."""
    builder = StateGraph(Text, strict=strict).add_node(step).add_node(other).add_edge(START, "step")
    told = refused(builder.add_edge("steq", "other"))
    assert "'steq'" in told
    assert "'step'" in told


@pytest.mark.parametrize("start,end", [(END, "step"), ("step", START)])
def test_end_starts_nothing_and_start_ends_nothing(start: str, end: str, strict: bool) -> None:
    """Rules: 3."""
    builder = StateGraph(Text, strict=strict).add_node(step).add_edge(START, "step")
    with pytest.raises(ValueError, match=r"START|END|__start__|__end__"):
        builder.add_edge(start, end).compile()


@pytest.mark.parametrize("starts", [["step", "nobody"], ["nobody"]])
def test_a_join_of_unknown_nodes_is_refused(starts: list[str], strict: bool) -> None:
    """Rules: 3, 28."""
    builder = StateGraph(Text, strict=strict).add_node(step).add_node(other).add_edge(START, "step")
    with pytest.raises(ValueError, match="nobody"):
        builder.add_edge(starts, "other").compile()


def test_a_path_map_to_an_unknown_node_is_refused(strict: bool) -> None:
    """Rules: 3. Rows: S0-091."""

    def choose(state: Text) -> str:
        return "on"

    builder = StateGraph(Text, strict=strict).add_node(step).add_node(other).add_edge(START, "step")
    told = refused(builder.add_conditional_edges("step", choose, {"on": "othre", "off": END}))
    assert "'othre'" in told
    assert "'other'" in told


def test_a_conditional_edge_from_an_unknown_node_is_refused(strict: bool) -> None:
    """Rules: 3."""

    def choose(state: Text) -> str:
        return "step"

    builder = StateGraph(Text, strict=strict).add_node(step).add_edge(START, "step")
    assert "nobody" in refused(builder.add_conditional_edges("nobody", choose))


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
def test_a_breakpoint_at_an_unknown_node_is_refused(where: str, strict: bool) -> None:
    """Rules: 3. Rows: S1-006."""
    builder = StateGraph(Text, strict=strict).add_node(step).add_edge(START, "step")
    assert "stop" in refused(builder, **{where: ["stop"]})


def test_a_node_reached_only_by_command_needs_no_edge(strict: bool, drive: Drive) -> None:
    """Also: nodes without outgoing edges end. Rules: 4. Rows: S1-P05, S0-083."""

    def jump(state: Trail) -> Command[Literal["landing"]]:
        return Command(update={"trail": ["jump"]}, goto="landing")

    def landing(state: Trail) -> Trail:
        return {"trail": ["landing"]}

    graph = StateGraph(Trail, strict=strict).add_node(jump).add_node(landing).add_edge(START, "jump").compile()
    assert drive.invoke(graph, {"trail": []}) == {"trail": ["jump", "landing"]}


def test_an_unreachable_node_is_not_refused(strict: bool) -> None:
    """Rules: 4. Rows: S0-083, S0-091."""
    builder = StateGraph(Text, strict=strict).add_node(step).add_node(other).add_edge(START, "step")
    assert builder.compile().invoke({"text": "in"}) == {"text": "step"}


# reducers and schemas


def one_handed(left: list[str]) -> list[str]:
    return left


def three_handed(left: list[str], right: list[str], more: list[str]) -> list[str]:
    return left + right + more


class OneHanded(TypedDict):
    xs: Annotated[list[str], one_handed]


class ThreeHanded(TypedDict):
    xs: Annotated[list[str], three_handed]


@pytest.mark.parametrize("schema", [OneHanded, ThreeHanded])
def test_a_reducer_takes_two_arguments(schema: Any, strict: bool) -> None:
    """Refused when the graph is begun, not when it runs. Rules: 5. Rows: S0-091."""
    with pytest.raises(ValueError, match=r"(?i)reducer"):
        StateGraph(schema, strict=strict)


class Joined(TypedDict):
    xs: Annotated[list[str], concat]


class Plain(TypedDict):
    xs: list[str]


class Listed(TypedDict):
    xs: Annotated[list[str], Topic(str)]


class Counting(TypedDict):
    left: RemainingSteps


@pytest.mark.parametrize("as_what", ["input_schema", "output_schema"])
def test_one_key_has_one_channel(as_what: str, strict: bool) -> None:
    """Rules: 15. Rows: S1-S02."""
    views: dict[str, Any] = {as_what: Listed}
    with pytest.raises(ValueError, match="xs"):
        StateGraph(Joined, strict=strict, **views)


@pytest.mark.parametrize("as_what", ["input_schema", "output_schema"])
def test_a_plain_view_of_a_reduced_key_is_no_second_channel(as_what: str, strict: bool, drive: Drive) -> None:
    """Rules: 15. Rows: S1-S02."""

    def more(state: Joined) -> Plain:
        return {"xs": ["node"]}

    views: dict[str, Any] = {as_what: Plain}
    graph = StateGraph(Joined, strict=strict, **views).add_node(more).add_edge(START, "more").compile()
    assert drive.invoke(graph, {"xs": ["in"]}) == {"xs": ["in", "node"]}


@pytest.mark.parametrize("as_what", ["input_schema", "output_schema"])
def test_managed_values_stay_inside(as_what: str, strict: bool) -> None:
    """Rules: 15."""
    views: dict[str, Any] = {as_what: Counting}
    with pytest.raises(ValueError, match="left"):
        StateGraph(Text, strict=strict, **views)


# checkpointers


@pytest.mark.parametrize("nonsense", ["memory", 7, object()], ids=["text", "number", "object"])
def test_what_is_no_checkpointer_is_refused(nonsense: Any, strict: bool) -> None:
    """Rules: 6."""
    builder = StateGraph(Text, strict=strict).add_node(step).add_edge(START, "step")
    with pytest.raises(TypeError, match="Invalid checkpointer provided"):
        builder.compile(checkpointer=nonsense)


@pytest.mark.parametrize("choice", [None, False])
def test_none_and_false_are_checkpointers(choice: None | bool, strict: bool, drive: Drive) -> None:
    """Rules: 6."""
    graph = StateGraph(Text, strict=strict).add_node(step).add_edge(START, "step").compile(checkpointer=choice)
    assert drive.invoke(graph, {"text": "in"}) == {"text": "step"}


def test_a_graph_has_the_name_it_is_compiled_with(strict: bool) -> None:
    """Rows: S1-006."""
    builder = StateGraph(Text, strict=strict).add_node("step", step).add_edge(START, "step")
    assert (builder.compile(name="shop").name, builder.compile().name) == ("shop", "LangGraph")


def test_a_journal_is_a_checkpointer(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 6. Rows: S1-006."""
    graph = StateGraph(Text, strict=strict).add_node(step).add_edge(START, "step").compile(checkpointer=journal)
    assert drive.invoke(graph, {"text": "in"}, on("t")) == {"text": "step"}
    assert drive.get_state(graph, on("t")).values == {"text": "step"}


def test_true_is_no_checkpointer_for_a_root(strict: bool, drive: Drive) -> None:
    """Rules: 7."""
    graph = StateGraph(Text, strict=strict).add_node(step).add_edge(START, "step").compile(checkpointer=True)
    with pytest.raises(RuntimeError, match="checkpointer"):
        drive.invoke(graph, {"text": "in"}, on("t"))


# errors


def test_unknown_keywords_are_refused(strict: bool) -> None:
    """Rows: S0-091."""
    with pytest.raises(TypeError):
        StateGraph(Text, strict=strict, sate_schema=Text)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError):
        StateGraph(Text, strict=strict).add_node("step", step, differ=True)  # pyright: ignore[reportCallIssue]


def test_what_a_build_refuses_is_a_configuration_error() -> None:
    """Rules: 3. Rows: S0-091."""
    with pytest.raises(ConfigurationError) as refused_build:
        StateGraph(Text).add_node(step).compile()
    assert refused_build.value.code == "graph_build"
    assert refused_build.value.context.component == "graph"


@pytest.mark.parametrize(("option", "told"), [("error_handler", "error handler"), ("cache_policy", "CachePolicy")])
def test_a_policy_of_another_kind_is_refused_and_not_ignored(option: str, told: str, strict: bool) -> None:
    """Nobody shall rely on an option that does nothing. Rows: S1-080."""

    async def node(state: Plain) -> Plain:
        return {"xs": []}

    given: dict[str, Any] = {option: object()}
    builder = StateGraph(Plain, strict=strict).add_node("node", node, **given).add_edge(START, "node")
    with pytest.raises(GraphBuildError, match=told):
        builder.compile()


def test_a_cache_is_refused_and_not_ignored(strict: bool) -> None:
    """Rows: S1-080."""

    def node(state: Plain) -> Plain:
        return {"xs": []}

    builder = StateGraph(Plain, strict=strict).add_node("node", node).add_edge(START, "node")
    with pytest.raises(GraphBuildError, match="cache"):
        builder.compile(cache=object())


def test_a_graph_with_a_journal_of_its_own_is_no_node(journal: Journal, strict: bool) -> None:
    """Inside another graph it would use that one's: True keeps its state over visits, None does not. Rules: 134, 135."""

    def compiled(checkpointer: Any) -> Any:
        return StateGraph(Text, strict=strict).add_node("node", step).add_edge(START, "node").compile(checkpointer)

    if strict:
        with pytest.raises(GraphBuildError, match=r"'inner'.*journal of its own"):
            StateGraph(Text).add_node("inner", compiled(journal))
    else:  # as in LangGraph it uses the outer graph's, which there must be
        builder = StateGraph(Text, strict=False).add_node("inner", compiled(journal)).add_edge(START, "inner")
        with pytest.raises(ThreadMissing, match="compile the outer graph with the journal"):
            builder.compile().invoke({"text": ""}, thread="1")
        builder.compile(MemoryJournal()).invoke({"text": ""}, thread="1")
        assert journal.chain("1") is None
    for inherits in (None, True, False):
        StateGraph(Text, strict=strict).add_node("inner", compiled(inherits)).add_edge(START, "inner").compile()
