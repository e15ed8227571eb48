"""Rules of cache policies: what a hit is, who may share a result, and what is never kept."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import ValidationError
from lawful.func import entrypoint, task
from lawful.graph import (
    START,
    CachePolicy,
    Command,
    NodeError,
    RetryPolicy,
    Send,
    StateGraph,
)
from lawful.journal.cache_port import Cache
from lawful.journal.memory import MemoryJournal
from lawful.stores import MemoryCache
from support.caching import SHARED, State, cache, counting, one
from support.graphs import Drive, on
from support.pausing import Calls

pytestmark = pytest.mark.unit

__all__ = ["cache"]


def test_a_hit_skips_the_node_and_says_so(drive: Drive, cache: Cache, strict: bool) -> None:
    """The update is streamed with its mark, and the state is as if the node had run.

    Rules: 187. Rows: S1-P11
    """
    calls, journal = Calls(), MemoryJournal()
    graph = one(drive, counting(calls), SHARED, strict=strict, cache=cache, checkpointer=journal)
    assert drive.invoke(graph, {"n": 1}, on("a")) == {"log": ["worked on 1"], "n": 1}
    events = drive.stream(graph, {"n": 1}, on("b"), stream_mode=["updates", "tasks", "values"])
    assert ("updates", {"work": {"log": ["worked on 1"]}, "__metadata__": {"cached": True}}) in events
    assert [mode for mode, _ in events if mode == "tasks"] == []
    assert events[-1] == ("values", {"log": ["worked on 1"], "n": 1})
    assert calls.of("work") == 1
    for thread in ("a", "b"):
        assert drive.get_state(graph, on(thread)).values == {"log": ["worked on 1"], "n": 1}
    drive.invoke(graph, {"n": 2}, on("c"))
    assert calls.of("work") == 2


def test_a_result_is_the_runs_own_unless_said_otherwise(drive: Drive, cache: Cache, strict: bool) -> None:
    """By default a hit is for a node that comes again on the same input; another run works anew.

    Rules: 187
    """
    calls = Calls()

    def again(state: State) -> Command[Any]:
        return Command(goto="work" if calls("again") % 2 else "__end__")

    def work(state: State) -> Command[Any]:
        calls("work")
        return Command(goto="again")

    def build() -> Any:
        builder: Any = StateGraph(State, strict=strict).add_node("work", drive.node(work), cache_policy=CachePolicy())
        return builder.add_node("again", drive.node(again)).add_edge(START, "work").compile(cache=cache)

    drive.invoke(build(), {"n": 1})
    assert (calls.of("work"), calls.of("again")) == (1, 2)
    drive.invoke(build(), {"n": 1})
    assert (calls.of("work"), calls.of("again")) == (2, 4)


def test_a_thread_may_keep_its_results_for_itself(drive: Drive, cache: Cache) -> None:
    """Rules: 187"""
    calls, journal = Calls(), MemoryJournal()

    def always(state: State) -> str:
        return "always"

    policy = CachePolicy(scope="thread", key_func=always)
    graph = one(drive, counting(calls), policy, cache=cache, checkpointer=journal)
    for thread, ran in (("a", 1), ("a", 1), ("b", 2), ("a", 2)):
        drive.invoke(graph, {"n": 1}, on(thread))
        assert calls.of("work") == ran


def test_tenants_share_nothing(drive: Drive, cache: Cache) -> None:
    """The journal's scope is the first part of every key, also of shared results, and `clear_cache` keeps to it.

    Rules: 187
    """
    calls, journal = Calls(), MemoryJournal()
    graphs = {
        tenant: one(drive, counting(calls), SHARED, cache=cache, checkpointer=journal.scoped(tenant))
        for tenant in ("acme", "umbrella")
    }
    for thread, (tenant, ran) in enumerate((("acme", 1), ("umbrella", 2), ("acme", 2), ("umbrella", 2))):
        drive.invoke(graphs[tenant], {"n": 1}, on(str(thread)))
        assert calls.of("work") == ran
    graphs["acme"].clear_cache()
    drive.invoke(graphs["umbrella"], {"n": 1}, on("v"))
    assert calls.of("work") == 2


def test_other_graphs_nodes_and_code_share_nothing(drive: Drive, cache: Cache) -> None:
    """Rules: 187"""
    calls = Calls()

    def other(state: State) -> State:
        calls("other")
        return {"log": ["another body"]}

    other.__name__, other.__qualname__ = "work", counting(calls).__qualname__
    for body, name in ((counting(calls), "g"), (counting(calls), "h"), (other, "g")):
        drive.invoke(one(drive, body, SHARED, cache=cache, name=name), {"n": 1})
    assert (calls.of("work"), calls.of("other")) == (2, 1)


def number(state: State) -> str:
    return str(state.get("n"))


def test_the_runs_context_is_part_of_a_shared_key(drive: Drive, cache: Cache) -> None:
    """What one user's run gave is no answer for another's; a context that cannot be written down needs a key_func.

    Rules: 187
    """
    calls = Calls()
    graph = one(drive, counting(calls), SHARED, cache=cache)
    for user, ran in (("ada", 1), ("bob", 2), ("ada", 2)):
        drive.invoke(graph, {"n": 1}, context={"user": user})
        assert calls.of("work") == ran
    with pytest.raises(ValidationError, match="key_func"):
        drive.invoke(graph, {"n": 1}, context=object())
    own = one(drive, counting(calls), CachePolicy(scope="shared", key_func=number), cache=cache)
    drive.invoke(own, {"n": 1}, context=object())


def test_key_func_tells_what_counts(drive: Drive, cache: Cache, strict: bool) -> None:
    """Text and bytes of equal letters are two keys.

    Rules: 187. Rows: S1-P11
    """
    calls = Calls()

    def parity(state: State) -> str | bytes:
        return "1" if state.get("n", 0) % 2 else b"1"

    graph = one(drive, counting(calls), CachePolicy(key_func=parity, scope="shared"), strict=strict, cache=cache)
    for n, ran in ((1, 1), (3, 1), (2, 2), (4, 2)):
        drive.invoke(graph, {"n": n})
        assert calls.of("work") == ran


def test_a_key_func_that_fails_is_the_nodes_failure(drive: Drive, cache: Cache, strict: bool) -> None:
    """Its retry and its handler apply.

    Rules: 187, 192
    """

    def wrong(state: State) -> Any:
        return n if (n := state.get("n")) else 1 / 0

    def handle(state: State, error: NodeError) -> State:
        return {"log": [type(error.error).__name__]}

    node = {"error_handler": handle}
    graph = one(drive, counting(Calls()), CachePolicy(key_func=wrong), strict=strict, node=node, cache=cache)
    assert drive.invoke(graph, {"log": [], "n": 0})["log"] == ["ZeroDivisionError"]
    assert drive.invoke(graph, {"log": [], "n": 1})["log"] == ["ValidationError"]


def test_a_result_lives_as_long_as_its_policy_says(drive: Drive) -> None:
    """Rules: 187"""
    calls, clock = Calls(), FixedClock()
    graph = one(drive, counting(calls), CachePolicy(ttl=10, scope="shared"), cache=MemoryCache(clock=clock))
    for passes, ran in ((0, 1), (9, 1), (2, 2)):
        clock.advance(passes)
        drive.invoke(graph, {"n": 1})
        assert calls.of("work") == ran


@pytest.mark.parametrize(
    "wrong", [{"ttl": 0}, {"ttl": -1}, {"ttl": True}, {"scope": "everyone"}, {"key_func": 3}], ids=str
)
def test_a_policy_that_cannot_be_kept_is_refused(wrong: Any) -> None:
    """Rules: 187"""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        CachePolicy(**wrong)


def test_sends_goto_and_tasks_of_one_step(drive: Drive, cache: Cache, strict: bool) -> None:
    """A kept result brings its targets and packets; of one step some tasks may hit and others run.

    Rules: 187, 67
    """
    calls = Calls()

    def spread(state: State) -> Any:
        calls("spread")
        return Command(update={"log": ["spread"]}, goto=[Send("leaf", {"n": n}, timeout=None) for n in range(3)])

    def leaf(state: Any) -> State:
        calls(f"leaf {state['n']}")
        if state["n"] == calls.of("bad") and calls("tries") < 4:
            raise RuntimeError("not yet")
        return {"log": [f"leaf {state['n']}"]}

    builder: Any = StateGraph(State, strict=strict).add_node("spread", drive.node(spread), cache_policy=SHARED)
    builder.add_node("leaf", drive.node(leaf), cache_policy=SHARED).add_edge(START, "spread")
    graph = builder.compile(cache=cache, name="g")
    policy = RetryPolicy(initial_interval=0.001, max_attempts=1)
    assert policy.max_attempts == 1
    for _ in range(4):
        try:
            out = drive.invoke(graph, {"log": []})
        except RuntimeError:
            continue
        assert out["log"] == ["spread", "leaf 0", "leaf 1", "leaf 2"]
    assert calls.of("spread") == 1
    assert calls.of("leaf 1") <= 4


def test_a_hit_is_kept_when_its_step_does_not_close(drive: Drive, cache: Cache) -> None:
    """A sibling fails: on resume the hit is not asked for again.

    Rules: 187, 90
    """
    calls, journal = Calls(), MemoryJournal()

    def bad(state: State) -> State:
        if calls("bad") == 1:
            raise RuntimeError("once")
        return {"log": ["bad"]}

    drive.invoke(one(drive, counting(calls), SHARED, cache=cache), {"n": 1})
    builder: Any = StateGraph(State).add_node("work", drive.node(counting(calls)), cache_policy=SHARED)
    builder.add_node("bad", drive.node(bad)).add_edge(START, "work").add_edge(START, "bad")
    graph = builder.compile(cache=cache, checkpointer=journal, name="g")
    with pytest.raises(RuntimeError):
        drive.invoke(graph, {"n": 1}, on("t"))
    assert drive.get_state(graph, on("t")).next == ("bad",)
    cache.clear()
    assert drive.invoke(graph, None, on("t"))["log"] == ["bad", "worked on 1"]
    assert calls.of("work") == 1


def test_a_graph_inside_uses_the_cache_of_the_one_around_it(drive: Drive, cache: Cache, strict: bool) -> None:
    """Rules: 187"""
    calls = Calls()
    inner = one(drive, counting(calls), SHARED, strict=strict)
    builder: Any = StateGraph(State, strict=strict).add_node("hold", inner).add_edge(START, "hold")
    graph = builder.compile(cache=cache)
    for _ in range(2):
        assert drive.invoke(graph, {"n": 1})["log"] == ["worked on 1"]
    assert calls.of("work") == 1


def test_tasks_of_an_entrypoint_are_cached_too(drive: Drive, cache: Cache) -> None:
    """By their arguments; `clear_cache` of the task forgets them.

    Rules: 187, 198
    """
    calls = Calls()

    @task(cache_policy=SHARED)
    def double(n: int, *, by: int = 2) -> int:
        return n * by + 0 * calls("double")

    @entrypoint(cache=cache)
    def flow(n: int) -> list[int]:
        return [double(n).result(), double(n).result(), double(n, by=3).result()]

    for _ in range(2):
        assert flow.invoke(4) == [8, 8, 12]
    assert calls.of("double") == 2
    double.clear_cache(cache)
    flow.invoke(4)
    assert calls.of("double") == 4
