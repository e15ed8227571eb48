"""Programs that get killed: a graph of twelve steps that leaves word of everything it does, and a graph that commits to git.

Each node writes a line to the file ``ran`` when its body is done, and each write that the journal acknowledged a line to
``heard``, so that a test can say which nodes must never run again.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

from lawful.effects import EffectContext, Lookup, Natural, effect
from lawful.effects.branch_commit import BranchCommit, BranchMove, Committed
from lawful.effects.capability import Seen
from lawful.effects.git import git
from lawful.effects.policy import Policy, RequireApproval
from lawful.effects.recover import recover_sync
from lawful.graph import START, Runtime, Send, StateGraph, interrupt
from lawful.journal.records import PutCheckpoint, PutWrites
from lawful.testing.crash import Life, Write, history_of, run_to_end, watch_writes
from support.git_repo import make_repo, plan_commit
from support.graphs import concat, total
from support.torn import die_in_write


class State(TypedDict, total=False):
    trail: Annotated[list[str], concat]
    n: Annotated[int, total]
    word: str
    turns: int


def note(folder: Path, file: str, **facts: Any) -> None:
    """Add one JSON line by a single write, which a kill of the process cannot undo."""
    handle = os.open(folder / file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(handle, json.dumps(facts).encode() + b"\n")
    finally:
        os.close(handle)


def notes(folder: Path, file: str) -> list[dict[str, Any]]:
    path = folder / file
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def hear(life: Life) -> None:
    """Note which tasks and which checkpoints' steps the journal acknowledged as stored."""

    def hook(write: Write) -> None:
        if write.place != "after" or write.batch is None:
            return
        for record in write.batch.records:
            if isinstance(record, PutWrites) and record.writes.kind == "done":
                note(life.folder, "heard", process=life.number, task=record.writes.task)
            elif isinstance(record, PutCheckpoint):
                note(life.folder, "heard", process=life.number, closed=record.checkpoint.parent)

    watch_writes(life.journal, hook)


def ran_again(folder: Path) -> list[str]:
    """Nodes that ran in a later process although an earlier one had heard that their writes are stored."""
    heard = notes(folder, "heard")
    found: list[str] = []
    for line in notes(folder, "ran"):
        for word in heard:
            known = word.get("task") == line["task"] or word.get("closed") == line["checkpoint"]
            if known and word["process"] < line["process"]:
                found.append(line["node"])
    return found


class Nodes:
    """Makes nodes that leave word, as plain functions or as coroutine functions."""

    def __init__(self, life: Life, is_async: bool) -> None:
        self.life = life
        self.is_async = is_async

    def __call__(self, name: str, body: Callable[[State], State] = lambda state: {}) -> Any:
        """A node that does ``body``, and leaves its name and how long a trail it saw."""

        def work(state: State, runtime: Runtime[None]) -> State:
            result = body(state)
            trail = [f"{name}/{len(state.get('trail', []))}"]
            self.left(name, runtime)
            return {"n": 1, **result, "trail": trail}

        async def work_async(state: State, runtime: Runtime[None]) -> State:
            await asyncio.sleep(0)
            return work(state, runtime)

        return work_async if self.is_async else work

    def left(self, name: str, runtime: Runtime[Any]) -> None:
        info = runtime.execution_info
        note(
            self.life.folder,
            "ran",
            process=self.life.number,
            node=name,
            task=info.task_id,
            checkpoint=info.checkpoint_id,
        )

    def sink(self) -> Any:
        """A node whose effect adds a line to the file ``sink``; a second line would be a second effect."""
        promise = Natural() & Lookup("strong")
        sink = self.life.folder / "sink"

        def written(line: str) -> str | None:
            return f"wrote {line}" if sink.exists() and line in sink.read_text().splitlines() else None

        def write(line: str) -> str:
            with sink.open("a") as file:
                file.write(line + "\n")
            return f"wrote {line}"

        @effect("line", capability=promise, tool="write_line")
        def write_line(line: str) -> str:
            return write(line)

        @effect("line", capability=promise, tool="write_line")
        async def write_line_async(line: str) -> str:
            await asyncio.sleep(0)
            return write(line)

        async def written_async(line: str) -> str | None:
            return written(line)

        write_line.lookup(written)
        write_line_async.lookup(written_async)

        def act(state: State, runtime: Runtime[None]) -> State:
            receipt = write_line(f"line {state.get('n', 0)}")
            self.left("act", runtime)
            return {"word": receipt, "trail": ["act"]}

        async def act_async(state: State, runtime: Runtime[None]) -> State:
            receipt = await write_line_async(f"line {state.get('n', 0)}")
            self.left("act", runtime)
            return {"word": receipt, "trail": ["act"]}

        return act_async if self.is_async else act


def spread(state: State) -> list[Send]:
    return [Send("work", {"trail": [f"sent {i}"], "n": i}) for i in range(3)]


def turn_again(state: State) -> str:
    return "turn" if state.get("turns", 0) < 2 else "last"


def twelve(nodes: Nodes) -> Any:
    """Twelve steps: a fan-out, a subgraph with a fan-out and a question, three Sends, a question, an effect, a loop."""

    def ask(state: State) -> State:
        return {"word": interrupt("above?")}

    def ask_below(state: State) -> State:
        return {"word": interrupt("below?")}

    below = StateGraph(State)
    for name in ("one", "two", "three"):
        below.add_node(name, nodes(name))
    below.add_node("four", nodes("four", ask_below))
    below.add_edge(START, "one").add_edge("one", "two").add_edge("one", "three").add_edge(["two", "three"], "four")

    graph = StateGraph(State)
    for name in ("begin", "left", "middle", "right", "join", "work", "gather", "last"):
        graph.add_node(name, nodes(name))
    graph.add_node("sub", below.compile())
    graph.add_node("before", nodes("before", lambda state: {"n": len(state.get("word", ""))}))
    graph.add_node("ask", nodes("ask", ask))
    graph.add_node("act", nodes.sink())
    graph.add_node("turn", nodes("turn", lambda state: {"turns": state.get("turns", 0) + 1}))
    graph.add_edge(START, "begin")
    for name in ("left", "middle", "right"):
        graph.add_edge("begin", name)
    graph.add_edge(["left", "middle", "right"], "join").add_edge("join", "sub").add_edge("sub", "before")
    graph.add_conditional_edges("before", spread, ["work"])
    graph.add_edge("work", "gather").add_edge("gather", "ask").add_edge("ask", "act").add_edge("act", "turn")
    graph.add_conditional_edges("turn", turn_again, ["turn", "last"])
    return graph.compile(checkpointer=nodes.life.journal)


def _told(life: Life, graph: Any, driver: Any) -> Any:
    """Run to the end; the state, what history shows, and the lines that the effect left."""
    if life.told is not None and "torn" in life.told:
        die_in_write(life.told["torn"])
    state = run_to_end(graph, {"trail": ["in"]}, answer=lambda q: f"yes to {q.value}", driver=driver)
    sink = (life.folder / "sink").read_text().splitlines()
    return {"state": state, "history": history_of(graph), "sink": sink}


def twelve_sync(life: Life) -> Any:
    hear(life)
    return _told(life, twelve(Nodes(life, False)), "sync")


def twelve_async(life: Life) -> Any:
    hear(life)
    return _told(life, twelve(Nodes(life, True)), "async")


def twelve_threads(life: Life) -> Any:
    """Sync nodes under the async driver."""
    hear(life)
    return _told(life, twelve(Nodes(life, False)), "async")


class DyingCommit(BranchCommit):
    """Dies on its way: in the call before anything is sent ("send"), once the ref has moved ("applied"), or looking it up."""

    def __init__(self, at: str, *, policy: Policy) -> None:
        super().__init__(policy=policy)
        self.at = at

    async def perform(self, command: BranchMove, ctx: EffectContext) -> Committed:
        self.die("send")
        done = await super().perform(command, ctx)
        self.die("applied")
        return done

    async def lookup(self, command: BranchMove, ctx: EffectContext) -> Seen[Committed]:
        self.die("look")
        return await super().lookup(command, ctx)

    def die(self, at: str) -> None:
        if self.at == at:
            os.kill(os.getpid(), signal.SIGKILL)


class Plan(TypedDict, total=False):
    trail: Annotated[list[str], concat]
    commit: str


def look(name: str) -> Any:
    def node(state: Plan) -> Plan:
        return {"trail": [name]}

    return node


def commits(life: Life) -> Any:
    """Two nodes beside each other, then a commit to a real repository that a person approves, then one more node."""
    repo = life.folder / "repo"
    if not (repo / "made").exists():
        make_repo(repo)
        (repo / "made").touch()
    publish = DyingCommit(life.told["at"] if life.told else "", policy=Policy("p", (RequireApproval(),)))
    recover_sync(life.journal, [publish])

    async def commit(state: Plan) -> Plan:
        receipt = await publish(plan_commit(repo))
        return {"commit": receipt.commit, "trail": ["commit"]}

    graph = StateGraph(Plan).add_node("look", look("look")).add_node("plan", look("plan")).add_node("commit", commit)
    graph.add_node("tell", look("tell")).add_edge(START, "look").add_edge(START, "plan")
    graph.add_edge(["look", "plan"], "commit").add_edge("commit", "tell")
    compiled = graph.compile(checkpointer=life.journal)
    state = run_to_end(compiled, {"trail": []}, driver="async")
    move = plan_commit(repo)
    made = git(repo, "rev-list", "main..update").out.splitlines()
    moves = git(repo, "reflog", "show", "--format=%H", "refs/heads/update", check=False).out.splitlines()
    return {"state": state, "made": [commit == move.commit for commit in made], "moves": len(moves)}


class Sum(TypedDict, total=False):
    count: Annotated[int, total]


def lent(life: Life) -> Any:
    """Eight sync nodes, each invoking a graph of eight sync branches."""

    def one(state: Sum) -> Sum:
        time.sleep(0.002)
        return {"count": 1}

    inner, outer = StateGraph(Sum), StateGraph(Sum)
    for n in range(8):
        inner.add_node(f"n{n}", one).add_edge(START, f"n{n}")
    inside: Any = inner.compile()

    def call(state: Sum) -> Sum:
        return {"count": inside.invoke({"count": 0}, {"max_concurrency": 4})["count"]}

    for n in range(8):
        outer.add_node(f"n{n}", call).add_edge(START, f"n{n}")
    return outer.compile(checkpointer=life.journal)


FOUR: dict[str, Any] = {"max_concurrency": 4, "configurable": {"thread_id": "t"}}


def lent_threads_sync(life: Life) -> Any:
    return lent(life).invoke({"count": 0}, FOUR)


async def lent_threads_async(life: Life) -> Any:
    return await lent(life).ainvoke({"count": 0}, FOUR)


def _one_step(life: Life) -> Any:
    graph = StateGraph(Plan).add_node("tell", look("told")).add_edge(START, "tell")
    return run_to_end(graph.compile(checkpointer=life.journal), {"trail": []})


def forgetful(life: Life) -> Any:
    """Wrong on purpose: what it does to the world is not known to the journal, so a second process does it again."""
    with (life.folder / "world").open("a") as file:
        file.write("x")
    return {"state": _one_step(life), "world": (life.folder / "world").read_text()}


def helpless(life: Life) -> Any:
    """Wrong on purpose: its second process refuses to go on."""
    if life.number:
        raise LookupError("where was I?")
    return _one_step(life)


async def careful(life: Life) -> Any:
    """A program that is a coroutine function, over a graph of three steps."""
    graph = StateGraph(Plan)
    for name in ("a", "b", "c"):
        graph.add_node(name, look(name))
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")
    compiled = graph.compile(checkpointer=life.journal)
    fresh = compiled.get_state("t").metadata is None
    return await compiled.ainvoke({"trail": []} if fresh else None, {"configurable": {"thread_id": "t"}})


def stuck(life: Life) -> Any:
    """Never ends."""
    time.sleep(600)


def broken(life: Life) -> Any:
    """Fails without being killed."""
    raise ZeroDivisionError("by itself")
