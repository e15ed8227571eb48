"""The provider that tests are given keeps what it promises, and misbehaves only as told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lawful.core.errors import EffectConflicted, EffectRefused, NetworkError
from lawful.effects import Found, Keyed, Ledger, Lookup, Natural, NotFound, Opaque, Refused, Succeeded, Unavailable
from lawful.effects.capability import capability_of
from lawful.journal.memory import MemoryJournal
from lawful.testing import FakeCommand, FakeProvider, VirtualClock, assert_effects

pytestmark = pytest.mark.unit


@pytest.fixture(params=["memory", "file"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "provider.db" if request.param == "file" else None


def test_it_promises_what_it_keeps() -> None:
    assert FakeProvider().capability == Opaque()
    assert FakeProvider(natural=True).capability == capability_of(Natural())
    kept = FakeProvider(keyed=60.0, lookup="eventual", lag=5.0, delay=2.0).capability
    assert kept == Keyed(60.0, 2.0) & Lookup("eventual", lag=5.0, max_in_flight=2.0)


def test_a_key_is_remembered_for_its_time_and_bound_to_its_arguments(path: Path | None) -> None:
    """Rows: S2-017"""
    clock = VirtualClock()
    provider = FakeProvider(path, keyed=10.0, clock=clock)
    for _ in range(2):
        assert provider.apply("a", "v", "key-1") == "v"
    with pytest.raises(EffectConflicted):
        provider.apply("a", "w", "key-1")
    assert_effects(provider, {"a": 1})
    clock.sleep(10.0)
    provider.apply("a", "v", "key-1")
    assert_effects(provider, 2)
    assert provider.calls == 4


def test_it_can_be_asked_as_far_as_it_says(path: Path | None) -> None:
    clock = VirtualClock()
    provider = FakeProvider(path, lookup="eventual", lag=5.0, delay=1.0, clock=clock)
    started = clock.now()
    provider.apply("a", "v")
    assert clock.now() == started + 1.0
    assert provider.find("a") == NotFound()
    clock.sleep(5.0)
    assert provider.find("a") == Found("v")
    provider.apply("a", "w")
    clock.sleep(5.0)
    assert provider.find("a") == Found("v", ("w",))
    assert isinstance(FakeProvider().find("a"), Unavailable)


def test_it_refuses_and_loses_replies_as_often_as_told(path: Path | None) -> None:
    """Rows: S2-017"""
    provider = FakeProvider(path, refuse=1, lose_reply=1)
    with pytest.raises(EffectRefused):
        provider.apply("a", "v")
    assert_effects(provider, 0)
    with pytest.raises(NetworkError):
        provider.apply("a", "v")
    assert provider.apply("b", "v") == "v"
    assert_effects(provider, {"a": 1, "b": 1})
    with pytest.raises(AssertionError, match="2 effects instead of 3"):
        assert_effects(provider, 3)
    with pytest.raises(AssertionError, match="not"):
        assert_effects(provider, {"a": 2})


def test_its_effect_runs_through_the_ledger() -> None:
    provider = FakeProvider(lookup="strong", lose_reply=1, refuse=1)
    pay = provider.effect("pay", max_attempts=2)
    ledger = Ledger(MemoryJournal(), effects=[pay])
    ends: list[Any] = [ledger.execute_sync(pay.plan(FakeCommand(key))) for key in ("a", "b", "b")]
    assert [type(end) for end in ends] == [Refused, Succeeded, Succeeded]
    assert [getattr(end, "recorded", None) for end in ends] == [None, True, True]
    assert_effects(provider, {"b": 1})
    assert ledger.intent("pay:a").command == FakeCommand("a")


def test_two_files_share_one_world(tmp_path: Path) -> None:
    FakeProvider(tmp_path / "p.db", natural=True).apply("a", "v")
    other = FakeProvider(tmp_path / "p.db", natural=True)
    other.apply("a", "v")
    assert_effects(other, 1)
