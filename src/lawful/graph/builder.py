"""`StateGraph`: nodes, edges and conditional edges; it mutates and returns itself, and ``compile`` freezes it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from lawful.core.errors import GraphBuildError, nearest
from lawful.graph.channels import BinaryOperatorAggregate
from lawful.graph.command import END, ROOT, START
from lawful.graph.compiled import CompiledStateGraph
from lawful.graph.effects_in import warn_of_opaque
from lawful.graph.link import link
from lawful.graph.migrations import Migration
from lawful.graph.naming import allowed, check_callable, commanded, name_at, named, names, plain_name, version_of
from lawful.graph.neighbourly import as_called
from lawful.graph.parts import (
    BranchSpec,
    EdgeSpec,
    Frozen,
    NodeSpec,
    checked_cache,
    checked_journal,
    one_or_many,
    policies,
    subgraph_of,
)
from lawful.graph.pipelines import PipelineNode, is_pipeline
from lawful.graph.policies import NO_LIMITS, Limits, timeout_of
from lawful.graph.signature import hints, name_of, parameters
from lawful.graph.state import Schema, kind_of, one_channel_a_key, read_schema
from lawful.graph.validate import check_build

S = TypeVar("S")
_FORBIDDEN = "|:"
_log = logging.getLogger("lawful.graph")


class StateGraph(Generic[S]):
    """Describes a graph over a state class: TypedDict, dataclass, pydantic model, or a bare type.

    ``strict`` (default) refuses what would be accepted silently: undeclared keys, wrong types, unknown targets, joins of
    which one source can be skipped; ``strict=False`` is LangGraph's behaviour. ``reducer=f`` makes the whole state one
    channel merged by ``f``. Every method returns the graph, so calls can be chained or stand as statements.
    """

    def __init__(
        self,
        state_schema: type[S],
        context_schema: Any = None,
        *,
        input_schema: Any = None,
        output_schema: Any = None,
        strict: bool = True,
        reducer: Callable[[S, S], S] | None = None,
        name: str | None = None,
    ) -> None:
        if isinstance(state_schema, dict):
            raise GraphBuildError(
                f"The state is declared by a class (TypedDict, dataclass, pydantic model), not by a dict: {state_schema!r:.80}",
                component="graph",
                operation="state",
            )
        self.strict = strict
        self.context_schema = context_schema
        self.name = name
        self.schema = self._root_schema(state_schema, reducer) if reducer is not None else read_schema(state_schema)
        self.input_schema = read_schema(input_schema) if input_schema is not None else self.schema
        self.output_schema = read_schema(output_schema) if output_schema is not None else self.schema
        for given, what in ((self.input_schema, "input"), (self.output_schema, "output")):
            if given is not self.schema and given.managed:
                raise GraphBuildError(
                    f"The {what} schema {given.name} has managed values: {', '.join(given.managed)}", component="graph"
                )
        self.nodes: dict[str, NodeSpec] = {}
        self.edges: list[EdgeSpec] = []
        self.branches: list[BranchSpec] = []
        self.defaults: dict[str, Any] = {}
        self.migrations: list[Migration] = []
        self.compiled = False
        one_channel_a_key((self.schema, self.input_schema, self.output_schema))

    @staticmethod
    def _root_schema(typ: Any, reducer: Callable[[Any, Any], Any]) -> Schema:
        """One root channel over the whole state, merged by ``reducer``, whose first value is an empty state."""
        schema = Schema(typ, "root")
        schema.keys = (ROOT,)
        schema.annotations = {ROOT: typ}
        schema.channels = {ROOT: BinaryOperatorAggregate(dict if kind_of(typ) == "dict" else typ, reducer, ROOT)}
        return schema

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Never finds anything; says what runs."""
            if hasattr(CompiledStateGraph, name):
                raise AttributeError(
                    f"'StateGraph' object has no attribute {name!r}: compile() makes the graph that can be run, and it has"
                )
            raise AttributeError(f"'StateGraph' object has no attribute {name!r}.{nearest(name, dir(type(self)))}")

    # Nodes

    def add_node(
        self,
        node: Any,
        action: Any = None,
        *,
        defer: bool = False,
        metadata: Mapping[str, Any] | None = None,
        input_schema: Any = None,
        retry_policy: Any = None,
        cache_policy: Any = None,
        timeout: Any = None,
        error_handler: Any = None,
        destinations: Any = None,
        performs: bool = True,
        spares_siblings: bool = False,
        version: int = 1,
    ) -> Self:
        """Add a function, coroutine function, callable object, pipeline or compiled graph as a node.

        ``node`` is its name, or the callable itself (its name is then taken from it). ``timeout`` is in seconds and for
        async nodes only. With ``performs=False`` it may describe effects and not perform them: they are planned, and denied.
        With ``spares_siblings=True`` its failure ends the run only when the others of its step have ended too.
        A thread that waits at an earlier ``version`` of the node goes on only where `AcceptNode` says so.

        Raises: GraphBuildError for a reserved, forbidden or duplicate name.
        """
        name, fn = named(as_called(node), as_called(action))
        fn = PipelineNode(fn) if is_pipeline(fn) else fn
        self._check_name(name)
        timeout_of(timeout, f"Node {name!r}: timeout")
        if self.compiled:
            _log.warning("Adding a node to a graph that has been compiled: the compiled graph does not change.")
        graph = subgraph_of(fn)
        if graph is not None and self.strict and graph.checkpointer not in (None, True, False):
            raise GraphBuildError(
                f"Node {name!r} is a graph with a journal of its own; inside another it uses that one's: compile it with"
                " checkpointer=None, or True to keep its state over visits",
                component="graph",
                operation="add_node",
                details={"node": name},
            )
        if graph is None:
            check_callable(name, fn)
        self.nodes[name] = NodeSpec(
            name=name,
            fn=fn,
            graph=graph,
            defer=defer,
            metadata=dict(metadata or {}),
            schema=self._input_of(fn, input_schema) if graph is None else self.schema,
            retry=policies(retry_policy),
            cache=cache_policy,
            timeout=timeout,
            handler=error_handler,
            destinations=one_or_many(destinations) if destinations is not None else commanded(fn),
            performs=performs,
            spares=spares_siblings,
            version=version_of(version, name),
        )
        return self

    def node(self, fn: Any) -> Any:
        """As a decorator: add ``fn`` under its own name."""
        self.add_node(fn)
        return fn

    def _check_name(self, name: str) -> None:
        if name in (START, END) or name.startswith("__error_handler__"):
            raise GraphBuildError(f"Node name {name!r} is reserved", component="graph", operation="add_node")
        bad = [c for c in _FORBIDDEN if c in name]
        if bad or not name:
            raise GraphBuildError(
                f"Node name {name!r} must not be empty or contain {' or '.join(map(repr, _FORBIDDEN))},"
                " which separate namespaces",
                component="graph",
                operation="add_node",
            )
        if name in self.nodes:
            raise GraphBuildError(f"Node {name!r} is already present", component="graph", operation="add_node")

    def _input_of(self, fn: Any, given: Any) -> Schema:
        """The node's input schema: what was said, else its first parameter's annotation if that is a state class."""
        if given is not None:
            return read_schema(given)
        wanted = parameters(fn)
        if not wanted or wanted[0].keyword_only:
            return self.schema
        hint = hints(fn).get(wanted[0].name)
        if hint is None or hint is self.schema.typ or kind_of(hint) == "root":
            return self.schema
        return read_schema(hint)

    def add_sequence(self, nodes: Sequence[Any]) -> Self:
        """Add nodes and the edges between neighbours; each is a callable or a (name, callable) pair.

        The edge from START is yours to add. Raises: GraphBuildError for none, or for one name twice.
        """
        if len(nodes) < 1:
            raise GraphBuildError("add_sequence needs at least one node", component="graph", operation="add_sequence")
        previous: str | None = None
        for item in nodes:
            name, fn = item if isinstance(item, tuple) else (None, item)  # pyright: ignore[reportUnknownVariableType]
            name = plain_name(name) if name is not None else name_of(fn)  # pyright: ignore[reportUnknownArgumentType]
            if name in self.nodes:
                raise GraphBuildError(
                    f"Node names must be unique: node with the name {name!r} already exists.",
                    component="graph",
                    operation="add_sequence",
                )
            self.add_node(name, fn)
            if previous is not None:
                self.add_edge(previous, name)
            previous = name
        return self

    def set_node_defaults(
        self, *, retry_policy: Any = None, cache_policy: Any = None, timeout: Any = None, error_handler: Any = None
    ) -> Self:
        """Policies of every node that has none of its own; applied by ``compile``, so the order of calls is free."""
        timeout_of(timeout, "set_node_defaults: timeout")
        given = {"retry": policies(retry_policy), "cache": cache_policy, "timeout": timeout, "handler": error_handler}
        self.defaults.update({k: v for k, v in given.items() if v})
        return self

    # Edges

    def add_edge(self, start_key: Any, end_key: Any, *, join: str | None = None) -> Self:
        """Run ``end_key`` after ``start_key``; with a list of starts, after the last of them has run.

        ``join`` states the rule of a list where a start can be skipped: "all" waits for every one, "activated" for those
        that ran once nothing else can run.
        """
        end = name_at(end_key)
        if isinstance(start_key, (list, tuple)):
            sources = tuple(name_at(s) for s in start_key)  # pyright: ignore[reportUnknownVariableType]
            if not sources:
                raise GraphBuildError("A join needs at least one start", component="graph", operation="add_edge")
            if join not in (None, "all", "activated"):
                raise GraphBuildError(
                    f"Unknown join rule {join!r}.{nearest(str(join), ('all', 'activated'))}", component="graph"
                )
            for one in sources:
                self._check_edge(one, end)
            self.edges.append(EdgeSpec(sources, end, True, join))
            return self
        start = name_at(start_key)
        self._check_edge(start, end)
        self.edges.append(EdgeSpec((start,), end, False, None))
        return self

    def _check_edge(self, start: str, end: str) -> None:
        if start == END:
            raise GraphBuildError("END cannot be a start node", component="graph", operation="add_edge")
        if end == START:
            raise GraphBuildError("START cannot be an end node", component="graph", operation="add_edge")

    def add_conditional_edges(
        self,
        source: Any,
        path: Callable[..., Any],
        path_map: Mapping[Hashable, str] | Sequence[str] | None = None,
    ) -> Self:
        """After ``source``, go where ``path(state)`` says: a name, a Send, a list of both, or END.

        ``path`` sees the state with the source's own writes applied. ``path_map`` translates what it returns; without
        one, a ``Literal`` return annotation tells where it may go.
        """
        path = as_called(path)
        name = name_of(path)
        start = name_at(source)
        if any(b.source == start and b.name == name and name != "<lambda>" for b in self.branches):
            raise GraphBuildError(
                f"Branch with name {name!r} already exists for node {start!r}",
                component="graph",
                operation="add_conditional_edges",
            )
        mapping: dict[Any, str] | None = None
        if path_map is not None:
            pairs = path_map.items() if isinstance(path_map, Mapping) else ((p, p) for p in path_map)
            mapping = {k: name_at(v) for k, v in pairs}
        literal = tuple(mapping.values()) if mapping is not None else allowed(hints(path).get("return"))
        self.branches.append(BranchSpec(start, path, name, mapping, literal, self._input_of(path, None)))
        return self

    def set_entry_point(self, key: Any) -> Self:
        """The same as ``add_edge(START, key)``."""
        return self.add_edge(START, key)

    def set_conditional_entry_point(self, path: Callable[..., Any], path_map: Any = None) -> Self:
        """The same as ``add_conditional_edges(START, path, path_map)``."""
        return self.add_conditional_edges(START, path, path_map)

    def set_finish_point(self, key: Any) -> Self:
        """The same as ``add_edge(key, END)``."""
        return self.add_edge(key, END)

    def migrate(self, *migrations: Migration) -> Self:
        """Say what changed since threads were stored, with `RenameNode`, `RenameKey`, `ConvertKey` and `AcceptNode`.

        Raises, at ``compile``: GraphBuildError for a name that is not there now, or an old one that still is.
        """
        self.migrations.extend(migrations)
        return self

    # Freezing

    def validate(self, interrupt: Sequence[str] | None = None) -> Self:
        """Raises: GraphBuildError, for what ``compile`` would refuse."""
        check_build(self, tuple(interrupt or ()))
        return self

    def compile(
        self,
        checkpointer: Any = None,
        *,
        cache: Any = None,
        store: Any = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        debug: bool = False,
        name: str | None = None,
        limits: Limits | None = None,
    ) -> CompiledStateGraph[S]:
        """Freeze the graph. ``checkpointer`` takes a Journal, None (a subgraph then inherits), True or False.

        ``cache`` takes a Cache for the nodes that have a cache policy; ``limits`` bounds every run.

        Raises: GraphBuildError for what is wrong with the graph; TypeError for another kind of checkpointer.
        """
        checked_journal(checkpointer)
        checked_cache(cache)
        before, after = names(interrupt_before), names(interrupt_after)
        check_build(self, (*before, *after))
        program = link(self, name or self.name or "LangGraph", debug=debug)
        if checkpointer not in (None, False):
            _ = program.registry  # refuses, by key, a state that cannot be stored
        self.compiled = True
        warn_of_opaque(program)
        return CompiledStateGraph(
            Frozen(self, program.name),
            program,
            checkpointer=checkpointer,
            store=store,
            cache=cache,
            interrupt_before=before,
            interrupt_after=after,
            debug=debug,
            limits=limits or NO_LIMITS,
        )
