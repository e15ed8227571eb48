"""Fills the manifest's lists of tests from the tags in the test files: ``python tests/house/link_manifest.py``.

An entry that was `todo` becomes linked; one that was `later` becomes linked too, and its reason becomes `rest`, which
says what those tests do not cover. Someone should then look whether `rest` still holds.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.manifest import claims, invert, parts


def main() -> int:
    """Rewrite the parts; 1 where a tag names no known id or stands at no test."""
    found = claims()
    by_id = invert(found.tags)
    moved: list[str] = []
    for part in parts():
        for key, entry in part.entries():
            tests = by_id.pop(key, [])
            if tests:
                entry["tests"] = tests
                entry.pop("todo", None)
                if "later" in entry:
                    entry["rest"] = entry.pop("later")
                    moved.append(key)
            elif "tests" in entry:
                del entry["tests"]
                entry["later" if "rest" in entry else "todo"] = entry.pop("rest", "its tests are gone")
        part.dump()
    if moved:
        print("was `later`, has tests now; see whether `rest` still holds:", ", ".join(moved))
    for key, tests in by_id.items():
        print(f"unknown id {key} in {', '.join(tests)}")
    for place in found.strays:
        print(f"a tag at {place} belongs to no test")
    return 1 if by_id or found.strays else 0


if __name__ == "__main__":
    raise SystemExit(main())
