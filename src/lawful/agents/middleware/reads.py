"""Answer the same pure read once a turn."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

import msgspec

from lawful.agents.middleware.base import Middleware, ToolAsk, ToolHandler
from lawful.core.canonical import digest
from lawful.core.context import current_task
from lawful.tools.dispatch import Outcome
from lawful.tools.gates import Run

_RUNS = 256
"""Runs whose answers are held at once; the oldest go first."""


class CacheReads(Middleware):
    """A tool with ``pure_read=True`` that is called again with the same arguments in the same turn gives what it gave.

    Errors are not kept, two calls at once make one, and any call of a tool that is no pure read empties the turn's answers,
    since it may have changed what they read.
    """

    def __init__(self) -> None:
        self._turns: OrderedDict[str, dict[str, asyncio.Future[Outcome]]] = OrderedDict()

    async def wrap_tool(self, ask: ToolAsk, handler: ToolHandler) -> Outcome:
        slot = current_task.get()
        if slot is None or ask.tool is None:
            return await handler(ask)
        held = self._held(slot.run.root.run_id)
        if not ask.tool.traits.pure_read or not isinstance(ask.ruling, Run):
            held.clear()
            return await handler(ask)
        key = digest("lawful.agents/read", [ask.tool.name, ask.tool.version, ask.call.args]).hex()
        known = held.get(key)
        if known is not None:
            found = await asyncio.shield(known)
            if found.call.state == "ok":
                return msgspec.structs.replace(found, call=ask.call.settled("ok", found.call.output))
            return await handler(ask)
        return await self._first(held, key, ask, handler)

    async def _first(
        self, held: dict[str, asyncio.Future[Outcome]], key: str, ask: ToolAsk, handler: ToolHandler
    ) -> Outcome:
        waiting = held[key] = asyncio.get_running_loop().create_future()
        try:
            found = await handler(ask)
        except BaseException:
            held.pop(key, None)
            waiting.cancel()
            raise
        waiting.set_result(found)
        if found.call.state != "ok":
            held.pop(key, None)
        return found

    def _held(self, run: str) -> dict[str, asyncio.Future[Outcome]]:
        held = self._turns.setdefault(run, {})
        self._turns.move_to_end(run)
        while len(self._turns) > _RUNS:
            self._turns.popitem(last=False)
        return held


def cache_reads() -> CacheReads:
    """`CacheReads`, as a word in a list of middleware."""
    return CacheReads()
