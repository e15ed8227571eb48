"""Independent checks joined: in order unless asked for at once, with the same answer either way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.core.errors import ValidationError
from lawful.core.result import Err, Ok, Result
from lawful.effects import Revision
from lawful.effects.checks import collect_checks

pytestmark = pytest.mark.unit

REVISION = Revision("abc")
Check = Callable[[Revision], Awaitable[Result[str, ValidationError]]]


class Lab:
    """Makes checks that note when they begin and how they end, and that wait for turns of the loop in between."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def check(self, name: str, *, turns: int = 0, fails: bool = False, breaks: bool = False) -> Check:
        async def run(revision: Revision) -> Result[str, ValidationError]:
            self.log.append(f"{name} begins")
            try:
                for _ in range(turns):
                    await asyncio.sleep(0)
            except asyncio.CancelledError:
                self.log.append(f"{name} cancelled")
                raise
            self.log.append(f"{name} ends")
            if breaks:
                raise RuntimeError(name)
            return Err(ValidationError(name)) if fails else Ok(f"{name} of {revision}")

        return run


async def test_checks_run_in_order_and_stop_at_the_first_error() -> None:
    """Rows: S2-011."""
    lab = Lab()
    found = await collect_checks(REVISION, lab.check("a", turns=3), lab.check("b"))
    assert found == Ok(["a of abc", "b of abc"])
    assert lab.log == ["a begins", "a ends", "b begins", "b ends"]
    lab = Lab()
    failed = await collect_checks(REVISION, lab.check("a"), lab.check("b", fails=True), lab.check("c"))
    assert isinstance(failed, Err)
    assert failed.error.message == "b"
    assert lab.log == ["a begins", "a ends", "b begins", "b ends"]


async def test_checks_overlap_only_on_request_and_keep_their_order() -> None:
    """Rows: S2-011."""
    lab = Lab()
    found = await collect_checks(REVISION, lab.check("a", turns=5), lab.check("b"), concurrent=True)
    assert found == Ok(["a of abc", "b of abc"])
    assert lab.log == ["a begins", "b begins", "b ends", "a ends"]


async def test_an_error_stops_the_checks_after_it_and_waits_for_those_before() -> None:
    """Rows: S2-011."""
    lab = Lab()
    checks = lab.check("a", turns=5), lab.check("b", turns=1, fails=True), lab.check("c", turns=1_000)
    failed = await collect_checks(REVISION, *checks, concurrent=True)
    assert isinstance(failed, Err)
    assert failed.error.message == "b"
    assert lab.log == ["a begins", "b begins", "c begins", "b ends", "c cancelled", "a ends"]


async def test_what_a_check_raises_goes_through_and_nothing_runs_on() -> None:
    lab = Lab()
    with pytest.raises(RuntimeError, match="a"):
        await collect_checks(REVISION, lab.check("a", breaks=True), lab.check("b", turns=1_000), concurrent=True)
    assert lab.log[-1] == "b cancelled"


async def test_who_cancels_the_join_cancels_its_checks() -> None:
    lab = Lab()
    checks = lab.check("a", turns=10**6), lab.check("b", turns=10**6)
    join = asyncio.ensure_future(collect_checks(REVISION, *checks, concurrent=True))
    await asyncio.sleep(0.01)
    join.cancel()
    with pytest.raises(asyncio.CancelledError):
        await join
    assert sorted(lab.log[2:]) == ["a cancelled", "b cancelled"]


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=6))
@settings(max_examples=50, deadline=None)
def test_running_at_once_never_changes_the_answer(plan: list[tuple[int, bool]]) -> None:
    def told(concurrent: bool) -> object:
        lab = Lab()
        checks = [lab.check(str(n), turns=turns, fails=fails) for n, (turns, fails) in enumerate(plan)]
        match asyncio.run(collect_checks(REVISION, *checks, concurrent=concurrent)):
            case Ok(values):
                return values
            case Err(error):
                return error.message

    assert told(concurrent=True) == told(concurrent=False)
