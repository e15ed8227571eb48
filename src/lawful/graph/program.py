"""A compiled graph as an immutable value: nodes, channels, who triggers whom; what the machine runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from lawful.core.codec import Registry
from lawful.core.codec import default as default_registry
from lawful.core.effect_port import EffectPort
from lawful.core.reducers import reducer_id, reducer_version
from lawful.core.retry import RetryPolicy
from lawful.graph.channels import LAST, Channel
from lawful.graph.command import START
from lawful.graph.managed import Managed
from lawful.graph.migrations import Migrations
from lawful.graph.state import Schema, View

Call: TypeAlias = Callable[[Any, Any], Any]
"""Of a node's input and its task, what the node returns."""
Accept: TypeAlias = Callable[[Any, Any], None]
"""Reads what a node returned into its task."""


class Router:
    """A conditional edge: part of its source's task, it sees the state with that node's own writes applied."""

    __slots__ = ("call", "is_async", "name", "path_map", "targets", "view")

    def __init__(
        self,
        name: str,
        call: Call,
        view: View,
        *,
        is_async: bool,
        path_map: Mapping[Any, str] | None,
        targets: tuple[str, ...] | None,
    ) -> None:
        self.name = name
        self.call = call
        self.view = view
        self.is_async = is_async
        self.path_map = path_map
        self.targets = targets
        """Where it may go, END included; None where that is not known."""


class Node:
    """One node, ready to run."""

    __slots__ = (
        "accept",
        "awaits",
        "cache",
        "call",
        "consumes",
        "defer",
        "fn",
        "handler",
        "handles",
        "hidden",
        "inbox",
        "is_async",
        "key",
        "known_as",
        "managed",
        "marks",
        "metadata",
        "name",
        "performs",
        "retry",
        "routers",
        "schema",
        "spares",
        "subgraph",
        "targets",
        "timeout",
        "triggers",
        "version",
        "view",
    )  # fmt: skip

    def __init__(self, name: str, fn: Any, *, call: Call, is_async: bool, view: View, accept: Accept) -> None:
        self.name = name
        self.fn = fn
        self.call = call
        self.is_async = is_async
        """Whether it runs on the event loop: its function or a router of its is async."""
        self.awaits = is_async
        """Whether its function is."""
        self.view = view
        self.accept = accept
        # A name may hold the marks that a step key is made of; no two places may share one.
        self.key = name if name.isidentifier() else "".join(c if c not in "%/#@" else f"%{ord(c):02X}" for c in name)
        """The name as step keys have it."""
        self.known_as = name
        """The name that ids and namespaces are made of: the first it had."""
        self.managed: Mapping[str, type[Managed]] = {}
        self.routers: tuple[Router, ...] = ()
        self.targets: tuple[str, ...] = ()
        """Nodes that plain edges lead to, deferred ones left out."""
        self.marks: tuple[tuple[str, Any], ...] = ()
        """Channel writes that edges make: joins, and inboxes of deferred nodes."""
        self.consumes: tuple[str, ...] = ()
        """Channels that are consumed when it has run."""
        self.triggers: tuple[str, ...] = ()
        """Names of all channels that trigger it, as streams show them."""
        self.retry: tuple[RetryPolicy, ...] = ()
        self.timeout: Any = None
        self.cache: Any = None
        self.handler: str | None = None
        """The node that takes over when retries are used up."""
        self.handles = False
        """Whether it is an error handler: no edge leads to it, and none from it."""
        self.defer = False
        self.spares = False
        """Whether its failure waits for the others of its step."""
        self.version = 1
        """The declared one."""
        self.performs = True
        """Whether effects may be performed in it."""
        self.hidden = False
        self.subgraph: Any = None
        self.metadata: Mapping[str, Any] = {}
        self.schema: Schema | None = None
        self.inbox: str | None = None
        """The channel of a deferred node's inbox."""

    def remember(self, name: str) -> None:
        """It was called ``name`` first: its ids stay those of then."""
        self.known_as = name
        self.key = Node.inert(name).key

    @staticmethod
    def inert(name: str) -> Node:
        """A node that does nothing: one that the graph no longer has, or the writer of a graph's own input."""

        def nothing(given: Any, task: Any) -> None:
            return None

        return Node(name, None, call=nothing, is_async=False, view=dict, accept=nothing)


class Program:
    """All that the machine knows of a graph."""

    __slots__ = (
        "_reducers",
        "_registry",
        "acceptor",
        "bare",
        "bare_input",
        "bridged",
        "caches",
        "channels",
        "checks",
        "clearing",
        "consuming",
        "context_schema",
        "direct",
        "effects",
        "finishing",
        "first",
        "input_keys",
        "input_writes",
        "joins",
        "kinds",
        "make_registry",
        "migrations",
        "name",
        "narrow",
        "nodes",
        "output_keys",
        "output_schema",
        "output_view",
        "plain",
        "print",
        "remembering",
        "schema",
        "shown_bare",
        "shown_keys",
        "shown_view",
        "spawns",
        "state_keys",
        "state_view",
        "stream_keys",
        "strict",
        "subscribers",
        "timed",
        "untracked",
    )  # fmt: skip

    input_keys: tuple[str, ...]
    output_keys: tuple[str, ...]
    state_keys: tuple[str, ...]
    """All keys of the state, those of its nodes' private schemas too."""
    stream_keys: tuple[str, ...]
    """Those of them that are stored."""
    schema: Schema | None
    output_schema: Schema | None
    bare: bool
    """Whether the output is the value of its one key, not a dict."""
    bare_input: bool
    direct: bool
    """Whether input goes straight into channels, without the step of a node ``__start__``: a low-level graph."""
    narrow: bool
    """Whether one call asked for other keys than the graph's output (`lawful.graph.narrowing`)."""
    spawns: bool
    """Whether its nodes call tasks, whose chunks are to be streamed while the node runs."""
    shown_keys: tuple[str, ...] | None
    """The keys that streams show, where these are not the output's."""
    shown_view: View | None
    """How streams see the state, where that is not how the output is seen."""
    shown_bare: bool
    """Whether streams show the value of one key, not a dict."""
    remembering: frozenset[str]
    """Nodes that are graphs with a memory of their own."""
    migrations: Migrations | None
    """What its author says of its past."""
    bridged: bool
    """Whether its nodes work with langchain (`lawful.core.neighbours`)."""
    print: tuple[bytes, bytes] | None
    """Its fingerprint, once one was asked for (`lawful.graph.fingerprint.print_of`)."""

    def __init__(self, name: str, nodes: Mapping[str, Node], channels: Mapping[str, Channel], *, strict: bool) -> None:
        self.name = name
        self.nodes = dict(nodes)
        self.channels = dict(channels)
        self.strict = strict
        self.effects: tuple[EffectPort, ...] | None = None
        """The effects that its nodes name; None until somebody has looked."""
        self.kinds: dict[str, int] = {k: c.kind for k, c in channels.items()}
        self.subscribers: dict[str, tuple[str, ...]] = {}
        """Channel to the nodes it triggers; plain inboxes are no channels here, their names go from task to task."""
        self.clearing: tuple[str, ...] = tuple(k for k, c in channels.items() if c.clears)
        self.finishing: tuple[str, ...] = tuple(k for k, c in channels.items() if c.finishes)
        self.untracked: frozenset[str] = frozenset(k for k, c in channels.items() if not c.tracked)
        self.consuming = any(n.consumes for n in nodes.values())
        self.remembering = frozenset(k for k, n in nodes.items() if n.subgraph and n.subgraph.checkpointer is True)
        self.plain = not self.clearing and not self.consuming and all(c.kind == LAST for c in channels.values())
        self.caches = any(n.cache is not None for n in nodes.values())
        self.timed = any(n.timeout is not None for n in nodes.values())
        self.joins: dict[str, Join] = {}
        self.input_keys, self.output_keys, self.state_keys, self.stream_keys = (), (), (), ()
        self.output_view: View = dict
        self.state_view: View = dict
        """All state keys that are kept, as a dict."""
        self.first: dict[str, Callable[[], Any]] = {}
        """How to make what is stored before the first write."""
        self.make_registry: Callable[[], Registry] = default_registry.child
        self._registry: Registry | None = None
        self._reducers: Mapping[str, list[Any]] | None = None
        self.schema, self.output_schema = None, None
        self.input_writes: Callable[[Any], list[tuple[str, Any]]] = lambda given: list(given.items())
        self.migrations, self.print = None, None
        self.checks: Mapping[str, Any] = {}
        self.acceptor: Any = None
        """The `Acceptor` that reads what nodes return."""
        self.context_schema: Any = None
        self.bare, self.bare_input, self.direct, self.bridged = False, False, False, False
        self.narrow, self.spawns = False, False
        self.shown_keys, self.shown_view, self.shown_bare = None, None, False

    @property
    def initial(self) -> dict[str, Any]:
        """What is stored before the first write; made anew, so that no two runs share a container."""
        return {key: make() for key, make in self.first.items()}

    @property
    def registry(self) -> Registry:
        """The codecs of every class that the state names; made when first needed. Raises: ConfigurationError."""
        if self._registry is None:
            self._registry = self.make_registry()
        return self._registry

    @property
    def reducers(self) -> Mapping[str, list[Any]]:
        """By key: the id and version of its merge, which deltas that were stored must be folded with."""
        if self._reducers is None:
            found = {k: getattr(c, "operator", None) for k, c in self.channels.items()}
            self._reducers = {k: [reducer_id(f), reducer_version(f)] for k, f in found.items() if f is not None}
        return self._reducers

    @property
    def start(self) -> Node:
        return self.nodes[START]


class Join:
    """An edge that waits for several sources."""

    __slots__ = ("channel", "rule", "sources", "target")

    def __init__(self, channel: str, sources: tuple[str, ...], target: str, rule: str | None) -> None:
        self.channel = channel
        self.sources = sources
        self.target = target
        self.rule = rule
        """"all", "activated", or None where nothing was said."""
