"""The corpus of the retrieval measurement: the docstrings of this Python's standard library, read without importing it."""

from __future__ import annotations

import ast
import inspect
import sysconfig
from collections.abc import Iterator
from pathlib import Path

SKIPPED = {
    "test",
    "tests",
    "idlelib",
    "lib2to3",
    "site-packages",
    "ensurepip",
    "turtledemo",
    "pydoc_data",
    "__pycache__",
}
SHORTEST = 30
"""Characters; a docstring below that says nothing to find."""


def passages(root: Path | None = None) -> Iterator[tuple[str, str]]:
    """Each public module, class and function with a docstring: its dotted name, and its name with the docstring."""
    base = root or Path(sysconfig.get_path("stdlib"))
    seen: set[str] = set()
    for path in sorted(base.rglob("*.py")):
        parts = path.relative_to(base).with_suffix("").parts
        if (
            SKIPPED & set(parts)
            or any(part.startswith("_") and part != "__init__" for part in parts)
            or "-" in str(parts)
        ):
            continue
        module = ".".join(part for part in parts if part != "__init__")
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError:
            continue
        for name, text in _told(tree, module):
            if name not in seen:
                seen.add(name)
                yield name, text


def _told(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, name: str
) -> Iterator[tuple[str, str]]:
    text = ast.get_docstring(node)
    if text and len(text) >= SHORTEST:
        yield name, f"{name}\n{inspect.cleandoc(text)}"
    if isinstance(node, ast.Module | ast.ClassDef):
        for inner in node.body:
            if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not inner.name.startswith(
                "_"
            ):
                yield from _told(inner, f"{name}.{inner.name}")
