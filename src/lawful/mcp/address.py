"""Where a server is: a command to start, or a URL; read from the one text or list that a user gives."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from lawful.core.errors import ConfigurationError
from lawful.core.secret import Secret


class Command(Struct, frozen=True):
    """A server that is started as a child and spoken to by its standard input and output."""

    words: tuple[str, ...]
    env: Mapping[str, str | Secret] = {}
    """Beside a few harmless variables (PATH, HOME...), all that the server gets to see of the environment."""
    cwd: str | None = None


class Url(Struct, frozen=True):
    """A server that listens (streamable HTTP)."""

    url: str
    headers: Mapping[str, str | Secret] = {}


Address: TypeAlias = Command | Url


def address_of(
    server: str | Sequence[str],
    env: Mapping[str, str | Secret] | None,
    cwd: str | Path | None,
    headers: Mapping[str, str | Secret] | None,
) -> Address:
    """Read an address: "https://..." is a URL, any other text a command line (words, not a shell), a list its words.

    Raises: ConfigurationError, for what is neither, and for options that do not go with it.
    """
    if isinstance(server, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", server):
        parts = urlsplit(server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise _refused(f"{server!r} is no address of a server: http://... or https://... is")
        if env is not None or cwd is not None:
            raise _refused("env and cwd are for a server that is started, not for a URL")
        return Url(server, headers or {})
    try:
        words = tuple(shlex.split(server) if isinstance(server, str) else server)
    except ValueError as error:
        raise _refused(f"{server!r} is no command line: {error}") from error
    if not words or not words[0] or any("\0" in word for word in words):
        raise _refused(f"{server!r} names no program to start")
    if headers is not None:
        raise _refused("headers are for a URL, not for a server that is started: give it env instead")
    return Command(words, env or {}, str(cwd) if cwd is not None else None)


def name_of(address: Address) -> str:
    """A short name, for messages and for the ledger, where the user gives none."""
    match address:
        case Url(url):
            return urlsplit(url).hostname or "server"
        case Command(words):
            told = [Path(word).name for word in words if not word.startswith("-")]
            plain = [word for word in told if word not in ("npx", "node", "uvx", "uv", "run", "python", "python3")]
            return re.sub(r"[^A-Za-z0-9_-]", "_", (plain or told or ["server"])[0])[:40] or "server"


def shown(text: str | Secret) -> str:
    """The text itself, for the process or header that needs it."""
    return text.reveal() if isinstance(text, Secret) else text


def _refused(why: str) -> ConfigurationError:
    return ConfigurationError(why, component="mcp", operation="connect")
