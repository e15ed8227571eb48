"""Streamed tool calls come together rightly, whatever a provider does with indexes and ids and wherever it cuts."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.messages import InvalidToolCall, ToolCall
from lawful.models.assembler import Assembler
from lawful.models.pieces import CallPiece, FinishPiece, Piece, TextPiece

pytestmark = [pytest.mark.unit, pytest.mark.property]

FIRST = '{"city": "Lyon", "days": 3}'
SECOND = '{"query": "a \\"quoted\\" }{ text"}'


def assembled(pieces: Sequence[Piece]) -> list[tuple[str | None, str | None, object]]:
    """Id, name and arguments of each call, in order."""
    assembler = Assembler("m" * 32, "openai", "x")
    for piece in (*pieces, FinishPiece("stop")):
        assembler.feed(piece)
    told: list[tuple[str | None, str | None, object]] = []
    for block in assembler.end().reply.message.content:
        assert isinstance(block, ToolCall | InvalidToolCall)
        told.append((block.id, block.name, block.args))
    return told


EXPECTED = [("a", "weather", json.loads(FIRST)), ("b", "search", json.loads(SECOND))]


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    """``text`` in pieces, empty ones among them."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    return [text[low:high] for low, high in zip([0, *places], [*places, len(text)], strict=True)]


def _interleaved(first: list[CallPiece], second: list[CallPiece], order: Sequence[bool]) -> list[CallPiece]:
    """Both in their own order, begun in turn; ``order`` says whose turn it is."""
    left, right = list(first), list(second)
    mixed = [left.pop(0), right.pop(0)]
    for mine in order:
        source = left if mine else right
        if source:
            mixed.append(source.pop(0))
    return [*mixed, *left, *right]


@given(cut(FIRST), cut(SECOND), st.lists(st.booleans(), max_size=20))
def test_two_calls_interleaved_by_index(one: list[str], two: list[str], order: list[bool]) -> None:
    """Cases: A14."""
    first = [CallPiece(0, "a", "weather", one[0]), *(CallPiece(0, text=text) for text in one[1:])]
    second = [CallPiece(1, "b", "search", two[0]), *(CallPiece(1, text=text) for text in two[1:])]
    assert assembled(_interleaved(first, second, order)) == EXPECTED


def test_two_complete_calls_under_one_index() -> None:
    """Cases: A14."""
    assert assembled([CallPiece(0, "a", "weather", FIRST), CallPiece(0, "b", "search", SECOND)]) == EXPECTED


@given(cut(FIRST), cut(SECOND))
def test_a_second_id_under_the_same_index_then_continuations_without_one(one: list[str], two: list[str]) -> None:
    """Cases: A14."""
    pieces = [
        CallPiece(0, "a", "weather", one[0]),
        *(CallPiece(0, text=text) for text in one[1:]),
        CallPiece(0, "b", "search", two[0]),
        *(CallPiece(0, text=text) for text in two[1:]),
    ]
    assert assembled(pieces) == EXPECTED


@given(cut(FIRST), cut(SECOND), st.sampled_from(["", "null", "None", " "]), st.booleans())
def test_placeholder_ids_on_continuations(one: list[str], two: list[str], blank: str, indexed: bool) -> None:
    """Cases: A14."""

    def at(index: int) -> int | None:
        return index if indexed else None

    pieces = [
        CallPiece(at(0), "a", "weather", one[0]),
        *(CallPiece(at(0), blank, "", text) for text in one[1:]),
        CallPiece(at(1), "b", "search", two[0]),
        *(CallPiece(at(1), blank, "", text) for text in two[1:]),
    ]
    assert assembled(pieces) == EXPECTED


@given(cut(FIRST), cut(SECOND), st.integers(0, 8), st.booleans())
def test_an_id_that_comes_late(one: list[str], two: list[str], late: int, named: bool) -> None:
    """Cases: A14."""

    def call(index: int, own: str, name: str, texts: list[str]) -> list[CallPiece]:
        at = min(late, len(texts) - 1)
        return [
            CallPiece(index, own if n == at else None, name if n == 0 or named else None, text)
            for n, text in enumerate(texts)
        ]

    assert assembled([*call(0, "a", "weather", one), *call(1, "b", "search", two)]) == EXPECTED


@given(cut(FIRST))
def test_an_id_that_comes_alone_after_the_arguments(one: list[str]) -> None:
    """Cases: A14."""
    pieces = [
        CallPiece(0, None, "weather", ""),
        *(CallPiece(0, text=text) for text in one),
        CallPiece(0, "a"),
        CallPiece(0, "b", "search", SECOND),
    ]
    assert assembled(pieces) == EXPECTED


def test_no_ids_at_all_still_give_two_calls_with_ids_of_their_own() -> None:
    """Cases: A14."""
    told = assembled([CallPiece(0, None, "weather", FIRST), CallPiece(0, None, "search", SECOND)])
    assert [(name, args) for _, name, args in told] == [(name, args) for _, name, args in EXPECTED]
    assert len({own for own, _, _ in told}) == 2
    assert all(own for own, _, _ in told)


def test_a_call_that_is_sent_twice_is_one() -> None:
    assert assembled([CallPiece(0, "a", "weather", FIRST), CallPiece(0, "a", "weather", FIRST)]) == EXPECTED[:1]


def test_a_call_without_arguments_has_an_empty_object() -> None:
    assert assembled([CallPiece(0, "a", "now", "")]) == [("a", "now", {})]


@pytest.mark.parametrize("text", ['{"city": "Ly', "[1]", '"Lyon"', "{'city': 1}", "\ud800"])
def test_arguments_that_are_no_object_are_kept_as_they_came(text: str) -> None:
    assert assembled([CallPiece(0, "a", "weather", text)]) == [("a", "weather", text)]


def test_text_before_a_call_stays_before_it_and_the_end_is_a_call() -> None:
    """Cases: A16."""
    assembler = Assembler("m" * 32, "openai", "x")
    for piece in (TextPiece("Let me "), TextPiece("look."), CallPiece(0, "a", "weather", FIRST), FinishPiece("stop")):
        assembler.feed(piece)
    reply = assembler.end().reply
    assert [block.__class__.__name__ for block in reply.message.content] == ["Text", "ToolCall"]
    assert (reply.text, reply.finish) == ("Let me look.", "tool_calls")
