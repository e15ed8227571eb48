"""The sizes that keep the code readable: lines a file, lines a function, names a face; and a first sentence everywhere."""

from __future__ import annotations

import ast
import re

import pytest

from support.tree import ROOT, SOURCE, functions, modules

pytestmark = pytest.mark.unit

FILE_LINES = 400
FUNCTION_LINES = 60
FACE_NAMES = 45


def test_no_file_is_too_long() -> None:
    lengths = {path: (SOURCE / path).read_text(encoding="utf-8").count("\n") for path, _ in modules()}
    assert {path: lines for path, lines in lengths.items() if lines > FILE_LINES} == {}


def test_no_function_is_too_long() -> None:
    long = [
        f"{path}:{node.lineno} {node.name}"
        for path, tree in modules()
        for node in functions(tree)
        if (node.end_lineno or node.lineno) - node.lineno >= FUNCTION_LINES
    ]
    assert long == []


def test_no_face_has_too_many_names() -> None:
    faces = {path: names for path, tree in modules() if (names := _face(tree)) is not None}
    assert {"__init__.py", "pipeline/__init__.py"} <= set(map(str, faces))
    assert {path: names for path, names in faces.items() if names > FACE_NAMES} == {}


def _face(tree: ast.Module) -> int | None:
    """How many names ``__all__ = [...]`` shows, or the table of a lazy face, ``__all__ = list(_TABLE)``; None without one."""
    made = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    match made.get("__all__"):
        case ast.List(elts) | ast.Tuple(elts):
            return len(elts)
        case ast.Call(func=ast.Name("list"), args=[ast.Name(table)]) if isinstance(shown := made.get(table), ast.Dict):
            return len(shown.keys)
        case _:
            return None


def test_every_file_says_in_its_first_sentence_what_it_knows() -> None:
    silent = [path for path, tree in modules() if not _is_sentence(ast.get_docstring(tree))]
    assert silent == []


def _is_sentence(text: str | None) -> bool:
    if text is None:
        return False
    first = " ".join(text.split("\n\n")[0].split())
    return len(first) >= 5 and first[0].upper() == first[0] and first.rstrip('"').endswith((".", ":", "?", ")"))


def test_nothing_has_two_docstrings() -> None:
    """The second one is no docstring: nobody reads it."""
    files = [path for folder in ("src", "tests", "docs_src", "bench") for path in (ROOT / folder).rglob("*.py")]
    texts = ((path, path.read_text(encoding="utf-8")) for path in files if "data" not in path.parts)
    # A thousand trees are slow to make: only those of files in which one text follows another.
    trees = ((path, ast.parse(text)) for path, text in texts if re.search(r'["\']\s*\n\s*["\']', text))
    twice = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if ast.get_docstring(node) is not None and len(node.body) > 1 and _is_text(node.body[1])
    ]
    assert twice == []


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def test_tests_and_examples_say_what_they_know() -> None:
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "docs_src").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    kept = [path for path in files if "data" not in path.parts and path.read_text(encoding="utf-8").strip()]
    silent = [path for path in kept if ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) is None]
    assert silent == []
