"""A pipeline to JSON and back: by the registered names of its components, never by code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from lawful.core.errors import ConfigurationError
from lawful.core.failure import JSON, nearest
from lawful.core.retry import RetryPolicy, default_retry_on
from lawful.pipeline.build import Stepper, retry, timeout
from lawful.pipeline.nodes import (
    Branch,
    Component,
    Each,
    Fallback,
    Guarded,
    Id,
    Lambda,
    Node,
    Par,
    Pipeline,
    Policy,
    Prim,
    Seq,
    Timeout,
    function_name,
    name_of,
)
from lawful.pipeline.walking import fold

I = TypeVar("I")
O = TypeVar("O")

VERSION = 1


@dataclass(frozen=True, eq=False)
class Named(Generic[I, O]):
    """A function under a registered name."""

    component_id: str
    run: Callable[[I], O]
    effects: tuple[str, ...] = ()
    errors: tuple[type[Exception], ...] | None = None
    total: bool = False

    def __call__(self, value: I, /) -> O:
        return self.run(value)


class Registry:
    """Which component a name in JSON means; a program makes its own, there is none for the whole process."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def add(self, component: Component[I, O]) -> Pipeline[I, O]:
        """``component`` under its own ``component_id``, as a pipeline.

        Raises: ConfigurationError, if that name is taken by another.
        """
        self._put(component.component_id, component)
        return Prim(component)

    def component(
        self,
        name: str,
        *,
        effects: Sequence[str] = (),
        errors: Sequence[type[Exception]] | None = None,
        total: bool = False,
    ) -> Stepper:
        """Registers a function of any of a step's forms: ``@registry.component("embed")``, which makes a pipeline.

        Raises (when applied): ConfigurationError, if the name is taken.
        """
        said = None if errors is None else tuple(errors)

        def make(function: Callable[[Any], Any]) -> Pipeline[Any, Any]:
            named = Named[Any, Any](name, function, tuple(effects), said, total)
            self._put(name, named)
            return Prim(named)

        return cast("Stepper", make)

    def choice(
        self, name: str, *, errors: Sequence[type[Exception]] | None = None, total: bool = False
    ) -> Callable[[Callable[[I], O]], Named[I, O]]:
        """Registers a function that a `branch` or a `switch` asks: ``@registry.choice("is_long")``.

        Raises (when applied): ConfigurationError, if the name is taken.
        """

        def make(function: Callable[[I], O]) -> Named[I, O]:
            named = Named(name, function, errors=None if errors is None else tuple(errors), total=total)
            self._put(name, named)
            return named

        return make

    def find(self, name: str) -> Any:
        """The component of that name.

        Raises: ConfigurationError, with the nearest name that there is.
        """
        if name not in self._known:
            raise _refuse(f"no component is called {name!r}.{nearest(name, self._known)}", name)
        return self._known[name]

    def _put(self, name: str, component: Any) -> None:
        if self._known.setdefault(name, component) is not component:
            raise _refuse(f"two components are called {name!r}", name)


def to_json(pipeline: Pipeline[Any, Any]) -> dict[str, JSON]:
    """The pipeline as plain JSON: a list of nodes, parts before wholes, each naming its parts by their place.

    Raises: ConfigurationError, naming the step, the branch's question or its case that JSON cannot say.
    """
    nodes: list[JSON] = []

    def put(node: Pipeline[Any, Any], inside: list[int]) -> int:
        nodes.append(_told(node, inside))
        return len(nodes) - 1

    fold(pipeline, put)
    return {"version": VERSION, "nodes": nodes}


def _told(node: Pipeline[Any, Any], inside: list[int]) -> dict[str, JSON]:
    told: dict[str, JSON] = {"kind": type(node).__name__}
    if inside:
        told["parts"] = cast("list[JSON]", inside)
    match cast("Node", node):
        case Lambda(name=name):
            raise _refuse(f"the step {name!r} is a plain function: register it to write it to JSON", name)
        case Prim(component):
            told["component"] = component.component_id
        case Branch(when, arms):
            if not getattr(when, "component_id", ""):
                name = function_name(when)
                raise _refuse(f"the branch on {name!r} asks a plain function: register it to write it to JSON", name)
            told["when"] = name_of(node)
            told["cases"] = [_case(case, name_of(node)) for case, _ in arms]
        case Each(at_once=at_once):
            told["at_once"] = at_once
        case Guarded(policy=policy):
            told["policy"] = _policy_told(policy)
        case Id() | Seq() | Par() | Fallback():
            pass
    return told


_WAITS = ("initial_interval", "backoff_factor", "max_interval", "max_attempts", "jitter")


def _policy_told(policy: Policy) -> dict[str, JSON]:
    if isinstance(policy, Timeout):
        return {"seconds": policy.seconds}
    if policy.retry_on is not default_retry_on:
        raise _refuse("a retry with a retry_on of its own cannot be written to JSON", "retry")
    return {name: getattr(policy, name) for name in _WAITS}


def _policy_read(said: Any, inner: Pipeline[Any, Any], place: str) -> Pipeline[Any, Any]:
    given = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    seconds = given.get("seconds")
    if set(given) == {"seconds"} and isinstance(seconds, int | float):
        return timeout(inner, seconds)
    if set(given) != set(_WAITS):
        raise _refuse(f"{place}: a policy has either seconds or {', '.join(_WAITS)}, not {said!r}", place)
    return retry(inner, RetryPolicy(**given))


def _case(case: object, name: str) -> JSON:
    if case is None or isinstance(case, bool | int | str):
        return case
    raise _refuse(f"the branch on {name!r} has the case {case!r}: JSON says only text, whole numbers, bool, null", name)


def from_json(told: Mapping[str, Any], registry: Registry) -> Pipeline[Any, Any]:
    """The pipeline that `to_json` wrote, its components taken from ``registry``.

    Raises: ConfigurationError, naming the node and what is wrong with it; nothing is built by halves.
    """
    nodes = told.get("nodes")
    if told.get("version") != VERSION or not isinstance(nodes, list) or not nodes:
        raise _refuse(f"not a pipeline of version {VERSION}", "pipeline")
    made: list[Pipeline[Any, Any]] = []
    for at, one in enumerate(cast("list[Any]", nodes)):
        made.append(_read(one, made, registry, at))
    return made[-1]


_PARTS = {"Id": 0, "Prim": 0, "Seq": 2, "Par": 2, "Fallback": 2, "Each": 1, "Guarded": 1}


def _read(one: Any, made: list[Pipeline[Any, Any]], registry: Registry, at: int) -> Pipeline[Any, Any]:
    place = f"node {at}"
    if not isinstance(one, dict):
        raise _refuse(f"{place} is not an object", place)
    said = cast("dict[str, Any]", one)
    kind, cases = said.get("kind"), said.get("cases", [])
    known = (*_PARTS, "Branch")
    if kind not in known:
        raise _refuse(f"{place} is of the unknown kind {kind!r}.{nearest(str(kind), known)}", place)
    if not isinstance(cases, list):
        raise _refuse(f"{place}: cases is a list", place)
    need = _PARTS.get(kind, len(cast("list[Any]", cases)) + 1)
    return _made(said, kind, [made[i] for i in _places(said, need, at)], registry, place)


def _made(
    said: dict[str, Any], kind: str, inside: list[Pipeline[Any, Any]], registry: Registry, place: str
) -> Pipeline[Any, Any]:
    match kind:
        case "Prim":
            return Prim(registry.find(str(said.get("component"))))
        case "Branch":
            cases = [_case(case, place) for case in said.get("cases", [])]
            arms = tuple(zip(cases, inside[:-1], strict=True))
            return Branch(registry.find(str(said.get("when"))), cast("Any", arms), inside[-1])
        case "Each":
            at_once = said.get("at_once")
            if type(at_once) is not int or at_once < 1:
                raise _refuse(f"{place}: at_once is a whole number of at least 1, not {at_once!r}", place)
            return Each(inside[0], at_once)
        case "Guarded":
            return _policy_read(said.get("policy"), inside[0], place)
        case "Id":
            return Id()
        case "Seq":
            return Seq(inside[0], inside[1])
        case "Par":
            return Par(inside[0], inside[1])
        case _:
            return Fallback(inside[0], inside[1])


def _places(said: dict[str, Any], need: int, at: int) -> list[int]:
    """The places of a node's parts, all of them before its own."""
    found: Any = said.get("parts", [])
    if isinstance(found, list) and len(cast("list[Any]", found)) == need:
        places = cast("list[Any]", found)
        if all(type(place) is int and 0 <= place < at for place in places):
            return places
    raise _refuse(f"node {at} needs {need} parts, each the place of a node before it, not {found!r}", f"node {at}")


def _refuse(message: str, name: str) -> ConfigurationError:
    return ConfigurationError(message, component="pipeline", operation="json", details={"name": name})
