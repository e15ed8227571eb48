"""What `import lawful` costs and offers: few modules, no heavy ones, a lazy face whose every name is there."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

import lawful
import lawful.effects
import lawful.graph
from lawful.core.errors import ConfigurationError
from support.children import fresh

pytestmark = pytest.mark.unit

HEAVY = ("asyncio", "pydantic", "sqlite3", "httpx", "socket", "ssl", "inspect", "concurrent.futures", "hypothesis")
FACE: list[str] = list(vars(lawful)["__all__"])
BUDGET = 60
"""Modules that `import lawful` may load beyond those that a bare interpreter has."""


def _loaded(code: str) -> set[str]:
    """The modules that ``code`` loads in a new interpreter, beyond those it starts with."""
    script = (
        f"import sys, json\nbefore = set(sys.modules)\n{code}\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    )
    return set(json.loads(fresh(script)))


def test_importing_the_library_loads_nothing_heavy() -> None:
    """Rows: S0-005."""
    loaded = _loaded("import lawful")
    assert [name for name in HEAVY if name in loaded] == []
    assert len(loaded) <= BUDGET, sorted(loaded)


def test_the_core_knows_no_event_loop_and_no_database() -> None:
    """Rows: S0-005, S0-009."""
    loaded = _loaded("import lawful.core.errors, lawful.core.signals, lawful.core.context")
    assert [
        name for name in ("asyncio", "sqlite3", "pydantic", "lawful.graph", "lawful.stores") if name in loaded
    ] == []


def test_every_name_of_the_face_is_there() -> None:
    missing = [name for name in FACE if getattr(lawful, name, None) is None]
    assert missing == []
    assert set(FACE) <= set(dir(lawful))


@pytest.mark.parametrize("package", [lawful, lawful.graph, lawful.effects], ids=lambda package: package.__name__)
def test_a_type_checker_sees_the_names_that_a_program_sees(package: ModuleType) -> None:
    assert package.__file__ is not None
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    told = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(set(package.__all__) - told) == []
    assert sorted(name for name in told - {"annotations", "face"} if not _there(package, name)) == []


def test_a_star_import_needs_no_extra() -> None:
    packages = sorted(
        found.name
        for found in pkgutil.iter_modules(lawful.__path__, "lawful.")
        if found.ispkg and found.name.split(".")[1] not in ("compat", "mcp", "observe", "testing", "cli")
    )
    assert "lawful.stores" in packages
    hidden = ["psycopg", "psycopg_pool", "cryptography", "openai", "anthropic", "google.genai", "ollama", "mcp"]
    code = f"import sys\nsys.modules.update(dict.fromkeys({hidden!r}))\n"
    fresh(code + "\n".join(f"exec('from {name} import *')" for name in ["lawful", *packages]))


def _there(package: ModuleType, name: str) -> bool:
    """Whether the name is there, or only waits for an extra, which the error names."""
    try:
        return hasattr(package, name)
    except ConfigurationError as error:
        return "pip install" in str(error)


def test_every_class_and_function_of_the_face_says_what_it_does() -> None:
    faces = {name: getattr(lawful, name) for name in FACE}
    owed = {name: face for name, face in faces.items() if isinstance(face, type | FunctionType)}
    silent = [name for name, face in owed.items() if not (face.__doc__ or "").strip()]
    assert silent == []


def test_questions_history_and_checkpoints_need_no_extra() -> None:
    """Rows: S0-003."""
    for name in ("StateGraph", "interrupt", "Command", "StateSnapshot"):
        assert hasattr(lawful, name), name
    assert _loaded("from lawful.stores.sqlite import SQLiteJournal") & {"sqlite3"} == {"sqlite3"}


def test_public_classes_refuse_arguments_they_do_not_know() -> None:
    """Rows: S4-043."""
    swallowed: list[str] = []
    for name in FACE:
        face = getattr(lawful, name)
        if not isinstance(face, type) or getattr(face, "_is_protocol", False):
            continue
        try:
            face(no_such_option=1)
        except TypeError as error:
            if "no_such_option" not in str(error) and "abstract" not in str(error) and "no arguments" not in str(error):
                swallowed.append(f"{name}: {error}")
        else:
            swallowed.append(name)
    assert swallowed == []


def test_calls_refuse_options_they_do_not_know() -> None:
    """Rows: S4-043."""
    make: Any = lawful.StateGraph
    builder = make(dict)

    def node(state: dict[str, Any]) -> dict[str, Any]:
        return state

    graph: Any = builder.add_node("node", node).add_edge(lawful.START, "node").compile()
    calls: dict[str, Callable[[], Any]] = {
        "add_node": lambda: builder.add_node("other", node, no_such_option=1),
        "add_edge": lambda: builder.add_edge("node", lawful.END, no_such_option=1),
        "compile": lambda: builder.compile(no_such_option=1),
        "invoke": lambda: graph.invoke({}, no_such_option=1),
        "stream": lambda: list(graph.stream({}, no_such_option=1)),
        "run_sync": lambda: graph.run_sync({}, no_such_option=1),
        "resume_sync": lambda: graph.resume_sync("t", no_such_option=1),
    }
    for name, call in calls.items():
        refused = ""
        try:
            call()
        except TypeError as error:
            refused = str(error)
        assert "no_such_option" in refused, name


def test_no_module_of_a_package_takes_a_name_of_its_face() -> None:
    """Importing the module would put it where the name was: a function that is a module all of a sudden."""
    taken: list[str] = []
    for found in pkgutil.walk_packages(lawful.__path__, "lawful.", onerror=lambda name: None):
        try:
            package = importlib.import_module(found.name) if found.ispkg else None
        except (ImportError, ConfigurationError):  # of an extra that is not installed
            continue
        table: Any = getattr(package, "_TABLE", None)
        if package is not None and isinstance(table, dict):
            taken += [f"{found.name}.{one.name}" for one in pkgutil.iter_modules(package.__path__) if one.name in table]
    assert taken == []
