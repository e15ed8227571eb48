"""What of a graph its stored threads depend on: names, edges, channel kinds, reducers, declared versions; never source text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from lawful.core.reducers import reducer_id, reducer_version
from lawful.graph.program import Program


class Fingerprint(Struct, frozen=True):
    """One graph, as its threads remember it. Equal fingerprints: nothing that a thread depends on has changed."""

    nodes: Mapping[str, str] = {}
    """By name: the name that the node's ids are made of."""
    edges: tuple[tuple[str, str], ...] = ()
    """From and to, sorted; of a conditional edge what is known of it, "*" where it may go anywhere."""
    joins: Mapping[str, str] = {}
    """By channel: its rule, "" where nothing was said."""
    channels: Mapping[str, str] = {}
    """By key: the kind of channel."""
    reducers: Mapping[str, tuple[str, int]] = {}
    """By key: id and version of its merge."""
    versions: Mapping[str, int] = {}
    """By key: the declared version of its values, where that is not 1."""
    revisions: Mapping[str, int] = {}
    """By node: its declared version, where that is not 1."""

    def stored(self) -> bytes:
        """As a thread keeps it: canonical JSON."""
        told = {name: getattr(self, name) for name in self.__struct_fields__}
        if not self.revisions:  # threads from before there were any have none either
            del told["revisions"]
        return json.dumps(told, sort_keys=True, separators=(",", ":")).encode()

    @property
    def digest(self) -> bytes:
        """16 bytes."""
        return digest_of(self.stored())


def digest_of(stored: bytes) -> bytes:
    return hashlib.blake2b(stored, digest_size=16).digest()


def read(stored: bytes) -> Fingerprint:
    """A fingerprint from what a thread kept; fields that this version does not know are left out.

    Raises: ValueError, for bytes that are none.
    """
    told: Any = json.loads(stored)
    return Fingerprint(
        nodes=dict(told.get("nodes", {})),
        edges=tuple((str(a), str(b)) for a, b in told.get("edges", ())),
        joins=dict(told.get("joins", {})),
        channels=dict(told.get("channels", {})),
        reducers={key: (str(id), int(version)) for key, (id, version) in told.get("reducers", {}).items()},
        versions={key: int(version) for key, version in told.get("versions", {}).items()},
        revisions={name: int(version) for name, version in told.get("revisions", {}).items()},
    )


def fingerprint(program: Program) -> Fingerprint:
    """The fingerprint of a compiled graph's program."""
    edges: set[tuple[str, str]] = set()
    for node in program.nodes.values():
        edges.update((node.name, target) for target in node.targets)
        for router in node.routers:
            edges.update((node.name, target) for target in router.targets or ("*",))
    operators = {k: getattr(c, "operator", None) for k, c in program.channels.items()}
    return Fingerprint(
        nodes={name: node.known_as for name, node in program.nodes.items()},
        edges=tuple(sorted(edges)),
        joins={join.channel: join.rule or "" for join in program.joins.values()},
        channels={key: type(channel).__name__ for key, channel in program.channels.items()},
        reducers={k: (reducer_id(f), reducer_version(f)) for k, f in operators.items() if f is not None},
        versions=dict(program.migrations.versions) if program.migrations is not None else {},
        revisions={name: node.version for name, node in program.nodes.items() if node.version != 1},
    )


def print_of(program: Program) -> tuple[bytes, bytes]:
    """A program's fingerprint as its threads keep it: its digest, and the bytes; made once."""
    if program.print is None:
        stored = fingerprint(program).stored()
        program.print = (digest_of(stored), stored)
    return program.print
