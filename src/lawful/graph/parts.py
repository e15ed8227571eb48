"""The parts of a graph under construction, as plain values: nodes, edges, conditional edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from lawful.core.errors import GraphBuildError
from lawful.core.retry import RetryPolicy
from lawful.graph.state import Schema
from lawful.journal.cache_port import Cache


class NodeSpec:
    """One node as `add_node` was told of it."""

    __slots__ = (
        "cache", "defer", "destinations", "fn", "graph", "handler", "metadata", "name", "performs", "retry", "schema",
        "spares", "timeout", "version",
    )  # fmt: skip

    def __init__(
        self,
        *,
        name: str,
        fn: Any,
        graph: Any,
        defer: bool,
        metadata: Mapping[str, Any],
        schema: Schema,
        retry: tuple[RetryPolicy, ...],
        cache: Any,
        timeout: Any,
        handler: Any,
        destinations: tuple[str, ...] | None,
        performs: bool = True,
        spares: bool = False,
        version: int = 1,
    ) -> None:
        self.name = name
        self.fn = fn
        self.graph = graph
        """The compiled graph, if the node is one."""
        self.defer = defer
        self.metadata = metadata
        self.schema = schema
        self.retry = retry
        self.cache = cache
        self.timeout = timeout
        self.handler = handler
        self.performs = performs
        self.spares = spares
        self.version = version
        """As its author counts: another one says that threads which wait at it cannot go on as they are."""
        self.destinations = destinations
        """Where it may go by Command; for drawing and reports only."""


class EdgeSpec:
    """One edge, or one join of several sources."""

    __slots__ = ("is_join", "rule", "sources", "target")

    def __init__(self, sources: tuple[str, ...], target: str, is_join: bool, rule: str | None) -> None:
        self.sources = sources
        self.target = target
        self.is_join = is_join
        self.rule = rule


class BranchSpec:
    """One conditional edge."""

    __slots__ = ("name", "path", "path_map", "schema", "source", "targets")

    def __init__(
        self,
        source: str,
        path: Any,
        name: str,
        path_map: dict[Any, str] | None,
        targets: tuple[str, ...] | None,
        schema: Schema,
    ) -> None:
        self.source = source
        self.path = path
        self.name = name
        self.path_map = path_map
        self.targets = targets
        """Where it may go, or None where that is not known before it runs."""
        self.schema = schema


class Blueprint(Protocol):
    """A graph under construction, as what reads it needs it."""

    @property
    def name(self) -> str | None: ...
    @property
    def strict(self) -> bool: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def input_schema(self) -> Schema: ...
    @property
    def output_schema(self) -> Schema: ...
    @property
    def context_schema(self) -> Any: ...
    @property
    def nodes(self) -> Mapping[str, NodeSpec]: ...
    @property
    def edges(self) -> Sequence[EdgeSpec]: ...
    @property
    def branches(self) -> Sequence[BranchSpec]: ...
    @property
    def defaults(self) -> Mapping[str, Any]: ...
    @property
    def migrations(self) -> Sequence[Any]: ...


class Frozen:
    """A graph as it was when it was compiled."""

    def __init__(self, graph: Blueprint, name: str) -> None:
        self.name = name
        self.builder: Any = graph
        self.strict = graph.strict
        self.schema = graph.schema
        self.input_schema = graph.input_schema
        self.output_schema = graph.output_schema
        self.context_schema = graph.context_schema
        self.nodes = dict(graph.nodes)
        self.edges = tuple(graph.edges)
        self.branches = tuple(graph.branches)
        self.defaults = dict(graph.defaults)
        self.migrations = tuple(graph.migrations)


def one_or_many(given: Any) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    if isinstance(given, str):
        return (given,)
    return tuple(str(g) for g in given)


def policies(given: Any) -> tuple[RetryPolicy, ...]:
    """One retry policy, several, or none. Raises: GraphBuildError for anything else."""
    if given is None:
        return ()
    found = tuple(cast("Sequence[Any]", given)) if isinstance(given, (list, tuple)) else (given,)
    for one in found:
        if not isinstance(one, RetryPolicy):
            raise GraphBuildError(
                f"retry_policy takes a RetryPolicy or a sequence of them, got {type(one).__name__}",
                component="graph",
                operation="add_node",
            )
    return tuple(found)


def subgraph_of(fn: Any) -> Any:
    """``fn`` itself if it is a compiled graph, else None."""
    return fn if hasattr(fn, "nested") and hasattr(fn, "program") else None


def checked_cache(given: Any) -> Any:
    """``given``, if it may stand for a cache. Raises: GraphBuildError."""
    if given is not None and not isinstance(given, Cache):
        raise GraphBuildError(
            f"cache takes a Cache (MemoryCache, SQLiteCache), got {type(given).__name__}",
            component="graph",
            operation="compile",
        )
    return given


def checked_journal(given: Any) -> Any:
    """``given``, if it may stand for a journal. Raises: TypeError, which says how one is made."""
    if given in (None, True, False) or (hasattr(given, "chain") and not isinstance(given, type)):
        return given
    what, meant = type(given).__name__, ""
    if isinstance(given, type):
        what, meant = f"the class {given.__name__}", f" Write {given.__name__}(...)."
    elif isinstance(given, str) and given.startswith(("postgres://", "postgresql://")):
        meant = " Write PostgresJournal(...)."
    elif isinstance(given, str):
        meant = f" Write SQLiteJournal({given!r})."
    raise TypeError(f"Invalid checkpointer provided. Expected a Journal, True, False or None. Received {what}.{meant}")
