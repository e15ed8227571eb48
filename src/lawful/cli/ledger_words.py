"""The options of `lawful ledger` and `lawful policy`."""

from __future__ import annotations

import argparse
from typing import Any


def words(ledger: argparse.ArgumentParser, policy: argparse.ArgumentParser) -> None:
    """Add the verbs beneath both."""
    inner = ledger.add_subparsers(dest="what", metavar="WHAT", title="verbs", required=True)

    def verb(name: str, about: str, *, told: bool = True) -> Any:
        made = inner.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.", allow_abbrev=False)
        _common(made)
        if told:
            made.add_argument("--json", action="store_true", help="one JSON document instead of text")
        return made

    one = verb("list", "list operations, oldest first")
    one.add_argument("--state", action="append", metavar="STATE", help="only in this state; may be repeated")
    one.add_argument("--tool", metavar="NAME", help="only of this effect")
    one.add_argument("--thread", metavar="THREAD", help="only of this thread")
    one.add_argument("--limit", type=int, metavar="N", help="only the newest N")
    one = verb("show", "show one operation: where it stands, why, and its events")
    one.add_argument("operation", metavar="OPERATION")
    one = verb("reconcile", "find out what became of one operation, or of all that are open; sends nothing")
    one.add_argument("operation", nargs="?", metavar="OPERATION")
    effects_word(one)
    one = verb("resolve", "decide what became of an operation that nobody can look up", told=False)
    one.add_argument("operation", metavar="OPERATION")
    one.add_argument("--happened", metavar="RECEIPT", help="it did: its receipt, as JSON or text")
    one.add_argument(
        "--did-not-happen", action="store_true", help="it did not, and no longer can: it may be tried again"
    )
    one.add_argument("--no-retry", action="store_true", help="with --did-not-happen: it has failed")
    one.add_argument("--give-up", action="store_true", help="nobody will find out")
    one.add_argument("--reason", required=True, metavar="TEXT", help="why; kept in the record")
    one.add_argument("--by", metavar="NAME", help="who decides; your login name if not given")
    one.add_argument("--version", type=int, metavar="N", help="refuse unless it is still at this version")
    one = verb("verify", "verify every chain of events, and rebuild every row from its events")
    one.add_argument("--heads", metavar="FILE", help="compare with heads that `export --heads` wrote")
    one = verb("freeze", "let nothing that matches be claimed or sent, in any process", told=False)
    one.add_argument("pattern", nargs="?", metavar="PATTERN", help="an effect, an operation, or a pattern such as '*'")
    one.add_argument("--reason", default="no reason given", metavar="TEXT")
    one.add_argument("--by", metavar="NAME", help="who freezes; your login name if not given")
    one.add_argument("--thaw", action="store_true", help="end the freeze of exactly this pattern")
    one.add_argument("--list", action="store_true", help="list what is frozen")
    one = verb("quarantine", "show, begin or end the quarantine of a journal that was restored from a copy")
    one.add_argument("--since", metavar="MOMENT", help="begin one: when the copy was made, as 2026-11-30T12:00 (UTC)")
    one.add_argument("--reason", default="restored from a copy", metavar="TEXT")
    one.add_argument("--by", metavar="NAME", help="who begins it; your login name if not given")
    one.add_argument("--end", action="store_true", help="end it: every open operation has been looked into")
    one = verb("export", "write every event as a line of JSON, or the heads of all chains", told=False)
    one.add_argument("--heads", action="store_true", help="the heads alone, to be kept and signed elsewhere")
    rules = policy.add_subparsers(dest="what", metavar="WHAT", title="verbs", required=True)
    about = "put recorded operations to two policies"
    two = rules.add_parser("compare", help=about, description=f"{about[0].upper()}{about[1:]}.", allow_abbrev=False)
    two.add_argument("old", metavar="OLD", help="module:name of a policy")
    two.add_argument("new", metavar="NEW", help="module:name of another")
    _common(two)
    two.add_argument("--json", action="store_true", help="one JSON document instead of text")


def _common(one: argparse.ArgumentParser) -> None:
    one.add_argument("--db", metavar="FILE", help="the journal; .lawful/lawful.db if not given")
    journal_word(one)
    one.add_argument("--scope", metavar="NAME", help="the tenant; the journal's own if not given")


def journal_word(one: argparse.ArgumentParser) -> None:
    """The option that names any journal."""
    one.add_argument("--journal", metavar="URL", help="instead of --db: a file, sqlite:///FILE or postgresql://...")
    one.add_argument("--cipher", metavar="module:name", help="the cipher of a journal that is encrypted")


def effects_word(one: argparse.ArgumentParser) -> None:
    """The option that names effects of the caller's."""
    one.add_argument(
        "--effects",
        action="append",
        metavar="module:name",
        help="an effect of yours, or a list of them; may be repeated",
    )
