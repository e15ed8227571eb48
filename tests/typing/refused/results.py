"""A Result cannot be used as its value, forgotten halfway, or given the wrong next step."""

from __future__ import annotations

from lawful.core.errors import ParsingError
from lawful.core.result import Err, Ok, Result


def parse(text: str) -> Result[int, ParsingError]:
    return Ok(int(text)) if text.isdecimal() else Err(ParsingError(f"no number: {text!r}"))


def used_as_value(text: str) -> int:
    return parse(text) + 1  # expect: Operator "+" not supported


def opened_without_looking(text: str) -> int:
    return parse(text).value  # expect: Cannot access attribute "value" for class "Err[ParsingError]"


def half_a_match(text: str) -> int:  # expect: Function with declared return type "int" must return value
    match parse(text):  # expect: reportMatchNotExhaustive
        case Ok(value):
            return value


def wrong_step(text: str) -> object:
    return parse(text).bind(parse)  # expect: reportArgumentType


def error_that_is_none() -> object:
    return Err("text")  # expect: reportArgumentType
