"""How nodes are made: plain functions become steps, pipelines become branches, pairs and maps over lists."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast, overload

from lawful.core.errors import ConfigurationError, ToolError
from lawful.core.failure import Failure
from lawful.core.lazy import late
from lawful.core.result import Result
from lawful.core.retry import RetryPolicy
from lawful.pipeline.nodes import (
    Branch,
    Component,
    Constant,
    Each,
    Guarded,
    Id,
    Lambda,
    Par,
    Pipeline,
    Prim,
    Timeout,
    function_name,
    is_async,
    made_pure,
    part,
)
from lawful.pipeline.nodes import function as callable_
from lawful.pipeline.scene import Run

I = TypeVar("I")
O = TypeVar("O")
P = TypeVar("P")
Q = TypeVar("Q")
R = TypeVar("R")
V = TypeVar("V")
Env = TypeVar("Env")
E = TypeVar("E", bound=Exception)


class Stepper(Protocol):
    """Makes a step of a function of one of four forms: sync or async, with a value or a Result; each with a Run or not."""

    @overload
    def __call__(self, f: Callable[[I], Awaitable[Result[O, E]]], /) -> Pipeline[I, O]: ...
    @overload
    def __call__(self, f: Callable[[I], Result[O, E]], /) -> Pipeline[I, O]: ...
    @overload
    def __call__(self, f: Callable[[I], Awaitable[O]], /) -> Pipeline[I, O]: ...
    @overload
    def __call__(self, f: Callable[[I], O], /) -> Pipeline[I, O]: ...
    @overload
    def __call__(self, f: Callable[[I, Run[Env]], Awaitable[Result[O, E]]], /) -> Pipeline[I, O]: ...
    @overload
    def __call__(self, f: Callable[[I, Run[Env]], Result[O, E]], /) -> Pipeline[I, O]: ...
    @overload
    def __call__(self, f: Callable[[I, Run[Env]], Awaitable[O]], /) -> Pipeline[I, O]: ...
    @overload
    def __call__(self, f: Callable[[I, Run[Env]], O], /) -> Pipeline[I, O]: ...


def identity(_: type[I] | None = None, /) -> Pipeline[I, I]:
    """Hands its input on; the type is for the checker only."""
    return Id[I]()


def pure(f: Callable[[I], O], name: str = "") -> Pipeline[I, O]:
    """A total function without effects, taken at its word: what it returns is the value, what it raises is a bug.

    Raises: ConfigurationError, if ``f`` is an ``async def``: waiting is an effect.
    """
    return made_pure(f, name)


@overload
def step(f: Callable[[I], Awaitable[Result[O, E]]], /) -> Pipeline[I, O]: ...
@overload
def step(f: Callable[[I], Result[O, E]], /) -> Pipeline[I, O]: ...
@overload
def step(f: Callable[[I], Awaitable[O]], /) -> Pipeline[I, O]: ...
@overload
def step(f: Callable[[I], O], /) -> Pipeline[I, O]: ...
@overload
def step(f: Callable[[I, Run[Env]], Awaitable[Result[O, E]]], /) -> Pipeline[I, O]: ...
@overload
def step(f: Callable[[I, Run[Env]], Result[O, E]], /) -> Pipeline[I, O]: ...
@overload
def step(f: Callable[[I, Run[Env]], Awaitable[O]], /) -> Pipeline[I, O]: ...
@overload
def step(f: Callable[[I, Run[Env]], O], /) -> Pipeline[I, O]: ...
@overload
def step(
    *,
    name: str = "",
    catch: type[Exception] | Sequence[type[Exception]] = (),
    error: type[Failure] = ToolError,
    blocking: bool = False,
    total: bool = False,
    effects: Sequence[str] = (),
    errors: Sequence[type[Exception]] | None = None,
    independent: bool = False,
    cacheable: bool = False,
    acts: bool = True,
) -> Stepper: ...
def step(
    f: Any = None,
    /,
    *,
    name: str = "",
    catch: type[Exception] | Sequence[type[Exception]] = (),
    error: type[Failure] = ToolError,
    blocking: bool = False,
    total: bool = False,
    effects: Sequence[str] = (),
    errors: Sequence[type[Exception]] | None = None,
    independent: bool = False,
    cacheable: bool = False,
    acts: bool = True,
) -> Any:
    """A step of a function that may fail or act: ``@step``, or ``@step(catch=OSError, error=NetworkError)``.

    A Failure that it raises becomes an Err, and so does what is of ``catch``, as an ``error`` with the exception as
    its cause. Every other exception is a bug and passes through the whole pipeline. A sync function runs inline unless
    it is ``blocking``: then it runs in a thread, and a cancelled run waits for it to end.
    A function with a second parameter that has no default gets the `Run` there, with the caller's environment.
    ``total`` says that it never ends in an error; ``effects`` and ``errors`` are what `explain` tells. ``independent``:
    it only observes, so that it may be begun earlier than written, beside others, or in vain. ``cacheable``: equal inputs
    may be answered from a cache. ``acts=False``: it works on its input alone, so that it is both of these, and scripts
    and dry runs really call it. None of them goes with effects.

    Raises: ConfigurationError, if what is said of it contradicts itself, if ``catch`` names what is no Exception
    (cancellation and control signals are none) or ``error`` no Failure, or a blocking step is an ``async def``.
    """
    caught = _caught(catch, error, name)
    if total and (caught or errors):
        raise _refuse(name or "step", "a total step has no errors: drop total=True, or catch and errors")
    if effects and (independent or cacheable or not acts):
        raise _refuse(name or "step", "a step with effects is neither independent nor cacheable, and it acts")

    def make(function: Callable[[Any], Any]) -> Pipeline[Any, Any]:
        callable_(function, "step()")
        own = name or function_name(function)
        if blocking and is_async(function):
            raise _refuse(own, "an async function does not block: drop blocking=True")
        if not acts and wants_run(function):
            raise _refuse(own, "a step that takes the Run does not work on its input alone: drop acts=False")
        said = () if total else None if errors is None else (*errors, *((error,) if caught else ()))
        return Lambda(
            function,
            own,
            total=total,
            blocking=blocking,
            catch=caught,
            error=error if caught else None,
            effects=tuple(effects),
            errors=said,
            wants_run=wants_run(function),
            independent=independent or not acts,
            cacheable=cacheable or not acts,
            acts=acts,
        )

    return make if f is None else make(f)


def prim(component: Component[I, O]) -> Pipeline[I, O]:
    """A component as a pipeline.

    Raises: ConfigurationError, if it has no ``component_id``.
    """
    found = getattr(component, "component_id", None)
    if not isinstance(found, str) or not found:
        raise _refuse(function_name(component), "a component has a component_id, a str that is not empty")
    callable_(component, "prim()")
    return Prim(component)


@overload
def branch(when: Callable[[I], Awaitable[bool]], then: Pipeline[I, O], otherwise: Pipeline[I, O]) -> Pipeline[I, O]: ...
@overload
def branch(when: Callable[[I], Result[bool, E]], then: Pipeline[I, O], otherwise: Pipeline[I, O]) -> Pipeline[I, O]: ...
@overload
def branch(when: Callable[[I], bool], then: Pipeline[I, O], otherwise: Pipeline[I, O]) -> Pipeline[I, O]: ...
def branch(when: Callable[[I], Any], then: Pipeline[I, O], otherwise: Pipeline[I, O]) -> Pipeline[I, O]:
    """``then`` where ``when(input)`` is True, else ``otherwise``; an error of ``when`` is the branch's."""
    callable_(when, "branch()")
    return Branch(when, ((True, part(then, "branch()")),), part(otherwise, "branch()"))


def switch(
    key: Callable[[I], Hashable], cases: Mapping[Any, Pipeline[I, O]], *, otherwise: Pipeline[I, O]
) -> Pipeline[I, O]:
    """The case that equals ``key(input)``, which is called once; ``otherwise`` where there is none."""
    callable_(key, "switch()")
    arms = tuple((case, part(arm, "switch()")) for case, arm in cases.items())
    return Branch(key, arms, part(otherwise, "switch()"))


@overload
def par(a: Pipeline[I, O], /) -> Pipeline[I, tuple[O]]: ...
@overload
def par(a: Pipeline[I, O], b: Pipeline[I, P], /) -> Pipeline[I, tuple[O, P]]: ...
@overload
def par(a: Pipeline[I, O], b: Pipeline[I, P], c: Pipeline[I, Q], /) -> Pipeline[I, tuple[O, P, Q]]: ...
@overload
def par(
    a: Pipeline[I, O], b: Pipeline[I, P], c: Pipeline[I, Q], d: Pipeline[I, R], /
) -> Pipeline[I, tuple[O, P, Q, R]]: ...
@overload
def par(*many: Pipeline[I, O]) -> Pipeline[I, tuple[O, ...]]: ...
def par(*many: Pipeline[Any, Any]) -> Pipeline[Any, Any]:
    """All of them on the same input, at once; a flat tuple of their results in order.

    Raises: ConfigurationError, if there is none.
    """
    if not many:
        raise _refuse("par", "par needs at least one pipeline")
    joined = part(many[0], "par()")
    for one in many[1:]:
        joined = joined & one
    return joined >> pure(cast("Callable[[Any], tuple[Any, ...]]", _Flat(len(many))), "flat")


def in_turn(first: Pipeline[I, O], second: Pipeline[I, P], /) -> Pipeline[I, tuple[O, P]]:
    """Both on the same input, the second only once the first has succeeded; a pair.

    The optimiser starts both at once where all their steps say that they are independent.
    """
    return Par(part(first, "in_turn()"), part(second, "in_turn()"), "in turn")


def always(value: V) -> Callable[[Any], V]:
    """A question for `branch` or `switch` whose answer is known beforehand; the optimiser keeps the one arm."""
    return Constant(value)


def each(inner: Pipeline[I, O], *, at_once: int = 8) -> Pipeline[Sequence[I], list[O]]:
    """``inner`` on every element of a list, at most ``at_once`` at a time; the first error cancels the rest.

    Raises: ConfigurationError, if ``at_once`` is less than 1.
    """
    if at_once < 1:
        raise _refuse("each", f"at_once must be at least 1, not {at_once}")
    return Each(part(inner, "each()"), at_once)


def retry(inner: Pipeline[I, O], policy: RetryPolicy | None = None) -> Pipeline[I, O]:
    """``inner`` again, after the policy's wait, while it ends in an error that the policy retries.

    By default an error is retried if it says ``retryable``. An unknown outcome is never tried again.
    """
    return Guarded(part(inner, "retry()"), policy or RetryPolicy())


def timeout(inner: Pipeline[I, O], seconds: float) -> Pipeline[I, O]:
    """``inner``, cancelled and awaited after that many seconds; its error is then a NodeTimeoutError.

    Raises: ConfigurationError, if ``seconds`` is not a finite number above 0.
    """
    if not 0 < seconds <= sys.float_info.max:
        raise _refuse("timeout", f"seconds must be a finite number above 0, not {seconds!r:.80}")
    return Guarded(part(inner, "timeout()"), Timeout(seconds))


class _Flat:
    """Pairs nested to the left, as ``a & b & c`` gives them, as one tuple."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, nested: Any) -> tuple[Any, ...]:
        found: list[Any] = []
        for _ in range(self.count - 1):
            nested, last = nested
            found.append(last)
        return (nested, *reversed(found))


def wants_run(function: object) -> bool:
    """Whether it has a second parameter that a caller must give."""
    if hasattr(function, "__wrapped__") or hasattr(function, "func"):  # a decorated or a partial function
        return _asks(late("inspect", "signature")(function).parameters.values())
    own = 0 if hasattr(function, "__code__") else 1  # a method and a callable object come with self
    code = getattr(function, "__code__", None)
    if code is None:
        function = getattr(type(function), "__call__", None)  # noqa: B004 - the method itself is wanted
        code = getattr(function, "__code__", None)
    elif hasattr(function, "__self__"):
        own = 1
    if code is None:
        return False
    return code.co_argcount - own - len(getattr(function, "__defaults__", None) or ()) >= 2


def _asks(parameters: Any) -> bool:
    """Whether two of them must be given by their place."""
    by_place = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return sum(one.default is one.empty for one in by_place) >= 2


def _caught(catch: Any, error: object, name: str) -> tuple[type[Exception], ...]:
    """What a step catches, in a row; no signal and no cancellation may be among it."""
    kinds = (catch,) if isinstance(catch, type) else tuple(catch)
    for kind in kinds:
        _is_kind("catch", kind, Exception, name)
    _is_kind("error", error, Failure, name)
    return kinds


def _is_kind(what: str, kind: object, base: type, name: str) -> None:
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise _refuse(name or "step", f"{what} takes classes of {base.__name__}, not {kind!r}")


def _refuse(name: str, message: str) -> ConfigurationError:
    return ConfigurationError(f"{name}: {message}", component="pipeline", operation=name, details={"step": name})
