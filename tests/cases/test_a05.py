"""Case A05: the class of a stored value has gone; reading says so by key and type id, keeps the bytes, overwrites nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.children import run

pytestmark = pytest.mark.integration

OLD = '''
"""The module as it was when the thread began."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    x: int
    y: int
'''

NEW = '''
"""The module after Point became Place."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    x: int
    y: int
    name: str
'''

PROGRAM = '''
"""begin | read | resume | write | upcast"""
from __future__ import annotations

import json
import sys
from typing import Annotated, Any, TypedDict

import shapes
from lawful.core.errors import UnknownType
from lawful.graph import START, Command, StateGraph, interrupt
from lawful.stores.sqlite import SQLiteJournal
from support.graphs import concat, on

what, db = sys.argv[1:]
kept = getattr(shapes, "Point", None) or getattr(shapes, "Place", None) or dict


class State(TypedDict, total=False):
    log: Annotated[list[str], concat]
    point: Any


class Typed(State, total=False):
    where: kept


def first(state: State) -> Any:
    return {"point": shapes.Point(1, 2)} if what == "begin" else {}


def ask(state: State) -> Any:
    return {"log": [interrupt("go on?")]}


journal = SQLiteJournal(db)
builder: Any = StateGraph(Typed).add_node("first", first).add_node("ask", ask).add_edge(START, "first").add_edge("first", "ask")
graph = builder.compile(checkpointer=journal)
if what == "upcast":
    graph.program.registry.retired("shapes:Point", lambda fields: shapes.Place(**fields, name="from a point"))
try:
    match what:
        case "begin":
            graph.invoke({"log": ["in"]}, on("t"))
            told = {"values": repr(graph.get_state("t").values)}
        case "read":
            told = {"values": repr(graph.get_state("t").values)}
        case "write":
            told = {"values": repr(graph.invoke({"log": ["new"]}, on("t")))}
        case _:
            told = {"values": repr(graph.invoke(Command(resume="yes"), on("t")))}
except UnknownType as error:
    told = {"error": str(error), "raw": error.raw.hex()}
told["head"] = journal.history("t")[0].id
told["count"] = len(journal.history("t"))
print(json.dumps(told))
'''


def test_a_class_that_has_gone_is_told_and_comes_back_by_an_up_caster(tmp_path: Path) -> None:
    """Process by process: stored, class removed, read, resumed, written, and at last read by what replaced it.

    Cases: A05. Rules: 84. Rows: S1-K08, S1-S07
    """
    program, shapes, db = tmp_path / "program.py", tmp_path / "shapes.py", str(tmp_path / "journal.db")
    program.write_text(PROGRAM, encoding="utf-8")

    def say(what: str) -> dict[str, str]:
        return json.loads(run(program, what, db, paths=(tmp_path,)))

    shapes.write_text(OLD, encoding="utf-8")
    begun = say("begin")
    assert "Point(x=1, y=2)" in begun["values"]

    shapes.write_text(NEW, encoding="utf-8")
    for what in ("read", "resume", "write"):
        told = say(what)
        assert "error" in told, told
        assert "shapes:Point" in told["error"]
        assert "'t'" in told["error"]
        assert "point" in told["error"].replace("shapes:Point", "")
        assert b"shapes:Point" in bytes.fromhex(told["raw"])
        assert (told["head"], told["count"]) == (begun["head"], begun["count"]), "nothing was overwritten"

    back = say("upcast")
    assert "Place(x=1, y=2, name='from a point')" in back["values"]
    assert "'yes'" in back["values"]
