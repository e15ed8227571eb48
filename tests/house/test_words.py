"""The project's text speaks of itself alone: no paths of one machine, no hosts of registries, no notes to its makers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.tree import ROOT, written

pytestmark = pytest.mark.unit

PATHS = re.compile(r"(?<![\w.{}/])/(?:work|root|home/[a-z]+|Users/[A-Za-z]+|opt)/[\w.-]+")
HOSTS = re.compile(r"files\.pythonhosted\.org|pypi\.org/simple|registry\.npmjs\.org|proxy\.golang\.org|--index-url")
NOTES = re.compile(
    r"\b(?:helper sessions?|sub-?agents? wrote|as an AI|language model wrote|this workplace|TODO|FIXME|XXX|lorem ipsum)\b"
)
SECRETS = re.compile(r"\b(?:sk-[A-Za-z0-9]{20,}|ghp_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16})\b|-----BEGIN [A-Z ]*PRIVATE KEY")
OURSELVES = {"tests/house/test_words.py"}


def _texts() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for path in written():
        name = path.relative_to(ROOT).as_posix()
        if name not in OURSELVES:
            found.append((name, _read(path)))
    return found


def _read(path: Path) -> str:
    data = path.read_bytes()
    return "" if b"\0" in data else data.decode("utf-8", errors="replace")


@pytest.mark.parametrize("pattern", [PATHS, HOSTS, NOTES, SECRETS], ids=["paths", "hosts", "notes", "secrets"])
def test_no_file_says_what_is_not_the_projects(pattern: re.Pattern[str]) -> None:
    found = [f"{name}: {match[0]}" for name, text in _texts() for match in pattern.finditer(text)]
    assert found == []


@pytest.mark.parametrize(
    "pattern, text",
    [
        (PATHS, "see /root/notes.txt"),
        (HOSTS, "from pypi.org/simple"),
        (NOTES, "TODO: later"),
        (SECRETS, "sk-" + "a" * 24),
    ],
)
def test_such_words_would_be_found(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)


def test_prose_keeps_one_spelling() -> None:
    """The one that the ecosystem's identifiers have: authorize, summarize, serialize."""
    british = re.compile(r"\b\w*(?:authoris|serialis|summaris|normalis|initialis)\w*", re.IGNORECASE)
    shown = [path for path in written() if path.suffix in {".md", ".py"} and "data" not in path.parts]
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in shown
        if path.relative_to(ROOT).as_posix() not in OURSELVES
        for match in british.finditer(_read(path))
    ]
    assert found == []
