"""Changes in place: a node's own containers are copies, and debug=True tells of changes below them."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from lawful.core.errors import InvalidUpdateError
from lawful.graph import START, StateGraph
from support.graphs import Drive

pytestmark = pytest.mark.unit


class State(TypedDict):
    rows: list[dict[str, int]]
    names: list[str]
    seen: int


def test_a_container_changed_in_place_stays_with_the_node(drive: Drive) -> None:
    """Rows: S1-042."""

    def spoil(state: State) -> Any:
        state["names"].append("spoilt")
        return {"seen": len(state["names"])}

    graph: Any = StateGraph(State).add_node("spoil", drive.node(spoil)).add_edge(START, "spoil").compile()
    assert drive.invoke(graph, {"names": ["a"]}) == {"names": ["a"], "seen": 2}


@pytest.mark.parametrize("debug", [True, False])
def test_a_change_below_a_container_is_told_under_debug(drive: Drive, debug: bool) -> None:
    """Rows: S1-042."""

    def spoil(state: State) -> Any:
        state["rows"][0]["n"] = 2
        return {"seen": 1}

    graph: Any = StateGraph(State).add_node("spoil", drive.node(spoil)).add_edge(START, "spoil").compile(debug=debug)
    if not debug:
        assert drive.invoke(graph, {"rows": [{"n": 1}]})["seen"] == 1
        return
    with pytest.raises(InvalidUpdateError, match=r"'spoil' changed what lies inside 'rows'"):
        drive.invoke(graph, {"rows": [{"n": 1}]})


def test_a_node_that_only_reads_passes(drive: Drive) -> None:
    """Rows: S1-042."""

    def read(state: State) -> Any:
        return {"seen": sum(row["n"] for row in state["rows"])}

    graph: Any = StateGraph(State).add_node("read", drive.node(read)).add_edge(START, "read").compile(debug=True)
    assert drive.invoke(graph, {"rows": [{"n": 1}, {"n": 2}]})["seen"] == 3
