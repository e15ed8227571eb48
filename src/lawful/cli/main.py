"""The command `lawful`: its verbs and options, and the one place where errors become lines and exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

import lawful
from lawful.cli.console import REFUSED, USAGE, complain, refuse
from lawful.cli.demo import demo
from lawful.cli.draw import draw
from lawful.cli.graphs import told_error
from lawful.cli.history import history, show, threads
from lawful.cli.ledger import ledger, policy
from lawful.cli.ledger_words import effects_word, journal_word, words
from lawful.cli.mcp import mcp
from lawful.cli.mcp import words as mcp_words
from lawful.cli.neighbour_words import neighbour_words
from lawful.cli.passages import ask, index
from lawful.cli.passages import words as passage_words
from lawful.cli.rekeying import rekey
from lawful.cli.rekeying import words as rekey_words
from lawful.cli.retention import copy, delete, prune
from lawful.cli.retention import words as retention_words
from lawful.cli.run import answer, recover
from lawful.cli.trace import trace
from lawful.cli.upgrade import upgrade
from lawful.core.errors import Failure, nearest
from lawful.core.lazy import late

_ABOUT = """\
Agent programs that never silently repeat or lose what they do to the world.
Start with `lawful demo`: a real change to a real git repository and its pull request, asked for,
approved, and made once through a crash."""
_CODES = """\
exit codes: 0 done, or waiting for an answer; 1 refused or failed, one line on standard error says why;
2 the command line is wrong; 3 the outcome of an effect is not known; 130 interrupted.
The journal is .lawful/lawful.db in the current folder; --db or --journal names another. LAWFUL_TRACEBACK=1: tracebacks."""


class Parser(argparse.ArgumentParser):
    """argparse, which names the nearest verb for a wrong one and takes no abbreviations."""

    def error(self, message: str) -> NoReturn:
        print(f"lawful: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(USAGE)


def parser() -> tuple[Parser, tuple[str, ...]]:
    """The whole command line, and the names of its verbs."""
    top = Parser(
        prog="lawful",
        description=_ABOUT,
        epilog=_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"lawful {lawful.__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", title="verbs", required=True)

    def verb(name: str, about: str) -> Parser:
        made: Parser = verbs.add_parser(
            name, help=about, description=f"{about[0].upper()}{about[1:]}.", allow_abbrev=False
        )
        made.add_argument("--db", metavar="FILE", help="the journal; .lawful/lawful.db if not given")
        return made

    _demo(verb("demo", "update a pinned dependency in a real git repository, up to your approval"))
    _answer(verb("answer", "answer a thread's question, and go on with its run"))
    one = verb("recover", "after a crash: find out what happened, finish what was begun")
    journal_word(one)
    effects_word(one)
    _graph(one)
    _json(one)
    _looking(verb)
    about = "list, explain, settle, verify, freeze and export operations"
    one = verbs.add_parser("ledger", help=about, description=f"{about.capitalize()}.", allow_abbrev=False)
    two = verbs.add_parser("policy", help="compare policies", description="Compare policies.", allow_abbrev=False)
    words(one, two)
    one = verbs.add_parser("draw", help="draw a graph (Mermaid)", description="Draw a graph.", allow_abbrev=False)
    one.add_argument("graph", nargs="?", metavar="module:name", help="a graph of yours; the demo's if not given")
    one.add_argument("--words", action="store_true", help="in words instead")
    _agents(verb)
    passage_words(verbs)
    _upgrade(verbs.add_parser("upgrade", help="which paused threads new code can go on with", allow_abbrev=False))
    mcp_words(verbs.add_parser("mcp", help="serve tools by MCP; look at and accept servers", allow_abbrev=False))
    neighbour_words(verbs)
    retention_words(verbs)
    rekey_words(verbs)
    return top, tuple(verbs.choices)


def _looking(verb: Callable[[str, str], Parser]) -> None:
    one = verb("history", "list a thread's steps and the events of its effects")
    one.add_argument("thread", metavar="THREAD")
    journal_word(one)
    one.add_argument("--limit", type=_count, metavar="N", help="only the newest N steps")
    _graph(one)
    _json(one)
    one = verb("trace", "draw a thread's timeline: what ran when, and how long it took")
    one.add_argument("thread", metavar="THREAD")
    journal_word(one)
    one.add_argument("--limit", type=_count, metavar="N", help="only the newest N steps")
    _graph(one)
    _json(one)
    one = verb("show", "show where a thread stands: its values, questions and effects")
    one.add_argument("thread", metavar="THREAD")
    journal_word(one)
    one.add_argument("--whole", action="store_true", help="do not shorten values")
    _graph(one)
    _json(one)
    one = verb("threads", "list the journal's threads")
    journal_word(one)
    _json(one)


def _agents(verb: Callable[[str, str], Parser]) -> None:
    one = verb("chat", "talk with an agent in the terminal; it is read anew whenever its file is saved")
    one.add_argument("thing", nargs="?", metavar="module:agent", help="an agent of yours; a stand-in if not given")
    one.add_argument("--thread", metavar="ID", help="go on with this conversation, in the journal")
    journal_word(one)
    one = verb("run", "ask an agent, or run a graph, once")
    one.add_argument("thing", metavar="module:name", help="an agent or a graph of yours")
    one.add_argument("prompt", metavar="PROMPT", help="a text; for a graph of several keys a JSON object")
    one.add_argument("--thread", metavar="ID", help="the conversation to begin or go on with")
    journal_word(one)
    _json(one)
    one = verb("check", "find where private data, outsiders' words and a way out can meet")
    one.add_argument("thing", metavar="module:name", help="an agent, a graph or a list of tools of yours")
    one.add_argument("--strict", action="store_true", help="a tool that declares nothing counts as all three")
    one.add_argument("--sarif", action="store_true", help="SARIF 2.1.0 instead of text")


def _upgrade(one: Parser) -> None:
    one.description = "Say which paused threads of a journal the graph as it is now can go on with, which not and why."
    one.add_argument("--check", required=True, metavar="module:name", help="the graph as it is now")
    one.add_argument("--journal", required=True, metavar="URL", help="a file, sqlite:///FILE or postgresql://...")
    one.add_argument("--cipher", metavar="module:name", help="the cipher of a journal that is encrypted")
    _json(one)


def _demo(one: Parser) -> None:
    one.add_argument("--repo", metavar="PATH", help="a git repository of yours; one is made if not given")
    one.add_argument("--package", metavar="NAME", help="the pinned package")
    one.add_argument("--to", metavar="VERSION", help="the version to pin (try 3.0.0: its tests fail)")
    one.add_argument("--test", metavar="COMMAND", help="runs the repository's tests; words, not a shell")
    one.add_argument("--branch", metavar="NAME", help="gets the commit; lawful/NAME-VERSION if not given")
    one.add_argument("--thread", metavar="ID", help="the run's name; `demo`, or NAME-VERSION with --repo")
    one.add_argument("--reckless", action="store_true", help="the proposer overreaches: see its patch refused")
    one.add_argument(
        "--model",
        metavar="NAME",
        help="who proposes the patch: openai:gpt-5, ollama:qwen3, local; a script if not given",
    )
    one.add_argument("--yes", action="store_true", help="approve at once")
    one.add_argument(
        "--rival", action="store_true", help="the same kill without a ledger: plain retry, and two of them"
    )
    _killing(one)


def _answer(one: Parser) -> None:
    one.add_argument("thread", metavar="THREAD")
    given = one.add_mutually_exclusive_group(required=True)
    given.add_argument("answer", nargs="?", choices=("yes", "no"), metavar="yes|no")
    given.add_argument("--value", metavar="JSON", help="any other answer: JSON, or a text")
    journal_word(one)
    one.add_argument("--question", metavar="ID", help="which, where several are open")
    _killing(one)
    _graph(one)


def _killing(one: Parser) -> None:
    one.add_argument("--by", metavar="NAME", help="who answers; your login name if not given")
    one.add_argument("--lose-reply", action="store_true", help="the pull request is opened, the reply never comes")
    one.add_argument(
        "--kill-after-effect", action="store_true", help="SIGKILL this process when the pull request is there"
    )
    one.add_argument("--kill-after-commit", action="store_true", help="SIGKILL this process when the branch has moved")
    one.add_argument("--moved", action="store_true", help="somebody pushes to the branch after the approval")


def _graph(one: Parser) -> None:
    one.add_argument("--graph", metavar="module:name", help="the thread's graph, where it is not the demo's")


def _json(one: Parser) -> None:
    one.add_argument("--json", action="store_true", help="one JSON document instead of text")


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)


_VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "demo": demo,
    "answer": answer,
    "recover": recover,
    "history": history,
    "trace": trace,
    "show": show,
    "threads": threads,
    "ledger": ledger,
    "policy": policy,
    "draw": draw,
    "upgrade": upgrade,
    "prune": prune,
    "delete": delete,
    "copy": copy,
    "rekey": rekey,
    "index": index,
    "ask": ask,
    "mcp": mcp,
    "run": lambda args: late("lawful.cli.agents", "run")(args),
    "chat": lambda args: late("lawful.cli.chat", "chat")(args),
    "check": lambda args: late("lawful.cli.check", "check")(args),
    "import": lambda args: late("lawful.cli.neighbours", "import_")(args),
    "export": lambda args: late("lawful.cli.neighbours", "export")(args),
    "audit": lambda args: late("lawful.cli.audit", "audit")(args),
}


def _of(args: argparse.Namespace) -> list[str]:
    """The verb, and the verb below it where there is one."""
    below: object = getattr(args, "what", None)
    return [args.verb, *([below] if isinstance(below, str) else [])]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit code. Raises: SystemExit for --help and a wrong command line."""
    given = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    top, verbs = parser()
    if given and not given[0].startswith("-") and given[0] not in verbs:
        top.error(f"there is no verb {given[0]!r}.{nearest(given[0], verbs)}")
    args, beyond = top.parse_known_args(given)
    if beyond:
        print(f"lawful: what is {' '.join(beyond)!r}? (see {' '.join(['lawful', *_of(args)])} --help)", file=sys.stderr)
        raise SystemExit(USAGE)
    try:
        return _VERBS[args.verb](args)
    except Failure as error:
        complain(error)
        return REFUSED
    except KeyboardInterrupt:
        print("lawful: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Nobody reads on. Standard output is closed for good, so that Python does not complain while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        refuse(f"{error.strerror or error}: {error.filename}" if error.filename else str(error), "os")
        return REFUSED
    except Exception as error:
        if os.environ.get("LAWFUL_TRACEBACK"):
            raise
        refuse(f"{told_error(error)}. LAWFUL_TRACEBACK=1 shows all of it", "bug")
        return REFUSED
