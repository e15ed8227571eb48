"""From a builder to a `Program`: schemas become channels and checks, edges become inboxes, joins and routers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, cast

from lawful.core.check import Check, compile_check
from lawful.core.codec import Registry
from lawful.core.codec import default as default_registry
from lawful.core.errors import InvalidUpdateError
from lawful.core.neighbours import bridge
from lawful.graph.channel_forms import DeltaChannel
from lawful.graph.channels import (
    MISSING,
    ActivatedBarrierValue,
    BinaryOperatorAggregate,
    Channel,
    LastValueAfterFinish,
    NamedBarrierValue,
    NamedBarrierValueAfterFinish,
    element_or_whole,
)
from lawful.graph.command import END, ROOT, START, Command, Overwrite, Send
from lawful.graph.handlers import handler_for, handlers
from lawful.graph.migrations import Migrations, check_migrations
from lawful.graph.neighbourly import in_its_messages, speaks_langchain
from lawful.graph.parts import Blueprint, BranchSpec, EdgeSpec, NodeSpec
from lawful.graph.policies import TimeoutPolicy, limited, timeout_of
from lawful.graph.program import Join, Node, Program, Router
from lawful.graph.results import Acceptor
from lawful.graph.runtime import caller
from lawful.graph.signature import hints, is_async, parameters
from lawful.graph.state import Schema, instance_writes, make_view, one_channel_a_key
from lawful.graph.step_task import Task
from lawful.graph.watch import watched


def inbox(name: str) -> str:
    """The name of the channel that triggers a node."""
    return f"branch:to:{name}"


class Linker:
    """Builds one program; each step fills what the next needs."""

    def __init__(self, graph: Blueprint, name: str, debug: bool) -> None:
        self.graph = graph
        self.debug = debug
        self.name = name
        self.schemas = self._schemas()
        self.channels, self.origin = one_channel_a_key(self.schemas)
        self.state_keys = tuple(self.channels)
        self.joins: list[Join] = []
        self.subscribers: dict[str, list[str]] = {}
        self._edge_channels()
        self.bridged = speaks_langchain(graph, self.schemas)
        self.acceptor = self._acceptor()
        self.nodes: dict[str, Node] = {}

    def _schemas(self) -> list[Schema]:
        g = self.graph
        found = [g.schema, g.input_schema, g.output_schema]
        found += [s.schema for s in g.nodes.values()] + [b.schema for b in g.branches]
        return list({id(s): s for s in found}.values())

    def _edge_channels(self) -> None:
        nodes = self.graph.nodes
        for spec in nodes.values():
            if spec.defer:
                self.channels[inbox(spec.name)] = LastValueAfterFinish(str, inbox(spec.name))
                self.subscribers.setdefault(inbox(spec.name), []).append(spec.name)
        for edge in self.graph.edges:
            if edge.is_join and edge.target != END:
                self._join(edge, nodes[edge.target].defer)

    def _join(self, edge: EdgeSpec, deferred: bool) -> None:
        channel = f"join:{'+'.join(edge.sources)}:{edge.target}"
        names = frozenset(edge.sources)
        if deferred:
            made: Channel = NamedBarrierValueAfterFinish(str, names, channel)
        elif edge.rule == "activated":
            made = ActivatedBarrierValue(str, names, channel)
        else:
            made = NamedBarrierValue(str, names, channel)
        self.channels[channel] = made
        self.subscribers.setdefault(channel, []).append(edge.target)
        self.joins.append(Join(channel, edge.sources, edge.target, edge.rule))

    # Checks

    def _acceptor(self) -> Acceptor:
        kinds = {k: c.kind for k, c in self.channels.items()}
        checks = self._checks() if self.graph.strict else {}
        made = Acceptor(
            strict=self.graph.strict,
            kinds=kinds,
            checks=checks,
            schemas=self.schemas,
            visible=frozenset(self.state_keys),
            root=ROOT in self.channels,
        )
        made.prepares = prepares(self.channels)
        if self.bridged:
            made.prepares = in_its_messages(made.prepares, self.channels)
        return made

    def _checks(self) -> dict[str, Check]:
        out: dict[str, Check] = {}
        for key in self.state_keys:
            typ = write_type(self.channels[key], _declared(self.origin[key], key))
            out[key] = compile_check(typ, where=key)
        return out

    # Nodes

    def view(self, schema: Schema) -> Callable[[Mapping[str, Any]], Any]:
        whole = _with_managed(schema)
        return make_view(whole, {**whole.channels, **self.channels}, strict=self.graph.strict)

    def node(self, spec: NodeSpec) -> Node:
        g = self.graph
        if spec.graph is not None:
            call, awaits = spec.graph.nested(g.strict), spec.graph.is_async
            view = spec.graph.input_view(self.channels, self.view(g.schema))
        else:
            call, awaits, view = caller(spec.fn, "Node"), is_async(spec.fn), self.view(spec.schema)
        if self.debug and spec.graph is None:
            call = watched(call, awaits)
        if self.bridged and spec.graph is None:
            call = bridge().around(call, awaits)
        node = Node(spec.name, spec.fn, call=call, is_async=awaits, view=view, accept=self.acceptor.accept)
        node.schema = spec.schema
        node.managed = spec.schema.managed
        node.subgraph = spec.graph
        node.metadata = spec.metadata
        node.defer, node.performs = spec.defer, spec.performs
        node.retry = spec.retry or g.defaults.get("retry", ())
        node.cache = spec.cache or g.defaults.get("cache")
        node.timeout = limited(timeout_of(spec.timeout if spec.timeout is not None else g.defaults.get("timeout")))
        node.handler = handler_for(g, spec)
        node.spares, node.version = spec.spares, spec.version
        if spec.defer:
            node.inbox = inbox(spec.name)
        self._wire_out(node)
        self._wire_in(node)
        return node

    def _wire_out(self, node: Node) -> None:
        targets: list[str] = []
        marks: list[tuple[str, Any]] = []
        for edge in self.graph.edges:
            if node.name not in edge.sources or edge.target == END:
                continue
            if edge.is_join:
                marks.append((f"join:{'+'.join(edge.sources)}:{edge.target}", node.name))
            elif self.graph.nodes[edge.target].defer:
                marks.append((inbox(edge.target), node.name))
            else:
                targets.append(edge.target)
        node.targets = tuple(dict.fromkeys(targets))
        node.marks = tuple(marks)
        node.routers = tuple(self._router(b) for b in self.graph.branches if b.source == node.name)
        if any(r.is_async for r in node.routers):
            node.is_async = True

    def _wire_in(self, node: Node) -> None:
        joins = [j.channel for j in self.joins if j.target == node.name]
        node.triggers = (inbox(node.name), *joins)
        node.consumes = tuple([node.inbox] if node.inbox else []) + tuple(joins)

    def _router(self, branch: BranchSpec) -> Router:
        wanted = parameters(branch.path)
        call = caller(branch.path, "Conditional edge") if wanted else caller(_ignoring(branch.path), "Conditional edge")
        return Router(
            branch.name,
            call,
            self.view(branch.schema),
            is_async=is_async(branch.path),
            path_map=branch.path_map,
            targets=branch.targets,
        )

    def start(self) -> Node:
        writes = self.input_writes()

        def accept(task: Task, given: Any) -> None:
            if isinstance(given, Command):
                self.acceptor.command(task, cast("Command[Any]", given))
            else:
                task.writes.extend(writes(given))

        node = Node(START, None, call=lambda given, task: given, is_async=False, view=dict, accept=accept)
        node.hidden = True
        self._wire_out(node)
        node.triggers = (START,)
        return node

    def input_writes(self) -> Callable[[Any], list[tuple[str, Any]]]:
        g, acceptor = self.graph, self.acceptor
        schema = g.input_schema
        keys = frozenset(schema.keys)

        def read(given: Any) -> list[tuple[str, Any]]:
            if schema.kind == "root":
                pairs: list[tuple[str, Any]] = [(ROOT, given)]
            elif type(given) is dict or isinstance(given, Mapping):
                pairs = [(k, v) for k, v in given.items() if k in keys]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            elif (own := _schema_of(given, (schema, g.schema))) is not None:
                pairs = [(k, v) for k, v in instance_writes(own, given, strict=g.strict) if k in keys]
            else:
                raise InvalidUpdateError(
                    f"Expected dict, got {given!r:.200}: a graph over {schema.name} takes a dict or an instance of it",
                    component="graph",
                    operation="input",
                )
            fits = acceptor.fits
            checked = [(k, v if fits(k, v) else acceptor.checked(_INPUT, k, v)) for k, v in pairs]
            if acceptor.prepares:
                acceptor.prepare(checked)
            return checked

        return read

    # All of it

    def link(self) -> Program:
        g = self.graph
        nodes = {START: self.start(), **{name: self.node(spec) for name, spec in g.nodes.items()}}
        nodes.update(handlers(g, self.acceptor.accept))
        program = Program(self.name, nodes, self.channels, strict=g.strict)
        program.bridged = self.bridged
        program.acceptor = self.acceptor
        program.checks = self.acceptor.checks
        program.subscribers = {k: tuple(v) for k, v in self.subscribers.items()}
        program.joins = {j.channel: j for j in self.joins}
        program.schema, program.output_schema = g.schema, g.output_schema
        program.input_keys, program.output_keys = g.input_schema.keys, g.output_schema.keys
        program.state_keys = tuple(self.state_keys)
        program.stream_keys = tuple(k for k in self.state_keys if self.channels[k].tracked)
        program.output_view = _as_dict(g.output_schema, self.channels)
        program.state_view = _as_dict(g.schema, self.channels, program.stream_keys)
        program.first = {k: c.initial for k, c in self.channels.items() if c.initial() is not MISSING}
        program.input_writes = self.input_writes()
        program.context_schema = g.context_schema
        if g.migrations:
            check_migrations(g.migrations, g.nodes, self.state_keys)
            program.migrations = Migrations(g.migrations)
            for name, first in program.migrations.origins.items():
                program.nodes[name].remember(first)
        program.make_registry = lambda: self.registry()
        return program

    def registry(self) -> Registry:
        """A registry that knows every class which the schemas name. Raises: ConfigurationError, naming the key."""
        made = default_registry.child()
        for kind in (Overwrite, Send, Command, TimeoutPolicy):
            made.register(kind, id=f"lawful:{kind.__name__}")
        for key in self.state_keys:
            if self.channels[key].tracked:
                made.register_annotation(self.origin[key].annotations[key], where=key)
        for schema in self.schemas:
            if schema.format is not None:
                if made.codec_of(schema.typ) is None:
                    made.register(schema.typ, encode=schema.taken, decode=schema.make)
            elif schema.kind in ("dataclass", "pydantic"):
                made.register_annotation(schema.typ, where=schema.name)
        return made


def _schema_of(given: Any, schemas: Sequence[Schema]) -> Schema | None:
    """The schema whose class ``given`` is an instance of."""
    return next((s for s in schemas if s.kind in ("dataclass", "pydantic") and isinstance(given, s.typ)), None)


class _Input:
    node = "__start__"


_INPUT: Any = _Input()


def _ignoring(fn: Callable[[], Any]) -> Callable[[Any], Any]:
    def routed(_: Any) -> Any:
        return fn()

    return routed


def _with_managed(schema: Schema) -> Schema:
    """The schema with its managed values as plain keys, for the view of a node that reads them."""
    if not schema.managed:
        return schema
    made = Schema(schema.typ, schema.kind)
    made.keys = (*schema.keys, *schema.managed)
    made.channels = {**schema.channels, **{k: Channel(Any, k) for k in schema.managed}}
    made.annotations, made.defaults, made.required = schema.annotations, schema.defaults, schema.required
    return made


def _as_dict(
    schema: Schema, channels: Mapping[str, Channel], keys: Sequence[str] | None = None
) -> Callable[[Mapping[str, Any]], Any]:
    """The view of a schema as a plain dict, or as the bare value of a root channel."""
    if schema.kind == "root":
        return make_view(schema, channels, strict=False)
    plain = Schema(dict, "dict")
    plain.keys = tuple(keys) if keys is not None else schema.keys
    plain.channels = {k: channels[k] for k in plain.keys}
    return make_view(plain, channels, strict=False)


def _declared(schema: Schema, key: str) -> Any:
    """The key's type, with a pydantic field's constraints."""
    typ = schema.annotations[key]
    if schema.kind == "pydantic":
        held = tuple(schema.typ.__pydantic_fields__[key].metadata)
        if held:
            return Annotated[(typ, *held)]  # pyright: ignore[reportInvalidTypeForm]
    return typ


def prepares(channels: Mapping[str, Channel]) -> dict[str, Callable[[Any], Any]]:
    """By key: what completes a write before it is stored, as its reducer or its channel says."""
    found = {k: getattr(getattr(c, "operator", None), "prepare", None) for k, c in channels.items()}
    own = {k: getattr(c, "prepare", None) for k, c in channels.items()}
    return {k: made for k in channels if (made := found[k] or own[k]) is not None}


def write_type(channel: Channel, typ: Any) -> Any:
    """What may be written to a channel whose values are of type ``typ``."""
    if type(channel) is BinaryOperatorAggregate or (isinstance(channel, DeltaChannel) and channel.each):
        return _update_type(channel, typ)
    return channel.accepts(typ)


def _update_type(channel: BinaryOperatorAggregate, typ: Any) -> Any:
    """What may be written to a reducer key: its second parameter's type, else the key's type or an element of it."""
    told = getattr(channel.operator, "update_type", None)
    if told is None:
        wanted = parameters(channel.operator)
        told = hints(channel.operator).get(wanted[1].name) if len(wanted) > 1 else None
    if told is not None and not isinstance(told, TypeVar):
        return told
    return element_or_whole(typ)


def link(graph: Blueprint, name: str, *, debug: bool = False) -> Program:
    """Freeze the builder into a program; with ``debug`` its nodes are watched for changes in place."""
    return Linker(graph, name, debug).link()
