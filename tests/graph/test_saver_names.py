"""A journal under the name of LangGraph's saver: deletion in async programs, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

import pytest

from lawful import START, StateGraph
from lawful.checkpoint.memory import InMemorySaver
from lawful.checkpoint.sqlite import SqliteSaver

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    n: int


def grow(state: State) -> State:
    return {"n": state.get("n", 0) + 1}


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made = InMemorySaver() if request.param == "memory" else SqliteSaver(tmp_path / "a.db")
    yield made
    made.close()


async def test_threads_are_copied_and_deleted_beside_the_loop(saver: Any) -> None:
    graph = StateGraph(State).add_node(grow).add_edge(START, "grow").compile(checkpointer=saver)
    graph.invoke({"n": 1}, thread="1")
    await saver.acopy_thread("1", "2")
    await saver.adelete_thread("1")
    assert (graph.get_state("1").values, graph.get_state("2").values) == ({}, {"n": 2})


@pytest.mark.parametrize("name", ["get_tuple", "put", "alist"])
def test_a_call_of_their_savers_names_the_adapter(saver: Any, name: str) -> None:
    with pytest.raises(AttributeError, match="JournalSaver"):
        getattr(saver, name)
    assert not hasattr(saver, name)


def test_so_does_a_serializer_the_registry_and_a_slip_the_nearest(saver: Any) -> None:
    with pytest.raises(AttributeError, match="registered codecs"):
        _ = saver.serde
    with pytest.raises(AttributeError, match="Did you mean 'delete_thread'"):
        _ = saver.delete_thred
