"""A compiled graph as a node of another: what it is given, how it is called, and the delta that it hands up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from lawful.graph import orders as o
from lawful.graph.command import ROOT, Command
from lawful.graph.program import Program
from lawful.graph.running import adrive, drive, settled
from lawful.graph.session import Graph, Options, Session
from lawful.graph.step_task import Task


def nested(graph: Graph, strict: bool) -> Callable[[Any, Task], Any]:
    """How a graph that holds this one as a node calls it; strict parents get a delta, lenient ones the output."""

    def call(given: Any, task: Task) -> Any:
        session, outcome = drive(graph, given, None, Options())
        return _handed_up(graph, session, outcome, task, strict)

    async def acall(given: Any, task: Task) -> Any:
        session, outcome = await adrive(graph, given, None, Options())
        return _handed_up(graph, session, outcome, task, strict)

    return acall if graph.is_async else call


def _handed_up(graph: Graph, session: Session, outcome: o.Outcome, task: Task, strict: bool) -> Any:
    output = settled(outcome, session)
    parent = task.program
    if not isinstance(output, dict) or graph.program.bare or ROOT in parent.channels:
        return cast("Any", output)
    told = cast("dict[str, Any]", output)
    known = {k: v for k, v in told.items() if k in parent.acceptor.keys}
    if not strict or session.machine.own is None:
        return known
    return Command(update=_delta(graph, session.machine.own, known, parent))


def _delta(
    graph: Graph, own: Sequence[tuple[str, Any]], known: Mapping[str, Any], parent: Program
) -> list[tuple[str, Any]]:
    """The child's own writes: one by one where both merge a key alike, else its final value once."""
    pairs: list[tuple[str, Any]] = []
    given: set[str] = set()
    for key, value in own:
        if key not in known:
            continue
        mine, theirs = graph.program.channels[key], parent.channels[key]
        if getattr(theirs, "operator", None) is not None and mine.same_as(theirs):
            pairs.append((key, value))
        elif key not in given:
            given.add(key)
            pairs.append((key, known[key]))
    return pairs


def input_view(graph: Graph, channels: Mapping[str, Any], whole: Callable[[Mapping[str, Any]], Any]) -> Any:
    """What of a parent's values this graph gets as its input."""
    if ROOT in channels or ROOT in graph.program.channels or graph.program.bare_input:
        return whole
    keys = tuple(k for k in graph.program.input_keys if k in channels)

    def view(values: Mapping[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key in keys:
            if key in values:
                out[key] = channels[key].get(values[key])
        return out

    return view
