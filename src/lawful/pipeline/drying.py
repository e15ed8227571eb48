"""A run that performs nothing: pure steps and what can be known are worked out, everything else is listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast, final

from msgspec import Struct

from lawful.core.errors import ConfigurationError
from lawful.core.failure import Failure, nearest
from lawful.core.result import Err, Ok
from lawful.pipeline.nodes import (
    Branch,
    Constant,
    Each,
    Fallback,
    Guard,
    Guarded,
    Id,
    Lambda,
    Node,
    Par,
    Pipeline,
    Prim,
    Seq,
    name_of,
)
from lawful.pipeline.walking import names


@final
class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()
"""A value that depends on a step which was not done."""


class Planned(Struct, frozen=True):
    """A step that a run would do, and that was not done."""

    step: str
    effects: tuple[str, ...]
    """As it declares them; () for one that declares none, which is no promise."""
    input: Any
    """What it would be given, or `UNKNOWN`."""
    sure: bool
    """False where it depends on an answer, an error or a list that is not known."""

    def __str__(self) -> str:
        given = "an input not known yet" if self.input is UNKNOWN else f"{self.input!r:.80}"
        acts = f", effects: {', '.join(self.effects)}" if self.effects else ""
        return f"{'would' if self.sure else 'might'} do {self.step} on {given}{acts}"


class DryRun(Struct, frozen=True):
    """What a run would do, in its order."""

    steps: tuple[Planned, ...]
    value: Any
    """What it would come to, or `UNKNOWN`."""

    @property
    def effects(self) -> tuple[str, ...]:
        """The effects that may happen, each once, in their order."""
        return tuple(dict.fromkeys(effect for step in self.steps for effect in step.effects))


def dry_run(pipeline: Pipeline[Any, Any], value: Any, *, assume: Mapping[str, Any] | None = None) -> DryRun:
    """Goes through a run on ``value`` and performs none of it; only pure functions are called.

    ``assume`` gives, by name, the answer of a step or of a branch's question, to look further.

    Raises: ConfigurationError, for a name in ``assume`` that is none of the pipeline's; what a pure function raises.
    """
    known = set(names(pipeline))
    for name in assume or {}:
        if name not in known:
            raise ConfigurationError(
                f"dry_run: {name!r} is no step of this pipeline.{nearest(name, known)}",
                component="pipeline",
                operation="dry_run",
                details={"step": name},
            )
    walker = _Dry(assume or {})
    found = walker.go(pipeline, value)
    return DryRun(tuple(walker.steps), found)


class _Set:
    """On the stack: go on with this value and this certainty."""

    def __init__(self, value: Any, sure: bool, dead: bool) -> None:
        self.value, self.sure, self.dead = value, sure, dead


class _Mark:
    """On the stack: keep the value of the part that has just ended."""

    def __init__(self, kept: list[Any]) -> None:
        self.kept = kept


class _Join:
    """On the stack: make a value of those that were kept."""

    def __init__(self, kept: list[Any], how: str, sure: bool) -> None:
        self.kept, self.how, self.sure = kept, how, sure


class _Or:
    """On the stack below the first half of a fallback: the second one, its input, and whether the first was sure."""

    def __init__(self, node: Pipeline[Any, Any], value: Any, sure: bool) -> None:
        self.node, self.value, self.sure = node, value, sure


_Todo: TypeAlias = Node | _Set | _Mark | _Join | _Or
_DEAD: Final = object()


class _Dry:
    def __init__(self, assume: Mapping[str, Any]) -> None:
        self.assume = assume
        self.steps: list[Planned] = []
        self.value: Any = UNKNOWN
        self.sure = True
        self.dead = False
        """A step was assumed to end in an error: what follows it is not reached."""
        self.todo: list[_Todo] = []

    def go(self, pipeline: Pipeline[Any, Any], value: Any) -> Any:
        self.value = value
        self.todo.append(cast("Node", pipeline))
        while self.todo:
            top = self.todo.pop()
            if isinstance(top, _Set):
                self.value, self.sure, self.dead = top.value, top.sure, top.dead
            elif isinstance(top, _Mark):
                top.kept.append(_DEAD if self.dead else self.value)
            elif isinstance(top, _Join):
                self._join(top)
            elif isinstance(top, _Or):
                self._or(top)
            elif not self.dead:
                self._visit(top)
        return UNKNOWN if self.dead else self.value

    def _visit(self, node: Node) -> None:
        match node:
            case Id():
                pass
            case Lambda() | Prim():
                self._leaf(node)
            case Seq(first, then):
                self.todo += (cast("Node", then), cast("Node", first))
            case Par(left, right):
                self._all([left, right], [self.value, self.value], "pair")
            case Fallback(first, otherwise):
                self.todo += (_Or(otherwise, self.value, self.sure), cast("Node", first))
            case Branch():
                self._branch(node)
            case Each(inner):
                self._each(inner)
            case Guarded(inner, policy):
                row = (*policy.before, inner, *policy.after) if isinstance(policy, Guard) else (inner,)
                self.todo += cast("tuple[Node, ...]", tuple(reversed(row)))

    def _leaf(self, leaf: Lambda[Any, Any] | Prim[Any, Any]) -> None:
        name = name_of(leaf)
        if name in self.assume:
            self._given(self.assume[name])
        elif isinstance(leaf, Lambda) and leaf.pure:
            self.value = UNKNOWN if self.value is UNKNOWN else leaf.run(self.value)
        elif isinstance(leaf, Lambda) and not leaf.acts and self.value is not UNKNOWN:
            self._worked_out(leaf)
        elif isinstance(leaf, Lambda) and not leaf.acts:
            pass
        else:
            effects = leaf.effects if isinstance(leaf, Lambda) else getattr(leaf.component, "effects", ())
            self.steps.append(Planned(name, tuple(effects), self.value, self.sure))
            self.value = UNKNOWN

    def _worked_out(self, leaf: Lambda[Any, Any]) -> None:
        try:
            answer = leaf.run(self.value)
        except (Failure, *leaf.catch):
            self.dead = True
            return
        if hasattr(answer, "__await__"):
            getattr(answer, "close", int)()  # a dry run does not wait
            answer = UNKNOWN
        self._given(answer)

    def _given(self, answer: Any) -> None:
        if isinstance(answer, Err | Failure):
            self.dead = True
        else:
            self.value = cast("Ok[Any]", answer).value if isinstance(answer, Ok) else answer

    def _all(self, nodes: list[Pipeline[Any, Any]], inputs: list[Any], how: str) -> None:
        """Each of them on its input; with "any" it is not known which of them, or how often."""
        kept: list[Any] = []
        self.todo.append(_Join(kept, how, self.sure))
        for node, value in zip(reversed(nodes), reversed(inputs), strict=True):
            self.todo += (_Mark(kept), cast("Node", node), _Set(value, self.sure and how != "any", False))

    def _or(self, mark: _Or) -> None:
        """The first half has ended: in an error, well, or nobody knows; then the second one might run."""
        if self.dead:
            self.value, self.sure, self.dead = mark.value, mark.sure, False
            self.todo.append(cast("Node", mark.node))
        elif self.value is UNKNOWN:
            self.todo += (_Join([], "any", mark.sure), cast("Node", mark.node), _Set(mark.value, False, False))

    def _branch(self, node: Branch[Any, Any]) -> None:
        name = name_of(node)
        when = cast("Any", node.when)
        if isinstance(when, Constant):
            answer: Any = cast("Constant[Any]", when).answer
        elif name in self.assume:
            answer = self.assume[name]
        else:
            effects = tuple(getattr(when, "effects", ()))
            self.steps.append(Planned(name, effects, self.value, self.sure))
            arms = [*(arm for _, arm in node.arms), node.otherwise]
            self._all(arms, [self.value] * len(arms), "any")
            return
        self.todo.append(cast("Node", next((arm for case, arm in node.arms if case == answer), node.otherwise)))

    def _each(self, inner: Pipeline[Any, Any]) -> None:
        if self.value is UNKNOWN:
            self._all([inner], [UNKNOWN], "any")
        else:
            values = list(self.value)
            self._all([inner] * len(values), values, "list")

    def _join(self, join: _Join) -> None:
        kept, self.sure, self.dead = join.kept, join.sure, False
        if join.how == "any" or any(one is UNKNOWN for one in kept):
            self.value = UNKNOWN
        elif any(one is _DEAD for one in kept):
            self.dead = True
        else:
            self.value = tuple(kept) if join.how == "pair" else kept
