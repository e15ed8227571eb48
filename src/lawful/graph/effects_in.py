"""Which effects a graph's nodes name, and the recovery of a thread before its run begins."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any, cast

from lawful.core.effect_port import EffectPort
from lawful.core.lazy import late
from lawful.core.replay import recorded_in
from lawful.graph.program import Program
from lawful.graph.session import Session


def effects_of(program: Program) -> tuple[EffectPort, ...]:
    """The effects that the nodes' functions name: as globals, in closures, or as attributes of the object they belong to."""
    found: dict[str, EffectPort] = {}
    for node in program.nodes.values():
        for each in _named(node.fn):
            found.setdefault(each.tool, each)
        if node.subgraph is not None:
            for each in effects_of(node.subgraph.program):
                found.setdefault(each.tool, each)
    return tuple(found.values())


_told: set[str] = set()
_log = logging.getLogger("lawful.graph")


def warn_of_opaque(program: Program) -> None:
    """Say of each effect that nobody can look up, once in a process, what that means."""
    for each in effects_of(program):
        if each.opaque and each.tool not in _told:
            _told.add(each.tool)
            _log.warning("Effect %s is %s", each.tool, each.told)


def _named(fn: Any) -> Iterator[EffectPort]:
    while isinstance(fn, functools.partial):
        fn = fn.func
    held: list[object] = [fn]
    if isinstance(fn, MethodType):
        held += getattr(fn.__self__, "__dict__", {}).values()
        fn = fn.__func__
    if isinstance(fn, FunctionType):
        held += [fn.__globals__[name] for name in fn.__code__.co_names if name in fn.__globals__]
        held += [cell.cell_contents for cell in fn.__closure__ or () if _filled(cell)]
    for each in held:
        if hasattr(type(each), "recover_thread"):  # of its class, so that nothing that answers to any name is taken
            yield cast("EffectPort", each)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def recovering(session: Session) -> Sequence[EffectPort]:
    """The effects by which this run's thread is to be recovered first; none for a nested run or one without a journal."""
    if session.journal is None or session.nested or recorded_in(session.run) is not None:
        return ()
    program = session.graph.program
    known = program.effects
    if known is None:
        known = program.effects = effects_of(program)
    return known


def recover_first(session: Session) -> None:
    """Settle what earlier runs of the thread left open, as far as the rules allow."""
    effects = recovering(session)
    if effects:
        effects[0].recover_thread(session.run, effects)


async def arecover_first(session: Session) -> None:
    """The same beside the running loop."""
    effects = recovering(session)
    if effects:
        await late("asyncio").to_thread(effects[0].recover_thread, session.run, effects)
