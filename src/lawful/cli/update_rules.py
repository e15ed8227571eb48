"""The pure side of a dependency update: requests, pins, the scripted proposal, and the rules of its scope."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import TypeAlias

from msgspec import Struct

from lawful.core.errors import ValidationError, nearest
from lawful.core.result import Err, Ok, Result
from lawful.effects.evidence import Evidence
from lawful.effects.git import branch_name
from lawful.effects.policy import Policy, RequireApproval, RequireEvidence

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"[0-9][0-9A-Za-z.!+_-]*"
_PIN = re.compile(rf"(?P<name>{_NAME})(?:\[[^\]\"']*\])?\s*==\s*(?P<version>{_VERSION})(?P<rest>.*)")
_REQUIREMENT_REST = re.compile(r"\s*(?:;.*|\s#.*)?")
_QUOTED_REST = re.compile(r"\s*(?:;[^\"']*)?[\"']")

FILES = ("requirements*.txt", "constraints*.txt", "pyproject.toml")
"""Where pins are looked for, in any folder."""

MOST_EDITS = 20
"""A patch with more edits than this is no dependency update."""


class Request(Struct, frozen=True):
    """What is asked for."""

    repo: str
    """Path of the repository's top folder."""
    package: str
    to: str
    """The version to pin."""
    test: tuple[str, ...]
    """The command that runs the repository's tests, word by word; no shell reads it."""
    branch: str
    """The branch that gets the commit; made where there is none."""
    reckless: bool = False
    """Let the proposer overreach, to see the scope rules refuse it."""
    model: str = ""
    """Who proposes, such as "openai:gpt-5"; "" is the script."""


class Pin(Struct, frozen=True):
    """One place that names a version of the package."""

    path: str
    line: int
    """Counted from 1."""
    text: str
    """The line without its end."""
    name: str
    version: str
    at: int
    """Where in ``text`` the version starts."""


class Edit(Struct, frozen=True):
    """One line to be replaced."""

    path: str
    line: int
    before: str
    after: str


class Proposed(Struct, frozen=True):
    """A patch as data: nothing has been checked, nothing is changed."""

    summary: str
    by: str
    edits: tuple[Edit, ...]


class Scoped(Struct, frozen=True):
    """A patch whose scope is allowed."""

    summary: str
    edits: tuple[Edit, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted({edit.path for edit in self.edits}))


class Checked(Struct, frozen=True):
    """A patch as an exact commit, and what was observed about that commit; no branch has it yet."""

    commit: str
    tree: str
    evidence: tuple[Evidence, ...]
    seconds: float
    """How long the tests took."""
    last: str
    """The last thing that the tests said."""


RULES = Policy("dependency-update", (RequireEvidence("scope"), RequireEvidence("tests"), RequireApproval()))
"""What a commit needs: the scope held and the tests passed on that very commit, and someone has said yes to it."""

Checks: TypeAlias = Result[Proposed, ValidationError]


def request(
    repo: str, package: str, to: str, test: Sequence[str], branch: str, *, reckless: bool = False, model: str = ""
) -> Request:
    """The request, if its names are what they should be. Raises: ValidationError."""
    if not re.fullmatch(_NAME, package) or len(package) > 100:
        raise _wrong(f"{package!r} is no name of a package")
    if not re.fullmatch(_VERSION, to) or len(to) > 60:
        raise _wrong(f"{to!r} is no version")
    if not test:
        raise _wrong("the command that runs the tests is empty")
    return Request(repo, package, to, tuple(test), branch_name(branch), reckless, model)


def normal(name: str) -> str:
    """A package's name as all its spellings are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins_in(path: str, line: int, text: str) -> tuple[Pin, ...]:
    """The exact pins in one line of a dependency file; ranges and wildcards are none."""
    text = text.rstrip()
    quoted = path.endswith(".toml")
    found: list[Pin] = []
    starts = [m.end() for m in re.finditer(r"[\"']\s*", text)] if quoted else [len(text) - len(text.lstrip())]
    for start in starts:
        match = _PIN.match(text, start)
        rest = _QUOTED_REST if quoted else _REQUIREMENT_REST
        if match and (rest.match(match["rest"]) if quoted else rest.fullmatch(match["rest"])):
            found.append(Pin(path, line, text, match["name"], match["version"], match.start("version")))
    return tuple(found)


def pins_of(package: str, pins: Iterable[Pin]) -> Result[tuple[Pin, ...], ValidationError]:
    """Those of ``package``, or an error with the nearest name that is pinned."""
    every = tuple(pins)
    found = tuple(pin for pin in every if normal(pin.name) == normal(package))
    if found:
        return Ok(found)
    known = nearest(package, {pin.name for pin in every})
    return Err(_wrong(f"no file of {', '.join(FILES)} pins {package!r} as {package}==VERSION.{known}"))


def propose(asked: Request, pins: Sequence[Pin]) -> Proposed:
    """The scripted stand-in for a model: the same pins always give the same patch."""
    edits = tuple(
        Edit(pin.path, pin.line, pin.text, _repinned(pin, asked.to)) for pin in pins if pin.version != asked.to
    )
    if asked.reckless:
        edits = (*edits, Edit(".github/workflows/tests.yml", 1, "", "# the checks are switched off"))
    return Proposed(summary_of(asked, pins), "a script; no model was asked", edits)


def summary_of(asked: Request, pins: Sequence[Pin]) -> str:
    """What the patch does, in a line: by rule, whoever proposes it."""
    return f"Update {asked.package} from {', '.join(sorted({pin.version for pin in pins}))} to {asked.to}"


def _repinned(pin: Pin, to: str) -> str:
    return pin.text[: pin.at] + to + pin.text[pin.at + len(pin.version) :]


def check_scope(asked: Request, pins: Sequence[Pin], patch: Proposed) -> Result[Scoped, ValidationError]:
    """``patch``, if it does what was asked and nothing else; the first rule that it breaks otherwise."""
    given: Checks = Ok(patch)
    return (
        given.bind(_has_edits)
        .bind(_keeps_inside)
        .bind(lambda patch: _touches_only(patch, {pin.path for pin in pins}))
        .bind(lambda patch: _only_repins(patch, {_place(pin.path, pin.line): pin for pin in pins}, asked.to))
        .map(lambda patch: Scoped(patch.summary, patch.edits))
    )


def _has_edits(patch: Proposed) -> Checks:
    if not 1 <= len(patch.edits) <= MOST_EDITS:
        return Err(_wrong(f"the patch has {len(patch.edits)} edits; allowed are 1 to {MOST_EDITS}"))
    return Ok(patch)


def _keeps_inside(patch: Proposed) -> Checks:
    for edit in patch.edits:
        path = PurePosixPath(edit.path)
        if path.is_absolute() or ".." in path.parts or ".git" in path.parts or not edit.path.isprintable():
            return Err(_wrong(f"the patch leads out of the repository: {edit.path!r}"))
    return Ok(patch)


def _touches_only(patch: Proposed, allowed: set[str]) -> Checks:
    for edit in patch.edits:
        if edit.path not in allowed:
            return Err(_wrong(f"the patch changes {edit.path!r}; allowed are {', '.join(sorted(allowed))}"))
    return Ok(patch)


def _only_repins(patch: Proposed, pins: dict[str, Pin], to: str) -> Checks:
    for edit in patch.edits:
        pin = pins.get(_place(edit.path, edit.line))
        if pin is None or edit.before != pin.text or edit.after != _repinned(pin, to):
            return Err(_wrong(f"the patch changes more than the version in {edit.path!r}, line {edit.line}"))
    return Ok(patch)


def _place(path: str, line: int) -> str:
    return f"{line}:{path}"


def apply(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with its lines edited, their ends kept. Raises: ValidationError, if a line is not what the edit expects."""
    lines = text.split("\n")
    for edit in edits:
        held = lines[edit.line - 1] if 1 <= edit.line <= len(lines) else ""
        if held.rstrip() != edit.before:
            raise _wrong(f"line {edit.line} of {edit.path!r} is not {edit.before!r} any more")
        lines[edit.line - 1] = edit.after + held[len(held.rstrip()) :]
    return "\n".join(lines)


def _wrong(message: str) -> ValidationError:
    return ValidationError(message, component="update")
