"""The commands on PostgreSQL at both ends: LangGraph's tables taken over without LangGraph, new code held against a journal."""

# LangGraph tells its types in part only.
# pyright: reportUnknownMemberType=false, reportMissingImports=false, reportUnknownVariableType=false

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, TypedDict

import pytest

pytest.importorskip("langgraph.checkpoint.postgres")

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from lawful.stores.postgres import setup
from support.pg import PgServer, skipped
from support.tree import environment

pytestmark = [pytest.mark.postgres, pytest.mark.integration, skipped]


class Order(TypedDict, total=False):
    by: str


def ask(state: Order) -> Any:
    return {"by": str(interrupt("who?"))}


PORTED = """
from typing import TypedDict
from lawful.graph import START, StateGraph
from lawful.types import interrupt
class Order(TypedDict, total=False):
    by: str
def ask(order: Order):
    return {"by": str(interrupt("who?"))}
same = StateGraph(Order).add_node("ask", ask).add_edge(START, "ask")
changed = StateGraph(Order).add_node("ask_person", ask).add_edge(START, "ask_person")
"""
ALONE = """
import sys
sys.modules["langgraph"] = sys.modules["langchain_core"] = None
from lawful.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_paused_threads_are_taken_over_and_new_code_is_held_against_them(pg: PgServer, tmp_path: Path) -> None:
    """Rows: S0-123, S1-S07."""
    pg.run("CREATE DATABASE lg_commands")
    url = pg.url(database="lg_commands")
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        builder: Any = StateGraph(Order).add_node("ask", ask).add_edge(START, "ask")
        builder.compile(checkpointer=saver).invoke({}, {"configurable": {"thread_id": "order"}})
    setup(url)
    (tmp_path / "shop.py").write_text(PORTED)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", ALONE, *words, "--journal", url, "--json"]
        return subprocess.run(command, capture_output=True, text=True, env=environment(), cwd=tmp_path)

    done = run("import", "--from", "postgres", url, "--graph", "shop:same")
    assert done.returncode == 0, done.stderr
    [told] = json.loads(done.stdout)
    assert (told["thread"], told["waits"], told["error"]) == ("order", ["ask"], None)
    assert [question["value"] for question in told["questions"]] == ["who?"]
    for name, code in (("same", 0), ("changed", 1)):
        checked = run("upgrade", "--check", f"shop:{name}")
        assert checked.returncode == code, checked.stdout + checked.stderr
        [verdict] = json.loads(checked.stdout)
        assert (verdict["thread"], verdict["resumable"]) == ("order", code == 0)
