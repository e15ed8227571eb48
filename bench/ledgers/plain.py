"""One row inserted and forced to the disk for each effect: what a commit costs here, without any promise."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from time import perf_counter

NAME = "plain Python"
KILL = "bench.kills.plain"


def version() -> str:
    return sqlite3.sqlite_version


def each(path: Path, count: int) -> float:
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA journal_mode=WAL")
    con.execute("PRAGMA synchronous=FULL")
    con.execute("CREATE TABLE done(what TEXT)")
    began = perf_counter()
    for n in range(count):
        con.execute("INSERT INTO done VALUES (?)", (f"{n}" * 50,))
    took = perf_counter() - began
    con.close()
    return took / count * 1e6
