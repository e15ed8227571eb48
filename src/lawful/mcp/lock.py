"""The lock file: which version, schemas, descriptions and effect classes of each server somebody has accepted."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from lawful.core.canonical import digest
from lawful.core.errors import ConfigurationError, ParsingError, nearest
from lawful.mcp.errors import ServerChanged

EffectClass: TypeAlias = Literal["read", "idempotent", "opaque"]
"""What a repeat of a tool's call does: nothing, as it only reads; no harm, as twice is once; nobody knows."""


class LockedTool(Struct, frozen=True):
    """One tool as it was accepted; digests are SHA-256 in hex."""

    schema: str
    """Of the schemas of its arguments and its result."""
    description: str
    """Of its title and description, which a model reads."""
    effect: EffectClass


class LockedServer(Struct, frozen=True):
    """One server as it was accepted."""

    version: str
    """Its name and version, as it says."""
    tools: dict[str, LockedTool]


class _File(Struct, frozen=True):
    servers: dict[str, LockedServer]
    lock: Literal[1] = 1


class Lock:
    """A lock file, read when it is asked and written in one piece."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def servers(self) -> dict[str, LockedServer]:
        """By name; empty where there is no file. Raises: ParsingError, for a file that is none."""
        try:
            return dict(msgspec.json.decode(self.path.read_bytes(), type=_File).servers)
        except FileNotFoundError:
            return {}
        except msgspec.MsgspecError as error:
            raise ParsingError(f"{self.path} is no lock file: {error}", component="mcp", operation="lock") from error

    def check(self, name: str, found: LockedServer, *, accept: bool = False) -> None:
        """Hold a server against the file; one that is not in it yet, or that is accepted now, is written down.

        Raises: ServerChanged, which names each difference.
        """
        held = self.servers()
        known = held.get(name)
        if known == found:
            return
        if known is not None and not accept:
            told = differences(known, found)
            raise ServerChanged(
                f"MCP server {name!r} is not what {self.path} says: {'; '.join(told)}."
                f" If that is wanted, accept it: lawful mcp accept {name}",
                component=f"mcp:{name}",
                operation="lock",
                details={"server": name, "changes": "; ".join(told)},
            )
        self._write({**held, name: found})

    def remove(self, name: str) -> None:
        """Forget a server: it is written down anew when it is next met. Raises: ConfigurationError, with the nearest name."""
        held = self.servers()
        if name not in held:
            raise ConfigurationError(
                f"{self.path} has no server {name!r}.{nearest(name, held)}", component="mcp", operation="lock"
            )
        self._write({key: value for key, value in held.items() if key != name})

    def _write(self, servers: Mapping[str, LockedServer]) -> None:
        ordered = {name: servers[name] for name in sorted(servers)}
        text = msgspec.json.format(msgspec.json.encode(_File(ordered)), indent=2) + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def differences(known: LockedServer, found: LockedServer) -> list[str]:
    """What is not as it was, each in a few words."""
    told: list[str] = []
    if known.version != found.version:
        told.append(f"version {known.version!r} became {found.version!r}")
    told.extend(f"tool {name!r} is new" for name in sorted(found.tools.keys() - known.tools.keys()))
    told.extend(f"tool {name!r} is gone" for name in sorted(known.tools.keys() - found.tools.keys()))
    for name in sorted(known.tools.keys() & found.tools.keys()):
        old, new = known.tools[name], found.tools[name]
        if old.schema != new.schema:
            told.append(f"tool {name!r} has another schema")
        if old.description != new.description:
            told.append(f"tool {name!r} has another description")
        if old.effect != new.effect:
            told.append(f"tool {name!r} was {old.effect} and is {new.effect}")
    return told


def locked_tool(listed: Mapping[str, Any], effect: EffectClass) -> LockedTool:
    """A tool's entry. ``listed`` is the tool as the protocol lists it."""
    schemas = [listed.get("inputSchema"), listed.get("outputSchema")]
    words = [listed.get("title"), listed.get("description"), listed.get("annotations")]
    return LockedTool(digest("lawful.mcp/schema", schemas).hex(), digest("lawful.mcp/words", words).hex(), effect)
