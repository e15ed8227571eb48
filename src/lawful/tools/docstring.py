"""A function's docstring as a model is told it: what the function does, and a line for each parameter."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

from msgspec import Struct

_HEAD = re.compile(
    r"^(Args|Arguments|Parameters|Params|Returns?|Yields?|Raises|Examples?|Notes?|Warnings?|See Also)\s*:?\s*$"
)
_PARAMETERS = ("Args", "Arguments", "Parameters", "Params")
_FIELD = re.compile(r"^:param\s+(?:[^:]+\s)?(\w+)\s*:\s*(.*)$")
_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"^(\w+)\s*(?::.*)?$")


class Told(Struct, frozen=True):
    """A docstring, read."""

    summary: str
    """Everything before the sections."""
    parameters: dict[str, str]
    """By parameter: what is said of it, on one line."""


def read_docstring(text: str | None) -> Told:
    """Read a docstring in the Google, NumPy or reST form; a docstring in none of them is all summary."""
    lines = inspect.cleandoc(text or "").splitlines()
    summary: list[str] = []
    parameters: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        field = _FIELD.match(line.strip())
        head = _HEAD.match(line)
        if field is not None:
            at, said = _following(lines, at + 1, 1)
            parameters[field[1]] = " ".join([field[2], *said]).strip()
        elif line.lstrip().startswith(":") and re.match(r"^:\w[^:]*:", line.strip()):
            at, _ = _following(lines, at + 1, 1)
        elif head is not None:
            at, body, underlined = _section(lines, at + 1)
            if head[1] in _PARAMETERS:
                parameters |= _numpy(body) if underlined else _google(body)
        else:
            summary.append(line)
            at += 1
    return Told("\n".join(summary).strip(), parameters)


def _following(lines: Sequence[str], at: int, indent: int) -> tuple[int, list[str]]:
    """The indented lines from ``at`` on."""
    said: list[str] = []
    while at < len(lines) and lines[at].startswith(" " * indent):
        said.append(lines[at].strip())
        at += 1
    return at, said


def _section(lines: Sequence[str], at: int) -> tuple[int, list[str], bool]:
    """The body of a section up to the next head: indented (Google), or under a line of dashes (NumPy)."""
    underlined = at < len(lines) and set(lines[at].strip()) == {"-"}
    at += underlined
    body: list[str] = []
    while at < len(lines):
        line = lines[at]
        if _HEAD.match(line) or (not underlined and line.strip() and not line.startswith(" ")):
            break
        body.append(line)
        at += 1
    return at, inspect.cleandoc("\n" + "\n".join(body)).splitlines(), underlined


def _google(body: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in body:
        item = _ITEM.match(line)
        if item is not None:
            name = item[1]
            found[name] = item[2].strip()
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _numpy(body: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in body:
        item = _NUMPY.match(line)
        if item is not None:
            name = item[1]
            found[name] = ""
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
