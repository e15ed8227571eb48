"""`lawful audit`: what an unchanged LangGraph graph would lose, skip or do twice, with file and line."""

from __future__ import annotations

import os
from argparse import Namespace

from lawful.cli import console
from lawful.cli.console import DONE, REFUSED, say
from lawful.cli.graphs import thing
from lawful.compat.auditing import MEANS, audit_graph


def audit(args: Namespace) -> int:
    """`lawful audit module:graph`; 1 if something was found."""
    found = audit_graph(thing(args.graph))
    if args.json:
        console.as_json(found)
        return REFUSED if found else DONE
    for each in sorted(found, key=lambda each: (each.file, each.line, each.kind)):
        where = f"{os.path.relpath(each.file)}:{each.line}" if each.file else each.node
        say(f"{where}: {each.kind.replace('_', ' ')} ({MEANS[each.kind]})", f"    {each.text}")
    say(f"{len(found)} findings in {args.graph}" if found else f"nothing found in {args.graph}")
    return REFUSED if found else DONE
