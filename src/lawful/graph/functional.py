"""The functional form: `entrypoint` makes a graph of one function, `task` calls whose results a resume finds again."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar, get_args, get_origin, overload

from lawful.core.context import current_task, here
from lawful.core.errors import GraphBuildError, NotInRun
from lawful.core.lazy import late
from lawful.core.retry import RetryPolicy
from lawful.graph.caching import CALLED, namespace_of
from lawful.graph.calls import CallTask, program_of, returns
from lawful.graph.channels import EphemeralValue, LastValue
from lawful.graph.command import END, START
from lawful.graph.drivers.calls import Children, TaskFuture
from lawful.graph.parts import policies
from lawful.graph.policies import checked_cache_policy
from lawful.graph.pregel import Pregel, Wired
from lawful.graph.program import Node
from lawful.graph.runtime import PREVIOUS, Getter, injectable
from lawful.graph.signature import hints, is_async, is_generator, name_of, parameters
from lawful.graph.step_task import Task
from lawful.graph.wiring import checked_timeout
from lawful.journal.cache_port import Cache

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S")


class GeneratorRefused(GraphBuildError, NotImplementedError):
    """A generator has no result that could be stored."""


def _function(fn: Any, what: str) -> None:
    if not callable(fn):
        raise GraphBuildError(f"@{what} takes a function, got {type(fn).__name__}", component="graph", operation=what)
    if is_generator(fn):
        raise GeneratorRefused(
            f"@{what} cannot take the generator {name_of(fn)!r}: return its values, or stream them by get_stream_writer()",
            component="graph",
            operation=what,
        )


# Tasks


class TaskFunction(Generic[P, T]):
    """A function whose calls inside a run are tasks; made by `task`."""

    def __init__(self, fn: Callable[P, Any], *, name: str | None, retry: Any, cache: Any, timeout: Any) -> None:
        _function(fn, "task")
        self.func = fn
        self.name = name if name is not None else name_of(fn)
        if not self.name or "|" in self.name or ":" in self.name:
            raise GraphBuildError(
                f"Task name {self.name!r} must not be empty or contain '|' or ':', which separate namespaces",
                component="graph",
                operation="task",
            )
        awaits = is_async(fn)
        node = Node(self.name, fn, call=_calling(fn), is_async=awaits, view=dict, accept=returns)
        node.retry, node.cache = policies(retry), checked_cache_policy(cache, f"Task {self.name!r}")
        node.timeout = checked_timeout(f"Task {self.name!r}", timeout, awaits)
        self._node = node
        self._program = program_of(node)
        self._returned = hints(fn).get("return")
        self.node = node
        update_wrapper(self, fn)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> TaskFuture[T]:
        """Start the call and give its future at once. Raises: NotInRun outside a run."""
        parent = _caller(self.name)
        given: tuple[tuple[Any, ...], dict[str, Any]] = (args, dict(kwargs))
        call = CallTask(parent, self._node, given, parent.count("call"))
        if parent.base.recorder is not None and self._returned is not None:
            parent.program.registry.register_annotation(self._returned, where=f"result of task {self.name!r}")
        with _MAKING:
            if parent.children is None:
                parent.children = Children(parent)
        return parent.children.call(call, self._program)

    def clear_cache(self, cache: Cache, *, scope: str = "local") -> None:
        """Forget the results of this task in ``cache``; ``scope`` is the tenant, as the journal has it."""
        cache.clear([namespace_of(scope, CALLED, self.name)])

    async def aclear_cache(self, cache: Cache, *, scope: str = "local") -> None:
        """As `clear_cache`, beside the event loop."""
        await late("asyncio").to_thread(lambda: self.clear_cache(cache, scope=scope))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"task({self.name})"


_MAKING = threading.Lock()


def _caller(name: str) -> Task:
    """The running task. Raises: NotInRun, naming the remedy."""
    slot = here(f"task {name!r}") if current_task.get() is not None else None
    if isinstance(slot, Task):
        return slot
    raise NotInRun(
        f"task {name!r} is called outside a run: call it inside an @entrypoint, another task or a node of a graph;"
        " in a thread of your own, start that with contextvars.copy_context().run",
        component="run",
        operation=f"task {name!r}",
    )


def _calling(fn: Callable[..., Any]) -> Callable[[Any, Task], Any]:
    """How to call a task's function: with what it was called with, and what it asks for by name or type and was not given."""
    wanted = parameters(fn)
    types = hints(fn)
    places: list[tuple[int, str, Getter]] = []
    for place, parameter in enumerate(wanted):
        getter = injectable(parameter.name, types.get(parameter.name))
        if getter is not None:
            places.append((10**6 if parameter.keyword_only else place, parameter.name, getter))
    if not places:
        return lambda given, task: fn(*given[0], **given[1])

    def call(given: Any, task: Task) -> Any:
        args, kwargs = given
        more = {name: get(task) for place, name, get in places if place >= len(args) and name not in kwargs}
        return fn(*args, **kwargs, **more)

    return call


@overload
def task(func: Callable[P, Awaitable[T]], /) -> TaskFunction[P, T]: ...
@overload
def task(func: Callable[P, T], /) -> TaskFunction[P, T]: ...
@overload
def task(
    func: None = None,
    /,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: Any = None,
    timeout: Any = None,
) -> _Decorator: ...
def task(
    func: Any = None,
    /,
    *,
    name: str | None = None,
    retry_policy: Any = None,
    cache_policy: Any = None,
    timeout: Any = None,
) -> Any:
    """As a decorator: calls of the function inside a run are tasks, which run at once and beside each other.

    A call gives a `TaskFuture`; wait by ``result()`` in sync code, ``await`` it in async code. What a finished call gave is
    stored, so that a resumed or retried caller gets it again instead of running it: calls are told apart by their order.
    What the function raises is raised where the result is asked for. ``timeout`` is in seconds, for async functions only.

    Raises (the decorator): GraphBuildError, for a generator or a limit that could not hold; (a call): NotInRun outside a
    run; TaskChanged where a caller that runs again calls with other arguments than those whose result was stored.
    """

    def made(fn: Any) -> Any:
        return TaskFunction[Any, Any](fn, name=name, retry=retry_policy, cache=cache_policy, timeout=timeout)

    return made if func is None else made(func)


class _Decorator:
    """What ``task(...)`` with options gives; typed so that the function's own types come through."""

    @overload
    def __call__(self, func: Callable[P, Awaitable[T]], /) -> TaskFunction[P, T]: ...
    @overload
    def __call__(self, func: Callable[P, T], /) -> TaskFunction[P, T]: ...
    def __call__(self, func: Any, /) -> Any:
        raise NotImplementedError


# Entrypoints


@dataclass(frozen=True, kw_only=True)
class Final(Generic[R, S]):
    """Return ``value`` to the caller and ``save`` another for the thread's next run."""

    value: R
    save: S


class entrypoint:
    """As a decorator: the function becomes a graph of one node, with every way to run, stream and inspect one.

    The function's first parameter is the input. It may also ask for ``previous`` (what the last finished run on the thread
    returned, or saved by ``entrypoint.final``), ``config``, ``writer``, ``store`` and ``runtime``. ``strict=False`` gives
    LangGraph's behaviour: neither types nor the arguments of repeated calls are compared.

    Raises (the decorator): GraphBuildError for a function without parameters, or a time limit on a sync one;
    NotImplementedError (a GraphBuildError) for a generator.
    """

    final = Final

    def __init__(
        self,
        checkpointer: Any = None,
        store: Any = None,
        cache: Any = None,
        context_schema: Any = None,
        cache_policy: Any = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        timeout: Any = None,
        *,
        strict: bool = True,
        name: str | None = None,
    ) -> None:
        self.checkpointer = checkpointer
        self.store = store
        self.cache = cache
        self.context_schema = context_schema
        self.cache_policy = cache_policy
        self.retry_policy = retry_policy
        self.timeout = timeout
        self.strict = strict
        self.name = name

    def __call__(self, func: Callable[..., Any]) -> Pregel:
        """Make the graph."""
        _function(func, "entrypoint")
        name = self.name if self.name is not None else name_of(func)
        if not parameters(func):
            raise GraphBuildError(
                f"Entrypoint {name!r} needs at least one parameter: its input",
                component="graph",
                operation="entrypoint",
            )
        given, value, save = _types(func)
        node = Wired(
            name=name,
            fn=func,
            triggers=(START,),
            reads=START,
            write=_final,
            writes=(END, PREVIOUS),
            retry=policies(self.retry_policy),
            cache=self.cache_policy,
            timeout=self.timeout,
        )
        made = Pregel(
            nodes={name: node},
            channels={START: EphemeralValue(given), END: LastValue(value), PREVIOUS: LastValue(save)},
            input_channels=START,
            output_channels=END,
            stream_channels=END,
            stream_mode="updates",
            checkpointer=self.checkpointer,
            store=self.store,
            cache=self.cache,
            context_schema=self.context_schema,
            name=name,
            strict=self.strict,
        )
        made.program.spawns = True
        made.__doc__ = func.__doc__
        return made


def _final(value: Any) -> list[tuple[str, Any]]:
    """What an entrypoint's return value writes."""
    if isinstance(value, Final):
        return [(END, value.value), (PREVIOUS, value.save)]  # pyright: ignore[reportUnknownMemberType]
    return [(END, value), (PREVIOUS, value)]


def _types(fn: Any) -> tuple[Any, Any, Any]:
    """The types of input, result and what is saved, as far as the function tells."""
    known = hints(fn)
    first = parameters(fn)[0]
    returned = known.get("return", Any)
    if get_origin(returned) is Final:
        value, save = get_args(returned)
    else:
        value = save = returned
    return known.get(first.name, Any), value, save
