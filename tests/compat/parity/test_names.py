"""Every public name of the installed LangGraph is listed: here under the same path, or absent and said why."""

from __future__ import annotations

import importlib
import tomllib
import warnings
from typing import Any

import pytest

pytest.importorskip("langgraph")

from support.tree import ROOT

pytestmark = pytest.mark.integration

LISTED: dict[str, Any] = tomllib.loads((ROOT / "tests/data/langgraph/names.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("module", sorted(LISTED))
def test_what_a_module_declares_public_is_listed(module: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = importlib.import_module(f"langgraph.{module}")
        except ModuleNotFoundError as error:
            pytest.skip(f"{error.name} is not installed")
    known = {*LISTED[module]["names"], *LISTED[module].get("absent", {})}
    # A type alias of a driver's connection, and what only one saver's options are made of, is nothing to import by name.
    assert set(getattr(theirs, "__all__", ())) - known - {"Conn", "PoolConfig"} == set()
