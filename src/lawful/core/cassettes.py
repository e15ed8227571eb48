"""What all cassettes share: JSON lines in a file, from which whatever looks like a secret is taken out before it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from lawful.core.errors import ConfigurationError
from lawful.core.secret import names_secret, redact

Line: TypeAlias = dict[str, Any]

BLOT: Final = "***"
SECRETS: Final = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|ghp|gho|hf)[-_][A-Za-z0-9_-]{12,}|\bAIza[A-Za-z0-9_-]{30,}|\bAKIA[0-9A-Z]{16}\b"
    r"|(?<=Bearer )[A-Za-z0-9._~+/-]{8,}=*"
)
"""What looks like a key."""


class NotRecorded(AssertionError):
    """A cassette was asked for what it has no record of, or has given already; a failed test, which nothing tries again."""


def blotted(told: Any, secrets: Iterable[str] = ()) -> Any:
    """The same JSON with each text that looks like a key, is under a name such as "password", or is one of ``secrets``
    blotted out; inside longer texts that part alone.
    """
    known = tuple(one for one in secrets if one)
    return _blotted(told, known)


def _blotted(told: Any, known: tuple[str, ...]) -> Any:
    if isinstance(told, str):
        for secret in known:
            told = told.replace(secret, BLOT)
        return redact(SECRETS.sub(BLOT, told))
    if isinstance(told, list):
        return [_blotted(one, known) for one in cast("list[Any]", told)]
    if isinstance(told, dict):
        return {
            _blotted(key, known): BLOT if isinstance(one, str) and names_secret(key) else _blotted(one, known)
            for key, one in cast("dict[str, Any]", told).items()
        }
    return told


def add_line(path: Path, told: Line, secrets: Iterable[str] = ()) -> None:
    """Add a line to the file, without secrets."""
    text = json.dumps(blotted(json.loads(json.dumps(told)), secrets), ensure_ascii=False, sort_keys=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(text + "\n")


def lines_of(path: Path, *keys: str) -> list[Line]:
    """The file's lines. Raises: ConfigurationError, if it is missing, is no JSON, or a line lacks one of ``keys``."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except FileNotFoundError as error:
        raise no_cassette(f"there is no cassette {path}") from error
    except ValueError as error:
        raise no_cassette(f"{path} is no cassette: {error}") from error
    for line in lines:
        if not isinstance(line, dict) or not all(key in line for key in keys):
            raise no_cassette(f"{path} is no cassette: a line has no {' or no '.join(map(repr, keys))}")
    return cast("list[Line]", lines)


def no_cassette(why: str) -> ConfigurationError:
    """The error of a file that is no cassette."""
    return ConfigurationError(why, component="cassette", operation="replay")
