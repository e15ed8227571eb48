"""`lawful audit` finds each planted fault of an unchanged LangGraph program, at its line, and nothing in a clean one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph")

from lawful.cli.main import main
from lawful.compat import audit_graph
from lawful.core.errors import ConfigurationError

pytestmark = pytest.mark.integration
PROGRAM = (Path(__file__).parent.parent / "data/ported/audited.txt").read_text()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "audited_program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "audited_program", raising=False)
    return __import__("audited_program")


def at(text: str) -> int:
    [line] = [n for n, each in enumerate(PROGRAM.splitlines(), 1) if text in each]
    return line


def test_each_fault_is_found_where_it_stands(program: Any) -> None:
    found = sorted((f.kind, f.node, f.line) for f in audit_graph(program.builder))
    assert found == sorted(
        [
            ("dropped_key", "ask", at('"anwser"')),
            ("dropped_key", "both", at('"totl"')),
            ("dropped_key", "jump", at('"gone"')),
            ("effect_before_pause", "ask", at('charge(state["total"])')),
            ("parallel_writers", "right", at('"answer": "right"')),
            ("route_to_nowhere", "jump", at('"nowhere"')),
            ("route_to_nowhere", "left", at('"riht"')),
            ("route_to_nowhere", "right", at('"riht"')),
            ("skippable_join", "both", at("def fine")),
        ]
    )


def test_a_packet_to_nowhere_and_the_nearest_name(program: Any) -> None:
    builder = program.StateGraph(program.State)
    builder.add_node("left", program.left)
    builder.add_node("many", program.many)
    builder.add_edge("__start__", "many")
    [found] = audit_graph(builder)
    assert (found.kind, found.line) == ("route_to_nowhere", at('Send("lft"'))
    assert "Did you mean 'left'?" in found.text


def test_the_graph_is_not_run_and_may_be_compiled(program: Any) -> None:
    program.charge = None  # would fail, if anything were called
    assert audit_graph(program.clean.compile()) == []


def test_the_command_says_file_and_line_and_fails(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "audited_program:builder"]) == 1
    out = capsys.readouterr().out
    assert f"audited_program.py:{at('anwser')}: dropped key" in out
    assert main(["audit", "audited_program:builder", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert {each["kind"] for each in told} >= {"dropped_key", "skippable_join"}
    assert main(["audit", "audited_program:clean"]) == 0
    assert "nothing found" in capsys.readouterr().out


def test_graphs_as_people_write_them_give_what_is_wrong_and_no_false_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty-odd graphs; a comment at the end of a line says what is found there, and nothing is found elsewhere."""
    text = (Path(__file__).parent.parent / "data/ported/audits.txt").read_text(encoding="utf-8")
    (tmp_path / "audits_program.py").write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "audits_program", raising=False)
    told = {n: line.partition("  # ")[2].split(", ") for n, line in enumerate(text.splitlines(), 1) if "  # " in line}
    program: Any = __import__("audits_program")
    names: dict[str, Any] = program.__dict__
    graphs = {name: graph for name, graph in names.items() if name.startswith("g_")}
    found = {(f.kind, f.line) for graph in graphs.values() for f in audit_graph(graph)}
    assert len(graphs) > 30
    assert found == {(kind, line) for line, kinds in told.items() for kind in kinds}


def test_another_thing_is_no_graph(program: Any) -> None:
    with pytest.raises(ConfigurationError, match="StateGraph"):
        audit_graph(program.State)
