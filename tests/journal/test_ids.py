"""Ids sort by time whatever the clock does; thread ids are what rule 83 takes."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.errors import InvalidThreadId, ValidationError
from lawful.journal.ids import is_id, new_id, thread_key
from support.forks import ended, fork

pytestmark = pytest.mark.unit

_TIMES = st.lists(st.floats(-100, 2**38), min_size=2, max_size=30)


@given(_TIMES)
def test_each_id_is_greater_than_the_one_before_whatever_the_clock_does(times: list[float]) -> None:
    """Rows: S1-K01. Rules: 74."""
    last: str | None = None
    for now in times:
        id = new_id(now, last)
        assert is_id(id)
        assert UUID(id).version == 7
        assert UUID(id).variant == "specified in RFC 4122"
        assert last is None or id > last
        last = id


@given(st.uuids())
def test_any_uuid_can_be_counted_on_from(after: UUID) -> None:
    if after.int >> 80 == (1 << 48) - 1:  # nothing comes after the end of time
        return
    id = new_id(0, str(after))
    assert id > str(after)
    assert is_id(id)


def test_an_id_at_the_end_of_its_millisecond_goes_on_in_the_next() -> None:
    last = "00000000-0001-7fff-bfff-ffffffffffff"
    assert new_id(0, last) > last
    assert new_id(0, last).startswith("00000000-0002-7")


def test_time_is_in_the_id() -> None:
    early, late = new_id(1_000.0), new_id(1_000.001)
    assert early < late
    assert UUID(early).int >> 80 == 1_000_000


def test_what_is_no_uuid_cannot_be_counted_on_from() -> None:
    with pytest.raises(ValidationError):
        new_id(0, "zzz")


def test_a_forked_child_draws_other_ids() -> None:
    here = {new_id(5.0) for _ in range(100)}

    def work() -> None:
        assert not here & {new_id(5.0) for _ in range(100)}

    assert ended(fork(work)) == 0
    assert len({new_id(5.0) for _ in range(2_000)}) == 2_000


@pytest.mark.parametrize(
    "given_, stored",
    [
        ("t", "t"),
        (7, "7"),
        (-1, "-1"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ("Straße 😀", "Straße 😀"),
        ("x" * 255, "x" * 255),
        (" a", " a"),
    ],
)
def test_thread_ids_are_stored_as_text(given_: object, stored: str) -> None:
    """Rules: 83."""
    assert thread_key(given_) == stored


@pytest.mark.parametrize(
    "bad",
    [True, False, None, 1.5, b"t", ["t"], {"$ne": None}, object(), "", "x" * 256, "a\x00b", "a\nb", "\x7f", "\x85", "a\ud800"],
)  # fmt: skip
def test_other_thread_ids_are_refused(bad: object) -> None:
    """Rules: 83."""
    with pytest.raises(InvalidThreadId) as caught:
        thread_key(bad)
    str(caught.value).encode()  # the message itself can be printed
    assert caught.value.context.component == "journal"


@given(st.text(max_size=300))
def test_what_is_taken_can_be_stored(text: str) -> None:
    try:
        assert thread_key(text) == text
    except InvalidThreadId:
        return
    assert 0 < len(text) <= 255
    assert text.encode().decode() == text
    assert not set(text) & set(map(chr, range(32)))
