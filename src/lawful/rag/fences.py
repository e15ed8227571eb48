"""The marks that prompts of this package put around texts, which no text may close or open."""

from __future__ import annotations

import re


def inert(text: str) -> str:
    """``text`` with its own such marks made harmless by a space; all else stays."""
    return re.sub(r"<(?=\s*/?\s*(passage|question|conversation)\b)", "< ", text, flags=re.IGNORECASE)
