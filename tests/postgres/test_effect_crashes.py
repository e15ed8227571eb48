"""The ledger's crash points over PostgreSQL, for every kind of provider."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.testing.crash import TO_A_PERSON, ForkServer
from support.effect_crashes import KINDS, POINTS, provider_of
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, pytest.mark.crash, skipped]


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    from support import pg_effect_crashes

    with ForkServer(pg_effect_crashes.on_postgres) as made:
        yield made


def dies_and_goes_on(server: ForkServer, pg: PgServer, folder: Path, kind: str, point: str) -> None:
    schema = pg.schema()
    told: dict[str, Any] = {}
    for number in range(4):
        ended = server.run(folder, number=number, told=[pg.url(), schema, kind, point])
        if not ended.killed:
            assert ended.code == 0, ended.said
            told = ast.literal_eval(ended.shown)
            break
    effects = provider_of(folder, kind).applied.get("order-1", 0)
    if kind == "neither" and point in ("C4", "C5", "C6", "C7", "C8", "C12"):
        assert (told["values"], told["left"]) == (TO_A_PERSON, ["Unknown"])
        assert effects == (0 if point in ("C4", "C5") else 1)
        return
    assert (effects, told["values"], told["left"]) == (1, {"receipt": "done"}, [])
    if point in ("C9", "C10"):
        assert (told["calls"], told["looks"]) == (0, 0)


@pytest.mark.parametrize(("kind", "point"), list(itertools.product(KINDS, POINTS)))
def test_a_death_at_this_point(server: ForkServer, pg: PgServer, tmp_path: Path, kind: str, point: str) -> None:
    """Ledger: L7; Rows: S2-029"""
    dies_and_goes_on(server, pg, tmp_path, kind, point)
