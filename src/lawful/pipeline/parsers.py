"""What models answer, read strictly: each parser is a step from text to a value whose error carries the raw text."""

from __future__ import annotations

import enum
import json
import math
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from lawful.core.errors import ParsingError
from lawful.core.failure import JSON, nearest
from lawful.core.lazy import late
from lawful.core.result import Err, Ok, Result
from lawful.pipeline.nodes import Lambda, Pipeline

T = TypeVar("T")
E = TypeVar("E", bound=enum.Enum)

_FENCE = re.compile(r"\A\s*```[A-Za-z0-9_+-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*\Z", re.DOTALL)
_NUMBERED = re.compile(r"\A\s*(\d+)[.)]\s+(.+?)\s*\Z")
_BULLET = re.compile(r"\A\s*[-*•]\s+(.+?)\s*\Z")
_TRUE: Final = frozenset({"true", "yes", "y"})
_FALSE: Final = frozenset({"false", "no", "n"})
_DEEPEST = 200


def _parser(name: str, read: Callable[[str], Result[T, ParsingError]]) -> Pipeline[str, T]:
    return Lambda(read, name, errors=(ParsingError,), independent=True, cacheable=True, acts=False)


def _wrong(what: str, raw: str, why: str) -> Err[ParsingError]:
    return Err(ParsingError(f"{what}: {why}", component="parser", operation=what, details={"raw": raw, "parser": what}))


def json_value() -> Pipeline[str, JSON]:
    """The text as JSON: all of it, or all that stands in its one code block. No prose around it, no NaN, no key twice."""
    return _parser("json", _json)


def _json(text: str) -> Result[Any, ParsingError]:
    inner = _unfenced(text)
    if _depth(inner) > _DEEPEST:
        return _wrong("json", text, f"nested more than {_DEEPEST} levels deep")
    try:
        return Ok(json.loads(inner, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_once_each))
    except ValueError as error:
        return _wrong("json", text, str(error))


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is beyond what a float holds")
    return value


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands there twice")
    return made


def _depth(text: str) -> int:
    """How deep brackets nest, those inside strings counted too: never less than what a reader would meet."""
    now = most = 0
    for char in text:
        if char in "[{":
            now += 1
            most = max(most, now)
        elif char in "]}":
            now -= 1
    return most


def _unfenced(text: str) -> str:
    match = _FENCE.match(text)
    return match[1] if match else text


def structured(kind: type[T], *, strict: bool = False) -> Pipeline[str, T]:
    """The text as JSON of ``kind``: a pydantic model, dataclass, TypedDict, or any type that pydantic validates.

    ``strict`` takes no text for a number. The error names each place that is wrong, for whoever asks the model again.
    """
    adapter: Any = late("pydantic", "TypeAdapter")(kind)
    refused: type[ValueError] = late("pydantic", "ValidationError")
    name = f"structured {getattr(kind, '__name__', kind)}"

    def read(text: str) -> Result[T, ParsingError]:
        value = _json(text)
        if isinstance(value, Err):
            return value
        try:
            # As JSON, so that strict means JSON's own types: a tuple is a list there, a date its text.
            return Ok(adapter.validate_json(json.dumps(value.value), strict=strict))
        except refused as error:
            places = [f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}" for one in _errors(error)]
            return _wrong(name, text, "; ".join(places))

    return _parser(name, read)


def _errors(error: Any) -> list[dict[str, Any]]:
    return error.errors(include_url=False, include_input=False, include_context=False)


def enum_member(kind: type[E]) -> Pipeline[str, E]:
    """The member whose value, or else whose name, the text is; case, blanks and a full stop around it do not count,
    unless case alone tells two values apart."""
    known = {member.name.casefold(): member for member in kind}
    known |= {str(member.value).casefold(): member for member in kind}
    exact = {str(member.value): member for member in kind}
    name = f"enum {kind.__name__}"

    def read(text: str) -> Result[E, ParsingError]:
        plain = text.strip().strip("\"'`.")
        said = plain.casefold()
        found = exact.get(plain, known.get(said))
        if found is None:
            return _wrong(name, text, f"{text.strip()!r:.80} is none of its members.{nearest(said, known)}")
        return Ok(found)

    return _parser(name, read)


def boolean() -> Pipeline[str, bool]:
    """True for true, yes, y; False for false, no, n; an error for anything else, "not true" included."""

    def read(text: str) -> Result[bool, ParsingError]:
        said = text.strip().strip("\"'`.").casefold()
        if said in _TRUE or said in _FALSE:
            return Ok(said in _TRUE)
        return _wrong("boolean", text, f"{text.strip()!r:.80} is neither yes nor no")

    return _parser("boolean", read)


def comma_list() -> Pipeline[str, list[str]]:
    """The parts between commas, blanks around them cut off; none may be empty."""

    def read(text: str) -> Result[list[str], ParsingError]:
        parts = [part.strip() for part in _unfenced(text).strip().split(",")]
        if not all(parts):
            return _wrong("comma list", text, "an empty entry")
        return Ok(parts)

    return _parser("comma list", read)


def line_list() -> Pipeline[str, list[str]]:
    """The entries of a list with one on each line, numbered (1. 2. 3., in order) or with bullets throughout."""

    def read(text: str) -> Result[list[str], ParsingError]:
        lines = [line for line in _unfenced(text).splitlines() if line.strip()]
        numbered = [_NUMBERED.match(line) for line in lines]
        if lines and all(numbered):
            found = [(int(match[1]), match[2]) for match in numbered if match]
            if [number for number, _ in found] != list(range(1, len(found) + 1)):
                return _wrong("line list", text, "its numbers are not 1, 2, 3 in order")
            return Ok([entry for _, entry in found])
        bullets = [_BULLET.match(line) for line in lines]
        if lines and all(bullets):
            return Ok([match[1] for match in bullets if match])
        at = next((n for n, pair in enumerate(zip(numbered, bullets, strict=True), 1) if not any(pair)), 1)
        return _wrong("line list", text, f"line {at} is no entry of a list" if lines else "it is empty")

    return _parser("line list", read)


def tagged(*names: str) -> Pipeline[str, dict[str, str]]:
    """What stands between ``<name>`` and ``</name>``, for each of ``names``, blanks around it cut off.

    Each must stand there exactly once; what is between is taken as it is, no entity and no other tag is read, so that
    there is nothing to expand. Text outside does not count.
    """
    what = f"tags {', '.join(names)}"

    def read(text: str) -> Result[dict[str, str], ParsingError]:
        found: dict[str, str] = {}
        for name in names:
            start, end = f"<{name}>", f"</{name}>"
            if text.count(start) != 1 or text.count(end) != 1:
                return _wrong(what, text, f"{start} and {end} must each stand there once")
            at, to = text.index(start) + len(start), text.index(end)
            if to < at:
                return _wrong(what, text, f"{end} stands before {start}")
            found[name] = text[at:to].strip()
        return Ok(found)

    return _parser(what, read)
