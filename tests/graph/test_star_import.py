"""What a star import of the graph package gives."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import lawful
import lawful.graph

pytestmark = pytest.mark.unit


def test_a_star_import_gives_interrupt_as_a_function() -> None:
    """In a new process, where nothing was loaded before. Rows: S0-005."""
    code = "from lawful.graph import *; print(type(interrupt).__name__, callable(StateGraph))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert told.stdout.split() == ["function", "True"]


def test_no_module_of_the_graph_takes_a_public_name() -> None:
    """`from lawful.graph import task` is refused, rather than giving a module where a function was meant."""
    inner = {module.name for module in pkgutil.iter_modules(lawful.graph.__path__)}
    taken = {name for name in dir(lawful) if name in inner and not isinstance(getattr(lawful, name), ModuleType)}
    assert taken == set()
