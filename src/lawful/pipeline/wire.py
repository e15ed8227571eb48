"""A pipeline to JSON and back: by the registered names of its components, never by code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from lawful.core.failure import JSON, nearest
from lawful.pipeline.nodes import (
    Branch,
    Constant,
    Each,
    Fallback,
    Guarded,
    Id,
    Lambda,
    Node,
    Order,
    Par,
    Pipeline,
    Prim,
    Seq,
    function_name,
    name_of,
)
from lawful.pipeline.registry import Registry, refuse
from lawful.pipeline.walking import fold
from lawful.pipeline.wire_policies import policy_read, policy_told

VERSION = 1


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
            raise refuse(f"the step {name!r} is a plain function: register it to write it to JSON", name)
        case Prim(component):
            told["component"] = component.component_id
        case Branch() as choice:
            told |= _choice_told(choice)
        case Each(at_once=at_once):
            told["at_once"] = at_once
        case Guarded(policy=policy):
            told["policy"] = policy_told(policy)
        case Par(order=order):
            if order != "at once":
                told["order"] = order
        case Id() | Seq() | Fallback():
            pass
    return told


def _choice_told(node: Branch[Any, Any]) -> dict[str, JSON]:
    name, when = name_of(node), node.when
    cases: list[JSON] = [_case(case, name) for case, _ in node.arms]
    if isinstance(when, Constant):
        return {"always": _case(cast("Constant[Any]", when).answer, name), "cases": cases}
    if not getattr(when, "component_id", ""):
        name = function_name(when)
        raise refuse(f"the branch on {name!r} asks a plain function: register it to write it to JSON", name)
    return {"when": name, "cases": cases}


def _case(case: object, name: str) -> JSON:
    if case is None or isinstance(case, bool | int | str):
        return case
    raise refuse(f"the branch on {name!r} has the case {case!r}: JSON says only text, whole numbers, bool, null", name)


def from_json(told: Mapping[str, Any], registry: Registry) -> Pipeline[Any, Any]:
    """The pipeline that `to_json` wrote, its components taken from ``registry``.

    Raises: ConfigurationError, naming the node and what is wrong with it; nothing is built by halves.
    """
    said = cast("Mapping[str, Any]", told if isinstance(cast("Any", told), Mapping) else {})
    nodes = said.get("nodes")
    if said.get("version") != VERSION or not isinstance(nodes, list) or not nodes:
        raise refuse(f"not a pipeline of version {VERSION}", "pipeline")
    made: list[Pipeline[Any, Any]] = []
    loose: set[int] = set()
    for at, one in enumerate(cast("list[Any]", nodes)):
        made.append(_read(one, made, registry, at, loose))
        loose.add(at)
    if len(loose) > 1:
        raise refuse(f"node {min(loose)} is no part of the whole", f"node {min(loose)}")
    return made[-1]


_PARTS = {"Id": 0, "Prim": 0, "Seq": 2, "Par": 2, "Fallback": 2, "Each": 1, "Guarded": 1}


def _read(one: Any, made: list[Pipeline[Any, Any]], registry: Registry, at: int, loose: set[int]) -> Pipeline[Any, Any]:
    place = f"node {at}"
    if not isinstance(one, dict):
        raise refuse(f"{place} is not an object", place)
    said = cast("dict[str, Any]", one)
    kind, cases = said.get("kind"), said.get("cases", [])
    known = (*_PARTS, "Branch")
    if kind not in known:
        raise refuse(f"{place} is of the unknown kind {kind!r}.{nearest(str(kind), known)}", place)
    if not isinstance(cases, list):
        raise refuse(f"{place}: cases is a list", place)
    need = _PARTS.get(kind, len(cast("list[Any]", cases)) + 1)
    return _made(said, kind, [made[i] for i in _places(said, need, at, loose)], registry, place)


def _made(
    said: dict[str, Any], kind: str, inside: list[Pipeline[Any, Any]], registry: Registry, place: str
) -> Pipeline[Any, Any]:
    match kind:
        case "Prim":
            return Prim(registry.function(str(said.get("component")), place))
        case "Branch":
            return _choice_made(said, inside, registry, place)
        case "Each":
            at_once = said.get("at_once")
            if type(at_once) is not int or at_once < 1:
                raise refuse(f"{place}: at_once is a whole number of at least 1, not {at_once!r}", place)
            return Each(inside[0], at_once)
        case "Guarded":
            return policy_read(said.get("policy"), inside[0], registry, place)
        case "Id":
            return Id()
        case "Seq":
            return Seq(inside[0], inside[1])
        case "Par":
            order = said.get("order", "at once")
            if order not in get_args(Order):
                known = get_args(Order)
                raise refuse(f"{place}: unknown order {order!r}.{nearest(str(order), known)}", place)
            return Par(inside[0], inside[1], order)
        case _:
            return Fallback(inside[0], inside[1])


def _choice_made(
    said: dict[str, Any], inside: list[Pipeline[Any, Any]], registry: Registry, place: str
) -> Pipeline[Any, Any]:
    cases = [_case(case, place) for case in said.get("cases", [])]
    if "always" in said:
        when: Any = Constant(_case(said["always"], place))
    else:
        when = registry.function(str(said.get("when")), place)
    return Branch(when, cast("Any", tuple(zip(cases, inside[:-1], strict=True))), inside[-1])


def _places(said: dict[str, Any], need: int, at: int, loose: set[int]) -> list[int]:
    """The places of a node's parts, all before its own; none is a part twice, or a short text would be a vast tree."""
    found: Any = said.get("parts", [])
    if isinstance(found, list) and len(cast("list[Any]", found)) == need:
        places = cast("list[Any]", found)
        if all(type(place) is int and place in loose for place in places) and len(set(places)) == need:
            loose.difference_update(places)
            return places
    raise refuse(
        f"node {at} needs {need} parts, each the place of a node before it that is no part yet, not {found!r:.200}",
        f"node {at}",
    )
