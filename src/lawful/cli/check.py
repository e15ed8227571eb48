"""The verb `check`: whether private data, outsiders' words and a way out can meet in an agent or a graph."""

from __future__ import annotations

from argparse import Namespace

import lawful
from lawful.agents.check import check as find
from lawful.agents.sarif import sarif
from lawful.cli import console
from lawful.cli.console import DONE, REFUSED, say, step
from lawful.cli.graphs import thing


def check(args: Namespace) -> int:
    """`lawful check module:name`; 1 with the path where the three can meet. Nothing is run but the module's own lines."""
    found = find(thing(args.thing), strict=args.strict)
    if args.sarif:
        console.as_json(sarif(found, lawful.__version__))
        return DONE if found.ok else REFUSED
    for one in found.meetings:
        step("found", one.text)
    for one in found.undeclared:
        step("unknown", f"{one.tool.name} (in {one.where}): nobody declared what it does")
    for one in found.opaque:
        told = "its outcome cannot be looked up; after a crash in the wrong moment you will be asked"
        step("opaque", f"{one.tool.name} (in {one.where}): {told}")
    meet = f"{len(found.meetings)} ways on which private data can be sent out on an outsider's word"
    say(f"{args.thing}: {found.tools} tools; {meet}, {len(found.undeclared)} undeclared, {len(found.opaque)} opaque")
    return DONE if found.ok else REFUSED
