"""What of the state a node, a route, a caller sees: input, output and private schemas, and keys without a value."""

from __future__ import annotations

import dataclasses
import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, Required, TypedDict

import pytest
from pydantic import BaseModel

from lawful import START, StateGraph
from lawful.graph import Topic
from support.graphs import Drive, concat

pytestmark = pytest.mark.unit


class Wide(TypedDict, total=False):
    asked: str
    answer: str
    notes: Annotated[list[str], concat]


class Asked(TypedDict):
    asked: str


class Answered(TypedDict):
    answer: str


class Private(TypedDict, total=False):
    asked: str
    secret: str


class Secret(TypedDict):
    secret: str


def test_input_and_output_are_views(strict: bool, drive: Drive) -> None:
    """Keys outside the input schema are not taken, those outside the output schema not given. Rules: 11."""
    seen: list[dict[str, Any]] = []

    def work(state: Wide) -> Wide:
        seen.append(dict(state))
        return {"answer": "done", "notes": ["work"]}

    builder = StateGraph(Wide, input_schema=Asked, output_schema=Answered, strict=strict).add_node(work)
    graph = builder.add_edge(START, "work").compile()
    assert drive.invoke(graph, {"asked": "q", "answer": "no", "notes": ["no"]}) == {"answer": "done"}
    assert seen == [{"asked": "q", "notes": []}]


def test_a_nodes_annotation_is_its_view_and_adds_channels(strict: bool, drive: Drive) -> None:
    """A key that neither input nor output knows passes between two nodes. Rules: 12, 11."""
    seen: list[dict[str, Any]] = []

    def hide(state: Asked) -> Private:
        seen.append(dict(state))
        return {"secret": "s"}

    def use(state: Secret) -> Wide:
        seen.append(dict(state))
        return {"answer": state["secret"] + "!"}

    builder = StateGraph(Wide, input_schema=Asked, output_schema=Answered, strict=strict)
    graph = builder.add_sequence([hide, use]).add_edge(START, "hide").compile()
    assert drive.invoke(graph, {"asked": "q", "secret": "from outside"}) == {"answer": "s!"}
    assert seen == [{"asked": "q"}, {"secret": "s"}]


def test_input_schema_of_a_node_wins_over_its_annotation(strict: bool, drive: Drive) -> None:
    """Rules: 12."""
    seen: list[dict[str, Any]] = []

    def look(state: Wide) -> Wide:
        seen.append(dict(state))
        return {}

    builder = StateGraph(Wide, strict=strict).add_node("look", look, input_schema=Asked)
    drive.invoke(builder.add_edge(START, "look").compile(), {"asked": "q", "answer": "a"})
    assert seen == [{"asked": "q"}]


def test_a_router_reads_by_its_own_annotation(strict: bool, drive: Drive) -> None:
    """Rules: 13."""
    seen: list[dict[str, Any]] = []

    def hide(state: Asked) -> Private:
        return {"secret": "s"}

    def use(state: Wide) -> Wide:
        return {"answer": "used"}

    def choose(state: Secret) -> str:
        seen.append(dict(state))
        return "use"

    builder = StateGraph(Wide, strict=strict).add_node(hide).add_node(use).add_edge(START, "hide")
    graph = builder.add_conditional_edges("hide", choose).compile()
    assert drive.invoke(graph, {"asked": "q"})["answer"] == "used"
    assert seen == [{"secret": "s"}]


class Sparse(TypedDict):
    plain: str
    listed: Annotated[list[str], concat]
    counted: Annotated[int, operator.add]
    mixed: Annotated[int | str, operator.add]
    topic: Annotated[list[str], Topic(str)]


def test_keys_without_a_value_are_absent(strict: bool, drive: Drive) -> None:
    """A reduced key whose type can be made empty starts so. Rules: 14. Rows: S1-S06."""
    seen: list[dict[str, Any]] = []

    def look(state: Sparse) -> dict[str, Any]:
        seen.append(dict(state))
        with pytest.raises(KeyError):
            state["plain"]
        return {"plain": "written"}

    def again(state: Sparse) -> dict[str, Any]:
        seen.append(dict(state))
        return {}

    graph = StateGraph(Sparse, strict=strict).add_sequence([look, again]).add_edge(START, "look").compile()
    assert drive.invoke(graph, {"listed": []}) == {"listed": [], "counted": 0, "plain": "written"}
    assert seen == [{"listed": [], "counted": 0}, {"listed": [], "counted": 0, "plain": "written"}]


class Wrapped(TypedDict):
    must: Required[str]
    may: NotRequired[str]
    many: NotRequired[Annotated[list[str], concat]]
    several: Annotated[NotRequired[list[str]], concat]


def test_required_and_not_required_are_looked_through(strict: bool, drive: Drive) -> None:
    """Rules: 8, 20. Rows: S1-S01."""

    def a(state: Wrapped) -> Any:
        return {"many": ["a"], "several": ["a"], "may": "a"}

    def b(state: Wrapped) -> Any:
        return {"many": ["b"], "several": ["b"]}

    builder = StateGraph(Wrapped, strict=strict).add_node(a).add_node(b).add_edge(START, "a")
    out = drive.invoke(builder.add_edge(START, "b").compile(), {"must": "x", "many": ["in"], "several": ["in"]})
    assert out == {"must": "x", "may": "a", "many": ["in", "a", "b"], "several": ["in", "a", "b"]}


# JSON schemas of the state


class Described(TypedDict):
    needed: str
    nullable: str | None
    may: NotRequired[int]


@dataclass
class DescribedClass:
    needed: str
    nullable: str | None
    dotted: Any = field(default=...)
    given: str = "x"
    listed: list[str] = dataclasses.field(default_factory=list[str])


class DescribedModel(BaseModel):
    needed: str
    maybe: str | None = None
    given: str = "x"


@pytest.mark.parametrize(
    "schema,required",
    [(Described, ["needed"]), (DescribedClass, ["dotted", "needed"]), (DescribedModel, ["needed"])],
)
def test_json_schemas_require_what_has_no_default_and_may_not_be_none(
    schema: Any, required: list[str], strict: bool
) -> None:
    """A field whose default is written as ``...`` has none. Rules: 17."""

    def node(state: Any) -> dict[str, Any]:
        return {}

    graph: Any = StateGraph(schema, strict=strict).add_node(node).add_edge(START, "node").compile()
    for told in (graph.get_input_jsonschema(), graph.get_output_jsonschema()):
        assert sorted(told["required"]) == required
        assert told["properties"]["needed"]["type"] == "string"
