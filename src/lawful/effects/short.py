"""`@effect("argument", ...)`: an effect from a function, whose key is named by its arguments."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, cast, get_type_hints, overload

from lawful.core.errors import ConfigurationError, nearest
from lawful.effects.capability import (
    Capability,
    Fence,
    Lookup,
    NotFound,
    Opaque,
    Promise,
    Seen,
    Unavailable,
    promise,
)
from lawful.effects.contract import EffectContext, Intent
from lawful.effects.digests import builtins, rebuilt
from lawful.effects.effect import Described, in_node, without_revision
from lawful.effects.intents import OnFork, Risk
from lawful.effects.policy import Decision, Policy
from lawful.effects.sightings import reported, says_bool

P = ParamSpec("P")
R = TypeVar("R")

HERE: Any = object()
"""As a parameter's default: the `EffectContext` of the attempt is passed there, as in ``ctx: EffectContext = HERE``."""

Sighting: TypeAlias = Seen[R] | R | None
"""What a look-up function may return; None is `NotFound`, any other value `Found`."""


class FunctionEffect(Described[dict[str, Any], R], Generic[P, R]):
    """What the sync and the async short form share."""

    def __init__(self, function: Callable[..., Any], keys: tuple[str, ...], options: dict[str, Any]) -> None:
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function
        self._function = function
        self._signature = inspect.signature(function)
        self._keys = keys
        self._seek: Callable[..., Any] | None = None
        self._bar: Callable[..., Any] | None = None
        self._present: Callable[..., Any] | None = None
        self._authorize: Callable[..., Decision] | None = None
        self._revision: str | None = options.pop("revision", None)
        self._labels: tuple[str, ...] = tuple(options.pop("labels", ()))
        self._amount: str | None = options.pop("amount", None)
        self._declared: Promise | Capability | None = options.pop("capability", None)
        self.tool = options.pop("tool", None) or function.__name__
        for name, value in options.items():
            setattr(self, name, value)
        shown = [*keys, *self._labels, *(name for name in (self._revision, self._amount) if name is not None)]
        named = [*shown, *self.secrets]
        for name in named:
            if name not in self._asked:
                raise ConfigurationError(
                    f"@effect: {function.__name__}() has no argument {name!r}.{nearest(name, self._asked)}",
                    component=self.tool,
                    operation="declare",
                    details={"argument": name},
                )
        if told := [name for name in self.secrets if name in shown]:
            raise ConfigurationError(
                f"@effect: {told[0]!r} is to be kept secret, so it can be no key, label, amount or revision",
                component=self.tool,
                operation="declare",
            )
        if self.risk == "high" and not keys:
            raise ConfigurationError(
                f"effect {self.tool!r} is of high risk and so needs a key: @effect('argument')",
                component=self.tool,
                operation="declare",
            )
        self._check()

    @property
    def _asked(self) -> list[str]:
        """The parameters that are part of the command."""
        return [name for name, p in self._signature.parameters.items() if p.default is not HERE]

    @property
    def capability(self) -> Promise | Capability:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As declared; else `Lookup`, or without a look-up `Opaque`."""
        if self._declared is not None:
            return self._declared
        return Lookup("eventual", unique_by=self._keys) if self._seek is not None else Opaque()

    @property
    def looks(self) -> bool:
        return self._seek is not None

    @property
    def needs_loop(self) -> bool:
        return any(map(inspect.iscoroutinefunction, (self._function, self._seek, self._present)))

    def plan(self, *args: P.args, **kwargs: P.kwargs) -> Intent[dict[str, Any], R]:
        """Describe the call; nothing is done or written.

        Raises: TypeError for arguments that do not fit the function; ConfigurationError, ValidationError.
        """
        for kind, declared in ((Fence, self._bar), (Lookup, self._seek)):
            if declared is None and promise(self.promised, kind) is not None:
                name = kind.__name__
                raise ConfigurationError(
                    f"effect {self.tool!r} promises {name}() and declares none: @{self.__name__}.{name.lower()}",
                    component=self.tool,
                    operation="plan",
                )
        bound = self._bound(*args, **kwargs)
        bound.apply_defaults()
        command = {name: bound.arguments[name] for name in self._asked if name in bound.arguments}
        told = builtins(command, what=f"arguments of {self.tool}")
        # As recovery will have to, when it is too late to say so; no error may show a secret.
        self.read_command({name: value for name, value in told.items() if name not in self.secrets})
        revision = str(command[self._revision]) if self._revision is not None else None
        labels = {name: told.get(name) for name in self._labels}
        if self._amount is not None:
            labels["amount"] = told.get(self._amount)
        return self._intent(command, told, self._key(told), revision, labels)

    def _bound(self, *args: Any, **kwargs: Any) -> inspect.BoundArguments:
        try:
            return self._signature.bind(*args, **kwargs)
        except TypeError as error:
            asked = ", ".join(self._asked)
            raise TypeError(f"effect {self.tool!r} is called as {self.__name__}({asked}): {error}") from None

    def _key(self, told: dict[str, Any]) -> str | None:
        if not self._keys:
            return None
        parts = [told[name] if isinstance(told[name], str) else _text(told[name]) for name in self._keys]
        if len(parts) == 1:
            return parts[0]
        return ":".join(part.replace("%", "%25").replace(":", "%3A") for part in parts)

    def authorize(self, rule: Callable[P, Decision]) -> Callable[P, Decision]:
        """Declare the effect's own rule: a pure function of the same arguments."""
        self._authorize = rule
        return rule

    def judge(self, command: dict[str, Any]) -> Decision:
        return self._with(self._authorize, command, None) if self._authorize is not None else Decision.allow()

    def attempt(self, command: dict[str, Any], ctx: EffectContext) -> R | Awaitable[R]:
        return self._with(self._function, command, ctx)

    def seek(self, command: dict[str, Any], ctx: EffectContext) -> Seen[R] | Awaitable[Seen[R]]:
        if self._seek is None:
            return Unavailable("nothing can be looked up")
        if inspect.iscoroutinefunction(self._seek) or self.needs_loop:
            return self._sought(command, ctx)
        return self._seen(self._with(self._seek, command, ctx))

    async def _sought(self, command: dict[str, Any], ctx: EffectContext) -> Seen[R]:
        found = self._with(self._seek, command, ctx)
        return self._seen(await found if inspect.isawaitable(found) else found)

    def _seen(self, found: Any) -> Seen[R]:
        return reported(found, _hints(self._function).get("return", Any), self.tool)

    @property
    def fences(self) -> bool:
        return True  # it is declared below the function; `plan` looks

    def bar(self, command: dict[str, Any], ctx: EffectContext) -> Seen[R] | Awaitable[Seen[R]]:
        if self._bar is None:
            return Unavailable("this effect has no fence")
        if inspect.iscoroutinefunction(self._bar) or self.needs_loop:
            return self._barred(command, ctx)
        return self._barred_off(self._with(self._bar, command, ctx))

    async def _barred(self, command: dict[str, Any], ctx: EffectContext) -> Seen[R]:
        found = self._with(self._bar, command, ctx)
        return self._barred_off(await found if inspect.isawaitable(found) else found)

    def _barred_off(self, found: Any) -> Seen[R]:
        return NotFound(fenced=True) if found is None else self._seen(found)

    def fence(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declare how earlier attempts are fenced off: a function of the same arguments, for a `Fence` capability.

        It returns None (or ``NotFound(fenced=True)``) once they can no longer happen, or what it found instead.
        """
        self._bar = _checked(self, function)
        return function

    @property
    def reads_revision(self) -> bool:
        return self._present is not None

    def present(self, command: dict[str, Any], ctx: EffectContext) -> str | None | Awaitable[str | None]:
        found: Any = self._with(self._present, command, ctx)
        return _as_coroutine(lambda: found) if self.needs_loop and not inspect.isawaitable(found) else found

    def current_revision(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declare how the target's present revision is read: a function of the same arguments, right before each claim.

        Where it is not the argument that ``revision`` names, nothing is claimed. Raises: ConfigurationError without that.
        """
        if self._revision is None:
            raise without_revision(self.tool)
        _, _, wrong = _fitting(self, function)
        if wrong:
            raise ConfigurationError(
                f"current_revision of {self.tool!r} {wrong}", component=self.tool, operation="declare"
            )
        self._present = function
        return function

    def _with(self, function: Callable[..., Any] | None, command: dict[str, Any], ctx: EffectContext | None) -> Any:
        assert function is not None
        signature = inspect.signature(function)
        given = OrderedDict(
            (name, ctx if parameter.default is HERE else command[name])
            for name, parameter in signature.parameters.items()
            if parameter.default is HERE or name in command
        )
        bound = inspect.BoundArguments(signature, given)
        return function(*bound.args, **bound.kwargs)

    def read_command(self, told: Any) -> dict[str, Any]:
        hints = _hints(self._function)
        return {
            name: rebuilt(value, hints.get(name, Any), what=f"argument {name} of {self.tool}")
            for name, value in told.items()
        }

    def read_receipt(self, told: Any) -> R:
        kind = _hints(self._function).get("return", Any)
        return cast("R", rebuilt(told, kind, what=f"receipt of {self.tool}"))


class SyncEffect(FunctionEffect[P, R]):
    """An effect made of a plain function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Perform it inside a running node and give the receipt; errors and signals as for `Effect`."""
        in_node(self.tool)
        return self._perform_sync(self.plan(*args, **kwargs))

    def sync(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The same as calling it."""
        return self(*args, **kwargs)

    @property
    def needs_loop(self) -> bool:
        return any(map(inspect.iscoroutinefunction, (self._seek, self._present)))

    def attempt(self, command: dict[str, Any], ctx: EffectContext) -> R | Awaitable[R]:
        if not self.needs_loop:
            return self._with(self._function, command, ctx)
        return _as_coroutine(lambda: cast("R", self._with(self._function, command, ctx)))

    def lookup(self, function: Callable[P, Sighting[R]]) -> Callable[P, Sighting[R]]:
        """Declare how to find the effect: a function of the same arguments that reports what it sees."""
        self._seek = _checked(self, function)
        return function


class AsyncEffect(FunctionEffect[P, R]):
    """An effect made of a coroutine function."""

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Perform it inside a running node and give the receipt; errors and signals as for `Effect`."""
        in_node(self.tool)
        return await self._perform_async(self.plan(*args, **kwargs))

    def sync(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The same from sync code."""
        in_node(self.tool)
        return self._perform_sync(self.plan(*args, **kwargs))

    def lookup(
        self, function: Callable[P, Coroutine[Any, Any, Sighting[R]]]
    ) -> Callable[P, Coroutine[Any, Any, Sighting[R]]]:
        """Declare how to find the effect: a coroutine function of the same arguments that reports what it sees."""
        self._seek = _checked(self, function)
        return function


class _Decorator:
    """Makes an effect of the function below it."""

    def __init__(self, keys: tuple[str, ...], options: dict[str, Any]) -> None:
        self._keys = keys
        self._options = options

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]]) -> AsyncEffect[P, R]: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, function: Callable[P, R]) -> SyncEffect[P, R]: ...
    def __call__(self, function: Callable[..., Any]) -> Any:
        kind: Any = AsyncEffect if inspect.iscoroutinefunction(function) else SyncEffect
        return kind(function, self._keys, dict(self._options))


def effect(
    *key: str,
    capability: Promise | Capability | None = None,
    tool: str | None = None,
    version: str = "1",
    risk: Risk = "medium",
    policy: Policy | None = None,
    revision: str | None = None,
    once_per_key: bool = False,
    max_attempts: int = 5,
    send_budget: float = 10.0,
    timeout: float = 20.0,
    labels: Sequence[str] = (),
    amount: str | None = None,
    secrets: Sequence[str] = (),
    on_fork: OnFork = "ask",
) -> _Decorator:
    """Make an effect of a function; ``key`` and ``revision`` name those of its arguments that say what it acts on.

    ``labels`` and ``amount`` name the arguments that policies compare and sum up, ``secrets`` those that no record holds.

    Without ``capability`` it promises a look-up once ``.lookup`` is declared, and nothing before. Other arguments are as
    the fields of `Effect`.

    Raises: ConfigurationError at decoration, for a name that is no argument of the function.
    """
    if any(callable(name) for name in key):
        raise ConfigurationError("write @effect('argument') or @effect(), with parentheses", component="effect")
    return _Decorator(
        key,
        {
            "capability": capability,
            "tool": tool,
            "version": version,
            "risk": risk,
            "policy": policy,
            "revision": revision,
            "once_per_key": once_per_key,
            "max_attempts": max_attempts,
            "send_budget": send_budget,
            "timeout": timeout,
            "labels": tuple(labels),
            "amount": amount,
            "secrets": tuple(secrets),
            "on_fork": on_fork,
        },
    )


async def _as_coroutine(work: Callable[[], R]) -> R:
    return work()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The function's annotations; none where a name in them cannot be found any more."""
    try:
        return get_type_hints(function)
    except (NameError, TypeError):
        return {}


def _fitting(effect: FunctionEffect[Any, Any], function: Callable[..., Any]) -> tuple[list[str], list[str], str]:
    """The effect's arguments, the function's, and what is wrong with those."""
    valid = list(inspect.signature(cast("Any", effect).__wrapped__).parameters)
    taken = inspect.signature(function).parameters
    strange = [name for name, p in taken.items() if p.default is not HERE and name not in valid]
    wrong = f"takes {strange[0]!r}, which the effect does not.{nearest(strange[0], valid)}" if strange else ""
    return valid, list(taken), wrong


def _checked(effect: FunctionEffect[Any, Any], function: Callable[..., Any]) -> Callable[..., Any]:
    wrapped = cast("Any", effect).__wrapped__
    valid, taken, wrong = _fitting(effect, function)
    if not taken and valid:
        wrong = f"takes none of its arguments, so it cannot tell one operation from another. It may take: {', '.join(valid)}"
    kind = _hints(wrapped).get("return", Any)
    if _hints(function).get("return") is bool and not says_bool(kind):
        wrong = (
            "returns bool: it is to return the receipt, or Found(receipt), of what is there, and None where nothing is"
        )
    if wrong:
        raise ConfigurationError(f"the look-up of {effect.tool!r} {wrong}", component=effect.tool, operation="declare")
    return function
