"""What `check` found, in SARIF 2.1.0 (OASIS), as code hosts show it beside the code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from lawful.agents.check import Checked, Meeting
from lawful.agents.holdings import Holding
from lawful.graph.signature import unwrap
from lawful.tools.definition import AnyTool

_RULES: Final = {
    "private-external-outward": "Private data, what outsiders wrote and a way out can come together.",
    "undeclared-tool": "Nobody said what this tool does.",
    "opaque-effect": "What became of this effect cannot be looked up after a crash.",
}


def sarif(found: Checked, version: str) -> dict[str, Any]:
    """One log with one run: a meeting is an error, an undeclared tool a warning, an opaque effect a note."""
    results = [
        *(_meeting(one) for one in found.meetings),
        *(_about(one, "undeclared-tool", "warning") for one in found.undeclared),
        *(_about(one, "opaque-effect", "note") for one in found.opaque),
    ]
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()]
    driver = {"name": "lawful check", "version": version, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _meeting(one: Meeting) -> dict[str, Any]:
    steps = [_place(held, f"{held.tool.name}: {what}") for held, what in zip(one_by_one(one), _WHAT, strict=True)]
    flow = {"threadFlows": [{"locations": [{"location": step} for step in steps]}]}
    return {
        "ruleId": "private-external-outward",
        "level": "error",
        "message": {"text": one.text},
        "locations": [_place(one.outward)],
        "codeFlows": [flow],
    }


_WHAT: Final = ("reads private data", "lets in what outsiders wrote", "sends out")


def one_by_one(one: Meeting) -> tuple[Holding, Holding, Holding]:
    """The three parts of a meeting, in the order of its path."""
    return one.private, one.external, one.outward


def _about(one: Holding, rule: str, level: str) -> dict[str, Any]:
    where = f" (in {one.where})" if one.place else ""
    text = f"{one.tool.name}{where}: {_RULES[rule]}"
    return {"ruleId": rule, "level": level, "message": {"text": text}, "locations": [_place(one)]}


def _place(one: Holding, text: str | None = None) -> dict[str, Any]:
    """Where the tool's function is written; by name alone, where there is no such file."""
    made: dict[str, Any] = {"logicalLocations": [{"name": one.tool.name, "fullyQualifiedName": one.where}]}
    file, line = written(one.tool)
    if file is not None:
        made["physicalLocation"] = {"artifactLocation": {"uri": file}, "region": {"startLine": line}}
    if text is not None:
        made["message"] = {"text": text}
    return made


def written(tool: AnyTool) -> tuple[str | None, int]:
    """The file, relative to the current folder where it is below it, and the line of a tool's function."""
    source: Any = tool.function
    if tool.effect is not None:
        source = getattr(tool.effect, "__wrapped__", None) or getattr(tool.effect, "perform", None)
    code = getattr(unwrap(source), "__code__", None)
    if code is None or not os.path.isfile(code.co_filename):
        return None, 0
    path = Path(code.co_filename)
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_uri(), code.co_firstlineno
