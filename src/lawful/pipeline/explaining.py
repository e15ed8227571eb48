"""What a pipeline would do, told before it runs: its steps and their effects, calls of models, the errors that can escape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast, get_args, get_origin

from msgspec import Struct, to_builtins

from lawful.core.errors import ConfigurationError, NetworkError, NodeTimeoutError, ValidationError
from lawful.core.failure import JSON, Failure
from lawful.core.lazy import late
from lawful.core.result import Err
from lawful.core.retry import RetryPolicy
from lawful.pipeline.nodes import (
    Branch,
    Breaker,
    Cached,
    Each,
    Fallback,
    Guard,
    Guarded,
    Id,
    Lambda,
    Node,
    Pipeline,
    Prim,
    RateLimit,
    Timeout,
    function_name,
    name_of,
)
from lawful.pipeline.walking import fold, walk

Errors = frozenset[type[Exception]]
Calls = int | None
"""Calls of models at most; None: no bound, for it depends on the length of a list, or a component does not say."""

_NONE: Errors = frozenset()
_ANY: Errors = frozenset({Failure})


class Step(Struct, frozen=True):
    """One leaf, or the question of a branch."""

    name: str
    kind: str
    """"pure", "step", "choice", "check", or what a component says it is: "model", "tool", "agent"... or "component"."""
    effects: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    """Names of classes; "Failure" where the step does not say which."""


class Explanation(Struct, frozen=True):
    """A pipeline as a table; every tuple in the order of the pipeline, the sets of names sorted."""

    steps: tuple[Step, ...]
    components: tuple[str, ...]
    effects: tuple[str, ...]
    escapes: tuple[str, ...]
    """The errors that the whole may end in; what a fallback handles is not among them."""
    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    model_calls: Calls = 0
    """How many calls of models one run makes at most, retries and fallbacks included; None: no bound."""

    def table(self) -> str:
        """One line a step, how often models are called, and what can escape."""
        rows = [("step", "kind", "effects", "errors")]
        rows += [(s.name, s.kind, ", ".join(s.effects) or "-", ", ".join(s.errors) or "-") for s in self.steps]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        if self.model_calls != 0:
            lines.append(f"model calls: {'no bound' if self.model_calls is None else f'at most {self.model_calls}'}")
        return "\n".join([*lines, f"can escape: {', '.join(self.escapes) or 'nothing'}"])

    def to_json(self) -> dict[str, JSON]:
        return cast("dict[str, JSON]", to_builtins(self))


def explain(pipeline: Pipeline[Any, Any]) -> Explanation:
    """Looks at the description and runs none of it.

    A step's errors are those it declares, else those of its annotation ``Result[..., E]``, else any Failure.
    """
    reader = _Reader()
    steps = tuple(told for node in walk(pipeline) for told in reader.steps(node))
    named = ("pure", "step", "choice", "check")
    return Explanation(
        steps=steps,
        components=tuple(sorted({step.name for step in steps if step.kind not in named})),
        effects=tuple(sorted({effect for step in steps for effect in step.effects})),
        escapes=_names(fold(pipeline, reader.escaping)),
        models=tuple(sorted({step.name for step in steps if step.kind == "model"})),
        tools=tuple(sorted({step.name for step in steps if step.kind == "tool"})),
        model_calls=fold(pipeline, _calls),
    )


class _Reader:
    """Reads each function's annotations once, however often a pipeline uses it."""

    def __init__(self) -> None:
        self._known: dict[int, Errors | None] = {}

    def steps(self, node: Pipeline[Any, Any]) -> tuple[Step, ...]:
        match cast("Node", node):
            case Lambda(name=name, pure=pure, effects=effects) as leaf:
                return (Step(name, "pure" if pure else "step", effects, _names(self._errors(leaf))),)
            case Prim(component) as leaf:
                kind = _kind(component, "component")
                return (Step(component.component_id, kind, _effects(component), _names(self._errors(leaf))),)
            case Branch(when):
                return (Step(function_name(when), _kind(when, "choice"), _effects(when), _names(self._asked(when))),)
            case Guarded(_, Guard(before, after)):
                asked = [(name_of(one), _checked(one)) for one in (*before, *after)]
                return tuple(Step(name, _kind(f, "check"), _effects(f), ("ValidationError",)) for name, f in asked)
            case _:
                return ()

    def escaping(self, node: Pipeline[Any, Any], inside: list[Errors]) -> Errors:
        match cast("Node", node):
            case Lambda() | Prim() as leaf:
                return self._errors(leaf)
            case Fallback():
                return inside[1] if inside[0] else _NONE
            case Branch(when):
                return _NONE.union(self._asked(when), *inside)
            case Id():
                return _NONE
            case Guarded(_, policy):
                return inside[0] | self._added(policy)
            case _:
                # One set for a long chain of like steps: a union is made only where it adds something.
                return inside[0] if len(inside) == 1 or inside[1] <= inside[0] else inside[0] | inside[1]

    def _errors(self, leaf: Lambda[Any, Any] | Prim[Any, Any]) -> Errors:
        if isinstance(leaf, Prim):
            return self._asked(leaf.component)
        if leaf.errors is not None:
            return frozenset(leaf.errors)
        own = self._annotated(leaf.run)
        if own is None:
            return _ANY
        return own if leaf.error is None else own | {leaf.error}

    def _added(self, policy: object) -> Errors:
        """The errors that a policy itself ends in."""
        match policy:
            case Timeout():
                return frozenset({NodeTimeoutError})
            case RateLimit(_, cost) if cost is not None:
                return self._asked(cost) | {NetworkError, ConfigurationError}
            case Breaker() | RateLimit():
                return frozenset({NetworkError})
            case Cached(key=key):
                return frozenset({ValidationError}) | (_NONE if key is None else self._asked(key))
            case Guard():
                return frozenset({ValidationError})
            case _:
                return _NONE

    def _asked(self, function: Callable[..., Any]) -> Errors:
        """The errors of a component or of what is asked of an input, which may declare them in its attribute ``errors``."""
        if getattr(function, "total", False):
            return _NONE
        declared = getattr(function, "errors", None)
        if declared is not None:
            return frozenset(declared)
        own = self._annotated(function)
        return _ANY if own is None else own

    def _annotated(self, function: Callable[..., Any]) -> Errors | None:
        if id(function) not in self._known:
            self._known[id(function)] = annotated_errors(function)
        return self._known[id(function)]


def _kind(thing: object, otherwise: str) -> str:
    return str(getattr(thing, "kind", "") or otherwise)


def _checked(check: Pipeline[Any, Any]) -> object:
    """The function that a guard was given."""
    return getattr(check.run, "function", None) if isinstance(check, Lambda) else None


def _effects(thing: object) -> tuple[str, ...]:
    return tuple(str(name) for name in getattr(thing, "effects", ()))


def _calls(node: Pipeline[Any, Any], inside: list[Calls]) -> Calls:
    match cast("Node", node):
        case Prim(component):
            return component_calls(component)
        case Id() | Lambda():
            return 0
        case Branch(when):
            known = _known(inside)
            return None if known is None else _sum([component_calls(when), max(known)])
        case Guarded(_, Guard(before, after)):
            return _sum([inside[0], *(component_calls(_checked(one)) for one in (*before, *after))])
        case Each():
            return 0 if inside[0] == 0 else None
        case Guarded(_, RetryPolicy(max_attempts=attempts)):
            return None if inside[0] is None else inside[0] * attempts
        case _:
            return _sum(inside)


def component_calls(component: object) -> Calls:
    """How many calls of models one call of ``component`` makes at most."""
    if hasattr(component, "model_calls"):
        return cast("Any", component).model_calls
    return {"model": 1, "agent": None, "graph": None}.get(str(getattr(component, "kind", "")), 0)


def _known(inside: list[Calls]) -> list[int] | None:
    found = [one for one in inside if one is not None]
    return found if len(found) == len(inside) else None


def _sum(inside: list[Calls]) -> Calls:
    known = _known(inside)
    return None if known is None else sum(known)


def annotated_errors(function: Callable[..., Any]) -> Errors | None:
    """The ``E`` of a function annotated with ``Result[..., E]``; None where its annotation tells of no errors."""
    plain = function if hasattr(function, "__code__") else getattr(function, "run", type(function).__call__)
    try:
        hints: dict[str, Any] = late("typing", "get_type_hints")(plain)
    except (NameError, TypeError, AttributeError):  # a type that is there for the checker only, or no function
        return None
    found = [_members(arg) for arm in get_args(hints.get("return")) if get_origin(arm) is Err for arg in get_args(arm)]
    kinds = [kind for group in found for kind in group]
    if not kinds or not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds):
        return None
    return frozenset(kinds)


def _members(hint: Any) -> tuple[Any, ...]:
    return (hint,) if isinstance(hint, type) else get_args(hint)


def _names(errors: Errors) -> tuple[str, ...]:
    return tuple(sorted(kind.__name__ for kind in errors))
