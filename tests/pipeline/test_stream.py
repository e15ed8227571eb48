"""Listening to a run: events in pairs, a bounded buffer, all closed on leaving, and the result that run gives."""

from __future__ import annotations

import asyncio
import gc
import threading
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.core import events as ev
from lawful.core.errors import ConfigurationError, NetworkError, RunnableError
from lawful.core.event_rules import unpaired
from lawful.core.result import Err, Ok
from lawful.core.retry import RetryPolicy
from lawful.core.signals import ControlSignal, OutcomeUnknown
from lawful.core.telling import model_call
from lawful.pipeline import Pipeline, Run, branch, each, prim, pure, retry, run, step, stream, streamed
from lawful.pipeline.pipe import Pipe
from lawful.pipeline.streaming import Stream
from lawful.testing import Script
from support.pipelines import ANY, LOG, AnyPipeline, seen

pytestmark = pytest.mark.unit


async def _all(stream: Stream[Any]) -> list[Any]:
    async with stream as told:
        return [event async for event in told]


async def _listened(tree: AnyPipeline) -> tuple[Any, list[Any], list[Any]]:
    LOG.clear()
    told: list[Any] = []
    heard = stream(tree, 0)
    try:
        async with heard:
            async for event in heard:
                told.append(event)
        end: Any = heard.result
    except ControlSignal as signal:
        end = (type(signal).__name__, str(signal))
    return end, LOG.copy(), told


@pytest.mark.property
@settings(max_examples=60, deadline=None)
@given(ANY)
def test_a_stream_folds_to_the_run(t: AnyPipeline) -> None:
    """Rows: S0-033, S0-050, S0-051, S0-052."""
    end, log, told = asyncio.run(_listened(t))
    plain, same_log = seen(t)
    if isinstance(plain, tuple) and plain[0] == "GraphInterrupt":
        assert isinstance(end, Err)  # outside a graph's run a question is a typed error
    else:
        assert end == plain
    assert sorted(log) == sorted(same_log)
    assert unpaired(told) == []
    assert [event.seq for event in told] == list(range(1, len(told) + 1))
    assert len({event.run_id for event in told}) == 1
    assert isinstance(told[0], ev.RunStarted)
    assert isinstance(told[-1], ev.RunFinished if isinstance(end, Ok) else ev.RunFailed)


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(ANY, st.integers(0, 12))
def test_a_stream_left_after_any_event_has_closed_what_it_opened(t: AnyPipeline, taken: int) -> None:
    """Rows: S0-052."""

    async def main() -> None:
        told = stream(t, 0)
        with suppress(ControlSignal):
            async with told:
                for _ in range(taken):
                    if await anext(told, None) is None:
                        break
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def _words(n: int) -> Any:
    async def words(prompt: str) -> AsyncIterator[str]:
        for i in range(n):
            yield f"{prompt}{i} "

    return words


async def test_chunks_come_as_they_are_made_and_are_one_value_for_the_next_step() -> None:
    """Rows: S0-033."""
    tree = streamed(_words(3)) >> pure(str.split)
    told = await _all(stream(tree, "w"))
    assert [e.value for e in told if isinstance(e, ev.Custom)] == ["w0 ", "w1 ", "w2 "]
    assert [type(e).__name__ for e in told] == [
        "RunStarted", "NodeStarted", "Custom", "Custom", "Custom", "NodeEnded", "NodeStarted", "NodeEnded", "RunFinished",
    ]  # fmt: skip
    assert await run(tree, "w") == Ok(["w0", "w1", "w2"])
    with pytest.raises(RunnableError, match="not come to its end"):
        _ = stream(tree, "w").result


def _count(sofar: int, chunk: str) -> int:
    return sofar + len(chunk)


async def test_a_slow_reader_holds_the_run_back_and_memory_stays_flat() -> None:
    """Rows: S0-053, S0-202."""
    made = 0

    async def many(_: int) -> AsyncIterator[str]:
        nonlocal made
        for i in range(100_000):
            made = i + 1
            yield "x" * 100

    tree = streamed(many, start=0, add=_count)
    told = stream(tree, 0)
    taken, ahead, sizes = 0, 0, list[int]()
    tracemalloc.start()
    async with told:
        async for event in told:
            if isinstance(event, ev.Custom):
                taken += 1
                ahead = max(ahead, made - taken)
            if taken in (10_000, 99_000) and isinstance(event, ev.Custom):
                sizes.append(tracemalloc.get_traced_memory()[0])
                await asyncio.sleep(0.01)
    tracemalloc.stop()
    assert told.result == Ok(10_000_000)
    assert taken == 100_000
    assert ahead <= 65
    assert told.waiting <= 64
    assert sizes[1] - sizes[0] < 200_000


async def test_leaving_closes_the_generator_and_what_runs_beside_it() -> None:
    """Rows: S0-054."""
    closed: list[str] = []

    async def endless(name: str) -> AsyncIterator[str]:
        try:
            while True:
                yield name
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            closed.append(name)

    async def stay(_: str) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            closed.append("stay")

    told = stream(streamed(endless) & step(stay), "endless")
    async with told:
        async for event in told:
            if isinstance(event, ev.Custom):
                break
    assert sorted(closed) == ["endless", "stay"]
    with pytest.raises(RunnableError, match="left before its end"):
        _ = told.result


@pytest.mark.integration
@pytest.mark.parametrize("how", ["block", "aclose", "cancel", "drop"])
async def test_the_provider_sees_its_connection_closed_within_a_second(how: str) -> None:
    """Rows: S0-054."""
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while True:
                writer.write(b"chunk\n")
                await writer.drain()
                await asyncio.sleep(0.005)
                if reader.at_eof():
                    break
        gone.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def ask(_: str) -> AsyncIterator[str]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            async for line in reader:
                yield line.decode()
        finally:
            writer.close()
            await writer.wait_closed()

    async def listen(told: Stream[str]) -> None:
        async with told:
            async for event in told:
                if isinstance(event, ev.Custom):
                    heard.set()
                    if how == "block":
                        return

    heard = asyncio.Event()
    told = stream(streamed(ask), "hello")
    if how == "block":
        await listen(told)
    elif how == "cancel":
        task = asyncio.create_task(listen(told))
        await heard.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    else:
        while not isinstance(await anext(told), ev.Custom):
            pass
        if how == "aclose":
            await told.aclose()
        del told
        gc.collect()
    await asyncio.wait_for(gone.wait(), 1)
    server.close()
    await server.wait_closed()


async def test_what_was_told_before_a_bug_is_delivered_before_it() -> None:
    """Rows: S0-055."""

    def bug(_: int) -> int:
        raise ZeroDivisionError

    told: list[Any] = []

    async def listen() -> None:
        async with stream(pure(abs) >> step(bug), 1) as heard:
            async for event in heard:
                told.append(event)

    with pytest.raises(ZeroDivisionError):
        await listen()
    assert [type(e).__name__ for e in told][-2:] == ["NodeFailed", "RunFailed"]
    assert unpaired(told) == []


async def test_an_unknown_outcome_that_comes_up_on_leaving_is_raised() -> None:
    async def lost(_: int) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise OutcomeUnknown("op")

    heard = stream(step(lost), 1)
    await anext(heard)
    await anext(heard)
    with pytest.raises(OutcomeUnknown):
        await heard.aclose()


async def test_every_part_tells_its_events() -> None:
    seen: list[int] = []

    @step
    def shaky(n: int) -> int:
        seen.append(n)
        if len(seen) == 1:
            raise NetworkError("down")
        return n

    @step
    async def writes(n: int, run: Run[None]) -> int:
        await run.write({"at": n})
        return n

    tree = retry(shaky, RetryPolicy(initial_interval=0, jitter=False)) >> branch(bool, writes, shaky)
    told = await _all(stream(tree, 3))
    assert [(type(e).__name__, getattr(e, "node", "")) for e in told[1:-1]] == [
        ("NodeStarted", "shaky"), ("NodeFailed", "shaky"), ("RetryScheduled", "shaky"), ("NodeStarted", "shaky"),
        ("NodeEnded", "shaky"), ("NodeStarted", "bool"), ("NodeEnded", "bool"), ("NodeStarted", "writes"),
        ("Custom", "writes"), ("NodeEnded", "writes"),
    ]  # fmt: skip
    assert next(e for e in told if isinstance(e, ev.Custom)).value == {"at": 3}
    assert next(e for e in told if isinstance(e, ev.NodeFailed)).code == "network"


async def test_a_step_in_a_thread_writes_and_waits_for_room() -> None:
    @step(blocking=True)
    def many(n: int, run: Run[None]) -> int:
        for i in range(n):
            run.write_sync(i)
        return threading.get_ident()

    told = stream(many, 300)
    values: list[Any] = []
    async with told:
        async for event in told:
            if isinstance(event, ev.Custom):
                values.append(event.value)
            await asyncio.sleep(0)
    assert values == list(range(300))
    assert told.waiting <= 65
    assert told.result != Ok(threading.get_ident())

    @step
    def inline(n: int, run: Run[None]) -> None:
        run.write_sync(n)

    end = await run(inline, 1)
    assert isinstance(end, Err)
    assert isinstance(end.error, ConfigurationError)


class Talker:
    """A component that has events of its own."""

    component_id = "talker"

    async def __call__(self, value: str, /) -> Any:
        return Ok(value.upper())

    async def events(self, value: str) -> AsyncIterator[Any]:
        yield ev.LLMStarted(model="m", span="1")
        yield ev.LLMChunk(span="1", text=value.upper())
        yield ev.LLMEnded(span="1")
        yield Ok(value.upper())


async def test_a_components_own_events_are_in_the_stream_and_the_end_is_the_same() -> None:
    tree: Pipeline[str, str] = prim(Talker())
    heard = stream(tree, "hi")
    told = await _all(heard)
    assert [type(e).__name__ for e in told if isinstance(e, ev.LLMStarted | ev.LLMChunk | ev.LLMEnded)] == [
        "LLMStarted", "LLMChunk", "LLMEnded",
    ]  # fmt: skip
    assert {e.run_id for e in told} == {heard.run_id}
    assert heard.result == await run(tree, "hi") == Ok("HI")


class Model:
    """A model as a component: it tells its pieces to the running attempt."""

    component_id, kind = "m", "model"

    async def __call__(self, value: str, /) -> Any:
        with model_call("m", id="1") as call:
            for word in value.split():
                call.text(word)
                await call.room()
        return Ok(value)


async def test_a_models_pieces_are_in_the_stream() -> None:
    """Rows: S0-033."""
    heard = stream(prim(Model()), "a b")
    told = await _all(heard)
    assert [e.text for e in told if isinstance(e, ev.LLMChunk)] == ["a", "b"]
    assert unpaired(told) == []
    assert heard.result == Ok("a b")


async def test_elements_at_once_are_told_apart_by_their_spans() -> None:
    size: Pipeline[int, int] = step(abs)
    told = await _all(stream(each(size), [1, 2, 3]))
    assert len({e.span for e in told if isinstance(e, ev.NodeStarted)}) == 3
    assert unpaired(told) == []


async def test_a_script_can_be_listened_to() -> None:
    @step
    def ask(text: str) -> str:
        return text

    heard = Script().answer(ask, "42").stream(ask, "6 x 7")
    assert await heard.end() == Ok("42")


async def test_a_stream_that_was_left_before_it_began_never_begins() -> None:
    begun: list[int] = []
    heard = stream(step(begun.append), 1)
    await heard.aclose()
    assert [event async for event in heard] == []
    async with heard:
        pass
    await asyncio.sleep(0)
    assert begun == []


async def test_leaving_waits_for_what_is_closing_even_when_cancelled_meanwhile() -> None:
    """Rows: S0-054."""
    closed: list[str] = []
    closing = asyncio.Event()

    async def stay(_: int) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            closing.set()
            await asyncio.sleep(0.02)
            closed.append("stay")

    heard = stream(step(stay), 1)
    await anext(heard)
    await anext(heard)
    leaving = asyncio.create_task(heard.aclose())
    await closing.wait()
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert closed == ["stay"]


async def test_a_second_reader_at_the_same_time_is_refused() -> None:
    async with stream(step(asyncio.sleep), 60) as heard:
        await anext(heard)
        await anext(heard)
        first = asyncio.create_task(anext(heard))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="two readers"):
            await anext(heard)
        first.cancel()


@pytest.mark.parametrize("how", ["chunks", "events"])
async def test_leaving_while_the_run_waits_for_room_closes_where_the_chunks_come_from(how: str) -> None:
    """The source stands at a yield then: no cancellation reaches it, so it must be closed."""
    closed: list[str] = []

    async def fast(text: str) -> AsyncIterator[Any]:
        try:
            for _ in range(1_000):
                yield text if how == "chunks" else ev.Custom(value=text)
        finally:
            await asyncio.sleep(0)
            closed.append(text)

    class Source:
        component_id = "source"

        async def __call__(self, value: str, /) -> Any:
            return Ok(value)

        def events(self, value: str) -> AsyncIterator[Any]:
            return fast(value)

    part: Pipeline[str, Any] = streamed(fast) if how == "chunks" else prim(Source())
    heard = stream(part, "fast", buffer=2)
    await anext(heard)
    await anext(heard)
    await asyncio.sleep(0.01)
    await heard.aclose()
    assert closed == ["fast"]


async def test_a_bug_in_folding_closes_where_the_chunks_come_from() -> None:
    closed: list[int] = []

    async def numbers(n: int) -> AsyncIterator[int]:
        try:
            for i in range(n):
                yield i
        finally:
            await asyncio.sleep(0)
            closed.append(n)

    def over(sofar: float, chunk: int) -> float:
        return sofar + 1 / (3 - chunk)

    with pytest.raises(ZeroDivisionError):
        await run(streamed(numbers, start=0.0, add=over), 9)
    assert closed == [9]


async def test_a_place_whose_owner_was_cancelled_is_given_to_the_next() -> None:
    pipe = Pipe(1)
    pipe.push("first")

    async def put() -> None:
        await pipe.room()
        pipe.push("second")

    gone, next_one = asyncio.create_task(pipe.room()), asyncio.create_task(put())
    await asyncio.sleep(0)
    assert await pipe.take() == "first"
    gone.cancel()
    assert await asyncio.wait_for(pipe.take(), 5) == "second"
    await next_one
