"""The repository that the demo makes when it is given none: a tiny package, one pinned dependency, and real tests."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from lawful.core.errors import ValidationError
from lawful.effects.git import git

PACKAGE = "wordkit"
BEFORE = "1.4.0"
AFTER = "2.0.0"
"""A version with which the tests pass; with 3.0.0 they do not."""
TEST = "python -m unittest"

_WHO = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (
        ("NAME", "demo"),
        ("EMAIL", "demo@localhost"),
        ("DATE", "1767225600 +0000"),
    )
}

FILES = {
    "README.md": """\
# greeter

Greets people. `requirements.txt` pins wordkit; its versions lie in `vendor/`, so that nothing needs a network.
Run the tests with `python -m unittest`.
""",
    "requirements.txt": f"{PACKAGE}=={BEFORE}\n",
    ".gitignore": "__pycache__/\n",
    ".github/workflows/tests.yml": "on: push\n# runs: python -m unittest\n",
    "greeter.py": '''\
"""Greets people, with the version of wordkit that requirements.txt pins."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
[PIN] = [line for line in (HERE / "requirements.txt").read_text().split() if line.startswith("wordkit==")]
sys.path.insert(0, str(HERE / "vendor" / PIN.replace("==", "-")))

import wordkit  # noqa: E402


def greet(name: str) -> str:
    return f"Hello, {wordkit.title(name)}!"


def greet_all(names: list[str]) -> str:
    return f"Hello, {wordkit.join(names)}!"
''',
    "test_greeter.py": '''\
"""Tests of greeter, against the pinned wordkit."""

import unittest

import greeter


class Greeter(unittest.TestCase):
    def test_one(self):
        self.assertEqual(greeter.greet("ada"), "Hello, Ada!")

    def test_spaces_are_dropped(self):
        self.assertEqual(greeter.greet("  ada "), "Hello, Ada!")

    def test_several(self):
        self.assertEqual(greeter.greet_all(["Ada", "Grace", "Mary"]), "Hello, Ada, Grace and Mary!")

    def test_the_pinned_version_is_the_one_in_use(self):
        self.assertEqual(greeter.PIN, "wordkit==" + greeter.wordkit.VERSION)


if __name__ == "__main__":
    unittest.main()
''',
    "vendor/wordkit-1.4.0/wordkit.py": '''\
"""Words."""

VERSION = "1.4.0"


def title(word):
    return word.strip().title()


def join(words):
    return " and ".join([", ".join(words[:-1]), words[-1]])
''',
    "vendor/wordkit-2.0.0/wordkit.py": '''\
"""Words; 2.0.0 joins a single word too."""

VERSION = "2.0.0"


def title(word):
    return word.strip().title()


def join(words):
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
''',
    "vendor/wordkit-3.0.0/wordkit.py": '''\
"""Words; 3.0.0 no longer drops spaces, which some callers relied on."""

VERSION = "3.0.0"


def title(word):
    return word.title()


def join(words):
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
''',
}


def make(folder: Path) -> Path:
    """Make the repository at ``folder``, whole or not at all; one that is there already stays as it is.

    Raises: ValidationError, if ``folder`` is something else; ToolError, if git fails.
    """
    if folder.exists():
        return _ours(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    begun = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
    try:
        for name, text in FILES.items():
            file = begun / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        git(begun, "init", "--quiet", "--initial-branch=main")
        git(begun, "add", "--all")
        git(begun, "commit", "--quiet", "-m", f"greeter, with {PACKAGE} {BEFORE}", env=_WHO)
        begun.chmod(0o755)
        return _placed(begun, folder)
    finally:
        shutil.rmtree(begun, ignore_errors=True)


def _placed(begun: Path, folder: Path) -> Path:
    try:
        return begun.rename(folder)
    except OSError:
        if not folder.exists():
            raise
        return _ours(folder)  # another process was quicker, and made the same


def _ours(folder: Path) -> Path:
    if not (folder / ".git").is_dir():
        raise ValidationError(f"{str(folder)!r} is there and is not the demo's repository", component="demo")
    return folder
