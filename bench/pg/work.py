"""The programs that every contestant runs: a step that rewrites 1 KB, and a list that grows to a megabyte."""

from __future__ import annotations

import operator
import os
import random
from typing import Annotated, TypedDict

URL = "LAWFUL_BENCH_POSTGRES"
"""The environment variable with the URL of a database that may be filled."""


class Kilobyte(TypedDict, total=False):
    n: int
    text: str


class Growing(TypedDict, total=False):
    n: int
    lines: Annotated[list[str], operator.add]


def url() -> str:
    """Raises: ImportError, which the harness shows as "not installed", without a database."""
    found = os.environ.get(URL)
    if not found:
        raise ImportError(f"set {URL} to the URL of a database that may be filled")
    return found


def text(n: int, size: int) -> str:
    """Text that no compression makes much smaller, as a server's own would otherwise hide what is written."""
    return random.Random(n).randbytes(size // 4 * 3).hex()[:size]


def rewrite(state: Kilobyte) -> Kilobyte:
    """Another kilobyte each time."""
    n = state.get("n", 0) + 1
    return {"n": n, "text": text(n, 1_024)}


def grow(state: Growing) -> Growing:
    """One more line of 10 KB."""
    n = state.get("n", 0) + 1
    return {"n": n, "lines": [text(n, 10_240)]}
