"""How tests/manifest.toml and its parts are read and written, and which tests claim which ids."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
INDEX = TESTS / "manifest.toml"
KINDS = ("tests", "later", "declined", "todo")
"""What an entry must have exactly one of; ``rest`` may stand beside ``tests`` and tells what they do not cover yet."""
MODES = ("both", "strict", "lenient", "differs")
_ORDER = ("says", "mode", "differs", *KINDS, "rest")
_TAG = re.compile(r"\b(Rules?|Rows?|Cases?|Ledger)\s*:\s*", re.IGNORECASE)
_RANGE = re.compile(r"^(?P<head>S\d-[A-Z]?|[RAL])(?P<low>\d+)(?:(?:\.\.|–)(?:S\d-[A-Z]?|[RAL])?(?P<high>\d+))?$")


@dataclass
class Part:
    """One file of the manifest: its sections, each with a title and entries by id."""

    path: Path
    about: str
    sections: dict[str, dict[str, Any]] = field(default_factory=lambda: {})

    def entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for section in self.sections.values():
            for key, value in section.items():
                if key != "title":
                    yield key, value

    def dump(self) -> None:
        """Write the file anew, in its own order."""
        lines = [f"about = {_text(self.about)}"]
        for letter, section in self.sections.items():
            lines += ["", "", f"[{letter}]", f"title = {_text(section['title'])}"]
            for key, entry in section.items():
                if key != "title":
                    lines += ["", f"[{letter}.{key}]", *_fields(entry)]
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _fields(entry: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(entry, key=_ORDER.index):
        value = entry[name]
        if isinstance(value, str):
            yield f"{name} = {_text(value)}"
        else:
            yield f"{name} = ["
            yield from (f"    {_text(item)}," for item in value)
            yield "]"


def spread(written: str) -> list[str]:
    """The ids that one range stands for: ``R001..R223``, ``S0-001..009``, or a single id."""
    match = _RANGE.match(written)
    if match is None:
        raise ValueError(f"{written!r} is neither an id nor a range of ids")
    low = match["low"]
    high = match["high"] or low
    return [f"{match['head']}{number:0{len(low)}d}" for number in range(int(low), int(high) + 1)]


def known() -> dict[str, list[str]]:
    """Every id that must have an entry, by the name of its part."""
    index = tomllib.loads(INDEX.read_text(encoding="utf-8"))
    return {name: [i for written in ranges for i in spread(written)] for name, ranges in index["parts"].items()}


def parts() -> list[Part]:
    """The parts that the index names."""
    found: list[Part] = []
    for name in known():
        path = TESTS / "manifest" / f"{name}.toml"
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        about = data.pop("about")
        found.append(Part(path, about, data))
    return found


@dataclass(frozen=True)
class Claims:
    """What the test files hold: every test's name, and the ids that each claims in a tag."""

    names: frozenset[str]
    tags: Mapping[str, tuple[str, ...]]
    """By ``path::name``."""
    strays: tuple[str, ...]
    """Places of tags that belong to no test."""


def claims() -> Claims:
    """Read all test files without importing them.

    A tag is ``Rules: 19, 35``, ``Rows: S1-041``, ``Cases: A01`` or ``Ledger: L1`` in a test's docstring, in a comment
    within it, or on the lines right above it. On a class it stands for the class.
    """
    names: set[str] = set()
    tags: dict[str, tuple[str, ...]] = {}
    strays: list[str] = []
    for path in sorted(TESTS.rglob("test_*.py")):
        if path.name == "test_manifest.py":
            continue  # its samples look like tags
        where = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        free = {number for number, line in enumerate(lines, 1) if tagged(line)}
        for name, first, last in _tests(ast.parse(text), lines):
            names.add(f"{where}::{name}")
            mine = sorted(number for number in free if first <= number <= last)
            ids = [i for number in mine for i in tagged(lines[number - 1])]
            free.difference_update(mine)
            if ids:
                tags[f"{where}::{name}"] = tuple(dict.fromkeys(ids))
        strays += [f"{where}:{number}" for number in sorted(free)]
    return Claims(frozenset(names), tags, tuple(strays))


def tagged(line: str) -> list[str]:
    """The ids that one line of a test file claims; empty for ordinary lines."""
    ids: list[str] = []
    _, *tags = _TAG.split(line)
    for word, listed in zip(tags[::2], tags[1::2], strict=True):
        ids += _listed(listed, rules=word.lower().startswith("rule"))
    return ids


def _listed(text: str, *, rules: bool) -> Iterator[str]:
    """The ids at the start of ``text``, up to the first word that is none."""
    for word in re.split(r"[\s,;]+", text.replace(" and ", " ")):
        bare = word.strip("`.\"'()*")
        if rules and re.fullmatch(r"\d+(?:(?:\.\.|-|–)\d+)?", bare):
            low, _, high = bare.replace("..", "-").replace("–", "-").partition("-")
            yield from (f"R{number:03d}" for number in range(int(low), int(high or low) + 1))
        elif not rules and re.fullmatch(r"(S\d-[A-Z]?|[AL])\d+(?:(?:\.\.|–)(?:S\d-)?[A-Z]?\d+)?", bare):
            yield from spread(bare)
        else:
            return


def _tests(tree: ast.Module, lines: list[str]) -> Iterator[tuple[str, int, int]]:
    """Each test's name and its first and last line, innermost first, comments right above it included."""
    machines: dict[str, ast.ClassDef] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            machines[node.name] = node
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner.name.startswith("test"):
                    yield f"{node.name}::{inner.name}", *_span(inner, lines)
            if node.name.startswith("Test"):
                yield node.name, *_span(node, lines)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name, *_span(node, lines)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id.startswith(("Test", "test")):
                yield target.id, *_span(node, lines)
                # A stateful test: `TestThings = Machine.TestCase`, whose tag stands in the machine.
                machine = node.value.value if isinstance(node.value, ast.Attribute) else None
                if isinstance(machine, ast.Name) and machine.id in machines:
                    yield target.id, *_span(machines[machine.id], lines)


def _span(node: ast.stmt, lines: list[str]) -> tuple[int, int]:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    while first > 1 and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return first, node.end_lineno or node.lineno


def invert(tags: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The tests that claim each id, sorted."""
    found: dict[str, list[str]] = {}
    for test in sorted(tags):
        for key in tags[test]:
            found.setdefault(key, []).append(test)
    return found
