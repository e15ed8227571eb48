"""A Result is a value or an error: steps are chained, and the first error skips the rest."""

from __future__ import annotations

from lawful import Err, Ok, Result
from lawful.core.errors import ParsingError, ValidationError


def parse(text: str) -> Result[int, ParsingError]:
    return Ok(int(text)) if text.isdecimal() else Err(ParsingError(f"not a number: {text!r}"))


def port(number: int) -> Result[int, ValidationError]:
    return Ok(number) if 0 < number < 65536 else Err(ValidationError(f"not a port: {number}"))


for text in ("8080", "http", "70000"):
    match parse(text).bind(port):
        case Ok(value):
            print("ok", value)
        case Err(error):
            print(error.code, error.message)

# prints: ok 8080
# prints: parsing not a number: 'http'
# prints: validation not a port: 70000
