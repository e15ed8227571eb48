"""Carry one invocation out: take the lease, begin, drive, settle; sync and async, to the end or chunk by chunk."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing
from typing import Any, cast

from lawful.core.errors import ConfigurationError, RunDrained, ThreadBusy
from lawful.core.lazy import late
from lawful.core.signals import GraphDrained, GraphInterrupt, ParentCommand, latch
from lawful.graph import orders as o
from lawful.graph.command import INTERRUPT, Command
from lawful.graph.drivers.sync import SyncDriver
from lawful.graph.effects_in import arecover_first, recover_first
from lawful.graph.hearing import apaused, aresumed, paused, resumed
from lawful.graph.outcome import GraphOutput
from lawful.graph.projector import typed
from lawful.graph.session import Graph, Options, Session
from lawful.graph.streams import Hub
from lawful.journal.records import Lease


class AsyncStream:
    """Chunks of an async run: iterate it, and leave it by ``async with`` so that everything beneath is closed at once."""

    __slots__ = ("_chunks",)

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    def __aiter__(self) -> AsyncStream:
        return self

    def __anext__(self) -> Awaitable[Any]:
        return self._chunks.__anext__()

    async def aclose(self) -> None:
        """Stop the run: running nodes are cancelled and awaited, what is finished is kept."""
        await self._chunks.aclose()

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._chunks.aclose()


def drive(graph: Graph, input: Any, config: Any, options: Options, hub: Hub | None = None) -> tuple[Session, o.Outcome]:
    """Run to the end; ``hub`` only prints."""
    if graph.is_async:
        return run_loop(graph, lambda: adrive(graph, input, config, options, hub))
    session = Session(graph, config, options, hub)
    try:
        _take(session)
        recover_first(session)
        driver = _sync_driver(graph, session, None)
        orders = session.begin(input)
        resumed(session)
        driver.deal = session.deal
        outcome = driver.run(orders)
        paused(session, outcome)
        return session, outcome
    finally:
        session.close()


def run_loop(graph: Graph, work: Callable[[], Any]) -> Any:
    asyncio = late("asyncio")
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass  # outside of this block, so that no error of the run is told as one that arose in handling another
    else:
        raise ConfigurationError(
            f"Node {graph.async_node!r} is async, and this thread already runs an event loop: use ainvoke or astream",
            component="graph",
            operation="invoke",
            details={"node": graph.async_node},
        )
    return asyncio.run(work())


def _sync_driver(graph: Graph, session: Session, hub: Hub | None) -> SyncDriver:
    if hub is None:
        return SyncDriver(session.machine, session.deal, deque(), limit=session.limit, step_timeout=graph.step_timeout)
    hub.live |= graph.program.spawns
    driver = SyncDriver(
        session.machine, session.deal, hub.out, live=hub.live, limit=session.limit, step_timeout=graph.step_timeout
    )
    if hub.live:
        driver.hears(hub.out, driver.wake)
    return driver


async def adrive(
    graph: Graph, input: Any, config: Any, options: Options, hub: Hub | None = None
) -> tuple[Session, o.Outcome]:
    """As `drive`, in the running event loop."""
    session = Session(graph, config, options, hub)
    try:
        if session.journal is not None:
            await _atake(session)
            await arecover_first(session)
        driver = _async_driver(graph, session, None)
        orders = session.begin(input)
        if session.goes_on:
            await aresumed(session)
        driver.deal = session.deal
        outcome = await driver.run(orders)
        if type(outcome) is o.Halted:
            await apaused(session, outcome)
        return session, outcome
    finally:
        session.close()


def _async_driver(graph: Graph, session: Session, hub: Hub | None) -> Any:
    if hub is not None:
        hub.live |= graph.program.spawns
    live = hub is not None and hub.live
    chunks = hub.out if hub is not None else deque[Any]()
    driver = late("lawful.graph.drivers.aio").AsyncDriver(
        session.machine, session.deal, chunks, live=live, limit=session.limit, step_timeout=graph.step_timeout
    )
    if hub is not None and live:
        driver.hears(hub.out, driver.wake_from_anywhere)
    around = session.run.hub
    if around is not None and around.live:
        driver.pace = around.out
        if hub is None:
            driver.quiet, driver.watchful = (
                False,
                True,
            )  # a graph inside a node: after each event it may have to wait for the reader
    return driver


def stream(graph: Graph, input: Any, config: Any, hub: Hub, options: Options) -> Iterator[Any]:
    session = Session(graph, config, options, hub)
    try:
        _take(session)
        recover_first(session)
        driver = _sync_driver(graph, session, hub)
        try:
            orders = session.begin(input)
        except BaseException:
            yield from _events_of(hub)
            raise
        resumed(session)
        driver.deal = session.deal
        with closing(driver.stream(orders)) as chunks:
            yield from chunks
        if driver.outcome is not None:
            paused(session, driver.outcome)
            settled(driver.outcome, session)
    finally:
        session.close()


def stream_loop(graph: Graph, input: Any, config: Any, **options: Any) -> Iterator[Any]:
    """The async driver on a loop of its own, pulled one chunk at a time."""
    asyncio = late("asyncio")
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        run_loop(graph, lambda: None)
    with asyncio.Runner() as runner:
        chunks = graph.astream(input, config, **options)
        try:
            while True:
                try:
                    chunk = runner.run(_next(chunks))
                except StopAsyncIteration:
                    return
                yield chunk
        finally:
            runner.run(chunks.aclose())


async def astream(graph: Graph, input: Any, config: Any, hub: Hub, options: Options) -> AsyncIterator[Any]:
    session = Session(graph, config, options, hub)
    try:
        await _atake(session)
        await arecover_first(session)
        driver = _async_driver(graph, session, hub)
        try:
            orders = session.begin(input)
        except BaseException:
            for chunk in _events_of(hub):
                yield chunk
            raise
        await aresumed(session)
        driver.deal = session.deal
        chunks = driver.stream(orders)
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await chunks.aclose()
        if driver.outcome is not None:
            await apaused(session, driver.outcome)
            settled(driver.outcome, session)
    finally:
        session.close()


def _events_of(hub: Hub) -> list[Any]:
    """What was told of a run that could not begin: its events, if these were asked for."""
    return list(hub.out) if "events" in hub.modes else []


async def _next(chunks: AsyncStream) -> Any:
    return await chunks.__anext__()


def _take(session: Session) -> None:
    """Take the thread's lease, waiting as the policy says."""
    taking = session.taking()
    while taking is not None:
        try:
            while not isinstance(got := taking.step(), Lease):
                taking.block(got)
            session.took(got)
            return
        except ThreadBusy:
            if session.options.busy != "fork":
                raise
            fork = True
        finally:
            taking.leave()
        taking = session.forked() if fork else None


async def _atake(session: Session) -> None:
    asyncio = late("asyncio") if session.journal is not None else None
    taking = session.taking()
    while taking is not None and asyncio is not None:
        try:
            while not isinstance(got := await asyncio.to_thread(taking.step), Lease):
                await asyncio.sleep(got)
            session.took(got)
            return
        except ThreadBusy:
            if session.options.busy != "fork":
                raise
        finally:
            taking.leave()
        taking = session.forked()


def settled(outcome: o.Outcome, session: Session) -> Any:
    """The output of a run that ended or paused; what it failed with is raised, and a nested pause becomes a signal."""
    match outcome:
        case o.Ended(output):
            return output
        case o.Halted(output, questions):
            if session.nested and session.slot is not None:
                signal = GraphInterrupt(questions)
                latch(session.slot, signal)
                raise signal
            return output
        case o.Broke(error):
            if isinstance(error, ParentCommand) and session.nested and session.slot is not None:
                up = ParentCommand(_addressed(error.command))
                latch(session.slot, up)
                raise up
            if isinstance(error, GraphDrained):
                if session.nested and session.slot is not None:
                    latch(session.slot, error)
                    raise error
                raise drained(error, session) from None
            raise error


def drained(signal: GraphDrained, session: Session) -> RunDrained:
    """The signal as the error that a caller outside any node sees."""
    return RunDrained(
        f"The run stopped after its step, as it was asked to: {signal.reason}. Invoke with None to go on",
        component="graph",
        operation="run",
        details={"reason": signal.reason, "thread": session.run.thread or ""},
    )


def _addressed(command: Command[Any]) -> Command[Any]:
    """A command to the parent, as the parent takes it: the result of the node that holds the graph."""
    return Command(update=command.update, resume=command.resume, goto=command.goto)


def told(outcome: o.Outcome, session: Session) -> Any:
    output = settled(outcome, session)
    if isinstance(outcome, o.Halted) and outcome.questions:
        asked = list(outcome.questions)
        return {**cast("dict[str, Any]", output), INTERRUPT: asked} if isinstance(output, dict) else {INTERRUPT: asked}
    return output


def told_v2(outcome: o.Outcome, session: Session) -> GraphOutput[Any]:
    """The same as a `GraphOutput`: the value as an instance of its class, the open questions beside it."""
    output = settled(outcome, session)
    asked = outcome.questions if isinstance(outcome, o.Halted) else ()
    return GraphOutput(typed(session.machine.program.output_schema, output), tuple(asked))
