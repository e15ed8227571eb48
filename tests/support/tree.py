"""The project's own files, as the house tests read them."""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "src" / "lawful"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    """Each module of the library: its path below ``src/lawful`` and its syntax tree."""
    return tuple(
        (path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(SOURCE.rglob("*.py"))
    )


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every function in ``tree``, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


@cache
def written() -> tuple[Path, ...]:
    """Every text file that belongs to the project: what git knows, or all files where there is no git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    else:
        skipped = {".venv", "__pycache__", "node_modules"}
        paths = [path for path in ROOT.rglob("*") if not skipped & set(path.parts)]
    return tuple(path for path in sorted(paths) if path.is_file())


def environment(**more: str) -> dict[str, str]:
    """What a child process needs to import the library from this tree; no terminal colours."""
    return {**os.environ, "PYTHONPATH": str(SOURCE.parent), "NO_COLOR": "1", "PYTHONHASHSEED": "0", **more}
