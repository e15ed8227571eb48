"""What a call may say beside its input: anything else is a typed error that names it, before anything has happened."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lawful.core.errors import ConfigurationError, Failure
from lawful.graph import StateUpdate
from lawful.journal.port import Journal
from support.graphs import Drive, on
from support.pausing import Log, chain

pytestmark = pytest.mark.unit


def one(state: Log) -> Log:
    return {"log": ["one"]}


def two(state: Log) -> Log:
    return {"log": ["two"]}


OPTIONS: list[tuple[str, Any]] = [
    ("durability", "never"),
    ("busy", "wait"),
    ("busy_timeout", "long"),
    ("busy_timeout", -1),
    ("busy_timeout", math.nan),
    ("busy_timeout", True),
    ("interrupt_before", 5),
    ("interrupt_after", ["three"]),
    ("interrupt_before", {"one": 1}),
    ("control", 5),
    ("limits", 5),
    ("on_event", 5),
    ("on_event", [5]),
    ("output_keys", 5),
    ("output_keys", [["log"]]),
    ("output_keys", {"log": 1}),
    ("stream_mode", 5),
    ("stream_mode", ["values", "other"]),
    ("print_mode", 5),
    ("version", "v9"),
    ("recursion_limit", 5),
]


def test_two_threads_in_one_call_are_refused_with_both_names(drive: Drive, journal: Journal) -> None:
    """The keyword and the config; the same thread twice is one thread, and a bound config gives way."""
    graph = chain(drive, one, checkpointer=journal)
    bare: Any = "a"
    for config in (on("a"), bare):
        with pytest.raises(ConfigurationError, match="thread='b', and 'a' in its config"):
            drive.invoke(graph, {"log": []}, config, thread="b")
    assert list(journal.threads()) == []
    assert drive.invoke(graph, {"log": []}, {"configurable": {"thread_id": 7}}, thread="7") == {"log": ["one"]}
    bound = graph.with_config(configurable={"thread_id": "bound"})
    drive.invoke(bound, {"log": []}, thread="b")
    assert sorted(info.thread for info in journal.threads()) == ["7", "b"]


@pytest.mark.parametrize(("name", "given"), OPTIONS)
def test_an_option_of_another_kind_is_refused(drive: Drive, journal: Journal, name: str, given: Any) -> None:
    """In a run and in a stream, with nothing stored."""
    graph = chain(drive, one, checkpointer=journal)
    for call in (drive.invoke, drive.stream):
        with pytest.raises(ConfigurationError):
            call(graph, {"log": []}, on("t"), **{name: given})
    assert drive.get_state(graph, on("t")).metadata is None


def test_a_misspelt_option_is_named_with_the_nearest_one(drive: Drive) -> None:
    graph = chain(drive, one)
    with pytest.raises(ConfigurationError, match="no option 'durabilty'") as caught:
        drive.invoke(graph, {"log": []}, durabilty="exit")
    assert isinstance(caught.value, TypeError)
    assert "'durability'" in str(caught.value)


@pytest.mark.parametrize(("name", "given"), [("listeners", 5), ("listeners", [5]), ("callbacks", 5), ("tags", 5)])
def test_a_config_of_another_form_is_refused(drive: Drive, journal: Journal, name: str, given: Any) -> None:
    graph = chain(drive, one, checkpointer=journal)
    with pytest.raises(ConfigurationError):
        drive.invoke(graph, {"log": []}, {**on("t"), name: given})
    assert drive.get_state(graph, on("t")).metadata is None


@pytest.mark.parametrize(
    "told",
    [{"limit": "x"}, {"limit": 1.5}, {"limit": True}, {"filter": 5}, {"filter": [1]}, {"before": 5}, {"before": "x"}],
)
def test_history_refuses_what_it_cannot_page_by(drive: Drive, journal: Journal, told: Any) -> None:
    graph = chain(drive, one, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    with pytest.raises(Failure):
        drive.get_state_history(graph, on("t"), **told)


@pytest.mark.parametrize("given", [5, [5], "ab", [[StateUpdate({"log": ["x"]}, "one"), 5]], {"a": 1}])
def test_supersteps_are_lists_of_lists(drive: Drive, journal: Journal, given: Any) -> None:
    graph = chain(drive, one, checkpointer=journal)
    with pytest.raises(Failure):
        graph.bulk_update_state(on("t"), given)
    assert drive.get_state(graph, on("t")).metadata is None


def test_metadata_does_not_take_the_place_of_what_a_checkpoint_says_of_itself(drive: Drive, journal: Journal) -> None:
    """Rules: 73."""
    graph = chain(drive, one, checkpointer=journal)
    told = {"source": "evil", "step": 99, "parents": {"x": "y"}, "_task": "z", "_parents": "{", "mine": 1}
    shown = drive.stream(graph, {"log": []}, {**on("t"), "metadata": told}, stream_mode="checkpoints")
    kept = [entry.metadata for entry in drive.get_state_history(graph, on("t"))]
    assert kept == [
        {"source": source, "step": step, "parents": {}, "mine": 1}
        for source, step in (("loop", 1), ("loop", 0), ("input", -1))
    ]
    assert [payload["metadata"] for payload in shown] == kept[::-1]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_resumed_run_shows_the_metadata_that_its_checkpoint_has(
    drive: Drive, journal: Journal, durability: str
) -> None:
    """The one that it goes on from was stored by an earlier call. Rules: 172."""
    graph = chain(drive, one, two, checkpointer=journal, interrupt_before=["two"])
    drive.invoke(graph, {"log": []}, {**on("t"), "metadata": {"call": 1}}, durability=durability)
    shown = drive.stream(
        graph, None, {**on("t"), "metadata": {"call": 2}}, stream_mode="checkpoints", durability=durability
    )
    assert [(p["metadata"]["step"], p["metadata"]["call"]) for p in shown] == [(1, 1), (2, 2)]
    newest = [entry.metadata["call"] for entry in drive.get_state_history(graph, on("t"))][:2]
    assert newest == [2, 1]
