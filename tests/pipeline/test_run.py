"""What running a pipeline does: where it stops, what runs at once, what is cancelled, and what passes through."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lawful.core.errors import ConfigurationError, Error, NetworkError, ParsingError, ToolError
from lawful.core.result import Err, Ok, Result
from lawful.core.signals import GraphInterrupt, OutcomeUnknown
from lawful.pipeline import Pipeline, branch, each, identity, par, pure, run, run_sync, step, switch
from lawful.pipeline.leaves import perform
from lawful.pipeline.machine import interpret
from lawful.pipeline.nodes import Lambda
from lawful.pipeline.scene import Scene
from support.pipelines import LEAVES, balanced, both, either, left, right, seq

pytestmark = pytest.mark.unit

SAME: Pipeline[Any, Any] = identity()
DOWN = NetworkError("down")
BAD = ParsingError("bad")


def failing_with(error: BaseException) -> Callable[[Any], Any]:
    def fail(_: Any) -> Any:
        raise error

    return fail


def failing(error: BaseException) -> Pipeline[Any, Any]:
    return step(name=f"fail {error}")(failing_with(error))


def noting(log: list[Any], name: str) -> Pipeline[Any, Any]:
    def note(value: Any) -> Any:
        log.append(name)
        return value

    return step(name=name)(note)


def value(n: int) -> int:
    return n + 1


def result(n: int) -> Result[int, Error]:
    return Ok(n + 1)


async def later(n: int) -> int:
    await asyncio.sleep(0)
    return n + 1


async def later_result(n: int) -> Result[int, Error]:
    return Ok(n + 1)


@pytest.mark.parametrize("f", [value, result, later, later_result])
async def test_the_four_forms_of_a_step_give_the_same(f: Callable[[int], Any]) -> None:
    """Rows: S0-012."""
    assert await run(step(f), 1) == Ok(2)


async def test_identity_returns_its_very_input() -> None:
    """Rows: S0-010."""
    given = object()
    assert (await run(identity(object), given)).unwrap() is given


async def test_the_first_error_stops_a_sequence() -> None:
    """Rows: S0-013."""
    log: list[Any] = []
    assert await run(noting(log, "a") >> failing(BAD) >> noting(log, "b"), 1) == Err(BAD)
    assert log == ["a"]


def raise_bad(_: Any) -> Any:
    raise BAD


async def test_a_pure_function_is_taken_at_its_word() -> None:
    assert await run(pure(result), 1) == Ok(Ok(2))
    with pytest.raises(ParsingError):
        await run(Lambda[Any, Any](raise_bad, "raise_bad", pure=True) | SAME, 1)
    with pytest.raises(ConfigurationError, match="later"):
        pure(later)


async def test_mapping_is_a_pure_step_after_it() -> None:
    assert await run((pure(str) & pure(abs)).map(len), -1) == Ok(2)
    with pytest.raises(ConfigurationError, match="later"):
        identity(int).map(later)


async def test_a_bug_passes_through_a_fallback_unless_it_is_caught() -> None:
    """Rows: S0-016."""
    with pytest.raises(ZeroDivisionError):
        await run(failing(ZeroDivisionError()) | SAME, 1)

    @step(catch=(OSError, ZeroDivisionError), error=NetworkError)
    def divide(n: int) -> float:
        return 1 / n

    end = await run(divide, 0)
    assert isinstance(end, Err)
    assert isinstance(end.error, NetworkError)
    assert end.error.details["step"] == "divide"
    assert isinstance(end.error.__cause__, ZeroDivisionError)
    assert await run(divide | pure(lambda _: 0.0), 0) == Ok(0.0)


async def test_a_fallback_gets_the_input_of_the_first() -> None:
    assert await run((pure(value) >> failing(DOWN)) | identity(int), 1) == Ok(1)
    assert await run(failing(DOWN) | failing(BAD), 1) == Err(BAD)
    log: list[Any] = []
    assert await run(pure(str) | noting(log, "never"), 1) == Ok("1")
    assert log == []


@pytest.mark.parametrize("signal", [OutcomeUnknown("op"), KeyboardInterrupt()])
def test_what_is_no_error_passes_through_a_fallback(signal: BaseException) -> None:
    with pytest.raises(type(signal)) as raised:
        run_sync(failing(signal) | SAME, 1)
    assert raised.value is signal


async def test_both_halves_of_a_pair_run_at_once() -> None:
    """Rows: S0-014, S0-201."""
    meet = asyncio.Barrier(4)

    async def arrive(n: int) -> int:
        await meet.wait()
        return n

    four = par(step(arrive), step(arrive), step(arrive), step(arrive))
    assert await asyncio.wait_for(run(four, 1), 5) == Ok((1, 1, 1, 1))
    assert await run(pure(str) & pure(abs) & pure(bool), -1) == Ok((("-1", 1), True))
    assert await run(pure(str) & (pure(abs) & pure(bool)), -1) == Ok(("-1", (1, True)))


class Sibling:
    """A step that waits to be cancelled and then does what it was told to."""

    def __init__(self, at_end: BaseException | None = None) -> None:
        self.at_end = at_end
        self.ended = False

    async def __call__(self, _: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            self.ended = True
            if self.at_end is not None:
                raise self.at_end


async def fail_later(_: Any) -> Result[int, Error]:
    await asyncio.sleep(0)
    return Err(DOWN)


@pytest.mark.parametrize("swap", [False, True])
async def test_a_failure_cancels_and_awaits_the_sibling(swap: bool) -> None:
    sibling = Sibling()
    a, b = step(fail_later), step(sibling)
    assert await run(b & a if swap else a & b, 1) == Err(DOWN)
    assert sibling.ended


async def test_of_several_errors_the_leftmost_wins() -> None:
    """Rows: S0-014."""
    assert await run(failing(BAD) & failing(DOWN), 1) == Err(BAD)
    assert await run(step(Sibling(BAD)) & step(fail_later), 1) == Err(BAD)
    assert await run(step(fail_later) & step(Sibling(BAD)), 1) == Err(DOWN)


async def test_a_question_outside_a_graphs_run_is_a_typed_error_that_names_the_step() -> None:
    """Rows: S0-104."""
    end = await run((pure(str) >> step(name="ask")(failing_with(GraphInterrupt(["?"])))) | SAME, 1)
    assert isinstance(end, Err)
    assert isinstance(end.error, ConfigurationError)
    assert end.error.details["step"] == "ask"


@pytest.mark.parametrize("signal", [OutcomeUnknown("op"), GraphInterrupt(["?"])])
async def test_an_unknown_outcome_or_a_question_beats_any_error(signal: BaseException) -> None:
    inside = step(Sibling(signal)) & step(Sibling())  # cancelled, and only then the signal
    trees: list[Pipeline[Any, Any]] = [
        step(fail_later) & step(Sibling(signal)),
        step(fail_later) & inside,
        inside & failing(ValueError()),
    ]
    for tree in trees:
        with pytest.raises(type(signal)):
            await interpret(tree | SAME, 1, Scene(perform))


async def test_an_unknown_outcome_beats_a_question_and_questions_are_gathered() -> None:
    with pytest.raises(OutcomeUnknown):
        await run(failing(GraphInterrupt(["?"])) & failing(OutcomeUnknown("op")), 1)
    with pytest.raises(GraphInterrupt) as raised:
        await interpret(failing(GraphInterrupt(["a"])) & failing(GraphInterrupt(["b"])), 1, Scene(perform))
    assert raised.value.interrupts == ("a", "b")


async def test_cancelling_the_run_cancels_and_awaits_all_within() -> None:
    left, right = Sibling(), Sibling()
    task = asyncio.create_task(run(each(step(left) & step(right)), [1]))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (left.ended, right.ended) == (True, True)


async def test_a_cancel_that_nobody_asked_for_is_not_a_result() -> None:
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run(failing(asyncio.CancelledError()) & step(Sibling()), 1), 5)


async def test_a_branch_asks_once() -> None:
    """Rows: S0-015."""
    asked: list[int] = []

    async def small(n: int) -> bool:
        asked.append(n)
        return n < 10

    tree = branch(small, pure(str), pure(hex))
    assert [await run(tree, n) for n in (1, 16)] == [Ok("1"), Ok("0x10")]
    assert asked == [1, 16]

    def unsure(_: int) -> bool:
        raise BAD

    assert await run(branch(unsure, pure(str), pure(hex)), 1) == Err(BAD)
    assert await run(branch(unsure, pure(str), pure(hex)) | pure(repr), 1) == Ok("1")


async def test_a_switch_takes_the_case_or_the_rest() -> None:
    asked: list[int] = []

    def digits(n: int) -> int:
        asked.append(n)
        return len(str(n))

    tree = switch(digits, {1: pure(str), 2: pure(hex)}, otherwise=pure(bin))
    assert [await run(tree, n) for n in (1, 16, 256)] == [Ok("1"), Ok("0x10"), Ok("0b100000000")]
    assert asked == [1, 16, 256]


async def test_each_keeps_the_order_and_its_bound() -> None:
    now, most = 0, 0

    async def work(n: int) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001 * (5 - n % 5))
        now -= 1
        return n * n

    assert await run(each(step(work), at_once=3), range(20)) == Ok([n * n for n in range(20)])
    assert most == 3
    none: list[int] = []
    assert await run(each(step(work)), none) == Ok([])
    with pytest.raises(ConfigurationError):
        each(step(work), at_once=0)


async def test_each_starts_nothing_after_an_error() -> None:
    started: list[int] = []

    async def work(n: int) -> Result[int, Error]:
        started.append(n)
        await asyncio.sleep(0)
        return Err(DOWN) if n == 3 else Ok(n)

    assert await run(each(step(work), at_once=2), range(100)) == Err(DOWN)
    assert max(started) < 6


async def test_a_blocking_step_leaves_the_loop_free_and_is_waited_for() -> None:
    go, ended = threading.Event(), threading.Event()

    @step(blocking=True, catch=OSError)
    def wait(n: int) -> str:
        if not go.wait(5):
            raise OSError("nobody let it go")
        ended.set()
        return threading.current_thread().name

    async def let_go(_: int) -> None:
        go.set()

    end = await run(wait & step(let_go), 1)
    assert isinstance(end, Ok)
    assert end.value[0] != threading.current_thread().name
    go.clear()
    ended.clear()
    task = asyncio.create_task(run(wait, 1))
    await asyncio.sleep(0.01)
    task.cancel()
    asyncio.get_running_loop().call_later(0.02, go.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_run_sync_says_what_to_do_inside_a_loop() -> None:
    with pytest.raises(ConfigurationError, match="await run"):
        run_sync(SAME, 1)


def test_what_cannot_be_right_is_refused_when_built() -> None:
    with pytest.raises(ConfigurationError, match="total"):
        step(total=True, catch=OSError)
    with pytest.raises(ConfigurationError, match="later"):
        step(blocking=True)(later)
    with pytest.raises(ConfigurationError, match="at least one"):
        par()
    with pytest.raises(TypeError, match="sealed"):
        type("Mine", (Pipeline,), {})


def test_caught_without_a_kind_is_a_tool_error() -> None:
    @step(catch=KeyError)
    def caught(key: str) -> int:
        return {"a": 1}[key]

    end = run_sync(caught, "b")
    assert isinstance(end, Err)
    assert isinstance(end.error, ToolError)


@pytest.mark.parametrize("nest", [left, right, balanced])
async def test_no_nest_is_too_deep(nest: Callable[..., Any]) -> None:
    """Rows: S0-013."""
    assert await run(nest(seq, pure(value)), 0) == Ok(LEAVES)
    assert await run(nest(either, failing(DOWN)) | SAME, 7) == Ok(7)
    tree = await run(nest(both, SAME), 7)
    count, todo = 0, [tree.unwrap()]
    while todo:
        top = todo.pop()
        count += not isinstance(top, tuple)
        todo += top if isinstance(top, tuple) else ()
    assert count == LEAVES


def listed(one: Any) -> list[Any]:
    return [one]


async def test_no_mixed_nest_is_too_deep_to_run_or_to_cancel() -> None:
    reached = asyncio.Event()

    async def stay(_: Any) -> None:
        reached.set()
        await asyncio.sleep(60)

    tree: Pipeline[Any, Any] = step(stay)
    for n in range(3_000):
        tree = SAME >> (pure(listed) >> each(tree) if n % 2 else tree & SAME) >> SAME
    task = asyncio.create_task(run(tree, 1))
    await asyncio.wait_for(reached.wait(), 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_step_may_return_any_awaitable() -> None:
    def soon(n: int) -> Awaitable[int]:
        return asyncio.ensure_future(later(n))

    assert await run(step(soon), 1) == Ok(2)


async def test_a_list_that_breaks_while_it_is_read_starts_nothing() -> None:
    started: list[int] = []

    def broken() -> Any:
        yield 1
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(run(each(step(started.append), at_once=1), broken()), 5)
    assert started == []
