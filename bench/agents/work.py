"""What every contestant of the suite `agents` does: one tool call a turn, all calls different, then an answer."""

from __future__ import annotations

ANSWER = "done"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
