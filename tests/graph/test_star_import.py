"""What a star import of the graph package gives."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.unit


def test_a_star_import_gives_interrupt_as_a_function() -> None:
    """In a new process, where nothing was loaded before. Rows: S0-005."""
    code = "from lawful.graph import *; print(type(interrupt).__name__, callable(StateGraph))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert told.stdout.split() == ["function", "True"]
