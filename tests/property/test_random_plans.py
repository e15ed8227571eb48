"""Random graphs: they end, and end alike on both drivers, on both journals, streamed or not, and cut anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from lawful.core import events as ev
from lawful.core.canonical import state_bytes
from lawful.core.errors import GraphRecursionError
from lawful.core.event_rules import disordered, unpaired
from lawful.graph import Overwrite
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.crash import Place, run_to_end
from lawful.testing.graphs import (
    REDUCERS,
    Block,
    Chain,
    Choice,
    Fan,
    Loop,
    Nested,
    PlanState,
    Spread,
    Work,
    acyclic,
    build,
    limit,
    longest,
    plan_json,
    plan_of,
    plans,
)
from support.crash_cuts import DRIVERS, PLACES, Driver, cut_at_write, touching
from support.graphs import driving, on
from support.pausing import within

pytestmark = pytest.mark.property

GIVEN: PlanState = {"trail": ["in"], "total": 2}
MANY = settings().max_examples
SOME = MANY // 2
FEW = MANY // 5
SMALL = plans(questions=True, max_leaves=3)
"""Each example is run once for every cut, so they are small."""
RICH = Chain((Work(jumps=True), Fan((Nested(Work(asks=True)), Loop(Spread(2), 2), Work())), Choice((Work(), Work()))))
"""A plan with something of each kind, tried every time."""


def both_drivers(test: Callable[..., None]) -> Callable[..., None]:
    return pytest.mark.parametrize("driver", DRIVERS)(test)


def compiled(plan: Block, journal: Journal | None, driver: Driver, touch: Any = None, **options: Any) -> Any:
    """The plan's graph; async nodes for the async driver, and a limit that it never needs."""
    graph: Any = build(plan, is_async=driver == "async", touch=touch)
    return graph.compile(checkpointer=journal, **options).with_config(on(limit=limit(plan)))


def whole(plan: Block) -> bytes:
    """The state in which an uncut run ends, in memory and in the caller's thread."""
    return state_bytes(run_to_end(compiled(plan, MemoryJournal(), "sync"), GIVEN))


@given(plan=plans(questions=True))
@example(plan=RICH)
def test_a_plan_is_the_same_after_a_trip_through_json(plan: Block) -> None:
    assert plan_of(plan_json(plan)) == plan


@both_drivers
@settings(max_examples=SOME)
@given(plan=plans())
@example(plan=Fan((Loop(Fan((Work(), Spread(3)), defer=True), 3), Nested(Loop(Work(), 2), called=True))))
def test_every_plan_ends_within_its_longest_path(driver: Driver, plan: Block) -> None:
    """And an acyclic one visits no node twice, but for packets. Rows: S1-045. Rules: 50, 29."""
    ran: list[str] = []
    graph = compiled(plan, None, driver, ran.append)
    with driving(driver) as drive:
        drive.invoke(graph, GIVEN, on(limit=limit(plan)))
    once = [name for name in ran if "each" not in name]
    assert not acyclic(plan) or len(once) == len(set(once))
    event("acyclic" if acyclic(plan) else "with a loop")


@settings(max_examples=SOME)
@given(plan=plans(nested=False))
def test_one_step_less_than_the_longest_path_is_too_few_where_all_paths_are_equal(plan: Block) -> None:
    """Rows: S1-045. Rules: 50."""
    if any(isinstance(part, Choice) for part in _all(plan)):
        return
    with pytest.raises(GraphRecursionError):
        compiled(plan, None, "sync").invoke(GIVEN, on(limit=longest(plan)))


def _all(plan: Block) -> list[Block]:
    match plan:
        case Chain(parts) | Choice(parts) | Fan(parts, _):
            return [plan, *(inner for part in parts for inner in _all(part))]
        case Loop(body, _) | Nested(body, _):
            return [plan, *_all(body)]
        case _:
            return [plan]


@settings(max_examples=SOME)
@given(plan=plans(questions=True))
@example(plan=RICH)
def test_both_drivers_and_both_journals_end_alike(plan: Block, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sync nodes and async ones, and sync ones under the async driver. Rows: S1-011, S1-051. Rules: 32, 35."""
    wanted = whole(plan)
    folder = tmp_path_factory.mktemp("alike")
    for driver in DRIVERS:
        file = SQLiteJournal(folder / f"{driver}.db")
        assert state_bytes(run_to_end(compiled(plan, file, driver), GIVEN, driver=driver)) == wanted
        file.close()
    threads = compiled(plan, MemoryJournal(), "sync")
    assert state_bytes(run_to_end(threads, GIVEN, driver="async")) == wanted


@both_drivers
@settings(max_examples=SOME)
@given(plan=plans())
def test_a_journal_changes_nothing(driver: Driver, plan: Block) -> None:
    """Without one the result is the same. Rows: S1-047."""
    with driving(driver) as drive:
        bare = drive.invoke(compiled(plan, None, driver), GIVEN)
        assert state_bytes(bare) == whole(plan)


# What a stream tells


@both_drivers
@settings(max_examples=SOME)
@given(plan=plans())
@example(plan=Fan((Spread(3), Nested(Fan((Work(), Spread(2)))), Work())))
def test_invoke_is_the_fold_of_stream(driver: Driver, plan: Block) -> None:
    """The last of the values; the tasks' results folded by the reducers; and the updates, their order aside.

    Rules: 20, 35, 37, 167, 169, 170, 39.
    """
    with driving(driver) as drive:
        graph = compiled(plan, None, driver)
        wanted = drive.invoke(graph, GIVEN)
        events = drive.stream(graph, GIVEN, stream_mode=["values", "updates", "tasks"])
    values = [payload for mode, payload in events if mode == "values"]
    assert values[-1] == wanted
    assert fold([payload for mode, payload in events if mode == "tasks"]) == wanted
    loose: dict[str, Any] = dict(GIVEN)
    for mode, payload in events:
        if mode == "updates":
            for update in payload.values():
                for one in cast("list[Any]", update if isinstance(update, list) else [update]):
                    merge(loose, one or {})
    for state in (loose, wanted):
        state["trail"] = sorted(state["trail"])
        state.setdefault("turns", {})
        state.pop("word", None)
    assert loose == wanted


def fold(tasks: list[Any]) -> dict[str, Any]:
    """Results in the order in which the tasks of each step were announced, onto what was given."""
    state: dict[str, Any] = dict(GIVEN)
    state["turns"] = {}
    results = {task["id"]: task["result"] for task in tasks if "result" in task}
    for task in tasks:
        if "result" in task:
            continue
        for key, value in results[task["id"]].items():
            several = isinstance(value, dict) and "$writes" in value
            for one in cast("list[Any]", value["$writes"] if several else [value]):
                merge(state, {key: one})
    return state


def merge(state: dict[str, Any], update: dict[str, Any]) -> None:
    for key, value in update.items():
        assert not isinstance(value, Overwrite)
        state[key] = REDUCERS[key](state[key], value) if key in REDUCERS and key in state else value


@both_drivers
@settings(max_examples=SOME)
@given(plan=plans())
@example(plan=Fan((Spread(3), Nested(Fan((Work(), Spread(2)))), Work())))
def test_events_tell_the_same_story_as_the_modes(driver: Driver, plan: Block) -> None:
    """The last state is what invoke returns; states, steps and checkpoints are those of the modes; all is paired.

    Rows: S0-051, S0-052. Rules: 167, 170, 172.
    """
    with driving(driver) as drive:
        wanted = drive.invoke(compiled(plan, None, driver), GIVEN)
        modes = ["events", "values", "tasks", "checkpoints"]
        chunks = drive.stream(compiled(plan, MemoryJournal(), driver), GIVEN, on("t"), stream_mode=modes)
    events: list[ev.Event] = [payload for mode, payload in chunks if mode == "events"]
    own = [e for e in events if e.parent_run_id is None]
    told = {mode: [payload for m, payload in chunks if m == mode] for mode in modes}
    assert unpaired(events) == []
    assert disordered(events) == []
    states = [e.values for e in own if isinstance(e, ev.StateUpdated)]
    assert states == told["values"]
    assert states[-1] == wanted
    started = [e.span.partition("#")[0] for e in own if isinstance(e, ev.NodeStarted)]
    assert started == [task["id"] for task in told["tasks"] if "input" in task]
    ended = [e.span.partition("#")[0] for e in own if isinstance(e, ev.NodeEnded)]
    assert ended == [task["id"] for task in told["tasks"] if "result" in task]
    checkpoints = [e.checkpoint for e in own if isinstance(e, ev.Checkpointed)]
    assert checkpoints == [told["config"]["configurable"]["checkpoint_id"] for told in told["checkpoints"]]
    nested = any(isinstance(part, Nested) for part in _all(plan))
    assert nested or own == events


# Cuts


@both_drivers
@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=FEW)
@given(plan=SMALL)
@example(plan=RICH)
def test_cut_at_every_write(driver: Driver, place: Place, plan: Block) -> None:
    """A store that fails there, before it has written or after: another graph object ends in the same state.

    Rows: S1-047, S1-046. Rules: 84, 92, 93, 104.
    """
    every_write(plan, driver, place, None)


@both_drivers
@settings(max_examples=max(FEW // 2, 1))
@given(plan=SMALL)
def test_cut_at_every_write_to_a_file(driver: Driver, plan: Block, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Opened anew by whoever goes on. Rows: S1-047. Rules: 84, 92."""
    every_write(plan, driver, "before", tmp_path_factory.mktemp("cut"))


def every_write(plan: Block, driver: Driver, place: Place, folder: Path | None) -> None:
    wanted = whole(plan)
    for n in range(1, 1_000):
        state = cut_at_write(lambda journal: compiled(plan, journal, driver), GIVEN, driver, n, place, folder)
        if state is None:
            assert n > 1
            return
        assert state_bytes(state) == wanted, f"cut {place} write {n}"


@both_drivers
@settings(max_examples=FEW)
@given(plan=SMALL)
@example(plan=RICH)
def test_cut_in_every_node(driver: Driver, plan: Block) -> None:
    """Each in turn raises when it begins; the rest goes on from what is stored. Rows: S1-047, S1-046. Rules: 91, 92."""
    wanted = whole(plan)
    for n in range(1, 1_000):
        journal = MemoryJournal()
        touch = touching(n)
        try:
            state = run_to_end(compiled(plan, journal, driver, touch), GIVEN, driver=driver)
        except ConnectionError:
            state = run_to_end(compiled(plan, journal, driver, touch), GIVEN, driver=driver)
            assert state_bytes(state) == wanted, f"cut in node {n}"
        else:
            assert n > 1
            assert state_bytes(state) == wanted
            return


@both_drivers
@settings(max_examples=SOME)
@given(plan=plans(questions=True), before=st.booleans())
@example(plan=RICH, before=True)
def test_cut_between_all_steps(driver: Driver, plan: Block, before: bool) -> None:
    """By breakpoints at every node. Rows: S1-047. Rules: 123, 124, 127, 132."""
    stops: Any = {"interrupt_before": "*"} if before else {"interrupt_after": "*"}
    graph = compiled(plan, MemoryJournal(), driver, **stops)
    assert state_bytes(run_to_end(graph, GIVEN, driver=driver)) == whole(plan)


@both_drivers
@settings(max_examples=SOME)
@given(plan=plans(), steps=st.integers(2, 5))
def test_cut_by_the_step_limit(driver: Driver, plan: Block, steps: int) -> None:
    """Over and over, each time a few steps further. Rows: S1-047, S1-045. Rules: 50, 51."""
    graph = compiled(plan, MemoryJournal(), driver)
    given: Any = GIVEN
    with driving(driver) as drive:
        for _ in range(1_000):
            try:
                state = drive.invoke(graph, given, on("t", limit=steps))
            except GraphRecursionError:
                given = None
                continue
            assert state_bytes(state) == whole(plan)
            return
    pytest.fail("it does not end")


@both_drivers
@settings(max_examples=FEW)
@given(plan=plans(max_leaves=4))
@example(plan=Chain((Fan((Work(), Spread(2))), Work())))
def test_cut_by_closing_the_stream(driver: Driver, plan: Block) -> None:
    """After each of its events. Rows: S1-047. Rules: 100, 181."""
    wanted = whole(plan)
    with driving(driver) as drive:
        events = len(drive.stream(compiled(plan, MemoryJournal(), driver), GIVEN, on("t"), stream_mode="updates"))
        for n in range(1, events + 1):
            graph = compiled(plan, MemoryJournal(), driver)
            with within(10):
                leave_after(driver, graph, n)
            assert state_bytes(drive.invoke(graph, None, on("t"))) == wanted, f"left after event {n}"


def leave_after(driver: Driver, graph: Any, n: int) -> None:
    """Take ``n`` events of the stream and close it."""
    if driver == "sync":
        stream = graph.stream(GIVEN, on("t"), stream_mode="updates")
        for _ in range(n):
            next(stream)
        stream.close()
        return

    async def leave() -> None:
        async with graph.astream(GIVEN, on("t"), stream_mode="updates") as events:
            for _ in range(n):
                await anext(events)

    asyncio.run(leave())


@both_drivers
@settings(max_examples=FEW)
@given(plan=plans(max_leaves=4))
def test_every_checkpoint_leads_to_the_same_end(driver: Driver, plan: Block) -> None:
    """Replayed from each, the newest branch ends as the first did. Rows: S1-047. Rules: 153, 154, 163."""
    graph = compiled(plan, MemoryJournal(), driver)
    with driving(driver) as drive:
        wanted = state_bytes(drive.invoke(graph, GIVEN, on("t")))
        for entry in drive.get_state_history(graph, on("t")):
            assert state_bytes(drive.invoke(graph, None, entry.config)) == wanted
            assert state_bytes(drive.get_state(graph, on("t")).values) == wanted
