"""`python -m bench`: lists the suites; `python -m bench graph` runs one."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import report, timing
from bench.aims import Aim
from bench.jobs import Row
from bench.peers import _names
from bench.runner import run
from bench.suites import agents, effects, graph, pipelines, postgres, rag, saver, streams, travel

SUITES: dict[str, Any] = {
    "agents": agents,
    "effects": effects,
    "graph": graph,
    "pipelines": pipelines,
    "postgres": postgres,
    "rag": rag,
    "streams": streams,
    "travel": travel,
    "saver": saver,
}
README = Path(__file__).resolve().parent.parent / "README.md"
MIN_ROUNDS = 5


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """What may be asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure lawful beside its peers, interleaved."
    )
    parser.add_argument("suite", nargs="?", choices=sorted(SUITES), help="without it: list the suites")
    parser.add_argument("--quick", action="store_true", help="one round of small sizes: does everything run?")
    parser.add_argument("--rounds", type=int, default=MIN_ROUNDS, help=f"at least {MIN_ROUNDS} unless --quick")
    parser.add_argument(
        "--rows", action="append", default=[], metavar="NAME", help="only lines whose id has NAME in it"
    )
    parser.add_argument("--peers", action="append", default=[], metavar="NAME", help="only contestants with NAME in it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything, each sample included")
    parser.add_argument("--readme", action="store_true", help="fill the table between the markers in README.md")
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE", help="with --readme: from this --json file")
    parser.add_argument("--check", action="store_true", help="exit with 1 if an aim is missed or not measured")
    return parser.parse_args(argv)


def picked(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """The rows that have a line whose id contains one of ``names``; all of them if there are none."""
    if not names:
        return list(rows)
    return [row for row in rows if any(name in output.id for output in row.outputs for name in names)]


def readme(data: dict[str, Any], suite: str) -> int:
    """Fill README's table; 2 where it has no place for one."""
    table = report.readme_table(data, SUITES[suite].SUMMARY)
    if README.exists() and report.fill_readme(README, table):
        return 0
    print(f"{README} has no {report.BEGIN} ... {report.END}", file=sys.stderr)
    return 2


def measure(args: argparse.Namespace) -> tuple[dict[str, Any], list[Aim]]:
    """Run the suite, print its table, return it as JSON."""
    suite = SUITES[args.suite]
    sizes = suite.QUICK if args.quick else suite.FULL
    rows = picked(suite.rows(sizes), args.rows)
    if not rows:
        ids = ", ".join(output.id for row in suite.rows(sizes) for output in row.outputs)
        raise SystemExit(f"no line has {' or '.join(args.rows)} in its id; there are: {ids}")
    aims = suite.aims(sizes)
    peers, missing = _names.load(args.peers, getattr(suite, "MODULES", None))
    result = run(rows, peers, missing, 1 if args.quick else max(MIN_ROUNDS, args.rounds))
    timing.end_loop()
    print(report.text(result, aims))
    if args.quick:
        print("--quick: one round of small sizes; the aims are for a whole run")
    return report.as_json(result, aims), aims


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    args = arguments(argv)
    if args.suite is None:
        for name, suite in SUITES.items():
            print(f"{name}: {(suite.__doc__ or '').splitlines()[0]}")
        return 0
    logging.getLogger().setLevel(logging.ERROR)
    if args.readme and args.source is not None:
        return readme(json.loads(args.source.read_text(encoding="utf-8")), args.suite)
    data, _ = measure(args)
    if args.json is not None:
        report.dump(args.json, data)
    code = readme(data, args.suite) if args.readme else 0
    if args.check and not all(aim["met"] for aim in data["aims"]):
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
