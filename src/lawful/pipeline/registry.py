"""Which component a name in JSON means; a program makes its own registry, there is none for the whole process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

from lawful.core.errors import ConfigurationError
from lawful.core.failure import nearest
from lawful.pipeline.build import Stepper, wants_run
from lawful.pipeline.nodes import Component, Pipeline, Prim

I = TypeVar("I")
O = TypeVar("O")


class _Shared(Protocol):
    @property
    def component_id(self) -> str: ...


SharedT = TypeVar("SharedT", bound=_Shared)


@dataclass(frozen=True, eq=False)
class Named(Generic[I, O]):
    """A function under a registered name."""

    component_id: str
    run: Callable[..., O]
    effects: tuple[str, ...] = ()
    errors: tuple[type[Exception], ...] | None = None
    total: bool = False
    kind: str = ""
    model_calls: int | None = 0
    independent: bool = False
    cacheable: bool = False
    wants_run: bool = False
    """Its second parameter is the `Run`."""

    def __call__(self, value: I, /, *run: Any) -> O:
        return self.run(value, *run)


class Registry:
    """The components that a program's stored pipelines may name."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def add(self, component: Component[I, O]) -> Pipeline[I, O]:
        """``component`` under its own ``component_id``, as a pipeline.

        Raises: ConfigurationError, if that name is taken by another.
        """
        self._put(component.component_id, component)
        return Prim(component)

    def keep(self, shared: SharedT) -> SharedT:
        """A circuit breaker, rate limiter or cache under its own ``component_id``; gives it back.

        Raises: ConfigurationError, if it has no name, or one that is taken by another.
        """
        self._put(shared.component_id, shared)
        return shared

    def component(
        self,
        name: str,
        *,
        effects: Sequence[str] = (),
        errors: Sequence[type[Exception]] | None = None,
        total: bool = False,
        kind: str = "",
        model_calls: int | None = None,
        independent: bool = False,
        cacheable: bool = False,
    ) -> Stepper:
        """Registers a function of any of a step's forms: ``@registry.component("embed")``, which makes a pipeline.

        ``kind`` is "model", "tool", "agent" or "retriever"; ``model_calls`` how many one call makes at most, by default 1
        for a model, no bound for an agent, else 0. The rest is as of a `step`.

        Raises (when applied): ConfigurationError, if the name is taken.
        """
        said = None if errors is None else tuple(errors)
        calls = model_calls if model_calls is not None else {"model": 1, "agent": None}.get(kind, 0)
        if effects and (independent or cacheable):
            raise refuse(f"component {name!r} with effects is neither independent nor cacheable", name)

        def make(function: Callable[[Any], Any]) -> Pipeline[Any, Any]:
            asks = wants_run(function)
            named = Named[Any, Any](
                name, function, tuple(effects), said, total, kind, calls, independent, cacheable, asks
            )
            self._put(name, named)
            return Prim(named)

        return cast("Stepper", make)

    def choice(
        self, name: str, *, errors: Sequence[type[Exception]] | None = None, total: bool = False
    ) -> Callable[[Callable[[I], O]], Named[I, O]]:
        """Registers a function that a `branch`, a `switch` or a `guard` asks: ``@registry.choice("is_long")``.

        Raises (when applied): ConfigurationError, if the name is taken.
        """

        def make(function: Callable[[I], O]) -> Named[I, O]:
            named = Named[I, O](name, function, errors=None if errors is None else tuple(errors), total=total)
            self._put(name, named)
            return named

        return make

    def function(self, name: str, place: str) -> Any:
        """The component of that name, which can be called.

        Raises: ConfigurationError, naming the place, for a cache or another thing that is only kept; as `find`.
        """
        found = self.find(name)
        if not callable(found):
            raise refuse(f"{place}: {name!r} is a {type(found).__name__}, which nobody can call", name)
        return found

    def find(self, name: str) -> Any:
        """The component of that name.

        Raises: ConfigurationError, with the nearest name that there is.
        """
        if name not in self._known:
            raise refuse(f"no component is called {name!r}.{nearest(name, self._known)}", name)
        return self._known[name]

    def _put(self, name: str, component: Any) -> None:
        if not name:
            raise refuse("what is registered has a component_id that is not empty", name)
        if self._known.setdefault(name, component) is not component:
            raise refuse(f"two components are called {name!r}", name)


def refuse(message: str, name: str) -> ConfigurationError:
    return ConfigurationError(message, component="pipeline", operation="json", details={"name": name})
