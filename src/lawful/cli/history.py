"""The verbs that only look: threads, one thread's state, and its history of steps and effects."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from msgspec import Struct

from lawful.cli import console
from lawful.cli.console import DONE, command, say, step
from lawful.cli.graphs import SHIPPED, graph_of
from lawful.cli.progress import Standing, by_name, standing
from lawful.cli.run import ask, beside
from lawful.cli.update_graph import effects_of
from lawful.effects import Ledger
from lawful.effects.log import read_events
from lawful.graph import CompiledStateGraph
from lawful.journal.port import Journal
from lawful.journal.records import Operation, ThreadInfo


class Step(Struct, frozen=True):
    """One checkpoint, as history shows it."""

    step: int
    at: float
    """Seconds since 1970 UTC."""
    source: str
    ran: list[str]
    """Nodes that led here; empty where the graph is not known."""
    wrote: dict[str, Any]
    """Values that they left, where the graph is known."""
    checkpoint: str


class Fact(Struct, frozen=True):
    """One event of one effect."""

    at: float
    event: str
    operation: str


class Shown(Struct, frozen=True):
    """A thread as `show --json` tells it."""

    thread: str
    graph: str
    status: str
    values: Any
    next: list[str]
    questions: list[Any]
    effects: list[Any]


def threads(args: Namespace) -> int:
    """`lawful threads`: every thread of the journal."""
    with closing(console.journal_of(args)) as journal:
        rows = sorted(journal.threads(), key=lambda info: info.updated)
        told = [(info, _status(journal, info)) for info in rows]
    if args.json:
        console.as_json([{"thread": i.thread, "graph": i.graph, "updated": i.updated, "status": s} for i, s in told])
    elif not told:
        say("No threads.")
    else:
        rows_ = [(i.thread, i.graph, f"{console.when(i.updated)} UTC", s) for i, s in told]
        console.table([("thread", "graph", "last change", "status"), *rows_])
    return DONE


def _status(journal: Journal, info: ThreadInfo) -> str:
    if info.graph not in SHIPPED:
        return "name its graph to know: show --graph"
    return status_of(standing(SHIPPED[info.graph](journal), info.thread))


def status_of(stands: Standing) -> str:
    """Where a thread stands, in a few words."""
    if stands.unknown:
        return "an outcome is not known"
    if stands.asked:
        return "waits for an answer"
    if stands.errors:
        return f"failed: {'; '.join(stands.errors)}"
    if stands.waiting:
        return f"unfinished at {', '.join(stands.waiting)}"
    stopped = stands.stopped
    return f"stopped at {stopped.step}" if stopped is not None else "ended"


def show(args: Namespace) -> int:
    """`lawful show`: where a thread stands, what it holds, what it asks, and what became of its effects."""
    with closing(console.journal_of(args)) as journal:
        info = console.thread_of(journal, args.thread)
        graph = graph_of(info, journal, args.graph)
        stands = standing(graph, args.thread)
        ledger = Ledger(journal, effects=effects_of(journal))
        effects = [_effect(ledger, row) for row in operations_of(journal, args.thread)]
    asked = [*stands.asked, *stands.unknown]
    if args.json:
        status = status_of(stands)
        console.as_json(Shown(args.thread, info.graph, status, stands.values, list(stands.waiting), asked, effects))
        return DONE
    say(f"thread {args.thread} (graph {info.graph}): {status_of(stands)}")
    say("", "values")
    for key, value in stands.values.items():
        step(key, console.plain(value) if args.whole else console.short(value))
    if effects:
        say("", "effects")
        for each in effects:
            step(
                each["state"], each["operation"], f"attempts: {each['attempts']}; next: {each['next']}", *each["rules"]
            )
    for question in stands.asked:
        ask(args.thread, question, console.named_by(args), graph.name, beside(args))
    return DONE


def operations_of(journal: Journal, thread: str) -> list[Operation]:
    return journal.read(lambda tx: list(tx.operations(thread=thread)))


def _effect(ledger: Ledger, row: Operation) -> dict[str, Any]:
    told = ledger.explain(row.op_id)
    rules = [f"{'yes ' if each.holds else 'open'} {each.rule}: {each.why}" for each in told.findings]
    return {
        "operation": row.op_id,
        "state": told.state,
        "attempts": told.attempts,
        "next": told.next_step,
        "rules": [*rules, *(f"does not count: {why}" for why in told.stale)],
    }


def history(args: Namespace) -> int:
    """`lawful history`: the steps of a thread and the events of its effects, oldest first."""
    with closing(console.journal_of(args)) as journal:
        info = console.thread_of(journal, args.thread)
        known = args.graph is not None or info.graph in SHIPPED
        steps = steps_of(graph_of(info, journal, args.graph), args) if known else bare_steps(journal, args)
        facts = [fact for row in operations_of(journal, args.thread) for fact in facts_of(journal, row)]
    if args.json:
        console.as_json({"thread": args.thread, "graph": info.graph, "steps": steps, "effects": facts})
        return DONE
    say(f"thread {args.thread} (graph {info.graph}), times in UTC")
    if not known:
        told = command("history", args.thread, "--graph", "MODULE:NAME", *beside(args), db=console.named_by(args))
        say(f"what ran is known with its graph: {told}")
    say()
    head = ("step", "at", "from", "ran", "wrote")
    console.table(
        [head, *((str(s.step), console.when(s.at), s.source, ", ".join(s.ran), ", ".join(s.wrote)) for s in steps)]
    )
    for operation in dict.fromkeys(fact.operation for fact in facts):
        say("", f"effect {operation}, as it was written down")
        console.table((console.when(f.at), f.event) for f in facts if f.operation == operation)
    return DONE


def steps_of(graph: CompiledStateGraph[Any], args: Namespace) -> list[Step]:
    rows = list(graph.get_state_history(args.thread, limit=args.limit))[::-1]
    found: list[Step] = []
    for place, row in enumerate(rows):
        before = rows[place - 1] if place else None
        values, old = by_name(row.values), by_name(before.values) if before is not None else {}
        metadata = row.metadata or {}
        found.append(
            Step(
                step=metadata.get("step", 0),
                at=console.seconds(row.created_at),
                source=metadata.get("source", ""),
                ran=_ran(before.next) if before is not None and metadata.get("source") == "loop" else [],
                wrote={key: value for key, value in values.items() if key not in old or old[key] != value},
                checkpoint=row.config["configurable"]["checkpoint_id"],
            )
        )
    return found


def _ran(nodes: Sequence[str]) -> list[str]:
    return [node for node in nodes if not node.startswith("__")]


def bare_steps(journal: Journal, args: Namespace) -> list[Step]:
    """What a journal can tell without the graph that made it."""
    rows = journal.history(args.thread, limit=args.limit)
    return [Step(row.step, row.at, row.source, [], {}, row.id) for row in reversed(rows)]


def facts_of(journal: Journal, row: Operation) -> list[Fact]:
    events = journal.read(lambda tx: read_events(tx.events(row.op_id)))
    return [Fact(event.at, type(event).__name__, row.op_id) for event in events]
