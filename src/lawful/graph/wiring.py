"""From channels and the nodes that subscribe to them to a `Program`: the low-level way to describe a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast, get_args, get_origin

from msgspec import Struct

from lawful.core.check import compile_check
from lawful.core.codec import Registry
from lawful.core.codec import default as default_registry
from lawful.core.errors import EmptyInputError, GraphBuildError, InvalidUpdateError, nearest
from lawful.core.retry import RetryPolicy
from lawful.graph.channel_forms import channel_for
from lawful.graph.channels import MISSING, Channel, NamedBarrierValue, NamedBarrierValueAfterFinish
from lawful.graph.command import END, START, Command, Overwrite, Send
from lawful.graph.link import prepares, write_type
from lawful.graph.managed import Managed
from lawful.graph.parts import EdgeSpec, NodeSpec, subgraph_of
from lawful.graph.policies import TimeoutPolicy, checked_cache_policy, limited, timeout_of
from lawful.graph.program import Node, Program
from lawful.graph.results import Acceptor
from lawful.graph.runtime import caller
from lawful.graph.signature import is_async, is_generator
from lawful.graph.state import Schema, fresh
from lawful.graph.step_task import Task

Writer = Callable[[Any], list[tuple[str, Any]]]
"""Of what a node returned, what it writes: (channel, value) pairs."""


class Wired(Struct, frozen=True):
    """One low-level node: what sets it off, what it reads, what it does, what it writes."""

    name: str
    fn: Any
    triggers: tuple[str, ...]
    reads: str | tuple[str, ...]
    """One channel, whose bare value is the input, or several: a dict of those that have a value."""
    write: Writer
    writes: tuple[str, ...]
    """Every channel that ``write`` may name."""
    retry: tuple[RetryPolicy, ...] = ()
    cache: Any = None
    timeout: Any = None
    metadata: Mapping[str, Any] = {}
    tags: tuple[str, ...] = ()


def _refuse(message: str, **details: str) -> GraphBuildError:
    return GraphBuildError(message, component="graph", operation="Pregel", details=details)


def one_or_several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


class Wiring:
    """A low-level graph as it was described: what draws, explains and checks it reads this."""

    def __init__(
        self,
        nodes: Sequence[Wired],
        channels: Mapping[str, Any],
        *,
        input_channels: str | Sequence[str],
        output_channels: str | Sequence[str],
        stream_channels: str | Sequence[str] | None,
        context_schema: Any,
        strict: bool,
        name: str,
    ) -> None:
        self.name = name
        self.strict = strict
        self.migrations: tuple[Any, ...] = ()
        self.context_schema = context_schema
        self.wired = tuple(nodes)
        self.channels: dict[str, Channel] = {}
        self.managed: dict[str, type[Managed]] = {}
        for key, given in channels.items():
            managed = _managed(given)
            if managed is not None:
                self.managed[key] = managed
            else:
                self.channels[key] = channel_for(given, Any, key)
        self.inputs, self.bare_input = one_or_several(input_channels), isinstance(input_channels, str)
        self.outputs, self.bare = one_or_several(output_channels), isinstance(output_channels, str)
        self.streams = one_or_several(stream_channels) if stream_channels is not None else tuple(self.channels)
        self.bare_streams = isinstance(stream_channels, str)
        self.schema = self._schema(tuple(k for k in self.channels if not k.startswith("__")), False)
        self.input_schema = self._schema(self.inputs, self.bare_input)
        self.output_schema = self._schema(self.outputs, self.bare)
        self.nodes = {w.name: self._spec(w) for w in nodes}
        self.edges = self._edges()
        self.branches: tuple[Any, ...] = ()
        self.defaults: dict[str, Any] = {}

    def _schema(self, keys: tuple[str, ...], bare: bool) -> Schema:
        known = [k for k in keys if k in self.channels]
        if bare and known:
            made = Schema(self.channels[known[0]].typ, "root")
        else:
            made = Schema(dict, "dict")
        made.keys = made.required = tuple(known)
        made.channels = {k: self.channels[k] for k in known}
        made.annotations = {k: self.channels[k].typ for k in known}
        return made

    def _spec(self, w: Wired) -> NodeSpec:
        return NodeSpec(
            name=w.name,
            fn=w.fn,
            graph=subgraph_of(w.fn),
            defer=False,
            metadata=w.metadata,
            schema=self.schema,
            retry=w.retry,
            cache=w.cache,
            timeout=w.timeout,
            handler=None,
            destinations=None,
        )

    def _edges(self) -> tuple[EdgeSpec, ...]:
        """Who sets off whom, for drawings: a node that writes a channel, each node that subscribes to it."""
        pairs: dict[tuple[str, str], None] = {}
        for w in self.wired:
            for key in w.triggers:
                if key in self.inputs:
                    pairs[START, w.name] = None
                for other in self.wired:
                    if key in other.writes:
                        pairs[other.name, w.name] = None
        return tuple(EdgeSpec((a,), b, False, None) for a, b in pairs)

    # What is wrong with it

    def check(self) -> None:
        """Raises: GraphBuildError (a ValueError), naming the place and the nearest valid name."""
        for w in self.wired:
            self._check_node(w)
        self._known(self.inputs, "Input channel")
        self._known(self.outputs, "Output channel")
        self._known(self.streams, "Stream channel")
        heard = {key for w in self.wired for key in w.triggers}
        if not heard & set(self.inputs):
            raise _refuse(f"Input channel {', '.join(self.inputs)} is not subscribed to by any node")

    def _check_node(self, w: Wired) -> None:
        if w.name in (START, END) or not w.name or "|" in w.name or ":" in w.name:
            raise _refuse(f"Node name {w.name!r} is reserved, empty, or contains '|' or ':'", node=w.name)
        if not w.triggers:
            raise _refuse(f"Node {w.name!r} subscribes to no channel, so nothing would set it off", node=w.name)
        if is_generator(w.fn):
            raise _refuse(f"Node {w.name!r} is a generator: a node returns its result", node=w.name)
        self._known(w.triggers, f"Node {w.name} subscribes to channel")
        self._known(tuple(k for k in one_or_several(w.reads) if k not in self.managed), f"Node {w.name} reads channel")
        checked_timeout(f"Node {w.name!r}", w.timeout, subgraph_of(w.fn) is not None or is_async(w.fn))
        if self.strict:
            self._known(w.writes, f"Node {w.name} writes channel")

    def _known(self, keys: Sequence[str], what: str) -> None:
        for key in keys:
            if key not in self.channels:
                raise _refuse(f"{what} {key!r}, which is not known.{nearest(key, self.channels)}", channel=key)


def checked_timeout(what: str, told: Any, awaits: bool) -> TimeoutPolicy | None:
    """The limit, if it is one that can hold. Raises: GraphBuildError."""
    limit = limited(timeout_of(told, f"{what}: timeout"))
    if limit is not None and not awaits:
        raise _refuse(f"{what} is a sync function and cannot be stopped, so a timeout could not hold: make it async")
    return limit


def _managed(given: Any) -> type[Managed] | None:
    """The managed value that ``given`` is, or is annotated with."""
    found = get_args(given)[1] if get_origin(given) is not None and len(get_args(given)) > 1 else given
    found = getattr(given, "__metadata__", (found,))[0]
    return found if isinstance(found, type) and issubclass(found, Managed) else None


# The program


def wire(w: Wiring) -> Program:
    """Freeze the description. Raises: GraphBuildError."""
    w.check()
    acceptor = _acceptor(w)
    nodes = {START: _start(w, acceptor), **{n.name: _node(w, n, acceptor) for n in w.wired}}
    program = Program(w.name, nodes, w.channels, strict=w.strict)
    program.direct, program.bare, program.bare_input = True, w.bare, w.bare_input
    program.acceptor, program.checks = acceptor, acceptor.checks
    heard: dict[str, list[str]] = {}
    for n in w.wired:
        for key in n.triggers:
            heard.setdefault(key, []).append(n.name)
    program.subscribers = {k: tuple(v) for k, v in heard.items()}
    program.input_keys, program.output_keys = w.inputs, w.outputs
    program.stream_keys = tuple(k for k in w.streams if w.channels[k].tracked)
    program.shown_keys, program.shown_bare = w.streams, _lone(w)
    program.output_view = _output(w, w.outputs, w.bare)
    program.state_view = (
        _values(w, program.stream_keys) if not _lone(w) else _bare(w.channels[w.streams[0]], w.streams[0])
    )
    program.first = {k: c.initial for k, c in w.channels.items() if c.initial() is not MISSING}
    program.input_writes = _input_writes(w, acceptor)
    program.context_schema = w.context_schema
    program.make_registry = lambda: _registry(w)
    return program


def _lone(w: Wiring) -> bool:
    """Whether a thread's values are the bare output, as those of an entrypoint are."""
    return w.bare and w.bare_streams and w.streams == w.outputs


def _acceptor(w: Wiring) -> Acceptor:
    checks: dict[str, Any] = {}
    for key, channel in w.channels.items() if w.strict else ():
        if not isinstance(channel, (NamedBarrierValue, NamedBarrierValueAfterFinish)):
            checks[key] = compile_check(write_type(channel, channel.typ), where=key)
    made = Acceptor(
        strict=w.strict,
        kinds={k: c.kind for k, c in w.channels.items()},
        checks=checks,
        schemas=(),
        visible=frozenset(w.channels),
        root=False,
    )
    made.prepares = prepares(w.channels)
    return made


def _node(w: Wiring, n: Wired, acceptor: Acceptor) -> Node:
    graph = subgraph_of(n.fn)
    if graph is not None:
        call, awaits = _held(graph), graph.is_async
    else:
        call, awaits = caller(n.fn, "Node"), is_async(n.fn)

    def accept(task: Task, value: Any) -> None:
        acceptor.pairs(task, n.write(value))

    node = Node(n.name, n.fn, call=call, is_async=awaits, view=_view(w, n.reads), accept=accept)
    node.triggers = n.triggers
    node.consumes = tuple(k for k in n.triggers if type(w.channels[k]).consume is not Channel.consume)
    node.managed = {k: m for k, m in w.managed.items() if k in one_or_several(n.reads)}
    node.retry, node.timeout = n.retry, limited(timeout_of(n.timeout))
    node.cache = checked_cache_policy(n.cache, f"Node {n.name!r}")
    node.metadata = {**n.metadata, **({"tags": list(n.tags)} if n.tags else {})}
    node.subgraph = graph
    return node


def _held(graph: Any) -> Callable[[Any, Task], Any]:
    """How a low-level node calls the graph that it is: whole output, whatever its keys."""
    if graph.is_async:
        return lambda given, task: graph.ainvoke(given)
    return lambda given, task: graph.invoke(given)


def _view(w: Wiring, reads: str | tuple[str, ...]) -> Callable[[Mapping[str, Any]], Any]:
    if isinstance(reads, str):
        return _bare(w.channels.get(reads, Channel()), reads)
    return _values(w, reads)


def _bare(channel: Channel, key: str) -> Callable[[Mapping[str, Any]], Any]:
    def view(values: Mapping[str, Any]) -> Any:
        value = channel.get(values[key]) if key in values else MISSING
        return None if value is MISSING else fresh(value)

    return view


def _values(w: Wiring, keys: Sequence[str]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    channels = {k: w.channels.get(k, Channel()) for k in keys}

    def view(values: Mapping[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, channel in channels.items():
            if key in values and (value := channel.get(values[key])) is not MISSING:
                out[key] = fresh(value)
        return out

    return view


def _output(w: Wiring, keys: Sequence[str], bare: bool) -> Callable[[Mapping[str, Any]], Any]:
    return _bare(w.channels[keys[0]], keys[0]) if bare else _values(w, keys)


def _start(w: Wiring, acceptor: Acceptor) -> Node:
    """The writer of the input, for updates that stand for one."""
    writes = _input_writes(w, acceptor)

    def accept(task: Task, given: Any) -> None:
        task.writes.extend(writes(given))

    node = Node(START, None, call=lambda given, task: given, is_async=False, view=dict, accept=accept)
    node.hidden = True
    return node


class _Input:
    node = START


def _input_writes(w: Wiring, acceptor: Acceptor) -> Callable[[Any], list[tuple[str, Any]]]:
    source: Any = _Input()

    def read(given: Any) -> list[tuple[str, Any]]:
        if w.bare_input:
            pairs: list[tuple[str, Any]] = [(w.inputs[0], given)]
        elif not isinstance(given, Mapping):
            raise InvalidUpdateError(
                f"Expected a dict of the input channels {', '.join(w.inputs)}, got {given!r:.200}",
                component="graph",
                operation="input",
            )
        else:
            pairs = list(cast("Mapping[str, Any]", given).items())
            unknown = [k for k, _ in pairs if k not in w.inputs]
            if unknown and w.strict:
                raise InvalidUpdateError(
                    f"{unknown[0]!r} is not an input channel.{nearest(str(unknown[0]), w.inputs)}",
                    component="graph",
                    operation="input",
                    details={"channel": str(unknown[0])},
                )
            pairs = [(k, v) for k, v in pairs if k in w.inputs]
        if not pairs:
            raise EmptyInputError(f"Received no input for {list(w.inputs)}", component="graph", operation="input")
        checked = [(k, acceptor.checked(source, k, v)) for k, v in pairs]
        if acceptor.prepares:
            acceptor.prepare(checked)
        return checked

    return read


def _registry(w: Wiring) -> Registry:
    made = default_registry.child()
    for kind in (Overwrite, Send, Command):
        made.register(kind, id=f"lawful:{kind.__name__}")
    for key, channel in w.channels.items():
        if channel.tracked:
            made.register_annotation(channel.typ, where=key)
    return made
