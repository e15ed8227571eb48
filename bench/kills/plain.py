"""The kill in a program that notes what it has done, and does what is not noted."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.kills.world import ask, pay


def main(folder: str, life: int) -> None:
    """Pay unless it is noted."""
    note = Path(folder) / "note.txt"
    if not note.exists():
        note.write_text(pay(folder, life), encoding="utf-8")
    ask("done")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
