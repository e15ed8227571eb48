"""The snapshot rule bounds what is stored and what is read, whatever the deltas are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.journal.delta import charge, due

pytestmark = pytest.mark.property

_DELTAS = st.lists(st.one_of(st.just(0), st.integers(1, 300), st.integers(5_000, 6_000)), min_size=1, max_size=400)


def play(deltas: list[int], *, growing: bool) -> tuple[int, int, int]:
    """Bytes of deltas, bytes of snapshots, and the most bytes (and 128 for each row) that rebuilding any state reads."""
    size, weight, snapshots, read, worst = 100, 0, 0, 100, 0
    for delta in deltas:
        size = size + delta if growing else max(100, delta)
        weight += charge(delta)
        read += delta + 128
        if due(weight, size):
            snapshots += size
            weight, read = 0, size
        worst = max(worst, read - 3 * size)
    return sum(deltas), snapshots, worst


@given(_DELTAS, st.booleans())
def test_snapshots_cost_at_most_half_of_what_deltas_are_charged(deltas: list[int], growing: bool) -> None:
    _, snapshots, _ = play(deltas, growing=growing)
    assert 2 * snapshots <= sum(map(charge, deltas))


@given(_DELTAS)
def test_a_growing_state_is_rebuilt_from_three_times_its_bytes(deltas: list[int]) -> None:
    assert play(deltas, growing=True)[2] <= max(map(charge, deltas))


def test_empty_deltas_do_not_make_endless_chains() -> None:
    weight = rows = longest = 0
    for _ in range(1_000):
        weight, rows = weight + charge(0), rows + 1
        if due(weight, 1_000):
            weight = rows = 0
        longest = max(longest, rows)
    assert longest <= 4


def test_a_list_growing_to_a_megabyte_costs_less_than_twice_its_bytes() -> None:
    """Rows: S1-K09, S1-071."""
    deltas, snapshots, _ = play([5_000] * 200, growing=True)
    assert deltas + snapshots + 200 * 128 <= 2 * deltas
