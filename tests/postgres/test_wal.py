"""What a step costs the server: bytes of its write-ahead log grow with what is new, not with the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from lawful.graph import START, StateGraph
from support.graphs import concat
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]


class Talk(TypedDict, total=False):
    said: Annotated[list[str], concat]


def written(pg: PgServer, work: Callable[[], object]) -> int:
    """Bytes of write-ahead log that ``work`` causes."""
    before = pg.run("CHECKPOINT", "SELECT pg_current_wal_insert_lsn()::text")[0][0]
    work()
    return int(pg.run(f"SELECT pg_current_wal_insert_lsn() - '{before}'::pg_lsn")[0][0])


def turns(pg: PgServer, schema: str, counts: list[int], size: int) -> list[int]:
    """Bytes of log a turn, for each number of turns one after the other on one growing list."""
    journal = pg.journal(schema)

    def say(state: Talk) -> Talk:
        n = len(state.get("said", []))
        return {"said": [f"{n:06d}" + "".join(chr(97 + (n * 7 + k * k) % 26) for k in range(size - 6))]}

    graph: Any = StateGraph(Talk).add_node("say", say).add_edge(START, "say").compile(checkpointer=journal)

    def run(count: int) -> None:
        for _ in range(count):
            graph.invoke({"said": []}, thread="t")

    run(1)
    told = [written(pg, lambda count=count: run(count)) // count for count in counts]
    journal.close()
    return told


def test_a_turn_costs_what_it_adds(pg: PgServer, schema: str) -> None:
    """A list of messages of a kilobyte: the hundredth turn costs what the tenth did. Rows: S0-123."""
    early, late = turns(pg, schema, [30, 30, 60], 1024)[::2]
    assert late < early * 1.6
    assert late < 6 * 1024, f"{early} bytes a turn at first, {late} later"


def test_a_small_step_costs_little(pg: PgServer, schema: str) -> None:
    (bytes_a_turn,) = turns(pg, schema, [50], 40)
    assert bytes_a_turn < 3_000
