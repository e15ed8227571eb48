"""`Pregel` and `NodeBuilder`: a graph described by its channels and by who subscribes to them, on the same engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Self, overload

from msgspec import Struct
from msgspec.structs import replace

from lawful.core.errors import GraphBuildError
from lawful.core.retry import RetryPolicy
from lawful.graph.compiled import CompiledStateGraph
from lawful.graph.config import names
from lawful.graph.parts import checked_journal, policies, subgraph_of
from lawful.graph.signature import is_async
from lawful.graph.validate import check_breakpoints
from lawful.graph.wiring import Wired, Wiring, Writer, wire


class _Passthrough(Struct, frozen=True):
    def __repr__(self) -> str:
        return "PASSTHROUGH"


PASSTHROUGH: Final[Any] = _Passthrough()
"""As the value of a ChannelWriteEntry: what the node returned."""


class ChannelWriteEntry(Struct, frozen=True):
    """One write of a low-level node: to which channel, and what of its result."""

    channel: str
    value: Any = PASSTHROUGH
    skip_none: bool = False
    """Write nothing where the value is None."""
    mapper: Callable[[Any], Any] | None = None
    """Makes the value that is written."""


class PregelNode(Struct, frozen=True):
    """A low-level node as `NodeBuilder.build` gives it; it gets its name from the graph."""

    triggers: tuple[str, ...]
    channels: str | tuple[str, ...]
    """One channel, whose bare value the node gets, or several, of which it gets a dict."""
    bound: Any
    writers: tuple[ChannelWriteEntry, ...] = ()
    retry_policy: tuple[RetryPolicy, ...] = ()
    cache_policy: Any = None
    timeout: Any = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}


def _refuse(message: str, operation: str = "NodeBuilder") -> GraphBuildError:
    return GraphBuildError(message, component="graph", operation=operation)


class NodeBuilder:
    """Describes one low-level node; each method returns the builder."""

    def __init__(self) -> None:
        self._triggers: list[str] = []
        self._reads: list[str] = []
        self._only: str | None = None
        self._steps: list[Any] = []
        self._writers: list[ChannelWriteEntry] = []
        self._retry: list[RetryPolicy] = []
        self._cache: Any = None
        self._timeout: Any = None
        self._tags: list[str] = []
        self._metadata: dict[str, Any] = {}

    def subscribe_only(self, channel: str) -> Self:
        """Run when ``channel`` is written, and get its bare value. Raises: ValueError beside another subscription."""
        if self._triggers:
            raise _refuse("Cannot subscribe to single channels when other channels are already subscribed to")
        self._only = channel
        self._triggers.append(channel)
        return self

    def subscribe_to(self, *channels: str, read: bool = True) -> Self:
        """Run when any of ``channels`` is written; with ``read`` get those that have a value, in a dict."""
        if self._only is not None:
            raise _refuse("Cannot subscribe to channels when subscribed to a single channel")
        self._triggers += [c for c in channels if c not in self._triggers]
        if read:
            self._reads += [c for c in channels if c not in self._reads]
        return self

    def read_from(self, *channels: str) -> Self:
        """Get these too, without being set off by them. Raises: ValueError beside ``subscribe_only``."""
        if self._only is not None:
            raise _refuse("Cannot read additional channels when subscribed to single channels")
        self._reads += [c for c in channels if c not in self._reads]
        return self

    @overload
    def do(self, node: Callable[[Any], Any]) -> Self: ...
    @overload
    def do(self, node: Any) -> Self: ...
    def do(self, node: Any) -> Self:
        """What the node does: a function, coroutine function or compiled graph; of several each gets what the last gave."""
        if subgraph_of(node) is None and not callable(node):
            raise _refuse(f"do() takes a callable or a compiled graph, got {type(node).__name__}")
        self._steps.append(node)
        return self

    def write_to(self, *channels: str | ChannelWriteEntry, **kwargs: Any) -> Self:
        """Write what the node returned to ``channels``; a keyword names a channel and a fixed value, or a function of
        the result."""
        self._writers += [c if isinstance(c, ChannelWriteEntry) else ChannelWriteEntry(c) for c in channels]
        for key, value in kwargs.items():
            self._writers.append(
                ChannelWriteEntry(key, mapper=value) if callable(value) else ChannelWriteEntry(key, value=value)
            )
        return self

    def meta(self, *tags: str, **metadata: Any) -> Self:
        """Tags and metadata that streams show."""
        self._tags += tags
        self._metadata.update(metadata)
        return self

    def add_retry_policies(self, *policies: RetryPolicy) -> Self:
        """Try again after an error that one of them fits; the first that does counts."""
        self._retry += policies
        return self

    def add_cache_policy(self, policy: Any) -> Self:
        """Answer from the cache on equal input."""
        self._cache = policy
        return self

    def set_timeout(self, timeout: Any) -> Self:
        """A limit in seconds, or a TimeoutPolicy; for async nodes only."""
        self._timeout = timeout
        return self

    def build(self) -> PregelNode:
        """The node described so far."""
        return PregelNode(
            triggers=tuple(self._triggers),
            channels=self._only if self._only is not None else tuple(self._reads),
            bound=_composed(self._steps),
            writers=tuple(self._writers),
            retry_policy=tuple(self._retry),
            cache_policy=self._cache,
            timeout=self._timeout,
            tags=tuple(self._tags),
            metadata=dict(self._metadata),
        )


def _same(value: Any) -> Any:
    return value


def _composed(steps: Sequence[Any]) -> Any:
    """The steps as one function; a lone one stays what it is, so that it may ask for runtime, writer and the like."""
    if not steps:
        return _same
    if len(steps) == 1:
        return steps[0]
    parts = [_called(step) for step in steps]

    def through(value: Any) -> Any:
        for call, _ in parts:
            value = call(value)
        return value

    async def athrough(value: Any) -> Any:
        for call, awaits in parts:
            value = await call(value) if awaits else call(value)
        return value

    return athrough if any(awaits for _, awaits in parts) else through


def _called(step: Any) -> tuple[Callable[[Any], Any], bool]:
    if subgraph_of(step) is None:
        return step, is_async(step)
    return (step.ainvoke, True) if step.is_async else (step.invoke, False)


def _writing(entries: Sequence[ChannelWriteEntry]) -> Writer:
    def write(value: Any) -> list[tuple[str, Any]]:
        out: list[tuple[str, Any]] = []
        for entry in entries:
            given = value if entry.value is PASSTHROUGH else entry.value
            if entry.mapper is not None:
                given = entry.mapper(given)
            if given is not None or not entry.skip_none:
                out.append((entry.channel, given))
        return out

    return write


def wired(name: str, node: Any) -> Wired:
    """The node as the engine's wiring has it. Raises: GraphBuildError for what is no node."""
    if isinstance(node, Wired):
        return node
    told = node.build() if isinstance(node, NodeBuilder) else node
    if not isinstance(told, PregelNode):
        raise _refuse(f"Node {name!r} must be a NodeBuilder or a PregelNode, got {type(node).__name__}", "Pregel")
    return Wired(
        name=name,
        fn=told.bound,
        triggers=told.triggers,
        reads=told.channels,
        write=_writing(told.writers),
        writes=tuple(dict.fromkeys(w.channel for w in told.writers)),
        retry=told.retry_policy,
        cache=told.cache_policy,
        timeout=told.timeout,
        metadata=told.metadata,
        tags=told.tags,
    )


class Pregel(CompiledStateGraph[Any]):
    """A graph of channels and nodes that subscribe to them; it runs, streams and is inspected as a compiled StateGraph is.

    ``nodes`` maps names to `NodeBuilder`s, ``channels`` names to channels (`lawful.channels`) or managed values. A node runs
    in the step after one of its channels was written. With a single name as ``input_channels`` or ``output_channels`` input
    or output is that channel's bare value, with a list a dict. ``strict`` (default) refuses writes of another type than the
    channel's and unknown channels. A graph is checked when it is made, whatever ``auto_validate`` (LangGraph's) says.

    Raises: GraphBuildError (a ValueError), naming the channel or node and the nearest valid name.
    """

    def __init__(
        self,
        *,
        nodes: Mapping[str, Any],
        channels: Mapping[str, Any] | None,
        input_channels: str | Sequence[str],
        output_channels: str | Sequence[str],
        stream_channels: str | Sequence[str] | None = None,
        stream_mode: str = "values",
        auto_validate: bool = True,
        interrupt_after_nodes: Sequence[str] | str = (),
        interrupt_before_nodes: Sequence[str] | str = (),
        step_timeout: float | None = None,
        debug: bool | None = None,
        checkpointer: Any = None,
        store: Any = None,
        cache: Any = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] = (),
        cache_policy: Any = None,
        context_schema: Any = None,
        config: Mapping[str, Any] | None = None,
        name: str = "LangGraph",
        strict: bool = True,
    ) -> None:
        shared = policies(retry_policy) if retry_policy else ()
        made = [_with_defaults(wired(key, node), shared, cache_policy) for key, node in nodes.items()]
        wiring = Wiring(
            made,
            channels or {},
            input_channels=input_channels,
            output_channels=output_channels,
            stream_channels=stream_channels,
            context_schema=context_schema,
            strict=strict,
            name=name,
        )
        before, after = names(interrupt_before_nodes, ()), names(interrupt_after_nodes, ())
        check_breakpoints(set(wiring.nodes), (*before, *after))
        program = wire(wiring)
        super().__init__(
            wiring,
            program,
            checkpointer=checked_journal(checkpointer),
            store=store,
            cache=cache,
            interrupt_before=tuple(before),
            interrupt_after=tuple(after),
            debug=bool(debug),
            config=config,
        )
        self.step_timeout = step_timeout
        self.stream_mode = stream_mode
        if self.checkpointer not in (None, False):
            _ = program.registry  # refuses, by channel, what cannot be stored

    def _default_mode(self) -> str:
        return "values" if super()._default_mode() == "values" else self.stream_mode

    def validate(self) -> Self:
        """Raises: GraphBuildError, for what building would refuse."""
        assert isinstance(self.blueprint, Wiring)
        self.blueprint.check()
        return self


def _with_defaults(node: Wired, retry: tuple[RetryPolicy, ...], cache: Any) -> Wired:
    return replace(node, retry=node.retry or retry, cache=node.cache or cache)


__all__ = ["PASSTHROUGH", "ChannelWriteEntry", "NodeBuilder", "Pregel", "PregelNode"]
