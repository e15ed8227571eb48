"""Case A09: a death right after an effect and before its record; settled by what the provider promises, never done twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from lawful.testing.crash import TO_A_PERSON, ForkServer
from support.a09 import program

pytestmark = pytest.mark.crash


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer(program) as made:
        yield made


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("promise", ["lookup", "opaque"])
def test_the_effect_before_the_death_is_found_or_asked_about(
    server: ForkServer, tmp_path: Path, promise: str, durability: str
) -> None:
    """The ledger commits at once under every durability of the graph, so no effect is repeated though nodes may be.

    Cases: A09. Ledger: L7. Rows: S2-001
    """
    assert server.run(tmp_path, told=[promise, durability]).killed
    ended = server.run(tmp_path, number=1, told=[promise, durability])
    assert ended.code == 0, ended.said
    values, applied = ast.literal_eval(ended.shown)
    if promise == "lookup":
        assert values == {"log": ["s1 written", "s2 written", "s3 written"]}
        assert applied == {"s1": 1, "s2": 1, "s3": 1}
    else:
        assert values == TO_A_PERSON
        assert applied == {"s1": 1, "s2": 1}
