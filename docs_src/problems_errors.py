"""Which errors can come out is known, and the checker finds the one that a match forgot."""

from __future__ import annotations

from typing import assert_never

from lawful import Err, Ok, Result
from lawful.core.errors import NetworkError, ParsingError
from lawful.pipeline import explain, run_sync, step


@step
def fetch(name: str) -> Result[str, NetworkError]:
    return Ok("41") if name == "near" else Err(NetworkError(f"{name} is down", details={"host": name}))


@step
def number(text: str) -> Result[int, ParsingError]:
    return Ok(int(text)) if text.isdecimal() else Err(ParsingError(f"{text!r} is no number"))


tree = fetch >> number
print(explain(tree).escapes, explain(tree | number).escapes)


def advice(error: NetworkError | ParsingError) -> str:
    match error:
        case NetworkError():
            return f"try {error.details['host']} again later"
        case ParsingError():
            return "ask for a number"
        case _:
            assert_never(error)


end = run_sync(tree, "far")
if isinstance(end, Err) and isinstance(end.error, NetworkError | ParsingError):
    print(advice(end.error))
# prints: ('NetworkError', 'ParsingError') ('ParsingError',)
# prints: try far again later
