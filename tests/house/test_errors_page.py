"""Every error has a code of its own, a section on the page of errors, and one of the thirteen above it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from lawful.core import errors
from lawful.core.errors import THIRTEEN, Failure
from support.tree import ROOT

pytestmark = pytest.mark.unit


def _beneath(kind: type[Failure]) -> Iterator[type[Failure]]:
    for child in kind.__subclasses__():
        if child.__module__.startswith("lawful."):
            yield child
            yield from _beneath(child)


ALL = sorted(set(_beneath(Failure)), key=lambda kind: kind.__name__)


def test_every_code_has_one_section_on_the_page_and_no_section_lacks_its_error() -> None:
    """Rows: S1-P13, S0-074."""
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    sections = re.findall(r"^#{2,4} `(\w+)`$", page, re.MULTILINE)
    assert Counter(sections) == Counter(kind.code for kind in ALL)


def test_every_section_names_its_class() -> None:
    """Rows: S1-P13."""
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^#{2,4} `(\w+)`\n\n`(\w+)`", page, re.MULTILINE))
    assert {kind.code: kind.__name__ for kind in ALL} == sections


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_is_one_of_the_thirteen(kind: type[Failure]) -> None:
    """Rows: S0-070, S1-P13."""
    assert sum(issubclass(kind, above) for above in THIRTEEN) == 1
    assert hasattr(errors, kind.__name__), "an error is found in lawful.core.errors"
