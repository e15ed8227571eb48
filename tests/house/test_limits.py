"""The sizes that keep the code readable: lines a file, lines a function, names a face; and a first sentence everywhere."""

from __future__ import annotations

import ast

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
    faces = {path: names for path, tree in modules() for node in tree.body if (names := _face(node)) is not None}
    assert {path: len(names) for path, names in faces.items() if len(names) > FACE_NAMES} == {}


def _face(node: ast.stmt) -> list[ast.expr] | None:
    """The names of an ``__all__ = [...]``, or None for any other statement."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.List | ast.Tuple):
        return None
    named = any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)
    return node.value.elts if named else None


def test_every_file_says_in_its_first_sentence_what_it_knows() -> None:
    silent = [path for path, tree in modules() if not _is_sentence(ast.get_docstring(tree))]
    assert silent == []


def _is_sentence(text: str | None) -> bool:
    if text is None:
        return False
    first = " ".join(text.split("\n\n")[0].split())
    return len(first) >= 5 and first[0].upper() == first[0] and first.rstrip('"').endswith((".", ":", "?", ")"))


def test_tests_and_examples_say_what_they_know() -> None:
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "docs_src").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    kept = [path for path in files if "data" not in path.parts and path.read_text(encoding="utf-8").strip()]
    silent = [path for path in kept if ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) is None]
    assert silent == []
