"""`lawful trace`: a thread's timeline from its journal alone, with its effects, and through long waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lawful.cli.history import Fact, Step
from lawful.cli.trace import IDLE, WIDTH, Bar, bars_of, drawn
from support.command import Place

pytestmark = pytest.mark.integration


def test_the_demo_has_a_timeline(tmp_path: Path) -> None:
    """Steps by their nodes, the effect by its events, in the order in which they ended. Rows: S1-015."""
    place = Place(tmp_path)
    assert place.run("demo", "--yes").code == 0
    told: Any = place.run("trace", "demo", "--json").json()
    steps = [bar for bar in told["bars"] if bar["kind"] == "step"]
    effects = [bar for bar in told["bars"] if bar["kind"] == "effect"]
    assert len(steps) > 2
    assert effects
    ends = [bar["ends"] for bar in told["bars"]]
    assert ends == sorted(ends)
    assert all(0 <= bar["begins"] <= bar["ends"] for bar in told["bars"])
    text = place.run("trace", "demo").out
    for effect in effects:
        assert f"effect {effect['name']}: {' > '.join(effect['notes'])}" in text
    for bar in steps:
        assert bar["name"] in text


def test_a_thread_that_is_not_there_is_named(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert place.run("demo", "--yes").code == 0
    ran = place.run("trace", "deom")
    assert ran.code == 1
    assert "'demo'" in ran.err


def _step(n: int, at: float, *ran: str) -> Step:
    return Step(step=n, at=at, source="loop" if n >= 0 else "input", ran=list(ran), wrote={}, checkpoint=str(n))


def test_bars_lie_where_their_time_was() -> None:
    steps = [_step(-1, 100.0), _step(0, 101.0, "a"), _step(1, 104.0, "b")]
    facts = [Fact(101.5, "Planned", "op"), Fact(103.5, "ReceiptRecorded", "op")]
    bars = bars_of(steps, facts, 100.0)
    assert [(bar.name, bar.begins, bar.ends) for bar in bars] == [
        ("input", 0.0, 0.0),
        ("a", 0.0, 1.0),
        ("op", 1.5, 3.5),
        ("b", 1.0, 4.0),
    ]
    pictures = [line.split("|")[1] for line in drawn(bars)]
    assert [len(picture) for picture in pictures] == [WIDTH] * 4
    assert [picture.strip()[0] for picture in pictures] == ["#", "#", "=", "#"]
    spans = [len(picture.strip()) for picture in pictures]
    assert spans[0] == 1
    assert spans[3] > spans[2] > spans[1]


def test_a_wait_of_days_does_not_hide_the_work() -> None:
    """The work after it still has a width of its own."""
    day = 86_400.0
    bars = [Bar("step", "a", 0.0, 50.0, []), Bar("step", "b", 3 * day, 3 * day + 50.0, [])]
    lines = drawn(bars)
    assert all(len(line.split("|")[1].strip()) > WIDTH // 5 for line in lines)
    assert lines[1].startswith("   72.0 h")
    assert day > IDLE
    assert drawn([]) == ["nothing has happened yet"]
