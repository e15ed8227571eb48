"""A run as text, as JSON, and as the table in README."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.aims import Aim, Verdict, judge
from bench.peers._names import BURR, DELTA, LANGGRAPH, LENIENT, OURS, PLAIN, PYDANTIC_GRAPH
from bench.runner import Result

SHORT = {LENIENT: "lenient", DELTA: "lg+delta", PYDANTIC_GRAPH: "pyd-graph", PLAIN: "plain"}
"""Headings, where a name is long."""

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def number(value: float | None) -> str:
    """Three significant digits, no exponent."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3f}"


def ratio(found: dict[str, float], peer: str) -> str:
    """How many times ours the peer takes; for plain Python as for the others, so below 1 it is ahead of us."""
    if OURS not in found or peer not in found or not found[OURS]:
        return "-"
    return f"{number(found[peer] / found[OURS])}x"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the first column to the left and the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines


def _verdict(v: Verdict) -> str:
    if v.met is None:
        return f"{v.text}: not measured"
    return f"{v.text}: {'met' if v.met else 'MISSED'} ({number(v.value)})"


def text(result: Result, aims: Sequence[Aim]) -> str:
    """The table, its aims beside it, and who is missing and why."""
    medians = result.medians()
    verdicts = judge(aims, medians)
    names = list(result.versions)
    rivals = [name for name in names if not name.startswith(OURS)]
    short = {name: SHORT.get(name, name) for name in names}
    head = [f"median of {result.rounds}", "unit", *short.values(), *(f"{short[name]}/ours" for name in rivals), "aims"]
    rows = [head]
    for output in result.outputs:
        found = medians.get(output.id, {})
        failures = result.failures.get(output.id, {})
        values = ["failed" if name in failures else number(found.get(name)) for name in names]
        ratios = [ratio(found, name) for name in rivals]
        beside = "; ".join(_verdict(v) for v in verdicts if v.row == output.id)
        rows.append([output.title, output.unit, *values, *ratios, beside])
    lines = columns([row[:-1] for row in rows])
    lines = [f"{line}  {row[-1]}".rstrip() for line, row in zip(lines, rows, strict=True)]
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    m = result.machine
    foot = [
        "",
        f"{versions}; Python {m['python']}, {m['system']} {m['processor']}, {m['cores']} cores, "
        f"load {', '.join(f'{x:.1f}' for x in m['load'])}; {result.rounds} rounds in {result.seconds:.0f} s; {m['at']}",
        "lenient: strict=False. lg+delta: LangGraph with its beta DeltaChannel.",
        "name/ours: how many times ours the other takes (below 1 it is ahead of us). -: it has no such thing.",
    ]
    foot += [f"{name}: {why}" for name, why in result.missing.items()]
    for id, failures in result.failures.items():
        foot += [f"{id}: {name} failed: {why}" for name, why in failures.items()]
    told = [v for v in verdicts if v.met is not None]
    foot.append(
        f"aims: {sum(bool(v.met) for v in told)} of {len(verdicts)} met, {len(verdicts) - len(told)} not measured"
    )
    foot += [f"  missed: {v.row}: {v.text}, was {number(v.value)}" for v in told if not v.met]
    return "\n".join(lines + foot)


def as_json(result: Result, aims: Sequence[Aim]) -> dict[str, Any]:
    """Everything, samples included."""
    medians = result.medians()
    return {
        "machine": result.machine,
        "versions": result.versions,
        "missing": result.missing,
        "rounds": result.rounds,
        "seconds": result.seconds,
        "rows": [
            {
                "id": output.id,
                "title": output.title,
                "unit": output.unit,
                "medians": medians.get(output.id, {}),
                "samples": result.samples.get(output.id, {}),
                "failures": result.failures.get(output.id, {}),
            }
            for output in result.outputs
        ],
        "aims": [{"row": v.row, "aim": v.text, "value": v.value, "met": v.met} for v in judge(aims, medians)],
    }


def readme_table(data: dict[str, Any], ids: Sequence[str]) -> str:
    """The summary in Markdown, from a run's JSON."""
    rows = {row["id"]: row for row in data["rows"]}
    shown = [OURS, LANGGRAPH, BURR, PLAIN]
    lines = [
        f"| | {' | '.join(shown)} | against LangGraph |",
        f"|---|{'--:|' * len(shown)}--:|",
    ]
    for id in ids:
        if id not in rows:
            continue
        row, found = rows[id], rows[id]["medians"]
        cells = [f"{number(found[name])} {row['unit']}" if name in found else "" for name in shown]
        lines.append(f"| {row['title']} | {' | '.join(cells)} | {ratio(found, LANGGRAPH)} |")
    m, versions = data["machine"], data["versions"]
    names = ", ".join(f"{name} {versions[name]}" for name in shown if name in versions)
    lines += [
        "",
        f"Medians of {data['rounds']} interleaved rounds: {names}; {m['cores']} cores. `python -m bench graph`.",
    ]
    return "\n".join(lines)


def fill_readme(path: Path, table: str) -> bool:
    """Put the table between the markers; False, and nothing written, if they are not there once each in this order."""
    whole = path.read_text(encoding="utf-8")
    before, found, rest = whole.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not found or not closed or BEGIN in rest or END in after:
        return False
    path.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
    return True


def dump(path: Path, data: dict[str, Any]) -> None:
    """JSON to a file."""
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
