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
        for found in tests:
            path = ROOT / "docs" / found[1]
            assert path.is_file(), found[1]
            assert not found[2] or found[2] in _functions(path), f"{found[1]} has no {found[2]}"


def test_each_of_the_twenty_components_has_a_module_a_page_a_program_and_a_test() -> None:
    """Every program under docs_src is run off-line by the tests of examples. Rows: S0-006, S0-007"""
    lines = (ROOT / "docs/components.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")][1:]
    assert len(rows) == 20
    assert len(list((ROOT / "docs_src").glob("*.py"))) >= 34
    for name, module, page, program, test in rows:
        path = ROOT / "src" / module.strip("`").replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__init__.py").is_file(), f"{name}: {module}"
        shown = (ROOT / "docs" / LINK.findall(page)[0][0]).read_text(encoding="utf-8")
        assert shown
        assert (ROOT / "docs" / LINK.findall(program)[0][0]).is_file(), f"{name}: {program}"
        assert any(one.startswith("test_") for one in _functions(ROOT / "docs" / LINK.findall(test)[0][0])) or (
            "class Test" in (ROOT / "docs" / LINK.findall(test)[0][0]).read_text(encoding="utf-8")
        ), f"{name}: {test}"


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
