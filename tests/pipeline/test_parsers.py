"""Parsers: what is in form becomes a value, everything else a ParsingError with the raw text."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.errors import ParsingError
from lawful.core.result import Err, Ok
from lawful.pipeline import Pipeline, explain, pure, run_sync
from lawful.pipeline.parsers import boolean, comma_list, enum_member, json_value, line_list, structured, tagged
from lawful.testing.strategies import json_values

pytestmark = pytest.mark.unit


class Colour(enum.Enum):
    RED = "rot"
    BLUE = 2


class Point(pydantic.BaseModel):
    x: int
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    points: list[Point]


ALL: list[tuple[Pipeline[str, Any], str, Any]] = [
    (json_value(), ' {"a": [1, null]} ', {"a": [1, None]}),
    (json_value(), "```json\n[1]\n```", [1]),
    (json_value(), "```\n{}```\n", {}),
    (structured(Point), '{"x": 3, "tags": ["a"]}', Point(x=3, tags=("a",))),
    (structured(Point), '```json\n{"x": "3"}\n```', Point(x=3)),
    (structured(Line), '{"points": [{"x": 1}]}', Line([Point(x=1)])),
    (structured(list[int]), "[1, 2]", [1, 2]),
    (enum_member(Colour), " Red. ", Colour.RED),
    (enum_member(Colour), "rot", Colour.RED),
    (enum_member(Colour), "2", Colour.BLUE),
    (boolean(), "Yes.", True),
    (boolean(), "false", False),
    (comma_list(), "a, b ,c", ["a", "b", "c"]),
    (line_list(), "1. one\n2) two\n\n3. three", ["one", "two", "three"]),
    (line_list(), "- one\n* two", ["one", "two"]),
    (tagged("why", "answer"), "Hm. <why> a & <b> </why>\n<answer>4</answer>", {"why": "a & <b>", "answer": "4"}),
]


@pytest.mark.parametrize("parser, text, value", ALL)
def test_what_is_in_form_becomes_a_value(parser: Pipeline[str, Any], text: str, value: Any) -> None:
    """Rows: S0-162."""
    assert run_sync(parser, text) == Ok(value)


BAD: list[tuple[Pipeline[str, Any], str, str]] = [
    (json_value(), 'Sure! {"a": 1}', "Expecting value"),
    (json_value(), '{"a": 1} and more', "Extra data"),
    (json_value(), '{"a": 1, "a": 2}', "the key 'a' stands there twice"),
    (json_value(), "[NaN]", "NaN is not JSON"),
    (json_value(), "[" * 100_000, "levels deep"),
    (structured(Point), '{"tags": 3}', "x: Field required; tags: Input should be a valid"),
    (structured(Point, strict=True), '{"x": "3"}', "x: Input should be a valid integer"),
    (structured(Point), "x = 3", "Expecting value"),
    (enum_member(Colour), "reddish", "Did you mean 'red'?"),
    (boolean(), "not true", "neither yes nor no"),
    (boolean(), "", "neither"),
    (comma_list(), "a,,b", "an empty entry"),
    (line_list(), "1. one\n3. three", "not 1, 2, 3"),
    (line_list(), "Here you are:\n- one", "line 1 is no entry"),
    (line_list(), "  ", "it is empty"),
    (tagged("answer"), "<answer>1</answer><answer>2</answer>", "once"),
    (tagged("answer"), "</answer><answer>", "stands before"),
    (tagged("answer"), "4", "once"),
]


@pytest.mark.parametrize("parser, text, said", BAD)
def test_everything_else_is_an_error_with_the_raw_text(parser: Pipeline[str, Any], text: str, said: str) -> None:
    """Rows: S0-162."""
    end = run_sync(parser, text)
    assert isinstance(end, Err)
    assert isinstance(end.error, ParsingError)
    assert said in end.error.message
    assert end.error.details["raw"] == text


@pytest.mark.property
@given(json_values())
def test_json_is_read_as_it_was_written(value: Any) -> None:
    import json

    assert run_sync(json_value(), json.dumps(value)) == Ok(value)


@pytest.mark.property
@given(st.text(max_size=40))
def test_no_text_makes_a_parser_raise(text: str) -> None:
    for parser, _, _ in ALL:
        end = run_sync(parser, text)
        assert isinstance(end, Ok) or end.error.details["raw"] == text


def test_a_parser_is_a_part_like_any_other() -> None:
    tree = structured(Point) | pure(lambda _: Point(x=0))
    assert run_sync(tree, "no") == Ok(Point(x=0))
    assert explain(structured(Point)).escapes == ("ParsingError",)


class Crossed(enum.Enum):
    A = "b"
    B = "a"
    UPPER = "C"
    LOWER = "c"


def test_a_members_value_counts_before_anothers_name() -> None:
    parser = enum_member(Crossed)
    told = [run_sync(parser, text).unwrap() for text in ("a", "b", "C", "c", "`upper`.")]
    assert told == [Crossed.B, Crossed.A, Crossed.UPPER, Crossed.LOWER, Crossed.UPPER]


def test_a_number_beyond_a_float_is_not_infinity() -> None:
    for parser in (json_value(), structured(float)):
        end = run_sync(parser, "1e999")
        assert isinstance(end, Err)
        assert "1e999" in end.error.message
