"""The lazy face: what ``import lawful`` costs and loads, which names it has, and what a wrong name says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import lawful
from lawful.core.errors import ConfigurationError
from lawful.core.lazy import face, late
from support.children import fresh

pytestmark = pytest.mark.unit

FACE = Path(lawful.__file__)
NAMES: list[str] = vars(lawful)["__all__"]


def in_a_fresh_process(program: str) -> str:
    return fresh(program, flags=("-S",))


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = in_a_fresh_process("import sys, lawful; print(' '.join(sys.modules))").split()
    for heavy in ("asyncio", "pydantic", "sqlite3", "msgspec", "typing", "inspect", "socket", "difflib", "datetime"):
        assert heavy not in loaded
    assert {name for name in loaded if name.startswith("lawful")} == {"lawful", "lawful.core", "lawful.core.lazy"}


def test_the_core_loads_neither_an_event_loop_nor_a_database_nor_pydantic() -> None:
    core = [f"lawful.core.{path.stem}" for path in (FACE.parent / "core").glob("*.py") if path.stem != "__init__"]
    loaded = in_a_fresh_process(f"import sys, {', '.join(sorted(core))}; print(' '.join(sys.modules))").split()
    assert set(core) <= set(loaded)
    for heavy in ("asyncio", "pydantic", "sqlite3", "subprocess", "ssl", "http", "hypothesis"):
        assert heavy not in loaded


def test_the_face_has_at_most_64_names_each_once() -> None:
    assert len(NAMES) <= 64
    assert len(set(NAMES)) == len(NAMES)
    assert set(NAMES) <= set(dir(lawful))


def test_what_a_type_checker_sees_is_what_there_is() -> None:
    """Each name imported for the checker comes from the module of which the lazy face takes it."""
    seen: dict[str, str] = {}
    for node in ast.walk(ast.parse(FACE.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module not in ("__future__", "lawful.core.lazy"):
            for name in node.names:
                assert name.asname == name.name, "a re-export for a type checker names itself"
                seen[name.name] = node.module
    assert seen, "the face shows nothing to a type checker"
    for name, module in seen.items():
        if name in NAMES:
            assert getattr(lawful, name) is getattr(late(module), name), name


def test_every_name_of_the_face_can_be_imported() -> None:
    for name in NAMES:
        assert getattr(lawful, name) is not None


def test_a_wrong_name_gets_the_nearest_one() -> None:
    with pytest.raises(AttributeError, match="Did you mean 'StateGraph'"):
        getattr(lawful, "StatGraph")  # noqa: B009
    with pytest.raises(ImportError):
        exec("from lawful import StatGraph")


def test_a_dunder_that_is_not_there_is_an_ordinary_attribute_error() -> None:
    assert not hasattr(lawful, "__wrapped__")


def test_a_face_imports_once_and_maps_names() -> None:
    names: dict[str, object] = {"__name__": "some.face"}
    get, listed = face(names, {"Fraction": "fractions", "square_root": "math:sqrt"})
    assert "Fraction" not in names
    root = get("square_root")
    assert root(9) == 3
    assert names["square_root"] is root
    assert listed() == ["Fraction", "__name__", "square_root"]
    with pytest.raises(AttributeError, match=r"'some.face' has no attribute 'Fractoin'\. Did you mean 'Fraction'"):
        get("Fractoin")


def test_late_gives_modules_and_attributes() -> None:
    import math

    assert late("math") is math
    assert late("math", "sqrt") is math.sqrt
    with pytest.raises(AttributeError):
        late("math", "squareroot")


def test_a_missing_extra_says_how_to_install_it() -> None:
    with pytest.raises(ConfigurationError, match=r'pip install "lawful\[mcp\]"') as caught:
        late("no_such_module_here", extra="mcp")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    with pytest.raises(ModuleNotFoundError):
        late("no_such_module_here")
    # A broken dependency of an installed extra is no reason to install the extra again.
    with pytest.raises(ModuleNotFoundError):
        late("json.no_such_part", extra="mcp")


def test_a_name_may_stand_for_a_module() -> None:
    import lawful.core.codec as module
    from lawful import codec

    assert codec is module
    assert codec.decode(codec.encode({"a": (1, 2)})) == {"a": (1, 2)}
