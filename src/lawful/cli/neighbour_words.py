"""The words of `lawful import`, `lawful export` and `lawful audit` on the command line."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any


def neighbour_words(verbs: Any) -> None:
    """Add the three verbs."""
    about = "take over threads from LangGraph's own checkpoint tables"
    one: ArgumentParser = verbs.add_parser(
        "import", help=about, description=f"{about.capitalize()}.", allow_abbrev=False
    )
    pair = ("KIND", "URL")
    what = "sqlite and a file, or postgres and a connection URL"
    one.add_argument("--from", dest="source", nargs=2, metavar=pair, required=True, help=what)
    one.add_argument("--journal", required=True, metavar="URL", help="a file, sqlite:///FILE or postgresql://...")
    one.add_argument("--graph", metavar="module:name", help="the ported graph, where its state holds classes of yours")
    _json(one)
    about = "write threads to LangGraph's own checkpoint tables, for LangGraph to go on with"
    one = verbs.add_parser("export", help=about, description=f"{about.capitalize()}.", allow_abbrev=False)
    one.add_argument("--to", dest="target", nargs=2, metavar=pair, required=True, help=what)
    one.add_argument("--journal", required=True, metavar="URL", help="a file, sqlite:///FILE or postgresql://...")
    one.add_argument("--graph", metavar="module:name", help="the graph whose threads these are")
    one.add_argument("--thread", action="append", metavar="ID", help="only this one; may be given several times")
    _json(one)
    about = "read an unchanged LangGraph graph and report what it would lose, skip or do twice"
    one = verbs.add_parser("audit", help=about, description=f"{about.capitalize()}.", allow_abbrev=False)
    one.add_argument("graph", metavar="module:name", help="a StateGraph or compiled graph of LangGraph's")
    _json(one)


def _json(one: ArgumentParser) -> None:
    one.add_argument("--json", action="store_true", help="one JSON document instead of text")
