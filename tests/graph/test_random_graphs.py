"""Random acyclic graphs: they end in time, and a run cut anywhere ends as an uncut one."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful import START, StateGraph
from lawful.core.errors import GraphRecursionError
from lawful.journal.memory import MemoryJournal
from support.graphs import DRIVES, Drive, JournalBox, concat, driving, on, total

pytestmark = pytest.mark.property


class State(TypedDict, total=False):
    summed: Annotated[int, total]
    trail: Annotated[list[str], concat]


def mark(name: str) -> Any:
    def node(state: State) -> State:
        return {"trail": [name]}

    return node


class Dag:
    """A random acyclic graph: node i has edges to later nodes only; those without a predecessor hang on START."""

    def __init__(self, edges: list[list[int]]) -> None:
        self.after = [sorted({j for j in range(i + 1, len(edges)) if j in edges[i]}) for i in range(len(edges))]

    def build(self, ran: list[str] | None = None, fails: dict[str, int] | None = None) -> Any:
        """The nodes leave name and turn in the trail; ``fails`` says how often each is still to fail."""
        builder = StateGraph(State)
        reached = {j for out in self.after for j in out}
        for i in range(len(self.after)):
            builder.add_node(f"n{i}", self._node(f"n{i}", ran, fails if fails is not None else {}))
            if i not in reached:
                builder.add_edge(START, f"n{i}")
        for i, out in enumerate(self.after):
            for j in out:
                builder.add_edge(f"n{i}", f"n{j}")
        return builder

    def _node(self, name: str, ran: list[str] | None, fails: dict[str, int]) -> Any:
        def node(state: State) -> State:
            if ran is not None:
                ran.append(name)
            if fails.get(name, 0) > 0:
                fails[name] -= 1
                raise ConnectionError(name)
            return {"trail": [f"{name}@{len(state.get('trail', []))}"], "summed": len(state.get("trail", []))}

        return node

    def longest(self) -> int:
        depth = [1] * len(self.after)
        for i, out in enumerate(self.after):
            for j in out:
                depth[j] = max(depth[j], depth[i] + 1)
        return max(depth)

    def visits(self) -> int:
        """How many runs of nodes there are: one per node and step in which some predecessor ran."""
        reached = {j for out in self.after for j in out}
        level = {i for i in range(len(self.after)) if i not in reached}
        count = 0
        while level:
            count += len(level)
            level = {j for i in level for j in self.after[i]}
        return count


DAGS = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n).map(Dag)
)


@pytest.mark.parametrize("kind", DRIVES)
@settings(max_examples=25)
@given(dag=DAGS)
def test_an_acyclic_graph_ends_within_its_longest_path(kind: str, dag: Dag) -> None:
    """One step less would not do. Rows: S1-045. Rules: 50, 29."""
    ran: list[str] = []
    graph = dag.build(ran).compile()
    with driving(kind) as drive:
        drive.invoke(graph, {"trail": []}, on(limit=dag.longest() + 1))
        assert len(ran) == dag.visits()
        with pytest.raises(GraphRecursionError):
            drive.invoke(graph, {"trail": []}, on(limit=dag.longest()))


def test_a_cycle_ends_at_its_limit(drive: Drive) -> None:
    """Rows: S1-045. Rules: 50."""
    builder = StateGraph(State).add_node("a", mark("a")).add_edge(START, "a").add_edge("a", "a")
    with pytest.raises(GraphRecursionError, match="25"):
        drive.invoke(builder.compile(), {}, on(limit=25))


@pytest.mark.parametrize("kind", DRIVES)
@settings(max_examples=12)
@given(dag=DAGS, data=st.data())
def test_a_resumed_run_ends_as_an_uninterrupted_one(
    kind: str, dag: Dag, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whichever nodes failed first, on a store opened anew each time. Rows: S1-047, S1-046. Rules: 92."""
    names = [f"n{i}" for i in range(len(dag.after))]
    fails: dict[str, int] = {name: 1 for name in data.draw(st.sets(st.sampled_from(names), min_size=1))}
    with driving(kind) as drive:
        wanted = drive.invoke(dag.build().compile(), {"trail": ["in"]})
        box = JournalBox("sqlite", tmp_path_factory.mktemp("cut"))
        given: Any = {"trail": ["in"]}
        for _ in range(len(names) + 1):
            graph = dag.build(fails=fails).compile(checkpointer=box.open())
            try:
                out = drive.invoke(graph, given, on("t"))
            except ConnectionError:
                given = None
                box.close()
                continue
            break
        else:
            pytest.fail("more failures than nodes")
        assert out == wanted
        assert drive.get_state(graph, on("t")).values == wanted
        box.close()


@pytest.mark.parametrize("kind", DRIVES)
@settings(max_examples=10)
@given(dag=DAGS)
def test_every_checkpoint_leads_to_the_same_end(kind: str, dag: Dag) -> None:
    """From each cut between two steps. Rows: S1-047. Rules: 153."""
    graph = dag.build().compile(checkpointer=MemoryJournal())
    with driving(kind) as drive:
        wanted = drive.invoke(graph, {"trail": ["in"]}, on("t"))
        for entry in drive.get_state_history(graph, on("t")):
            assert drive.invoke(graph, None, entry.config) == wanted
