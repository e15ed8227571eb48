"""A pipeline is data: the closed list of node kinds and the three operators that join them; nothing runs here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar, cast, final

from lawful.core.errors import ConfigurationError, Error
from lawful.core.failure import Failure
from lawful.core.result import Result
from lawful.core.retry import RetryPolicy
from lawful.pipeline.caching import Cache
from lawful.pipeline.circuits import CircuitBreaker
from lawful.pipeline.limits import RateLimiter

I_contra = TypeVar("I_contra", contravariant=True)
O_co = TypeVar("O_co", covariant=True)
I = TypeVar("I")
J = TypeVar("J")
O = TypeVar("O")
P = TypeVar("P")
V = TypeVar("V")


class Component(Protocol[I_contra, O_co]):
    """What a `Prim` holds: a model, tool, agent, retriever or graph, known by a registered name.

    It may also say ``kind`` ("model", "tool", "agent", "retriever", "graph"), ``effects`` (a tuple of names), ``errors``
    (a tuple of Failure classes), ``model_calls`` (how many one call makes at most; None: no bound), ``total``,
    ``independent`` and ``cacheable`` (bools, as of a step). With a method ``events``, which takes the value and gives an
    async iterator of events and at last the Result, it is listened to while it works; so is a model that tells its pieces
    by `lawful.core.telling`.
    """

    @property
    def component_id(self) -> str: ...
    def __call__(self, value: I_contra, /) -> Awaitable[Result[O_co, Error]]: ...


class Pipeline(Generic[I_contra, O_co]):
    """A described computation from ``I`` to ``O``; equal only to itself, so that comparing never walks a tree.

    Sealed: the subclasses in this file are all there are.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__ != __name__:
            raise TypeError("Pipeline is sealed: compose the kinds it has, or hand a component to prim()")

    def __rshift__(self, then: Pipeline[O_co, P]) -> Pipeline[I_contra, P]:
        """``a >> b``: the output of ``a`` is the input of ``b``; an error of ``a`` skips ``b``."""
        return Seq(self, part(then, ">>"))

    def __and__(self: Pipeline[I, O], beside: Pipeline[I, P]) -> Pipeline[I, tuple[O, P]]:
        """``a & b``: both on the same input, at once."""
        return Par(self, part(beside, "&"))

    def __or__(self: Pipeline[I, O], otherwise: Pipeline[I, P]) -> Pipeline[I, O | P]:
        """``a | b``: ``b`` on the same input, only where ``a`` ends in an error."""
        return Fallback(self, part(otherwise, "|"))

    def map(self, f: Callable[[O_co], P]) -> Pipeline[I_contra, P]:
        """``t.map(f)`` is ``t >> pure(f)``. Raises: ConfigurationError, if ``f`` is an ``async def``."""
        return Seq(self, made_pure(f))

    if TYPE_CHECKING:  # lets the right side narrow the input: pure(len) & of_list

        def __rand__(self: Pipeline[I, O], beside: Pipeline[I, P]) -> Pipeline[I, tuple[P, O]]: ...
        def __ror__(self: Pipeline[I, O], first: Pipeline[I, P]) -> Pipeline[I, P | O]: ...

    def __repr__(self) -> str:
        name = name_of(self)
        return f"<{type(self).__name__}{f' {name}' if name else ''}>"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Id(Pipeline[I, I]):
    """Hands its input on: the unit of ``>>``."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Prim(Pipeline[I, O]):
    """A registered component: the one leaf that can be written to JSON."""

    component: Component[I, O]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Lambda(Pipeline[I, O]):
    """A function of the user's, made by `pure` or `step`."""

    run: Callable[[I], Any]
    """Gives the value; unless ``pure`` also a Result or an awaitable of either."""
    name: str
    pure: bool = False
    """No effect, no exception: the optimiser may fuse, move or drop it."""
    total: bool = False
    """Never an error, though perhaps an effect."""
    blocking: bool = False
    """Runs in a thread of the event loop's pool."""
    catch: tuple[type[Exception], ...] = ()
    """Exceptions that become an ``error`` in an Err; all others but a Failure are bugs and pass."""
    error: type[Failure] | None = None
    effects: tuple[str, ...] = ()
    """Names of the effects it may perform, as `explain` tells them."""
    errors: tuple[type[Exception], ...] | None = None
    """The errors it may end in; None: not said, read from its annotation where there is one."""
    wants_run: bool = False
    """Its second parameter is the `Run`."""
    independent: bool = False
    """Only observes: may be begun earlier, beside other steps, or in vain."""
    cacheable: bool = False
    """Equal inputs may be answered from a cache."""
    acts: bool = True
    """False: it works on its input alone, though it may end in an error; so looking ahead and scripts really call it."""
    fold: Fold | None = None
    """For a step that yields chunks: how they become its value."""


@final
@dataclass(frozen=True)
class Fold:
    """How the chunks of a streaming step become its value, one after the other, so that they need not be kept."""

    start: Callable[[], Any]
    add: Callable[[Any, Any], Any]
    end: Callable[[Any], Any]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Seq(Pipeline[I, O], Generic[I, J, O]):
    """The one after the other."""

    first: Pipeline[I, J]
    then: Pipeline[J, O]


Order: TypeAlias = Literal["at once", "in turn", "ahead"]
"""How the halves of a pair run: at once; the right one after the left one; or both at once with the outcome of "in turn"."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Par(Pipeline[I, tuple[O, P]], Generic[I, O, P]):
    """Both on the same input; a pair."""

    left: Pipeline[I, O]
    right: Pipeline[I, P]
    order: Order = "at once"


@final
@dataclass(frozen=True)
class Constant(Generic[V]):
    """A question that has one answer, whatever it is asked; made by `always`."""

    answer: V
    total: bool = True

    @property
    def component_id(self) -> str:
        return f"always {self.answer!r}"

    def __call__(self, _: Any, /) -> V:
        return self.answer


@final
@dataclass(frozen=True, eq=False, repr=False)
class Branch(Pipeline[I, O]):
    """The arm whose case equals ``when(input)``, which is called once; ``otherwise`` if there is none."""

    when: Callable[[I], Any]
    """A value, a Result, or an awaitable of either."""
    arms: tuple[tuple[Hashable, Pipeline[I, O]], ...]
    otherwise: Pipeline[I, O]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Fallback(Pipeline[I, O | P], Generic[I, O, P]):
    """The second where the first ends in an error; never on a control signal or a bug."""

    first: Pipeline[I, O]
    otherwise: Pipeline[I, P]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Each(Pipeline[Sequence[I], list[O]], Generic[I, O]):
    """``inner`` on every element of a list, at most ``at_once`` of them at a time; the results in the list's order."""

    inner: Pipeline[I, O]
    at_once: int


@final
@dataclass(frozen=True)
class Timeout:
    """An attempt that takes longer is cancelled, awaited, and ends in NodeTimeoutError."""

    seconds: float


@final
@dataclass(frozen=True)
class Breaker:
    """No call while the circuit is open: a NetworkError at once."""

    circuit: CircuitBreaker


@final
@dataclass(frozen=True)
class RateLimit:
    """A call waits until the limiter lets it; ``cost`` tells of an input how much it takes, by default 1."""

    limiter: RateLimiter
    cost: Callable[[Any], float] | None = None


@final
@dataclass(frozen=True)
class Cached:
    """An input that was seen is answered from the cache."""

    cache: Cache
    name: str
    """Which computation, and which version of it, the cache's keys are of."""
    key: Callable[[Any], Any] | None = None
    ttl: float | None = None
    """Seconds, or None: as long as the cache keeps it."""


@final
@dataclass(frozen=True)
class Guard:
    """Steps that the input passes through on its way in and the output on its way out; each may change or refuse it."""

    before: tuple[Pipeline[Any, Any], ...] = ()
    after: tuple[Pipeline[Any, Any], ...] = ()


Policy: TypeAlias = RetryPolicy | Timeout | Breaker | RateLimit | Cached | Guard
"""The closed union of what may stand around a part."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Guarded(Pipeline[I, O]):
    """``inner`` under a policy, which sees errors only: never a control signal, never a bug."""

    inner: Pipeline[I, O]
    policy: Policy


Node: TypeAlias = (
    Id[Any]
    | Prim[Any, Any]
    | Lambda[Any, Any]
    | Seq[Any, Any, Any]
    | Par[Any, Any, Any]
    | Branch[Any, Any]
    | Fallback[Any, Any, Any]
    | Each[Any, Any]
    | Guarded[Any, Any]
)
"""The same nodes as a closed union, for the interpreters' `match`."""


def part(thing: Pipeline[I, O], where: str) -> Pipeline[I, O]:
    """``thing``, for those whom no type checker tells. Raises: ConfigurationError, if it is no pipeline."""
    if isinstance(cast("Any", thing), Pipeline):
        return thing
    how = "make it one: step(...), or pure(...)" if callable(thing) else "and this is none"
    raise ConfigurationError(
        f"{where} joins pipelines, not {thing!r:.80}; {how}", component="pipeline", operation="build"
    )


def function(thing: Callable[..., Any], where: str) -> None:
    """Raises: ConfigurationError, if ``thing`` cannot be called."""
    if not callable(thing):
        raise ConfigurationError(f"{where} takes functions, not {thing!r:.80}", component="pipeline", operation="build")


def name_of(node: Pipeline[Any, Any]) -> str:
    """What a step, a component or a branch's question is called; "" for the kinds that have no name."""
    if isinstance(node, Lambda):
        return node.name
    if isinstance(node, Prim):
        return node.component.component_id
    return function_name(node.when) if isinstance(node, Branch) else ""


def function_name(function: object) -> str:
    """The registered name of ``function``, else its own."""
    return str(getattr(function, "component_id", "") or getattr(function, "__name__", "") or type(function).__name__)


_COROUTINE = 0x80 | 0x200
"""The flags of the code of ``async def``: told without importing inspect."""


def is_async(function: object) -> bool:
    """Whether it is an ``async def``, a partial of one, or an object whose call is one."""
    while not hasattr(function, "__code__") and hasattr(function, "func"):
        function = cast("Any", function).func
    call = function if hasattr(function, "__code__") else getattr(type(function), "__call__", None)  # noqa: B004
    code = getattr(call, "__code__", None)
    return bool(getattr(code, "co_flags", 0) & _COROUTINE)


def made_pure(f: Callable[[I], O], name: str = "") -> Lambda[I, O]:
    """A step of a function that is declared pure."""
    function(f, "pure()")
    if is_async(f):
        raise ConfigurationError(
            f"pure({function_name(f)}): an async function is not pure; make it a step",
            component="pipeline",
            operation="pure",
            details={"function": function_name(f)},
        )
    return Lambda(f, name or function_name(f), pure=True, total=True, errors=())
