"""What a cache never keeps, and caches in trouble: away, damaged, missing, of another kind."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from lawful import effect
from lawful.core.errors import ConfigurationError, CorruptRecord, Failure, UnknownType
from lawful.graph import (
    START,
    Command,
    RetryPolicy,
    StateGraph,
    interrupt,
    untracked,
)
from lawful.graph.caching import code_digest
from lawful.journal.cache_port import Cache
from lawful.journal.memory import MemoryJournal
from lawful.stores import MemoryCache
from support.caching import SHARED, State, cache, counting, one
from support.graphs import Drive, concat, on
from support.pausing import Calls, asked

pytestmark = pytest.mark.unit

__all__ = ["cache"]


# What is never kept


class Hidden(TypedDict, total=False):
    log: Annotated[list[str], concat]
    handle: Annotated[Any, untracked()]


def test_an_attempt_that_planned_an_effect_is_never_kept(drive: Drive, cache: Cache) -> None:
    """Neither its own nor one of a graph inside it: a hit would leave the effect out.

    Rules: 187. Rows: S1-P11
    """
    sent, calls = Calls(), Calls()

    @effect("to")
    def mail(to: str) -> str:
        sent("mail")
        return f"sent to {to}"

    @mail.lookup
    def _(to: str) -> Any:
        return None

    def work(state: State) -> State:
        calls("work")
        return {"log": [mail(f"user {calls.of('work')}")]}

    def build(holding: bool) -> Any:
        builder: Any = StateGraph(State)
        inner: Any = StateGraph(State).add_node("work", work).add_edge(START, "work").compile()
        builder.add_node("work", inner if holding else work, cache_policy=SHARED).add_edge(START, "work")
        return builder.compile(cache=cache, checkpointer=MemoryJournal(), name=f"holding {holding}")

    for holding in (False, True):
        for thread in ("a", "b"):
            drive.invoke(build(holding), {"n": 1}, on(thread))
    assert (calls.of("work"), sent.of("mail")) == (4, 4)


def test_a_persons_answer_is_never_kept(drive: Drive, cache: Cache) -> None:
    """It was given to one question of one run.

    Rules: 187
    """

    def work(state: State) -> State:
        return {"log": [interrupt("sure?")]}

    graph = one(drive, work, SHARED, cache=cache, checkpointer=MemoryJournal())
    for thread in ("a", "b"):
        assert len(asked(drive.invoke(graph, {"n": 1}, on(thread)))) == 1
        assert drive.invoke(graph, Command(resume="yes"), on(thread))["log"] == ["yes"]


def test_an_unstored_value_is_never_kept(drive: Drive, cache: Cache) -> None:
    """A hit could not bring it.

    Rules: 187
    """
    calls = Calls()

    def work(state: Hidden) -> Hidden:
        calls("work")
        return {"handle": object(), "log": ["x"]}

    builder: Any = StateGraph(Hidden).add_node("work", drive.node(work), cache_policy=SHARED).add_edge(START, "work")
    graph = builder.compile(cache=cache)
    for _ in range(2):
        drive.invoke(graph, {"log": []})
    assert calls.of("work") == 2


def test_a_failure_is_never_kept(drive: Drive, cache: Cache) -> None:
    """Rules: 187"""
    calls = Calls()

    def work(state: State) -> State:
        if calls("work") == 1:
            raise RuntimeError("once")
        return {"log": ["done"]}

    graph = one(drive, work, SHARED, cache=cache)
    with pytest.raises(RuntimeError):
        drive.invoke(graph, {"n": 1})
    for _ in range(2):
        assert drive.invoke(graph, {"n": 1})["log"] == ["done"]
    assert calls.of("work") == 2


# Trouble


class Broken(MemoryCache):
    """Cannot be read, or cannot be written."""

    def __init__(self, *, reads: bool) -> None:
        super().__init__()
        self._reads = reads

    def get(self, keys: Any) -> Any:
        if not self._reads:
            raise ConnectionError("the cache is away")
        return super().get(keys)

    def set(self, pairs: Any) -> None:
        raise ConnectionError("the cache is away")


def test_a_cache_that_is_away(drive: Drive) -> None:
    """One that cannot be asked fails its nodes, which may be retried; one that cannot keep is logged.

    Rules: 187
    """
    calls = Calls()
    with pytest.raises(ConnectionError):
        drive.invoke(one(drive, counting(calls), SHARED, cache=Broken(reads=False)), {"n": 1})
    node = {"retry_policy": RetryPolicy(initial_interval=0.001, jitter=False)}
    patient = one(drive, counting(calls), SHARED, node=node, cache=Broken(reads=False))
    assert drive.invoke(patient, {"n": 1})["log"] == ["worked on 1"]
    drive.invoke(one(drive, counting(calls), SHARED, cache=Broken(reads=True)), {"n": 1})
    assert calls.of("work") == 2


EVIL = [
    b"\x80\x04\x95\x1f\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.",
    b"\xc7\x05\x01hello",
    b"",
    b"\x93\x01\x02\x03",
    b"\xff" * 40,
]


@pytest.mark.parametrize("blob", EVIL, ids=["pickle", "extension", "empty", "another form", "noise"])
def test_bytes_in_a_cache_are_read_by_our_codec_alone(drive: Drive, cache: Cache, blob: bytes) -> None:
    """Whatever stands in the table: a typed error, nothing is run or imported, and clear_cache helps.

    Rules: 187
    """
    calls = Calls()
    graph = one(drive, counting(calls), SHARED, cache=cache)
    kept: list[Any] = []
    put = cache.set
    cache.set = lambda pairs: (kept.extend(pairs), put(pairs))[1]  # pyright: ignore[reportAttributeAccessIssue]
    drive.invoke(graph, {"n": 1})
    put({kept[0]: (blob, None)})
    with pytest.raises((CorruptRecord, UnknownType)):
        drive.invoke(graph, {"n": 1})
    assert calls.of("work") == 1
    graph.clear_cache(["work"])
    assert drive.invoke(graph, {"n": 1})["log"] == ["worked on 1"]


def test_clear_cache_names_what_is_not_there(drive: Drive, cache: Cache) -> None:
    """Rules: 187"""
    graph = one(drive, counting(Calls()), SHARED, cache=cache)
    with pytest.raises(ConfigurationError, match="'work'"):
        graph.clear_cache(["wrok"])
    drive.wait(graph.aclear_cache())
    with pytest.raises(ConfigurationError, match="cache"):
        one(drive, counting(Calls()), SHARED).clear_cache()


def test_a_policy_without_a_cache_is_told(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """The node runs every time, as in LangGraph, but not in silence.

    Rules: 187
    """
    calls = Calls()
    graph = one(drive, counting(calls), SHARED)
    for _ in range(2):
        drive.invoke(graph, {"n": 1})
    assert calls.of("work") == 2
    assert "without a cache" in caplog.text


def test_what_is_no_cache_is_refused(strict: bool) -> None:
    """Rules: 187"""
    builder: Any = StateGraph(State, strict=strict).add_node("work", counting(Calls())).add_edge(START, "work")
    for odd in (3, object(), "memory"):
        with pytest.raises(Failure, match="Cache"):
            builder.compile(cache=odd)


def test_equal_code_has_an_equal_digest_and_changed_code_has_not() -> None:
    """Rules: 187"""

    def make(text: str) -> Any:
        space: dict[str, Any] = {}
        exec(text, space)
        return space["f"]

    told = "def f(s):\n    g = lambda x: x in {'a', 'b'}\n    return {'n': %s}"
    assert code_digest(make(told % 1)) == code_digest(make(told % 1))
    assert code_digest(make(told % 1)) != code_digest(make(told % 2))
