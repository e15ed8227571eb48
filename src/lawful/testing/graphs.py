"""Hypothesis strategies for random graphs that always end, as plans: values that can be printed, stored, and built anew.

A plan's nodes write down what they saw, so that two runs end alike only if every node saw the same state in both.
"""

from __future__ import annotations

import asyncio
import itertools
import operator
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias, TypedDict

import msgspec
from hypothesis import strategies as st
from msgspec import Struct

from lawful.graph import END, START, Command, Send, StateGraph, interrupt


class Work(Struct, frozen=True, tag="work"):
    """One node."""

    jumps: bool = False
    """Where one node follows it, say so by ``Command(goto=)`` instead of an edge."""
    asks: bool = False
    """Ask a question and write the answer down."""


class Spread(Struct, frozen=True, tag="spread"):
    """A node that sends ``width`` packets to another, and one that comes after all of them."""

    width: int


class Chain(Struct, frozen=True, tag="chain"):
    """One after the other."""

    parts: tuple[Block, ...]


class Choice(Struct, frozen=True, tag="choice"):
    """A node whose router takes one of ``parts`` by the state, and one where they meet again."""

    parts: tuple[Block, ...]


class Fan(Struct, frozen=True, tag="fan"):
    """A node, all ``parts`` side by side, and one that waits for all: by a join, or deferred where nothing else runs."""

    parts: tuple[Block, ...]
    defer: bool = False


class Loop(Struct, frozen=True, tag="loop"):
    """``body``, ``turns`` times."""

    body: Block
    turns: int


class Nested(Struct, frozen=True, tag="nested"):
    """``body`` as a graph of its own: a node itself, or called from one."""

    body: Block
    called: bool = False


Block: TypeAlias = Work | Spread | Chain | Choice | Fan | Loop | Nested
"""A plan, or a part of one: it has one way in and one way out."""


def _lists(left: list[str], right: list[str]) -> list[str]:
    return left + right


def _tally(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    return {key: left.get(key, 0) + right.get(key, 0) for key in left | right}


class PlanState(TypedDict, total=False):
    """The state of every plan's graph."""

    trail: Annotated[list[str], _lists]
    """Each node's name and what it saw, in the order in which the writes were applied."""
    total: Annotated[int, operator.add]
    turns: Annotated[dict[str, int], _tally]
    """How many turns each loop has made."""
    word: str
    """The last node that ran alone."""


REDUCERS: dict[str, Callable[[Any, Any], Any]] = {"trail": _lists, "total": operator.add, "turns": _tally}
"""How the keys of `PlanState` merge; ``word`` is replaced."""

Touch: TypeAlias = Callable[[str], float | None]
"""Called with a node's name when its body begins: may raise, and gives seconds to wait, or None."""


def plans(
    *, questions: bool = False, loops: bool = True, nested: bool = True, max_leaves: int = 5
) -> st.SearchStrategy[Block]:
    """Random plans: linear, branching by state, fan-out and join, Sends; bounded loops and subgraphs if wanted.

    With ``questions`` some nodes ask; a question is asked anew in every turn of a loop.
    """
    asks = st.booleans() if questions else st.just(False)
    leaves: st.SearchStrategy[Block] = st.builds(Work, st.booleans(), asks) | st.builds(Spread, st.integers(1, 3))

    def wider(inner: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        kinds: list[st.SearchStrategy[Block]] = [
            st.builds(Chain, several),
            st.builds(Choice, several),
            st.builds(Fan, several, st.booleans()),
        ]
        if loops:
            kinds.append(st.builds(Loop, inner, st.integers(1, 3)))
        if nested:
            kinds.append(st.builds(Nested, inner, st.just(False) if questions else st.booleans()))
        return st.one_of(kinds)

    return st.recursive(leaves, wider, max_leaves=max_leaves)


def plan_json(plan: Block) -> Any:
    """The plan as JSON, for another process."""
    return msgspec.to_builtins(plan)


def plan_of(told: Any) -> Block:
    """The plan that `plan_json` told. Raises: msgspec.ValidationError."""
    return msgspec.convert(told, Block)


def parts_of(plan: Block) -> tuple[Block, ...]:
    """What the plan is made of, one level down."""
    match plan:
        case Chain(parts) | Choice(parts) | Fan(parts, _):
            return parts
        case Loop(body, _) | Nested(body, _):
            return (body,)
        case Work() | Spread():
            return ()


def acyclic(plan: Block) -> bool:
    """Whether no node of it runs twice."""
    return not isinstance(plan, Loop) and all(map(acyclic, parts_of(plan)))


def longest(plan: Block) -> int:
    """The most supersteps that a run of the plan's own graph can take, its nested graphs' not counted."""
    match plan:
        case Work() | Nested():
            return 1
        case Spread():
            return 3
        case Chain(parts):
            return sum(map(longest, parts))
        case Choice(parts) | Fan(parts, _):
            return 2 + max(map(longest, parts))
        case Loop(body, turns):
            return turns * (2 + longest(body)) + 1


def limit(plan: Block) -> int:
    """A recursion limit under which the plan and all that is nested in it end: one more than the longest of them."""
    inner = [limit(part) for part in parts_of(plan)]
    return max(longest(plan) + 1, *inner, 0)


def build(
    plan: Block, *, is_async: bool = False, touch: Touch | None = None, strict: bool = True, name: str = ""
) -> StateGraph[Any]:
    """The plan's graph, not compiled yet; its nodes are sync, or with ``is_async`` coroutine functions.

    Their names come from their places in the plan alone. ``name`` is put before each.
    """
    return _Build(StateGraph(PlanState, strict=strict), is_async, touch, strict, name).whole(plan, alone=True)


class _Build:
    """One graph while its nodes are being added."""

    def __init__(self, graph: StateGraph[Any], is_async: bool, touch: Touch | None, strict: bool, name: str) -> None:
        self.graph = graph
        self.is_async = is_async
        self.touch = touch
        self.strict = strict
        self.name = name
        self.count = 0
        self.jumps: dict[str, str] = {}
        """Where nodes go by Command; "" until the next node is known."""

    def new(self, kind: str) -> str:
        self.count += 1
        return f"{self.name}{kind}{self.count}"

    def whole(self, plan: Block, alone: bool) -> StateGraph[Any]:
        enter, leave = self.place(plan, alone)
        return self.graph.add_edge(START, enter).add_edge(leave, END)

    def place(self, block: Block, alone: bool) -> tuple[str, str]:
        """Add the nodes of ``block``; the first and the last. ``alone``: nothing else runs beside it."""
        match block:
            case Work(jumps, asks):
                name = self.node(self.new("n"), alone, asks)
                if jumps:
                    self.jumps[name] = ""
                return name, name
            case Spread(width):
                return self.spread(width, alone)
            case Chain(parts):
                return self.chain(parts, alone)
            case Choice(parts):
                return self.choice(parts, alone)
            case Fan(parts, defer):
                return self.fan(parts, defer and alone, alone)
            case Loop(body, turns):
                return self.loop(body, turns, alone)
            case Nested(body, called):
                return self.nested(body, called, alone or called)

    def link(self, before: str, after: str) -> None:
        if self.jumps.get(before) == "":
            self.jumps[before] = after
        else:
            self.graph.add_edge(before, after)

    def node(self, name: str, alone: bool, asks: bool = False, turn: str = "", defer: bool = False) -> str:
        """Add a node that writes down what it saw, and a turn of the loop ``turn``."""

        command: Any = Command

        def body(state: PlanState) -> Any:
            trail, total = state.get("trail", []), state.get("total", 0)
            seen = f"{name}/{len(trail)}/{total}/{state.get('word', '')}"
            answer = f"={interrupt(f'{name}?')}" if asks else ""
            update: PlanState = {"trail": [seen + answer], "total": (len(trail) + total) % 3 + 1}
            if alone:
                update["word"] = name
            if turn:
                update["turns"] = {turn: 1}
            goto = self.jumps.get(name)
            return command(update=update, goto=goto) if goto else update

        self.graph.add_node(name, self.waiting(name, body), defer=defer)
        return name

    def waiting(self, name: str, body: Callable[[PlanState], Any]) -> Callable[..., Any]:
        """``body`` as a node, sync or async, that lets ``touch`` know and waits as long as it says."""

        def work(state: PlanState) -> Any:
            if self.touch is not None and (seconds := self.touch(name)) is not None:
                time.sleep(seconds)
            return body(state)

        async def work_async(state: PlanState) -> Any:
            seconds = self.touch(name) if self.touch is not None else None
            await asyncio.sleep(seconds or 0)
            return body(state)

        return work_async if self.is_async else work

    def spread(self, width: int, alone: bool) -> tuple[str, str]:
        first, each, last = (self.new(kind) for kind in ("spread", "each", "met"))
        self.node(first, alone)
        self.node(each, alone=False)
        self.node(last, alone)

        def packets(state: PlanState) -> list[Send]:
            return [Send(each, {"trail": [], "total": 5 * i + state.get("total", 0)}) for i in range(width)]

        self.graph.add_conditional_edges(first, packets, [each])
        self.graph.add_edge(each, last)
        return first, last

    def chain(self, parts: Sequence[Block], alone: bool) -> tuple[str, str]:
        ends = [self.place(part, alone) for part in parts]
        for (_, before), (after, _) in itertools.pairwise(ends):
            self.link(before, after)
        return ends[0][0], ends[-1][1]

    def choice(self, parts: Sequence[Block], alone: bool) -> tuple[str, str]:
        first, last = self.node(self.new("choose"), alone), self.node(self.new("meet"), alone)
        ends = [self.place(part, alone) for part in parts]
        ways = [enter for enter, _ in ends]

        def way(state: PlanState) -> str:
            return ways[state.get("total", 0) % len(ways)]

        self.graph.add_conditional_edges(first, way, ways)
        for _, leave in ends:
            self.link(leave, last)
        return first, last

    def fan(self, parts: Sequence[Block], defer: bool, alone: bool) -> tuple[str, str]:
        first, last = self.node(self.new("fan"), alone), self.node(self.new("join"), alone, defer=defer)
        ends = [self.place(part, alone=False) for part in parts]
        for enter, _ in ends:
            self.graph.add_edge(first, enter)
        leaves = [leave for _, leave in ends]
        if defer:
            for leave in leaves:
                self.link(leave, last)
        else:
            self.graph.add_edge(leaves, last, join="all")
        return first, last

    def loop(self, body: Block, turns: int, alone: bool) -> tuple[str, str]:
        first, check, last = (self.new(kind) for kind in ("loop", "check", "left"))
        self.node(first, alone)
        self.node(check, alone, turn=first)
        self.node(last, alone)
        enter, leave = self.place(body, alone)
        self.graph.add_edge(first, enter)
        self.link(leave, check)

        def way(state: PlanState) -> str:
            # Counted on and on, so that a loop within a loop makes all its turns again.
            return last if state.get("turns", {}).get(first, 0) % turns == 0 else first

        self.graph.add_conditional_edges(check, way, [first, last])
        return first, last

    def nested(self, body: Block, called: bool, alone: bool) -> tuple[str, str]:
        name = self.new("sub")
        empty: StateGraph[Any] = StateGraph(PlanState, strict=self.strict)
        inside = _Build(empty, self.is_async, self.touch, self.strict, f"{name}.").whole(body, alone)
        inner: Any = inside.compile(name=name)

        def given(state: PlanState) -> PlanState:
            return {"trail": [], "total": state.get("total", 0)}

        def taken(out: PlanState) -> PlanState:
            return {"trail": [f"{name}>", *out.get("trail", [])], "total": 1}

        def call(state: PlanState) -> PlanState:
            return taken(inner.invoke(given(state)))

        async def call_async(state: PlanState) -> PlanState:
            return taken(await inner.ainvoke(given(state)))

        self.graph.add_node(name, inner if not called else call_async if self.is_async else call)
        return name, name
