"""What one call shows of a graph: ``output_keys`` in the place of the graph's own output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, TypeAlias

from lawful.core.errors import GraphBuildError, nearest
from lawful.graph.channels import MISSING, Channel
from lawful.graph.options import wrong
from lawful.graph.program import Program
from lawful.graph.state import fresh

Keys: TypeAlias = str | Sequence[str]
"""One key, of which the bare value is shown, or several, of which a dict is."""

_EDGES = ("branch:to:", "join:")


def narrowed(program: Program, keys: Keys) -> Program:
    """The program with another output. Raises: GraphBuildError (a ValueError) for a key that there is not."""
    if not isinstance(keys, (str, list, tuple)) or not all(isinstance(key, str) for key in keys):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong("output_keys", "a key or a list of keys", keys)
    told = (keys,) if isinstance(keys, str) else tuple(dict.fromkeys(keys))
    known = [k for k in program.channels if program.direct or not k.startswith(_EDGES)]
    for key in told:
        if key not in known:
            raise GraphBuildError(
                f"output_keys: the graph has no key {key!r}.{nearest(key, known)}",
                component="graph",
                operation="invoke",
                details={"key": key},
            )
    made = copy(program)
    made.output_keys, made.output_schema = told, None
    made.shown_keys, made.shown_bare, made.bare = told, isinstance(keys, str), isinstance(keys, str)
    made.output_view = _lone(program.channels[keys], keys) if isinstance(keys, str) else _several(program, told)
    made.narrow = True
    made.make_registry = lambda: program.registry
    return made


def widened(program: Program) -> Program:
    """The program as a stream of its own shows it: all keys of its state, though its output may have fewer."""
    if program.bare or not set(program.state_keys) - set(program.output_keys):
        return program
    made = copy(program)
    made.shown_keys, made.shown_view = program.state_keys, _several(program, program.state_keys)
    made.make_registry = lambda: program.registry
    return made


def outputs_alone(program: Program, options: dict[str, Any]) -> dict[str, Any]:
    """The options of an invocation that gives its chunks: these show the output alone, as its end does."""
    if program.bare or set(program.state_keys) <= set(program.output_keys):
        return options
    return {"output_keys": list(program.output_keys), **options}


def _lone(channel: Channel, key: str) -> Callable[[Mapping[str, Any]], Any]:
    def view(values: Mapping[str, Any]) -> Any:
        value = channel.get(values[key]) if key in values else MISSING
        return None if value is MISSING else fresh(value)

    return view


def _several(program: Program, keys: Sequence[str]) -> Callable[[Mapping[str, Any]], Any]:
    channels = {key: program.channels[key] for key in keys}

    def view(values: Mapping[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, channel in channels.items():
            if key in values and (value := channel.get(values[key])) is not MISSING:
                out[key] = fresh(value)
        return out

    return view
