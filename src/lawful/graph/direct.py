"""Pure: how the input of a low-level graph begins a run: straight into its channels, without a step of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lawful.graph import orders as o
from lawful.graph.apply import finish, merge, store, triggered
from lawful.graph.machine import Machine
from lawful.graph.program import Node
from lawful.graph.restored import Done, Restored
from lawful.graph.standing import subscribed

_INPUT = Node.inert("")


def straight_in(m: Machine, given: Any, restored: Restored | None, *, keeps: bool) -> Sequence[o.Order]:
    """The first orders of a run with new input; it ends an unfinished step, whose triggers are consumed.

    ``keeps``: what the step that it branches off from had saved stays, as at an old checkpoint.

    Raises, with nothing written: EmptyInputError, InvalidUpdateError.
    """
    program = m.program
    body: list[Any] = [program.input_writes(given), None, None]
    dropped: list[Node] = []
    if restored is None:
        m.step = -2
    else:
        dropped = [program.nodes[n] for n in restored.head.names if n in program.nodes]
    empty: list[Any] = [[], None, None]
    ended = [Done(n.name, n, empty) for n in dropped]
    changed = merge(program, m.values, [*ended, Done("", _INPUT, body)])
    store(m.values, changed)
    names = triggered(program, m.values, changed)
    m.finished = False
    if program.finishing and not names:
        moved = finish(program, m.values)
        m.finished = bool(moved)
        names = subscribed(program, m.values, moved)
    m.ran = (*(n.name for n in dropped), "")
    for name in {n.name for n in dropped}:
        m.visits[name] = m.visits.get(name, 0) + 1
    m.step += 1
    m.stop = m.step + 1 + m.limits.recursion
    m.parent = m.checkpoint if restored is not None else None
    m.checkpoint = m.new_id()
    m.rebase()
    m.source = "input"
    m.fresh = True
    m.plan(names, ())
    if m.recorder is not None:
        _record(m, len(dropped), body, drop=not keeps)
    return m.after_commit(m.launch)


def _record(m: Machine, dropped: int, body: list[Any], *, drop: bool) -> None:
    """Note the checkpoint: an empty part for each task that was dropped, and the input's own."""
    recorder = m.recorder
    assert recorder is not None
    hidden = m.program.untracked
    kept = [(k, v) for k, v in body[0] if k not in hidden]
    nothing = recorder.encode([[], None, None], "input").blob
    done = recorder.encode([kept, None, None], "input")
    parts: list[tuple[int, bytes]] = [*((-2, nothing) for _ in range(dropped)), (-2, done.blob)]
    m.record("input", parts, [done.refs], [done.new], drop=drop)
    if m.listener is not None:
        m.listener.checkpointed(m)
