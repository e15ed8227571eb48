"""Cold start: a child process for each contestant in turn, from its start to the first line it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from bench.jobs import Output, Peer, Row, Sample, Site, Unfit

CHILD = Path(__file__).with_name("cold_child.py")
NAMES = {"lawful": "lawful", "langgraph": "langgraph", "burr": "burr", "plain Python": "plain"}


def child(name: str, site: Site) -> Sample:
    """Milliseconds to the first result, and MB resident at that moment."""
    path = site.fresh()
    start = perf_counter()
    command = [sys.executable, str(CHILD), name, str(path)]
    env = {**os.environ, "LANGSMITH_TRACING": "false"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        took = perf_counter() - start
        process.stdin.close()
        process.wait()
    found, _, memory = line.strip().partition(" ")
    if found != "3":
        raise Unfit(f"the child printed {line!r}")
    return {"cold/start": took * 1e3, "cold/rss": int(memory) / 1024}


def prepare(peer: Peer, site: Site) -> Callable[[], Sample] | None:
    """One child beforehand, so that byte code is written and files are in the page cache."""
    name = NAMES.get(peer.NAME)
    if name is None:
        return None
    child(name, site)
    return lambda: child(name, site)


ROW = Row(
    (
        Output("cold/start", "cold start: process to first result, 3 nodes, SQLite", "ms"),
        Output("cold/rss", "resident memory at that moment", "MB"),
    ),
    prepare,
)
