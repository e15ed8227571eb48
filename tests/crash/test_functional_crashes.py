"""Functional programs killed at every write of their journal: no finished call runs again, no effect happens twice."""

from __future__ import annotations

import pytest

from lawful.testing.crash import crash_everywhere
from support import functional_programs

pytestmark = pytest.mark.crash


def test_a_killed_flow_goes_on_from_its_calls_and_pays_once() -> None:
    """Rules: 200. Rows: S1-P14, S1-P15."""
    report = crash_everywhere(functional_programs.flow, effects=functional_programs.payments)
    assert report.value == "[3, ['paid ada', 'paid ben'], '3?!', 'paid eve']"
    assert len(report.points) >= 20


def test_a_killed_async_flow_goes_on_from_its_calls() -> None:
    """Rules: 200. Rows: S1-P14."""
    report = crash_everywhere(functional_programs.aflow)
    assert report.value == "[3, 'yes', 3]"
    assert len(report.points) >= 10
