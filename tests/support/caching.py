"""What tests of cached nodes share: caches of each kind, a node that counts its calls, a graph of one such node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from lawful.graph import START, CachePolicy, StateGraph
from lawful.journal.cache_port import Cache
from lawful.stores import EncryptedCache, MemoryCache, SQLiteCache
from support.ciphers import TestCipher
from support.graphs import Drive, concat
from support.pausing import Calls


class State(TypedDict, total=False):
    log: Annotated[list[str], concat]
    n: int


@pytest.fixture(params=["memory", "sqlite", "encrypted"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cache]:
    if request.param == "memory":
        yield MemoryCache()
        return
    if request.param == "encrypted":
        yield EncryptedCache(MemoryCache(), TestCipher({"k1": b"a" * 32}, "k1"))
        return
    made = SQLiteCache(tmp_path / "cache.db")
    yield made
    made.close()


SHARED = CachePolicy(scope="shared")


def counting(calls: Calls) -> Any:
    def work(state: State) -> State:
        calls("work")
        return {"log": [f"worked on {state.get('n')}"]}

    return work


def one(
    drive: Drive, body: Any, policy: Any, *, strict: bool = True, name: str = "g", node: Any = None, **options: Any
) -> Any:
    builder: Any = StateGraph(State, strict=strict)
    builder.add_node("work", drive.node(body), cache_policy=policy, **(node or {}))
    return builder.add_edge(START, "work").compile(name=name, **options)
