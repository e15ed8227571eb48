"""What is stored comes back equal and of the same type, for every kind of value and channel, from a store opened anew."""

from __future__ import annotations

import datetime
import decimal
import enum
import operator
import uuid
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from lawful import START, Overwrite, StateGraph
from lawful.graph import Topic
from support.graphs import DRIVES, JOURNALS, boxed, concat, driving, on

pytestmark = pytest.mark.property


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Point:
    x: int
    tags: tuple[str, ...] = ()


class Pair(NamedTuple):
    left: int
    right: str


class Form(BaseModel):
    name: str
    points: list[int] = []


class Values(TypedDict, total=False):
    none: None
    flag: bool
    whole: int
    real: float
    text: str
    raw: bytes
    many: list[int]
    both: tuple[int, str]
    several: set[int]
    frozen: frozenset[str]
    table: dict[str, list[int]]
    when: datetime.datetime
    day: datetime.date
    money: decimal.Decimal
    ident: uuid.UUID
    colour: Colour
    point: Point
    pair: Pair
    form: Form
    deep: dict[str, Any]


JSONS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "none": st.none(),
    "flag": st.booleans(),
    "whole": st.integers(-(2**80), 2**80),
    "real": st.floats(allow_nan=False),
    "text": st.text(max_size=6),
    "raw": st.binary(max_size=6),
    "many": st.lists(st.integers(), max_size=3),
    "both": st.tuples(st.integers(), st.text(max_size=3)),
    "several": st.sets(st.integers(), max_size=3),
    "frozen": st.frozensets(st.text(max_size=3), max_size=3),
    "table": st.dictionaries(st.text(max_size=3), st.lists(st.integers(), max_size=2), max_size=3),
    "when": st.datetimes(timezones=st.just(datetime.UTC)) | st.datetimes(),
    "day": st.dates(),
    "money": st.decimals(allow_nan=False, allow_infinity=False),
    "ident": st.uuids(),
    "colour": st.sampled_from(Colour),
    "point": st.builds(Point, st.integers(), st.lists(st.text(max_size=2), max_size=2).map(tuple)),
    "pair": st.builds(Pair, st.integers(), st.text(max_size=2)),
    "form": st.builds(Form, name=st.text(max_size=3), points=st.lists(st.integers(), max_size=2)),
    "deep": st.dictionaries(st.text(max_size=3), JSONS, max_size=3),
}


def types(value: Any) -> Any:
    """The type of a value and of what is in it."""
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    if issubclass(kind, dict):
        return (kind, {k: types(v) for k, v in value.items()})
    if issubclass(kind, (list, tuple)):
        return (kind, [types(v) for v in value])
    return kind


@pytest.mark.parametrize("store", JOURNALS)
@pytest.mark.parametrize("kind", DRIVES)
@settings(max_examples=30)
@given(values=st.fixed_dictionaries({}, optional=VALUES))
def test_a_value_of_every_type_comes_back(
    store: str, kind: str, values: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Rows: S1-050."""

    def build(journal: Any) -> Any:
        graph = StateGraph(Values).add_node("node", returning(values)).add_edge(START, "node")
        return graph.compile(checkpointer=journal)

    with boxed(store, tmp_path_factory.mktemp("values")) as box, driving(kind) as drive:
        drive.invoke(build(box.open()), {}, on("t"))
        read = drive.get_state(build(box.open()), on("t")).values
    assert read == values
    assert {key: types(value) for key, value in read.items()} == {key: types(value) for key, value in values.items()}


def united(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    return {**left, **right}


class Kept(TypedDict, total=False):
    last: str
    listed: Annotated[list[str], concat]
    summed: Annotated[int, operator.add]
    archive: Annotated[list[str], Topic(str, accumulate=True)]
    table: Annotated[dict[str, int], united]


TEXT = st.text(max_size=3)
WRITES = st.fixed_dictionaries(
    {},
    optional={
        "last": TEXT,
        "listed": st.lists(TEXT, max_size=3) | st.lists(TEXT, max_size=2).map(Overwrite),
        "summed": st.integers(-9, 9) | st.integers(-9, 9).map(Overwrite),
        "archive": st.lists(TEXT, max_size=2) | TEXT,
        "table": st.dictionaries(TEXT, st.integers(0, 9), max_size=2),
    },
)


def returning(update: dict[str, Any]) -> Any:
    def node(state: Any) -> Any:
        return dict(update)

    return node


def model(state: dict[str, Any], writes: dict[str, Any]) -> None:
    """The same writes on plain values."""
    fold: dict[str, Any] = {"listed": concat, "summed": operator.add, "table": united}
    for key, value in writes.items():
        if isinstance(value, Overwrite):
            state[key] = value.value
        elif key in fold:
            state[key] = fold[key](state[key], value)
        elif key == "archive":
            more: list[str] = [value] if type(value) is str else value
            if more or key in state:
                state[key] = [*state.get(key, []), *more]
        else:
            state[key] = value


@pytest.mark.parametrize("store", JOURNALS)
@settings(max_examples=20)
@given(runs=st.lists(st.lists(WRITES, min_size=1, max_size=4), min_size=1, max_size=4))
def test_channels_keep_their_values_over_runs_and_openings(
    store: str, runs: list[list[dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every step's checkpoint as well as the last. Rows: S1-050, S1-051, S1-047. Rules: 20, 22, 24."""
    expected: dict[str, Any] = {"listed": [], "summed": 0, "table": {}}
    steps: list[dict[str, Any]] = []
    graph: Any = None
    with boxed(store, tmp_path_factory.mktemp("runs")) as box, driving("sync") as drive:
        for writes in runs:
            steps.append(dict(expected))
            builder: Any = StateGraph(Kept)
            for i, update in enumerate(writes):
                builder.add_node(f"n{i}", returning(update)).add_edge(START if i == 0 else f"n{i - 1}", f"n{i}")
                model(expected, update)
                steps.append(dict(expected))
            graph = builder.compile(checkpointer=box.open())
            assert drive.invoke(graph, {"summed": 0}, on("t")) == expected
        entries = drive.get_state_history(graph, on("t"))
    assert [entry.values for entry in reversed(entries) if entry.metadata["source"] == "loop"] == steps
