"""What the library's code never does: run data, swallow errors broadly, hide state, or take arguments it does not know."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from support.tree import Function, modules

pytestmark = pytest.mark.unit

DANGEROUS_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "runpy", "code"}
DANGEROUS_CALLS = {"eval", "exec", "compile", "__import__"}
GLOBALS = {"stores/sqlite_leases.py": "a lock that a forked child must have anew"}
IMPORT_BY_NAME = {
    "core/lazy.py": "the one sanctioned late import, of names that the library itself writes",
    "cli/graphs.py": "the graph that a user names on the command line",
    "cli/reloading.py": "the same module, when its file was saved",
}
SEAMS = {
    "task runner": ("graph/attempt.py", "graph/drivers/", "graph/apply.py"),
    "journal writer": ("stores/", "journal/memory.py"),
    "tool dispatch": ("effects/drive.py", "tools/dispatch.py"),
    "middleware guard": ("agents/middleware/base.py", "core/teller.py"),
    "command line": ("cli/main.py",),
}
"""The five seams that may catch what they do not know; anywhere else a broad handler must raise again."""


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_nothing_that_runs_data_is_imported() -> None:
    """Rows: S1-081, S1-K08."""
    assert [(path, name) for path, tree in modules() for name in _imported(tree) if name in DANGEROUS_MODULES] == []


def test_nothing_that_runs_data_is_called() -> None:
    """Rows: S1-081."""
    found = [
        f"{path}:{node.lineno} {node.func.id}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in DANGEROUS_CALLS
    ]
    assert found == []


def test_modules_are_imported_by_name_only_where_it_is_argued_for() -> None:
    """Rows: S1-K08."""
    assert {path for path, tree in modules() if "importlib" in _imported(tree)} <= set(IMPORT_BY_NAME)


def _broad(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in {"Exception", "BaseException"}) for kind in kinds
    )


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and (last.exc is None or last.cause is not None)


def test_only_the_named_seams_catch_what_they_do_not_know() -> None:
    found = [
        f"{path}:{node.lineno}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and _broad(node) and not _raises_again(node)
        if not path.startswith(tuple(file for files in SEAMS.values() for file in files))
    ]
    assert found == []


def test_globals_are_set_only_where_it_is_argued_for() -> None:
    """Rows: S0-004."""
    found = {path for path, tree in modules() for node in ast.walk(tree) if isinstance(node, ast.Global)}
    assert found <= set(GLOBALS)


def test_there_is_one_context_variable() -> None:
    """Rows: S0-004."""
    found = [
        path
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ContextVar"
    ]
    assert found == ["core/context.py"]


def test_no_constructor_takes_keyword_arguments_it_does_not_know() -> None:
    """Rows: S4-043."""
    found = [
        f"{path}:{node.lineno} {owner.name}"
        for path, tree in modules()
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, Function) and node.name == "__init__" and node.args.kwarg is not None
    ]
    assert found == []


@pytest.mark.parametrize(
    "code, broad, again",
    [
        ("try: ...\nexcept Exception: pass", True, False),
        ("try: ...\nexcept (ValueError, BaseException): raise", True, True),
        ("try: ...\nexcept: pass", True, False),
        ("try: ...\nexcept ValueError: pass", False, False),
        ("try: ...\nexcept Exception as e: raise KeyError from e", True, True),
    ],
)
def test_broad_handlers_are_recognised(code: str, broad: bool, again: bool) -> None:
    [statement] = ast.parse(code).body
    assert isinstance(statement, ast.Try)
    [handler] = statement.handlers
    assert (_broad(handler), _raises_again(handler)) == (broad, again)
