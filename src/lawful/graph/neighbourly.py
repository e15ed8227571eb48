"""Whether a graph's nodes work with langchain: then its conversations are kept in that package's messages."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Mapping
from types import FunctionType, MethodType
from typing import Any, Final, get_args

from lawful.core.codec_types import class_of
from lawful.core.messages import Message
from lawful.core.neighbours import bridge, is_message, is_neighbour, met
from lawful.core.reducers import add_messages
from lawful.graph.channels import Channel
from lawful.graph.parts import Blueprint
from lawful.graph.state import Schema

MOST: Final = 200
"""Functions that are looked at: a node's own, and those that they call by name."""


def speaks_langchain(graph: Blueprint, schemas: Iterable[Schema]) -> bool:
    """Whether the state's types, or what its nodes and routers name, come from langchain's packages.

    Globals, closures and attributes of the functions are looked at, and the functions that they name; nothing is run. A
    module that imports langchain's messages, and none of ours, is meant to hold them, whichever of its functions names them.
    """
    if any(_typed(each) for schema in schemas for each in schema.annotations.values()):
        return True
    if any(
        getattr(spec.graph, "program", None) is not None and spec.graph.program.bridged for spec in graph.nodes.values()
    ):
        return True
    functions = [spec.fn for spec in graph.nodes.values()] + [branch.path for branch in graph.branches]
    return _imported(functions, schemas) or _named(functions)


def _imported(functions: Iterable[Any], schemas: Iterable[Schema]) -> bool:
    """Whether a module that defines a node or the state has imported langchain's messages, and none of ours."""
    found = [fn.__globals__ for each in functions if (fn := _function(each)) is not None]
    found += [vars(module) for schema in schemas if (module := sys.modules.get(getattr(schema.typ, "__module__", "")))]
    seen = [list(names.values()) for names in {id(each): each for each in found}.values()]
    return any(any(map(is_message, names)) and not any(map(_own, names)) for names in seen)


def _own(value: Any) -> bool:
    return getattr(value, "__module__", None) == Message.__module__


def _function(called: Any) -> FunctionType | None:
    while isinstance(called, functools.partial):
        called = called.func
    called = getattr(called, "__func__", called)
    if not isinstance(called, FunctionType):
        called = vars(class_of(called)).get("__call__")
    called = getattr(called, "__wrapped__", called)
    return called if isinstance(called, FunctionType) else None


def as_called(node: Any) -> Any:
    """A langchain component as a function of the state; anything else as it is."""
    return (
        bridge().as_function(node)
        if not callable(node) and is_neighbour(class_of(node)) and hasattr(node, "invoke")
        else node
    )


def in_its_messages(prepares: dict[str, Any], channels: Mapping[str, Channel]) -> dict[str, Any]:
    """How updates are completed: plain forms of messages become langchain's."""
    talks = [key for key in prepares if getattr(channels[key], "operator", None) is add_messages]
    return {**prepares, **dict.fromkeys(talks, bridge().forms)}


def _typed(annotation: Any, depth: int = 6) -> bool:
    if isinstance(annotation, type) and met(annotation):
        return True
    return depth > 0 and any(_typed(part, depth - 1) for part in get_args(annotation))


def _named(functions: Iterable[Any]) -> bool:
    waiting, seen = list(functions), set[int]()
    while waiting and len(seen) < MOST:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if met(each):
            return True
        held = named_by(each)
        if any(met(thing) for thing in held):
            return True
        waiting += [thing for thing in held if isinstance(thing, FunctionType | MethodType | functools.partial)]
    return False


def named_by(fn: Any) -> list[Any]:
    """What a function names: its globals, its closure, the attributes of the object it belongs to."""
    if isinstance(fn, functools.partial):
        return [fn.func, *fn.args, *fn.keywords.values()]
    held: list[Any] = []
    if isinstance(fn, MethodType):
        held += getattr(fn.__self__, "__dict__", {}).values()
        fn = fn.__func__
    elif not isinstance(fn, FunctionType):
        held += getattr(fn, "__dict__", {}).values()
        fn = vars(class_of(fn)).get("__call__")
    fn = getattr(fn, "__wrapped__", fn)
    if isinstance(fn, FunctionType):
        names = _names(fn.__code__)
        held += [fn.__globals__[name] for name in names if name in fn.__globals__]
        held += [value for cell in fn.__closure__ or () if (value := _content(cell)) is not None]
    return held


def _names(code: Any) -> set[str]:
    """Names that a function uses, those of the functions within it included."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            found |= _names(constant)
    return found


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
