"""Copies the examples into the pages that show them: ``python tests/house/fill_docs.py``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.docs import PAGES, filled


def main() -> None:
    """Rewrite each page whose blocks are not what the examples say."""
    for page in PAGES:
        text = filled(page)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print("filled", page.name)


if __name__ == "__main__":
    main()
