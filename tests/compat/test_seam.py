"""What is langchain's or LangGraph's is touched in one package."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from support.tree import ROOT

pytestmark = pytest.mark.unit
THEIRS = ("langchain", "langgraph", "langsmith")


def named(path: Path) -> list[str]:
    """Modules of theirs that a file imports, at once or late."""
    out: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            out += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            out.append(node.module or "")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "late" and node.args:
            first = node.args[0]
            out.append(str(first.value) if isinstance(first, ast.Constant) else "")
    return [name for name in out if name.startswith(THEIRS)]


def test_their_modules_are_named_in_the_compatibility_package_alone() -> None:
    """Rows: S4-001"""
    sources = ROOT / "src" / "lawful"
    found = {path.relative_to(sources).parts[0] for path in sources.rglob("*.py") if named(path)}
    assert found == {"compat"}
