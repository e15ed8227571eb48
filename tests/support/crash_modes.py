"""More programs that get killed: durability "async" and "exit", error handlers, caches, calls in nodes, forks of a thread."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

from lawful.effects import Lookup, Natural, effect
from lawful.effects.recover import recover_sync
from lawful.graph import START, CachePolicy, Command, NodeError, RetryPolicy, Runtime, Send, StateGraph, interrupt
from lawful.graph.functional import task
from lawful.stores.sqlite_cache import SQLiteCache
from lawful.testing.crash import Life, history_of, run_to_end, watch_writes
from lawful.testing.crash import Write as Written
from support.crash_programs import Nodes, hear, note, notes, ran_again, twelve
from support.graphs import concat

ON = {"configurable": {"thread_id": "crash"}}


class Log(TypedDict, total=False):
    log: Annotated[list[str], concat]
    word: str


def held(life: Life, result: Any) -> Any:
    """The result, unless something ran although an earlier process had heard that it is stored."""
    again = ran_again(life.folder)
    if again:
        raise AssertionError(f"ran again: {again}")
    return result


def lines(folder: Path) -> dict[str, int]:
    """How often each line was left in the world."""
    found = [line["name"] for line in notes(folder, "world")]
    return {name: found.count(name) for name in found}


def leave(life: Life) -> Any:
    """An effect that leaves a line in the world, and can look whether it did."""

    @effect("name", capability=Natural() & Lookup("strong"), tool="leave")
    def left(name: str) -> str:
        note(life.folder, "world", name=name)
        return f"left {name}"

    @left.lookup
    def there(name: str) -> str | None:  # pyright: ignore[reportUnusedFunction]
        return f"left {name}" if name in lines(life.folder) else None

    recover_sync(life.journal, [left])
    return left


# Durability


def _twelve_in(life: Life, driver: Any, durability: Any) -> Any:
    hear(life)
    graph = twelve(Nodes(life, driver == "async"))
    state = run_to_end(
        graph, {"trail": ["in"]}, answer=lambda q: f"yes to {q.value}", driver=driver, durability=durability
    )
    told = {"state": state, "sink": (life.folder / "sink").read_text().splitlines()}
    if durability == "async":
        told["history"] = history_of(graph)
    return held(life, told)


def background_sync(life: Life) -> Any:
    """The graph of twelve steps, whose checkpoints are written in the background."""
    return _twelve_in(life, "sync", "async")


def background_async(life: Life) -> Any:
    return _twelve_in(life, "async", "async")


def at_exit_sync(life: Life) -> Any:
    """The graph of twelve steps, with a checkpoint only where it pauses or ends."""
    return _twelve_in(life, "sync", "exit")


def at_exit_async(life: Life) -> Any:
    return _twelve_in(life, "async", "exit")


# Error handlers


def hear_failures(life: Life) -> None:
    """Note which tasks' failures the journal acknowledged: their handlers go on, and they never run again."""

    def hook(write: Written) -> None:
        if write.place != "after" or write.batch is None:
            return
        for record in write.batch.records:
            kind = getattr(getattr(record, "writes", None), "kind", "")
            if kind == "error":
                note(life.folder, "heard", process=life.number, task=record.writes.task)  # type: ignore[union-attr]

    watch_writes(life.journal, hook)


def _handled(life: Life, driver: str) -> Any:
    hear_failures(life)
    left, nodes = leave(life), Nodes(life, False)

    def broken(state: Log, runtime: Runtime[None]) -> Log:
        nodes.left("broken", runtime)
        raise ConnectionError("down")

    def deep(state: Log) -> Log:
        raise ConnectionError(
            "deep down"
        )  # no handler of its own: it may run again until its holder's failure is stored

    def asks(state: Log, error: NodeError) -> Any:
        told = interrupt(f"{error.node}?")
        return Command(update={"log": [f"{error.node}: {error.error}: {told}", left("asked")]}, goto="after")

    def mends(state: Log, error: NodeError) -> Log:
        return {"log": [f"mended {error.node}: {error.error}", left(f"mended {error.node}")]}

    def after(state: Log) -> Log:
        return {"log": [f"after {len(state.get('log', []))}"]}

    inner = StateGraph(Log).add_node("deep", deep).add_edge(START, "deep")
    retry = RetryPolicy(max_attempts=2, initial_interval=0.0, jitter=False, retry_on=ConnectionError)
    graph: Any = StateGraph(Log)
    graph.set_node_defaults(error_handler=mends)
    graph.add_node("shaky", broken, error_handler=asks, retry_policy=retry)
    graph.add_node("plain", broken).add_node("hold", inner.compile()).add_node("steady", after)
    graph.add_node("after", after).add_node("late", broken)
    for name in ("shaky", "plain", "hold", "steady"):
        graph.add_edge(START, name)
    graph.add_edge("after", "late")
    made = graph.compile(checkpointer=life.journal)
    state = run_to_end(made, {"log": []}, answer=lambda q: f"yes to {q.value}", driver=driver)  # type: ignore[arg-type]
    return held(life, {"state": state, "history": history_of(made)})


def handled_sync(life: Life) -> Any:
    """Three nodes fail beside one that does not: one's handler asks and goes on elsewhere, a subgraph's failure is handled."""
    return _handled(life, "sync")


def handled_async(life: Life) -> Any:
    return _handled(life, "async")


# Caches


def _cached(life: Life, driver: str) -> Any:
    hear(life)
    nodes = Nodes(life, driver == "async")
    graph: Any = StateGraph(Log)
    policy = CachePolicy(scope="thread")

    def size(state: Log) -> Log:
        return {"log": [f"size {len(state.get('word', ''))}"]}

    def ask(state: Log) -> Log:
        return {"word": interrupt("word?")}

    def spread(state: Log) -> list[Send]:
        return [Send("each", {"word": word}) for word in ("a", "bb", "a")]

    for name in ("first", "each", "again"):
        graph.add_node(name, _quiet(nodes, name, size), cache_policy=policy)
    graph.add_node("ask", _quiet(nodes, "ask", ask))
    graph.add_edge(START, "first").add_conditional_edges("first", spread, ["each"])
    graph.add_edge("each", "ask").add_edge("ask", "again")
    with closing(SQLiteCache(life.folder / "cache.db")) as cache:
        made = graph.compile(checkpointer=life.journal, cache=cache)
        state = run_to_end(made, {"log": [], "word": "x"}, answer=lambda q: "yes", driver=driver)  # type: ignore[arg-type]
        return held(life, {"state": state, "history": history_of(made)})


def _quiet(nodes: Nodes, name: str, body: Any) -> Any:
    """A node that leaves word that it ran, and nothing of it in the state."""

    def work(state: Log, runtime: Runtime[None]) -> Log:
        result = body(state)
        nodes.left(name, runtime)
        return result

    async def work_async(state: Log, runtime: Runtime[None]) -> Log:
        await asyncio.sleep(0)
        return work(state, runtime)

    return work_async if nodes.is_async else work


def cached_sync(life: Life) -> Any:
    """Nodes, packets too, whose results a file keeps for the thread."""
    return _cached(life, "sync")


def cached_async(life: Life) -> Any:
    return _cached(life, "async")


# Calls in nodes


def _calls(life: Life, driver: str, durability: Any = None) -> Any:
    hear(life)
    left, nodes = leave(life), Nodes(life, False)

    @task
    def plain(word: str) -> str:
        return word.upper()

    @task
    def world(word: str) -> str:
        return left(word)

    @task
    def both(words: list[str]) -> list[str]:
        return [f.result() for f in [world(word) for word in words]]

    def first(state: Log, runtime: Runtime[None]) -> Log:
        one, two, lines = plain("a"), plain("b"), both(["one", "two"])
        told = [one.result(), two.result(), *lines.result()]
        answer: str = interrupt(f"{told[0]}?")
        last = world("three").result()
        nodes.left("first", runtime)
        return {"log": [*told, answer, last]}

    def second(state: Log, runtime: Runtime[None]) -> Log:
        found = plain(str(len(state.get("log", [])))).result()
        nodes.left("second", runtime)
        return {"log": [found]}

    graph = StateGraph(Log).add_node("first", first).add_node("beside", second).add_node("second", second)
    graph.add_edge(START, "first").add_edge(START, "beside").add_edge("first", "second")
    made: Any = graph.compile(checkpointer=life.journal)
    state = run_to_end(
        made,
        {"log": []},
        answer=lambda q: f"yes to {q.value}",
        driver=driver,  # type: ignore[arg-type]
        durability=durability,
    )
    return held(life, {"state": state})


def calls_sync(life: Life) -> Any:
    """A node whose calls run beside each other and leave lines in the world, a question between them, one more call."""
    return _calls(life, "sync")


def calls_async(life: Life) -> Any:
    return _calls(life, "async")


def calls_background(life: Life) -> Any:
    return _calls(life, "sync", "async")


def calls_at_exit(life: Life) -> Any:
    return _calls(life, "sync", "exit")


# Time travel


def _travels(life: Life, driver: Any) -> Any:
    hear(life)
    nodes = Nodes(life, driver == "async")

    def ask(state: Log) -> Log:
        return {"word": interrupt("word?"), "log": ["asked"]}

    def say(name: str) -> Any:
        def told(state: Log) -> Log:
            return {"log": [f"{name} {len(state.get('log', []))}"]}

        return _quiet(nodes, name, told)

    inner: Any = StateGraph(Log).add_node("one", say("one")).add_node("two", say("two"))
    kept = inner.add_edge(START, "one").add_edge("one", "two").compile(checkpointer=True)
    graph: Any = StateGraph(Log).add_node("a", say("a")).add_node("hold", kept).add_node("c", say("c"))
    graph.add_node("ask", _quiet(nodes, "ask", ask)).add_edge(START, "a").add_edge("a", "hold")
    graph.add_edge("hold", "ask").add_edge("ask", "c")
    made = graph.compile(checkpointer=life.journal)

    def end(given: Any = None) -> Any:
        return run_to_end(made, given, answer=lambda q: f"to {q.value}", driver=driver)

    sources = [entry.metadata["source"] for entry in made.get_state_history(ON)]
    end({"log": ["in"]})
    if "fork" not in sources:
        old = next(entry for entry in [*made.get_state_history(ON)][::-1] if entry.next == ("hold",))
        (asyncio.run(made.replay(old)) if driver == "async" else made.replay_sync(old))
        end()
    if "update" not in sources:
        old = next(entry for entry in [*made.get_state_history(ON)][::-1] if entry.next == ("c",))
        made.update_state(old.config, {"log": ["changed"]}, as_node="ask")
    state = end()
    below = [
        e.values for e in made.get_state_history({"configurable": {"thread_id": "crash", "checkpoint_ns": "hold"}})
    ]
    return held(life, {"state": state, "history": history_of(made), "below": below[::-1]})


def travels_sync(life: Life) -> Any:
    """A thread that ends, is replayed from before a subgraph with a memory, is changed at an older point, and ends again."""
    return _travels(life, "sync")


def travels_async(life: Life) -> Any:
    return _travels(life, "async")
