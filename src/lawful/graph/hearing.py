"""Who hears of one run: its stream, its event listeners and its lifecycle handlers, put together from what a call says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from lawful.core import events as ev
from lawful.core.context import Run
from lawful.core.errors import ConfigurationError
from lawful.core.teller import TOLD_FIRST, Hears, Teller, listeners_of
from lawful.graph import orders as o
from lawful.graph.callbacks import Lifecycle, acall, call
from lawful.graph.projector import Projector
from lawful.graph.reporter import Both, Reporter, broken
from lawful.graph.standing import Listener
from lawful.graph.streams import Hub


class Heard(Protocol):
    """A session, as far as listeners go."""

    run: Run
    machine: Any
    held: Any
    asked_at: float
    goes_on: bool

    @property
    def graph(self) -> Any: ...


def equip(run: Run, hub: Hub | None, on_event: Any, config: Mapping[str, Any]) -> None:
    """Give the run its stream and its listeners, beside those of the run around it.

    Raises: ConfigurationError, for a listener that cannot be called.
    """
    if hub is None and on_event is None and not config:
        return
    if hub is not None:
        run.hub = hub
    wanted: list[Hears] = [*listeners_of(on_event), *listeners_of(config.get("listeners"))]
    odd = next((one for one in wanted if not callable(one)), None)
    if odd is not None:
        raise ConfigurationError(
            f"A listener is a function of one event, got {odd!r:.100}", component="graph", operation="on_event"
        )
    if hub is not None and "events" in hub.modes:
        wanted.append(hub.event)
    if not wanted:
        return
    if run.teller is None:
        run.teller = Teller()
    for one in wanted:
        run.teller.attach(one, run)


def listener_of(run: Run, own: Hub | None, ns: str) -> Listener | None:
    """Who is told what the run's machine does, or None: then nothing is made for listeners at all."""
    hub = own
    if own is not None:
        own.ns = ns
    elif run.parent is not None and run.hub is not None and run.hub.subgraphs:
        hub = run.hub
    projector = Projector(hub, presses=own is None) if hub is not None else None
    if run.teller is None:
        return projector
    reporter = Reporter(run.teller)
    return reporter if projector is None else Both(projector, reporter)


def announced(session: Heard) -> None:
    """The run begins."""
    run = session.run
    run.teller.tell(run, ev.RunStarted(session.graph.name, run.thread))
    for event in run.shared.pop(TOLD_FIRST, ()):
        run.teller.tell(run, event)
    if session.held is not None:
        run.teller.tell(run, ev.LeaseTaken(run.thread or "", run.clock.monotonic() - session.asked_at))


def broke_off(run: Run, error: BaseException | None) -> None:
    """The run is over, if it was not before."""
    run.teller.tell(run, broken(run.thread, error) if error is not None else ev.RunFailed("abandoned", "it was left"))


def resumed(session: Heard) -> None:
    """Tell the lifecycle handlers, if the run goes on where an earlier one stopped."""
    if session.goes_on and session.run.config.get("callbacks"):
        call(Lifecycle(session.run.config).resumed(session.machine))


def paused(session: Heard, outcome: o.Outcome) -> None:
    """Tell them of a pause."""
    if session.run.config.get("callbacks"):
        call(Lifecycle(session.run.config).paused(session.machine, outcome))


async def aresumed(session: Heard) -> None:
    """As `resumed`, in an event loop."""
    if session.goes_on and session.run.config.get("callbacks"):
        await acall(Lifecycle(session.run.config).resumed(session.machine))


async def apaused(session: Heard, outcome: o.Outcome) -> None:
    """As `paused`, in an event loop."""
    if session.run.config.get("callbacks"):
        await acall(Lifecycle(session.run.config).paused(session.machine, outcome))
