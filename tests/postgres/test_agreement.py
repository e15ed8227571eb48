"""Whatever is done, in whatever order: the journal in PostgreSQL answers as the reference in memory does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lawful.testing.agreement import compare, journal_steps
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, pytest.mark.property, skipped]

STEPS = journal_steps()


def same(pg: PgServer, steps: list[Any]) -> None:
    compare(lambda clock: pg.journal(clock=clock, writers=1, readers=1), steps)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=1, max_size=25))
def test_it_says_the_same(pg: PgServer, steps: list[Any]) -> None:
    """Rows: S0-120, S0-123, S1-K05."""
    same(pg, steps)


@pytest.mark.full
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=1, max_size=40))
def test_it_says_the_same_of_many(pg: PgServer, steps: list[Any]) -> None:
    """Rows: S0-123."""
    same(pg, steps)
