"""Chains of nodes by `add_sequence`, and defaults for all nodes by `set_node_defaults`."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, RetryPolicy, StateGraph
from support.graphs import Drive, concat

pytestmark = pytest.mark.unit


class Trail(TypedDict):
    trail: Annotated[list[str], concat]


def mark(name: str) -> Any:
    """A node that leaves its name in the trail."""

    def body(state: Trail) -> Trail:
        return {"trail": [name]}

    body.__name__ = name
    return body


def test_a_sequence_is_a_chain_and_the_start_is_yours(strict: bool, drive: Drive) -> None:
    """Rules: 16."""
    builder = StateGraph(Trail, strict=strict).add_sequence([mark("a"), ("b", mark("x")), mark("c")])
    with pytest.raises(ValueError, match="START"):
        builder.compile()
    graph = builder.add_edge(START, "a").compile()
    assert drive.invoke(graph, {"trail": []}) == {"trail": ["a", "x", "c"]}
    assert [list(update) for update in drive.stream(graph, {"trail": []})] == [["a"], ["b"], ["c"]]


def test_a_sequence_is_not_empty(strict: bool) -> None:
    """Rules: 16."""
    with pytest.raises(ValueError, match="at least one"):
        StateGraph(Trail, strict=strict).add_sequence([])


def test_a_sequence_has_no_name_twice(strict: bool) -> None:
    """Rules: 16, 1."""
    with pytest.raises(ValueError, match="'a'"):
        StateGraph(Trail, strict=strict).add_sequence([mark("a"), mark("a")])
    with pytest.raises(ValueError, match="'a'"):
        StateGraph(Trail, strict=strict).add_node("a", mark("a")).add_sequence([mark("b"), mark("a")])


class Broken(Exception):
    """What no default list retries or refuses by accident: the policies here name it."""


def attempts(strict: bool, *, own: int | None, default_first: bool) -> int:
    """How often a node that always fails is tried, under a default of two attempts and its own policy if any."""
    tries: list[int] = []

    def fails(state: Trail) -> Trail:
        tries.append(1)
        raise Broken

    def policy(most: int) -> RetryPolicy:
        return RetryPolicy(max_attempts=most, initial_interval=0.001, jitter=False, retry_on=Broken)

    builder = StateGraph(Trail, strict=strict)
    if default_first:
        builder.set_node_defaults(retry_policy=policy(2))
    builder.add_node("fails", fails, retry_policy=policy(own) if own is not None else None)
    if not default_first:
        builder.set_node_defaults(retry_policy=policy(2))
    graph = builder.add_edge(START, "fails").compile()
    with pytest.raises(Broken):
        graph.invoke({"trail": []})
    return len(tries)


@pytest.mark.parametrize("default_first", [True, False])
def test_defaults_apply_whatever_the_order_of_calls(default_first: bool, strict: bool) -> None:
    """Rules: 18."""
    assert attempts(strict, own=None, default_first=default_first) == 2


@pytest.mark.parametrize("default_first", [True, False])
def test_a_nodes_own_policy_wins(default_first: bool, strict: bool) -> None:
    """Rules: 18."""
    assert attempts(strict, own=3, default_first=default_first) == 3
