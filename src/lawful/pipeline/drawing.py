"""A pipeline as a picture: Mermaid for pages, an indented outline for terminals."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

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
    Par,
    Pipeline,
    Policy,
    Prim,
    RateLimit,
    Seq,
    Timeout,
    name_of,
)
from lawful.pipeline.walking import fold, parts

_DEEPEST = 40
"""Levels that the outline indents; below it says the depth as a number."""


def draw(pipeline: Pipeline[Any, Any]) -> str:
    """An outline, one line a node; a whole chain of ``>>``, ``&`` or ``|`` is one level."""
    lines: list[str] = []
    todo: list[tuple[Pipeline[Any, Any], int, str]] = [(pipeline, 0, "")]
    while todo:
        node, depth, case = todo.pop()
        indent = "  " * depth if depth <= _DEEPEST else "  " * _DEEPEST + f"({depth}) "
        lines.append(f"{indent}{case}{_label(node)}")
        cases = _cases(node)
        inside = parts(node)
        todo += [
            (one, depth + 1, cases[at] if cases else "")
            for at, one in zip(range(len(inside) - 1, -1, -1), reversed(inside), strict=True)
        ]
    return "\n".join(lines)


def draw_mermaid(pipeline: Pipeline[Any, Any]) -> str:
    """A Mermaid flowchart: a node for each step, a fork and a join around what is chosen or runs at once."""
    chart = _Chart()
    first, last = fold(pipeline, chart.join, parts)
    return "\n".join(["flowchart TD", f"  in([in]) --> {first}", f"  {last} --> out([out])", *chart.lines])


class _Chart:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._made = 0

    def join(self, node: Pipeline[Any, Any], inside: list[tuple[str, str]]) -> tuple[str, str]:
        """The first and the last box of what is drawn for ``node``."""
        match cast("Node", node):
            case Seq():
                for (_, before), (after, _) in pairwise(inside):
                    self.lines.append(f"  {before} --> {after}")
                return inside[0][0], inside[-1][1]
            case Lambda() | Prim() | Id():
                box = self._box(_label(node), "[{}]")
                return box, box
            case Fallback():
                end = self._box("first that succeeds", "(({}))")
                for (_, failed), (after, _) in pairwise(inside):
                    self.lines.append(f"  {failed} -. error .-> {after}")
                self.lines += [f"  {last} --> {end}" for _, last in inside]
                return inside[0][0], end
            case Par() | Branch() | Each() | Guarded():
                return self._spread(node, inside)

    def _spread(self, node: Pipeline[Any, Any], inside: list[tuple[str, str]]) -> tuple[str, str]:
        cases = _cases(node)
        start = self._box(_label(node), "{{{}}}" if isinstance(node, Branch) else "(({}))")
        end = self._box("join", "(({}))")
        for at, (first, last) in enumerate(inside):
            arrow = f"-- {_quote(cases[at].removesuffix(': '))} -->" if cases else "-->"
            self.lines += [f"  {start} {arrow} {first}", f"  {last} --> {end}"]
        return start, end

    def _box(self, text: str, shape: str) -> str:
        self._made += 1
        self.lines.append(f"  n{self._made}{shape.format(_quote(text))}")
        return f"n{self._made}"


def _label(node: Pipeline[Any, Any]) -> str:
    match cast("Node", node):
        case Lambda(name=name):
            return name
        case Prim(component):
            return f"{component.component_id} (component)"
        case Branch():
            return f"{name_of(node)}?"
        case Each(at_once=at_once):
            return f"each, {at_once} at once"
        case Guarded(policy=policy):
            return _policy(policy)
        case Id():
            return "identity"
        case Seq():
            return "in order"
        case Par(order=order):
            return "at once, as if in turn" if order == "ahead" else order
        case Fallback():
            return "first that succeeds"


def _policy(policy: Policy) -> str:
    match policy:
        case Timeout(seconds):
            return f"within {seconds:g} s"
        case RetryPolicy(max_attempts=attempts):
            return f"up to {attempts} attempts"
        case Breaker(circuit):
            return f"circuit breaker{_called(circuit.component_id)}"
        case RateLimit(limiter):
            return f"rate limit{_called(limiter.component_id)}"
        case Cached(_, name):
            return f"cached as {name}"
        case Guard(before, after):
            checks = [f"before: {', '.join(map(name_of, before))}"] if before else []
            checks += [f"after: {', '.join(map(name_of, after))}"] if after else []
            return f"guard, {'; '.join(checks)}"


def _called(name: str) -> str:
    return f" {name}" if name else ""


def _cases(node: Pipeline[Any, Any]) -> list[str]:
    return [*(f"{case}: " for case, _ in node.arms), "otherwise: "] if isinstance(node, Branch) else []


def _quote(text: str) -> str:
    """Text as Mermaid takes it: its own marks and line ends written as entities."""
    marks = {"&": "#38;", '"': "#34;", "<": "#60;", ">": "#62;", "#": "#35;", "\n": " ", "\r": " "}
    return '"' + "".join(marks.get(c, c) for c in text) + '"'
