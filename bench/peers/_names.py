"""The contestants' names, and the modules that they are loaded from; a module whose library is missing is listed as such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from bench.jobs import Peer

OURS = "lawful"
LENIENT = "lawful (lenient)"
LANGGRAPH = "langgraph"
DELTA = "langgraph+delta"
BURR = "burr"
PYDANTIC_GRAPH = "pydantic-graph"
PLAIN = "plain Python"

MODULES = {
    OURS: "ours",
    LENIENT: "ours_lenient",
    LANGGRAPH: "langgraph",
    DELTA: "langgraph_delta",
    BURR: "burr",
    PYDANTIC_GRAPH: "pydantic_graph",
    PLAIN: "plain",
}


def load(only: Sequence[str] = (), modules: Mapping[str, str] | None = None) -> tuple[list[Peer], dict[str, str]]:
    """The contestants that can be imported, and for every other one why not; ``only`` picks by part of a name.

    ``modules`` are a suite's own contestants, by the full names of their modules.
    """
    peers: list[Peer] = []
    missing: dict[str, str] = {}
    found = modules or {name: f"bench.peers.{module}" for name, module in MODULES.items()}
    for name, module in found.items():
        if only and not any(part in module or part in name for part in only):
            continue
        try:
            loaded: Any = import_module(module)
        except ImportError as error:
            missing[name] = f"not installed ({error})"
            continue
        peers.append(getattr(loaded, "peer", loaded))
    return peers, missing
