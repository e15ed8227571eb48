"""The page about PostgreSQL shows a program that runs and the grants that are given."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from support.pg import PgServer, skipped
from support.tree import ROOT, environment

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]

PAGE = (ROOT / "docs" / "postgres.md").read_text(encoding="utf-8")


def test_its_program_prints_what_it_says(pg: PgServer) -> None:
    [program] = re.findall(r"^```py\n(.+?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    told = re.findall(r"# prints: (.+)", program)
    here = program.replace("postgresql://app@db.example/app", pg.url())
    assert here != program
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", here], env=environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == told == ["2"]


def test_its_grants_are_those_that_are_given() -> None:
    from lawful.stores.postgres import grants

    first, more = re.findall(r"^```sql\n(.+?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert first == grants("app")
    known = grants("keeper").splitlines()
    assert more.splitlines() == [line for line in grants("keeper", retention=True).splitlines() if line not in known]


def test_its_options_are_the_journals() -> None:
    import inspect

    from lawful.stores.postgres import PostgresJournal

    shown = dict(re.findall(r"^\| `(\w+)=([^`]+)` \|", PAGE, re.MULTILINE))
    real = inspect.signature(PostgresJournal).parameters.values()
    assert shown == {p.name: repr(p.default).replace("'", '"') for p in real if p.kind is p.KEYWORD_ONLY}
