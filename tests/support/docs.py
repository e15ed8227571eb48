"""Examples and the pages that show them: which file a block shows, and what the file says it prints."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from support.tree import ROOT

PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
EXAMPLES = tuple(sorted((ROOT / "docs_src").glob("*.py")))
BLOCK = re.compile(r"(<!-- (docs_src/\w+\.py) -->\n)(?:```python\n.*?```\n)?", re.DOTALL)
"""A mark, and the program below it if one was put there already."""


def shown(example: Path) -> str:
    """What a page shows of an example: all but its docstring, the __future__ line and what it prints."""
    text = example.read_text(encoding="utf-8")
    first = ast.parse(text).body[0]
    body = "\n".join(text.splitlines()[first.end_lineno :]) if ast.get_docstring(ast.parse(text)) else text
    kept = [line for line in body.splitlines() if line != "from __future__ import annotations"]
    while kept and kept[-1].startswith("# prints:"):
        kept.pop()
    return "\n".join(kept).strip("\n") + "\n"


def prints(example: Path) -> list[str]:
    """The lines that an example says it prints, in its last comments."""
    lines = example.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("# prints:").strip() for line in lines if line.startswith("# prints:")]


def filled(page: Path) -> str:
    """The page's text with each marked block as its example stands today."""

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}```python\n{shown(ROOT / match[2])}```\n"

    return BLOCK.sub(block, page.read_text(encoding="utf-8"))
