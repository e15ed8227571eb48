"""Every example runs and prints what it says, every page shows the examples as they are, and every link leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.docs import BLOCK, EXAMPLES, PAGES, filled, prints, shown
from support.tree import ROOT, environment

pytestmark = pytest.mark.integration

NEEDS = {
    "migrate_audit": "langgraph.graph",
    "migrate_import": "langgraph.checkpoint.sqlite",
    "migrate_models": "langchain_core",
    "migrate_ported": "langchain_core",
    "migrate_saver": "langgraph.graph",
    "migrate_tools": "langchain_core",
    "encryption": "cryptography",
    "mcp_serve": "mcp",
    "mcp_client": "mcp",
    "mcp_trust": "mcp",
    "observe_spans": "opentelemetry.sdk",
    "observe_metrics": "opentelemetry.sdk",
}
"""Examples that show an extra, and the package that comes with it."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(example: Path, tmp_path: Path) -> None:
    """Rows: S0-008, S0-030, S1-010."""
    if (package := NEEDS.get(example.stem)) is not None:
        pytest.importorskip(package)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == prints(example)
    assert prints(example), "an example ends with what it prints, as `# prints: text`"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_a_page_shows_its_examples_as_they_are(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == filled(page), "run: python tests/house/fill_docs.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_a_page_has_no_python_that_no_test_runs(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r"^```python$", text, re.MULTILINE)) == len(BLOCK.findall(text))


def test_every_example_is_shown_on_a_page() -> None:
    everywhere = {match[1] for page in PAGES for match in BLOCK.findall(page.read_text(encoding="utf-8"))}
    assert sorted(path.relative_to(ROOT).as_posix() for path in EXAMPLES) == sorted(everywhere)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if link and not (page.parent / link).exists()] == []


def test_the_four_hard_parts_are_explained_and_lead_on() -> None:
    """Rows: S1-061."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    parts = re.findall(r"^- \*\*(.+?)\.\*\* .+\]\((\w[\w-]*\.md)", index, re.MULTILINE)
    names = [name.split()[0] for name, _ in parts]
    assert names == ["Determinism", "Type", "Checkpoints", "Transitions"]


def test_the_readme_program_is_ten_lines_beside_its_imports() -> None:
    lines = [line for line in shown(ROOT / "docs_src" / "readme.py").splitlines() if line]
    program = [line for line in lines if not line.startswith(("from ", "import "))]
    assert len(program) <= 10
