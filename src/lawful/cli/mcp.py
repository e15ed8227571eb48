"""The verb `mcp`: serve what a module names, show what a server has, accept a server that has changed."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from lawful.cli import console
from lawful.cli.console import DONE, say
from lawful.cli.graphs import thing
from lawful.core.errors import ConfigurationError, ParsingError
from lawful.core.lazy import late
from lawful.core.questions import Principal
from lawful.core.secret import Secret

LOCK = "mcp.lock"


def words(one: Any) -> None:
    """The verbs below `lawful mcp`, on their parser."""
    verbs = one.add_subparsers(dest="what", metavar="VERB", required=True, parser_class=type(one))
    serve = verbs.add_parser("serve", help="serve tools, agents and graphs", allow_abbrev=False)
    serve.add_argument("things", nargs="+", metavar="module:name", help="a tool, toolset, agent, graph or Serving")
    serve.add_argument("--http", action="store_true", help="by HTTP; by standard input and output if not given")
    serve.add_argument("--host", default="127.0.0.1", help="what to listen on; others can reach only with --tokens")
    serve.add_argument("--port", type=_port, default=8000)
    serve.add_argument("--name", default="lawful", help="the server's name, as clients see it")
    serve.add_argument("--known-as", action="append", default=[], metavar="HOST", help="a host name that clients use")
    serve.add_argument("--tokens", metavar="FILE", help='JSON: {"token": "principal", ...}')
    serve.add_argument("--db", metavar="FILE", help="the journal of what is called; in memory if not given")
    tools = verbs.add_parser("tools", help="what a server has, and what is taken for granted of it", allow_abbrev=False)
    tools.add_argument("server", nargs="+", metavar="URL|COMMAND", help="a URL, or -- and a command")
    tools.add_argument("--trusted", action="store_true", help="believe its hints")
    tools.add_argument("--json", action="store_true", help="one JSON document instead of text")
    accept = verbs.add_parser("accept", help="take a server as it is when it is next met", allow_abbrev=False)
    accept.add_argument("name", metavar="NAME", help="the server's name in the lock file")
    accept.add_argument("--lock", default=LOCK, metavar="FILE", help=f"the lock file; {LOCK} if not given")


def mcp(args: Namespace) -> int:
    """`lawful mcp ...`: one of the verbs below."""
    return {"serve": _serve, "tools": _tools, "accept": _accept}[args.what](args)


def _serve(args: Namespace) -> int:
    kind = late("lawful.mcp.server", "Serving")
    found = [thing(named) for named in args.things]
    if len(found) == 1 and isinstance(found[0], kind):
        serving: Any = found[0]
    else:
        journal = late("lawful.stores.sqlite", "SQLiteJournal")(args.db) if args.db else None
        tokens, hosts = _tokens(args.tokens), tuple(args.known_as)
        serving = kind(*found, name=args.name, journal=journal, tokens=tokens, hosts=hosts)
    if args.http:
        host = f"[{args.host}]" if ":" in args.host else args.host
        _note(f"serving {', '.join(serving.offers)} at http://{host}:{args.port}/mcp; Ctrl-C ends it")
    elif sys.stdin.isatty():
        _note(
            f"serving {', '.join(serving.offers)} on standard input and output: a client starts this, --http is for a URL"
        )
    asyncio.run(serving.http(args.host, args.port) if args.http else serving.stdio())
    return DONE


def _note(text: str) -> None:
    """To standard error: standard output may be the protocol's."""
    print(f"lawful: {text}", file=sys.stderr, flush=True)


def _tokens(path: str | None) -> dict[str | Secret, Principal] | None:
    """Raises: ParsingError, for a file of another form."""
    if path is None:
        return None
    try:
        told: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        return {Secret(token): Principal(str(who)) for token, who in told.items()}
    except (ValueError, AttributeError) as error:
        raise ParsingError(f'{path} is not of the form {{"token": "principal"}}', component="cli") from error


def _tools(args: Namespace) -> int:
    alone = len(args.server) == 1
    with late("lawful.mcp.client", "connect")(args.server[0] if alone else args.server, trusted=args.trusted) as server:
        info, effects, kit = server.info, server.effects, server.tools
        rows = [(one.original, effects[one.original], one.description.partition("\n")[0]) for one in kit]
    if args.json:
        told = [{"tool": name, "effect": kind, "description": about} for name, kind, about in rows]
        console.as_json({"server": {key: info[key] for key in ("name", "version", "protocol")}, "tools": told})
        return DONE
    say(f"{info['name']} {info['version']}, protocol {info['protocol']}")
    console.table([("tool", "taken as", "what it says of itself"), *((n, k, console.short(a, 70)) for n, k, a in rows)])
    return DONE


def _accept(args: Namespace) -> int:
    if not Path(args.lock).exists():
        raise ConfigurationError(
            f"there is no lock file {args.lock} here: connect(..., lock=...) writes one; name it with --lock FILE",
            component="cli",
            operation="mcp",
        )
    late("lawful.mcp.lock", "Lock")(args.lock).remove(args.name)
    say(f"{args.name} is taken as it is when it is next met.")
    return DONE


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: 1 to 65535")
    return int(text)
