"""A Result is opened by match, chained by bind, and gathered with its types kept."""

from __future__ import annotations

from typing import assert_type

from lawful.core.errors import NetworkError, ParsingError
from lawful.core.result import Err, Ok, Result, collect


def parse(text: str) -> Result[int, ParsingError]:
    return Ok(int(text)) if text.isdecimal() else Err(ParsingError(f"no number: {text!r}"))


def fetch(port: int) -> Result[str, NetworkError]:
    return Err(NetworkError("down")) if port < 1024 else Ok(f"page at {port}")


def page(text: str) -> str:
    result = parse(text).bind(fetch)
    match result:
        case Ok(value):
            return value
        case Err(ParsingError() as error):
            return f"not a port: {error.message}"
        case Err(error):
            assert_type(error, NetworkError)
            return "try again"


def total(texts: list[str]) -> int:
    gathered = collect(map(parse, texts))
    assert_type(gathered, Result[list[int], ParsingError])
    return sum(gathered.unwrap_or([]))
