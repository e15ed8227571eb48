"""Reduced keys: folding from the left one write at a time, first writes, Overwrite in all its forms."""

from __future__ import annotations

import dataclasses
import json
import operator
from typing import Annotated, Any, TypedDict

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful import START, Command, Overwrite, StateGraph
from lawful.core.errors import InvalidUpdateError
from lawful.journal.port import Journal
from support.graphs import DRIVES, Drive, concat, driving, on

pytestmark = pytest.mark.unit

calls: list[tuple[Any, Any]] = []


def recorded(left: list[str], right: list[str]) -> list[str]:
    calls.append((list(left), list(right)))
    return left + right


class Recorded(TypedDict):
    xs: Annotated[list[str], recorded]


class Listed(TypedDict):
    xs: Annotated[list[str], concat]


class Difference(TypedDict):
    """Neither associative nor commutative: shows the order of every application."""

    n: Annotated[int, operator.sub]


def writers(schema: Any, values: dict[str, Any], strict: bool) -> Any:
    """A builder whose nodes each write one value at once, straight after START."""
    builder = StateGraph(schema, strict=strict)
    for name, update in values.items():

        def write(state: Any, update: Any = update) -> Any:
            return update

        builder.add_node(name, write).add_edge(START, name)
    return builder


def test_writes_fold_from_the_left_in_task_order_one_at_a_time(strict: bool, drive: Drive) -> None:
    """The input is the first write, onto the type's empty value. Rules: 20. Rows: S1-C05."""
    calls.clear()
    builder = writers(Recorded, {"b": {"xs": ["b"]}, "c": {"xs": ["c"]}, "a": {"xs": ["a1", "a2"]}}, strict)
    assert drive.invoke(builder.compile(), {"xs": ["in"]}) == {"xs": ["in", "a1", "a2", "b", "c"]}
    applied = [call for call in calls if call[1] != []]
    assert applied == [
        ([], ["in"]),
        (["in"], ["a1", "a2"]),
        (["in", "a1", "a2"], ["b"]),
        (["in", "a1", "a2", "b"], ["c"]),
    ]


def test_an_operator_without_laws_shows_the_order(strict: bool, drive: Drive) -> None:
    """((0 - 10) - 1) - 2, then - 3. Rules: 20, 35."""
    builder = writers(Difference, {"z": {"n": 2}, "a": {"n": 1}}, strict)

    def last(state: Difference) -> Difference:
        return {"n": 3}

    builder.add_node("last", last).add_edge(["a", "z"], "last")
    assert drive.invoke(builder.compile(), {"n": 10}) == {"n": -16}


def test_a_node_may_write_one_reduced_key_several_times(strict: bool, drive: Drive) -> None:
    """Rules: 20, 54, 55."""

    def several(state: Listed) -> Any:
        return [Command(update=[("xs", ["1"]), ("xs", ["2"])]), {"xs": ["3"]}]

    graph = StateGraph(Listed, strict=strict).add_node(several).add_edge(START, "several").compile()
    assert drive.invoke(graph, {"xs": ["0"]}) == {"xs": ["0", "1", "2", "3"]}


@pytest.mark.parametrize("kind", DRIVES)
@settings(max_examples=25, deadline=None)
@given(
    given=st.lists(st.text(max_size=2), max_size=3),
    levels=st.lists(
        st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.text(max_size=2), max_size=2), min_size=1, max_size=3),
        min_size=1,
        max_size=3,
    ),
)
@pytest.mark.property
def test_any_layers_of_writers_give_the_left_fold(
    kind: str, given: list[str], levels: list[dict[str, list[str]]]
) -> None:
    """Layer by layer, within a layer by name. Rules: 20, 35. Rows: S1-044."""
    builder: Any = StateGraph(Listed)
    before: list[str] | str = START
    expected = list(given)
    for depth, level in enumerate(levels):
        names = [f"{name}{depth}" for name in level]
        for name, value in level.items():

            def write(state: Any, value: list[str] = value) -> Any:
                return {"xs": list(value)}

            builder.add_node(f"{name}{depth}", write).add_edge(before, f"{name}{depth}")
        expected += [text for name in sorted(level) for text in level[name]]
        before = names
    with driving(kind) as drive:
        assert drive.invoke(builder.compile(), {"xs": given}) == {"xs": expected}


# first writes


def joined(left: int | str, right: int | str) -> int | str:
    return f"{left}+{right}"


class Either(TypedDict, total=False):
    either: Annotated[int | str, joined]


def test_the_first_write_to_a_type_without_an_empty_value_is_the_value(strict: bool, drive: Drive) -> None:
    """The reducer is called from the second write on. Rules: 21."""
    builder = writers(Either, {"a": {"either": 1}, "b": {"either": "x"}}, strict)
    assert drive.invoke(builder.compile(), {}) == {"either": "1+x"}
    assert drive.invoke(builder.compile(), {"either": 0}) == {"either": "0+1+x"}
    alone = writers(Either, {"a": {"either": 1}}, strict)
    assert drive.invoke(alone.compile(), {}) == {"either": 1}


def test_a_first_write_is_checked_in_strict_mode(drive: Drive) -> None:
    """Rules: 21, 222. Rows: S1-040."""
    builder = writers(Either, {"a": {"either": [1]}}, strict=True)
    with pytest.raises(InvalidUpdateError, match="either"):
        drive.invoke(builder.compile(), {})


def test_a_first_write_is_not_checked_in_lenient_mode(drive: Drive) -> None:
    """Rules: 21."""
    builder = writers(Either, {"a": {"either": [1]}}, strict=False)
    assert drive.invoke(builder.compile(), {}) == {"either": [1]}


# Overwrite


def flattened(over: Overwrite) -> Any:
    """What a JSON encoder that flattens objects makes of it."""
    if dataclasses.is_dataclass(over):
        return json.loads(json.dumps(dataclasses.asdict(over)))
    return msgspec.json.decode(msgspec.json.encode(over))


FORMS = {
    "object": Overwrite(["new"]),
    "keyword": Overwrite(value=["new"]),
    "sentinel": {"__overwrite__": ["new"]},
    "flattened": flattened(Overwrite(["new"])),
    "wire": {"value": ["new"], "type": "__overwrite__"},
}


@pytest.mark.parametrize("form", FORMS)
def test_overwrite_replaces_what_was_gathered(form: str, strict: bool, drive: Drive) -> None:
    """Rules: 22, 23."""
    builder = writers(Listed, {"a": {"xs": FORMS[form]}}, strict)

    def after(state: Listed) -> Listed:
        return {"xs": ["after"]}

    graph = builder.add_node("after", after).add_edge("a", "after").compile()
    assert drive.invoke(graph, {"xs": ["old", "older"]}) == {"xs": ["new", "after"]}


@pytest.mark.parametrize("at", ["a", "b", "c"])
def test_overwrite_beats_every_write_of_its_step(at: str, strict: bool, drive: Drive) -> None:
    """Whatever their order. Rules: 22."""
    values: dict[str, Any] = {name: {"xs": [name]} for name in "abc"}
    values[at] = {"xs": Overwrite(["new"])}
    assert drive.invoke(writers(Listed, values, strict).compile(), {"xs": ["old"]}) == {"xs": ["new"]}


@pytest.mark.parametrize("second", [Overwrite(["2"]), {"__overwrite__": ["2"]}])
def test_two_overwrites_in_a_step_are_a_conflict(second: Any, journal: Journal, strict: bool, drive: Drive) -> None:
    """And nothing of the step is applied. Rules: 22. Rows: S1-041, S1-049, S1-C05."""
    builder = writers(Listed, {"a": {"xs": Overwrite(["1"])}, "b": {"xs": second}, "c": {"xs": ["3"]}}, strict)
    graph = builder.compile(checkpointer=journal)
    with pytest.raises(InvalidUpdateError, match=r"Can receive only one Overwrite value per super-step\."):
        drive.invoke(graph, {"xs": ["old"]}, on("t"))
    assert drive.get_state(graph, on("t")).values == {"xs": ["old"]}


def merged(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    return {**left, **right}


class Mapped(TypedDict):
    d: Annotated[dict[str, Any], merged]


@pytest.mark.parametrize(
    "plain", [{"__overwrite__": 1, "more": 2}, {"type": "__overwrite__"}, {"value": 1}, {"value": 1, "type": "x"}]
)
def test_a_dict_that_only_resembles_an_overwrite_is_a_value(plain: dict[str, Any], strict: bool, drive: Drive) -> None:
    """Rules: 22, 23."""
    builder = writers(Mapped, {"a": {"d": plain}}, strict)
    assert drive.invoke(builder.compile(), {"d": {"old": 0}}) == {"d": {"old": 0, **plain}}


def test_a_first_overwrite_is_unwrapped(drive: Drive) -> None:
    """Where the type has no empty value. Rules: 21, 22. Rows: S1-C05."""
    for strict in (True, False):
        builder = writers(Either, {"a": {"either": Overwrite(7)}}, strict)
        assert drive.invoke(builder.compile(), {}) == {"either": 7}


def test_an_overwrite_in_the_input_replaces_the_threads_value(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 22."""
    graph = writers(Listed, {"a": {"xs": ["a"]}}, strict).compile(checkpointer=journal)
    drive.invoke(graph, {"xs": ["in"]}, on("t"))
    assert drive.invoke(graph, {"xs": Overwrite(["over"])}, on("t")) == {"xs": ["over", "a"]}


def test_an_overwritten_value_is_checked_in_strict_mode(drive: Drive) -> None:
    """Rules: 22, 222. Rows: S1-040."""
    builder = writers(Listed, {"a": {"xs": Overwrite("not a list")}}, strict=True)
    with pytest.raises(InvalidUpdateError, match="xs"):
        drive.invoke(builder.compile(), {"xs": []})


def picky(left: list[str], right: list[str]) -> list[str]:
    if "sour" in right:
        raise LookupError("sour")
    return left + right


class Picky(TypedDict):
    xs: Annotated[list[str], picky]
    n: int


def test_a_reducers_own_error_is_the_steps_failure_and_changes_nothing(
    journal: Journal, strict: bool, drive: Drive
) -> None:
    """The exception comes unchanged. Rules: 20, 91. Rows: S1-041, S1-049."""
    builder = writers(Picky, {"a": {"n": 1}, "b": {"xs": ["sour"]}, "c": {"xs": ["c"]}}, strict)
    graph = builder.compile(checkpointer=journal)
    with pytest.raises(LookupError, match="sour"):
        drive.invoke(graph, {"xs": ["old"], "n": 0}, on("t"))
    assert drive.get_state(graph, on("t")).values == {"xs": ["old"], "n": 0}
