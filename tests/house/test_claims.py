"""Pages that claim something link what holds it: the tests that a comparison names are there, and so is every linked file."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")


def _links(page: str) -> list[tuple[str, str]]:
    return [(found[1], found[2] or "") for found in LINK.finditer((ROOT / "docs" / page).read_text(encoding="utf-8"))]


def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_each_claim_of_the_comparison_links_a_test_that_exists() -> None:
    """Rows: S0-190, S1-019"""
    rows = [
        line for line in (ROOT / "docs/comparison.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    ][1:]
    assert len(rows) >= 11
    for row in rows:
        name, ours, *peers = (cell.strip() for cell in row.strip("|").split(" | "))
        tests = [found for found in LINK.finditer(ours) if found[1].startswith("../tests/")]
        assert tests, f"{name}: no test is linked"
        assert len(peers) == 2
        for peer in peers:
            evidence = ("](http", "](differences.md)", "](../tests/", "(measured, `python -m bench")
            assert any(one in peer for one in evidence), f"{name}: {peer} has no evidence"
        for found in [
            *tests,
            *(one for peer in peers for one in LINK.finditer(peer) if one[1].startswith("../tests/")),
        ]:
            path = ROOT / "docs" / found[1]
            assert path.is_file(), found[1]
            assert not found[2] or found[2] in _functions(path), f"{found[1]} has no {found[2]}"


def _rows(page: str, table: int) -> list[list[str]]:
    """The rows of a page's table, without its head."""
    parts = re.split(r"^## .*$", (ROOT / "docs" / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = [line for line in parts[table].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def _target(cell: str) -> Path:
    return ROOT / "docs" / LINK.findall(cell)[0][0]


def _defined(module: str) -> set[str]:
    """What a module or package defines for others: its classes with their methods, its functions, what it passes on."""
    path = ROOT / "src" / module.strip("`").replace(".", "/")
    files = (
        [path.with_suffix(".py")] if path.with_suffix(".py").is_file() else [path / "__init__.py", *path.glob("*.py")]
    )
    found: set[str] = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.ImportFrom) and file.name == "__init__.py":
                found |= {alias.name for alias in node.names}
    return {name for name in found if not name.startswith("_")} - {"annotations", "main", "run", "name"}


def _used(program: Path) -> set[str]:
    tree = ast.parse(program.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_each_of_the_twenty_components_has_a_module_a_page_a_program_and_a_test() -> None:
    """The program uses what the module defines and stands on the page; it is run off-line by the tests of examples.

    Rows: S0-006, S0-007
    """
    rows = _rows("components.md", 0)
    assert len(rows) == 20
    for name, module, page, program, test in rows:
        assert _defined(module) & _used(_target(program)), f"{name}: the program uses nothing of {module}"
        shown = f"<!-- docs_src/{_target(program).name} -->"
        assert shown in _target(page).read_text(encoding="utf-8"), f"{name}: {page} does not show {program}"
        text = _target(test).read_text(encoding="utf-8")
        assert re.search(r"^(async )?def test_|^class Test", text, re.MULTILINE), f"{name}: {test}"


def test_each_of_the_papers_examples_has_a_program() -> None:
    """Rows: S0-007"""
    rows = _rows("components.md", 1)
    assert len(rows) == 19
    for example, programs in rows:
        for found, _ in LINK.findall(programs):
            path = ROOT / "docs" / found
            assert path.parent.name == "docs_src", example
            assert path.is_file(), f"{example}: {found}"
    assert len(list((ROOT / "docs_src").glob("*.py"))) >= 34


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_every_link_of_a_page_leads_to_a_file(page: str) -> None:
    missing = [to for to, _ in _links(page) if to and not (ROOT / "docs" / to).exists()]
    assert missing == []


def test_the_works_that_this_rests_on_are_cited() -> None:
    """Rows: S0-216"""
    text = (ROOT / "docs/reading.md").read_text(encoding="utf-8")
    works = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(works) >= 13
    for name in ("Yao", "Wei", "Shapiro", "Dean", "Harris", "Snoyman", "Wadler", "Jones, M. P.", "Marlow", "Kiselyov"):
        assert any(name in line for line in works), name
