"""LangGraph's module paths: every public name of its is here under the same path, or it is said why not."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest

from lawful.core.absent import ABSENT as ABSENT_NAMES
from lawful.core.errors import ConfigurationError
from support.children import fresh
from support.tree import ROOT, environment

pytestmark = pytest.mark.unit

LISTED: dict[str, Any] = tomllib.loads(
    (ROOT / "tests" / "data" / "langgraph" / "names.toml").read_text(encoding="utf-8")
)
PRESENT = [(module, name) for module, told in LISTED.items() for name in told["names"]]
ABSENT = [(module, name) for module, told in LISTED.items() for name in told.get("absent", {})]


@pytest.mark.parametrize("module, name", PRESENT)
def test_a_name_is_where_langgraph_has_it(module: str, name: str) -> None:
    if "postgres" in module:
        pytest.importorskip("psycopg")
    found = importlib.import_module(f"lawful.{module}")
    assert getattr(found, name) is not None
    assert name in dir(found)


@pytest.mark.parametrize("module, name", ABSENT)
def test_a_name_that_is_absent_says_what_to_use_where_it_is_imported(module: str, name: str) -> None:
    if "postgres" in module:
        pytest.importorskip("psycopg")
    assert len(LISTED[module]["absent"][name]) >= 5
    with pytest.raises(ImportError) as raised:
        exec(f"from lawful.{module} import {name}")
    assert str(raised.value) == f"lawful.{module} has no {name}: {ABSENT_NAMES[module][name]}"


def test_no_hint_is_for_a_name_that_langgraph_does_not_have() -> None:
    assert {(module, name) for module, names in ABSENT_NAMES.items() for name in names} <= set(ABSENT)


def test_a_name_that_nobody_has_is_an_attribute_error() -> None:
    types: Any = importlib.import_module("lawful.types")
    assert not hasattr(types, "Comand")
    with pytest.raises(AttributeError, match="Did you mean 'Command'"):
        _ = types.Comand


def test_no_name_is_listed_as_both() -> None:
    assert set(PRESENT) & set(ABSENT) == set()
    assert len(PRESENT) > 90


def test_the_faces_are_light() -> None:
    """Rows: S0-005."""
    faces = [
        m
        for m in LISTED
        if LISTED[m]["names"] and not m.startswith(("checkpoint.", "store.sql", "store.post", "graph"))
    ]
    code = "import sys; " + "; ".join(f"import lawful.{m}" for m in faces)
    code += (
        "; print([m for m in ('asyncio', 'pydantic', 'sqlite3', 'inspect', 'concurrent.futures') if m in sys.modules])"
    )
    assert fresh(code).strip() == "[]"


PROGRAM = """
import operator
from typing import Annotated
from typing_extensions import TypedDict
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.channels import EphemeralValue, LastValue, Topic
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, RetryPolicy, Send, interrupt


class State(TypedDict):
    words: Annotated[list[str], operator.add]
    approved: bool


def fan(state):
    return [Send("shout", word) for word in state["words"]]


def shout(word):
    return {"words": [word.upper()]}


def approve(state):
    return {"approved": interrupt({"words": len(state["words"])})}


@task(retry_policy=RetryPolicy(max_attempts=2))
def double(n):
    return n * 2


with SqliteSaver.from_conn_string("ported.db") as saver:
    builder = StateGraph(State)
    builder.add_node("shout", shout)
    builder.add_node("approve", approve)
    builder.add_conditional_edges(START, fan, ["shout"])
    builder.add_edge("shout", "approve")
    builder.add_edge("approve", END)
    graph = builder.compile(checkpointer=saver, store=InMemoryStore())
    config = {"configurable": {"thread_id": "1"}}
    first = graph.invoke({"words": ["a", "b"]}, config)
    print(first["__interrupt__"][0].value)
    print(graph.invoke(Command(resume=True), config))

    @entrypoint(checkpointer=saver)
    def flow(n, *, previous=None):
        futures = [double(i) for i in range(n)]
        return entrypoint.final(value=[f.result() for f in futures], save=n + (previous or 0))

    config = {"configurable": {"thread_id": "2"}}
    print(flow.invoke(3, config), flow.invoke(1, config), list(flow.stream(1, config)))

app = Pregel(
    nodes={"one": NodeBuilder().subscribe_only("a").do(lambda x: x + x).write_to("b", "seen")},
    channels={"a": EphemeralValue(str), "b": LastValue(str), "seen": Topic(str, accumulate=True)},
    input_channels=["a"],
    output_channels=["b", "seen"],
)
print(app.invoke({"a": "x"}))
"""

PRINTED = """{'words': 4}
{'words': ['a', 'b', 'A', 'B'], 'approved': True}
[0, 2, 4] [0] [{'double': 0}, {'flow': [0]}]
{'b': 'xx', 'seen': ['xx']}
"""


@pytest.mark.integration
def test_a_program_is_ported_by_its_imports_alone(tmp_path: Path) -> None:
    """Written for LangGraph, which prints the same."""
    ported = PROGRAM.replace("from langgraph.", "from lawful.")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ported], capture_output=True, text=True, env=environment(), cwd=tmp_path
    )
    assert done.stdout == PRINTED, done.stderr


def test_savers_and_stores_take_an_open_connection_for_its_file(tmp_path: Path) -> None:
    import sqlite3

    from lawful.checkpoint.sqlite import SqliteSaver
    from lawful.checkpoint.sqlite.aio import AsyncSqliteSaver
    from lawful.graph import START, StateGraph
    from lawful.store.sqlite import SqliteStore

    with sqlite3.connect(tmp_path / "a.db") as conn:
        saver = SqliteSaver(conn)
        assert saver.path == str(tmp_path / "a.db")
        saver.setup()
        saver.close()
    conn.close()
    with sqlite3.connect(tmp_path / "s.db") as conn:
        store = SqliteStore(conn)
        store.put(("a",), "k", {"v": 1})
        assert store.path == str(tmp_path / "s.db")
        store.close()
    conn.close()

    def same(state: Any) -> Any:
        return state

    bare = sqlite3.connect(":memory:", check_same_thread=False)
    saver = SqliteSaver(bare)
    graph = StateGraph(dict[str, int]).add_node("same", same).add_edge(START, "same").compile(checkpointer=saver)
    graph.invoke({"a": 1}, thread="t")
    assert graph.get_state("t").values == {"a": 1}
    saver.close()
    bare.close()
    for made in (SqliteSaver, AsyncSqliteSaver, SqliteStore):
        with pytest.raises(ConfigurationError, match=r"builtins\.object.*path"):
            made(cast("Any", object()))


async def test_the_async_savers_open_and_close(tmp_path: Path) -> None:
    from lawful.checkpoint.sqlite.aio import AsyncSqliteSaver
    from lawful.graph import START, StateGraph

    def same(state: Any) -> Any:
        return state

    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:
        await saver.setup()
        built = StateGraph(dict[str, int]).add_node("same", same).add_edge(START, "same")
        graph = built.compile(checkpointer=saver)
        await graph.ainvoke({"a": 1}, thread="t")
        assert graph.get_state("t").values == {"a": 1}
