"""A third party's format of state classes, registered through the port: a small record class with slots and its own fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_type_hints

import pytest

from lawful.core.errors import GraphBuildError, InvalidUpdateError
from lawful.core.reducers import append
from lawful.graph import START, Done, Send, StateGraph
from lawful.graph.formats import Field, format_of, register_format
from lawful.journal.port import Journal
from support.graphs import Drive, JournalBox, on

pytestmark = pytest.mark.unit


class Record:
    """The third party's base: annotated names are fields, only those given are set, anything else is refused."""

    def __init__(self, **values: Any) -> None:
        known = get_type_hints(type(self))
        for name, value in values.items():
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name} is not set")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


class RecordFormat:
    """What this library asks of it."""

    def recognises(self, typ: type) -> bool:
        return issubclass(typ, Record)

    def fields(self, typ: Any) -> Mapping[str, Field]:
        hints = get_type_hints(typ, include_extras=True)
        return {name: Field(hint, required=name not in getattr(typ, "optional", ())) for name, hint in hints.items()}

    def make(self, typ: Any, values: Mapping[str, Any]) -> Any:
        return typ(**values)

    def written(self, value: Any) -> Mapping[str, Any]:
        return dict(value.__dict__)


register_format(RecordFormat())


class Trip(Record):
    city: str
    days: int
    notes: Annotated[list[str], append]


class Broken(Record):
    city: Missing  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


def plan(trip: Trip) -> Trip:
    assert type(trip) is Trip
    return Trip(days=3, notes=[f"planned {trip.city}"])


def check(trip: Trip) -> Trip:
    return Trip(notes=[f"{trip.days} days"])


def trips() -> StateGraph[Trip]:
    return StateGraph(Trip).add_sequence([plan, check]).add_edge(START, "plan")


def test_its_classes_are_states_with_reducers_and_partial_returns(drive: Drive, box: JournalBox) -> None:
    """Rows: S1-017. Rules: 9, 10."""
    graph = trips().compile(checkpointer=box.open())
    result = drive.invoke(graph, {"city": "Lyon"}, on("t"))
    assert result == {"city": "Lyon", "days": 3, "notes": ["planned Lyon", "3 days"]}
    again = trips().compile(checkpointer=box.open())
    assert drive.get_state(again, on("t")).values == result
    assert drive.invoke(graph, Trip(city="Turin"), on("u"))["city"] == "Turin"


def test_a_typed_run_ends_with_an_instance(drive: Drive) -> None:
    """Rows: S1-017."""
    end = drive.run(trips().compile(), {"city": "Lyon"})
    assert end == Done(Trip(city="Lyon", days=3, notes=["planned Lyon", "3 days"]))


def test_its_fields_are_checked_as_any_others(drive: Drive) -> None:
    """Rows: S1-017, S1-040."""

    def wrong(trip: Trip) -> Trip:
        return Trip(days="three")

    graph = StateGraph(Trip).add_node(wrong).add_edge(START, "wrong").compile()
    with pytest.raises(InvalidUpdateError, match="expected int, got str 'three'"):
        drive.invoke(graph, {"city": "Lyon"})
    with pytest.raises(GraphBuildError, match="A type hint of Broken does not resolve"):
        StateGraph(Broken)


def test_an_instance_can_be_sent_and_stored_on_the_way(drive: Drive, journal: Journal) -> None:
    """Rows: S1-017. Rules: 70."""

    def fan(trip: Trip) -> list[Send]:
        return [Send("visit", Trip(city=name)) for name in ("Lyon", "Turin")]

    def visit(trip: Trip) -> Trip:
        return Trip(notes=[trip.city])

    graph = StateGraph(Trip).add_node("fan", fan).add_node(visit).add_edge(START, "fan").compile(checkpointer=journal)
    drive.invoke(graph, {"city": ""}, on("t"), interrupt_before=["visit"])
    assert drive.invoke(graph, None, on("t"))["notes"] == ["Lyon", "Turin"]


def test_a_format_is_registered_once_and_asked_only_for_its_classes() -> None:
    ours = format_of(Trip)
    assert ours is not None
    assert register_format(ours) is ours
    assert format_of(dict) is None
    assert format_of(list[int]) is None
    schema = trips().compile().get_input_jsonschema()
    assert schema["required"] == ["city", "days", "notes"]
