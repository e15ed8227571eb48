"""Which graphs ship with the command, and how a caller names another: ``module:name``, never a name out of a store."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from lawful.cli import update_graph
from lawful.cli.publishing import Play
from lawful.core.errors import ConfigurationError, Failure, nearest
from lawful.core.lazy import late
from lawful.graph import CompiledStateGraph, StateGraph
from lawful.journal.port import Journal
from lawful.journal.records import ThreadInfo

SHIPPED: dict[str, Callable[[Journal], CompiledStateGraph[Any]]] = {update_graph.NAME: update_graph.build}
"""By the name that a graph's threads carry in the journal."""

_PLACE = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")


def graph_of(
    info: ThreadInfo, journal: Journal, named: str | None, play: Play | None = None
) -> CompiledStateGraph[Any]:
    """The graph that goes on with a thread: the one that the caller names, or the one that ships.

    Raises: ConfigurationError, if it is neither, or another graph than the thread's.
    """
    if named is not None:
        graph = load(named, journal)
        if info.graph and graph.name != info.graph:
            raise ConfigurationError(
                f"thread {info.thread!r} belongs to graph {info.graph!r}, but {named} is graph {graph.name!r}",
                component="cli",
                operation="graph",
            )
        return graph
    if info.graph not in SHIPPED:
        raise ConfigurationError(
            f"thread {info.thread!r} belongs to graph {info.graph!r}, which does not ship with lawful:"
            " name it with --graph module:name",
            component="cli",
            operation="graph",
            details={"thread": info.thread, "graph": info.graph},
        )
    return update_graph.build(journal, play) if play is not None else SHIPPED[info.graph](journal)


def load(named: str, journal: Journal | None) -> CompiledStateGraph[Any]:
    """The graph at ``module:name``: a StateGraph is compiled over ``journal``; a compiled one keeps its own. Of an agent, its
    loop over ``journal``.

    Raises: ConfigurationError, with the nearest name where there is no such thing.
    """
    match = _PLACE.fullmatch(named)
    if match is None:
        raise _wrong(f"{named!r} is not of the form module:name, such as shop.orders:graph.{_as_module(named)}")
    module = _module(match["module"])
    found: Any = getattr(module, match["name"], None)
    kind: Any = found.__class__
    if issubclass(kind, StateGraph):
        return found.compile(checkpointer=journal)
    if issubclass(kind, CompiledStateGraph):
        if journal is not None and not hasattr(found.checkpointer, "chain"):
            raise _wrong(f"{named} was compiled without a journal: name its StateGraph instead")
        return found
    agent = late("lawful.agents.agent", "Agent")
    if issubclass(kind, agent):
        return found.loop if journal is None else found.on(journal).loop
    graphs = [
        name for name, value in vars(module).items() if isinstance(value, (StateGraph, CompiledStateGraph, agent))
    ]
    what = (
        f"has no {match['name']!r}" if found is None else f"has a {type(found).__name__} there, not a graph or an agent"
    )
    raise _wrong(f"{match['module']} {what}.{nearest(match['name'], graphs)}")


def thing(named: str) -> Any:
    """Whatever a caller of the command names by ``module:name``. Raises: ConfigurationError with the nearest name."""
    match = _PLACE.fullmatch(named)
    if match is None:
        raise _wrong(f"{named!r} is not of the form module:name, such as shop.rules:release.{_as_module(named)}")
    module = _module(match["module"])
    if not hasattr(module, match["name"]):
        own = [name for name, value in vars(module).items() if _is_own(module, name, value)]
        raise _wrong(f"{match['module']} has no {match['name']!r}.{nearest(match['name'], own)}")
    return getattr(module, match["name"])


def _module(name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)  # as for `python -m`: the caller named a module of theirs
    try:
        return import_module(name)
    except ImportError as error:
        if (
            isinstance(error, ModuleNotFoundError)
            and error.name is not None
            and (name + ".").startswith(error.name + ".")
        ):
            told = f"there is no module {error.name!r} in {here} or among what is installed"
            raise _wrong(f"{told}.{_as_module(name)}") from error
        raise _wrong(f"{name} cannot be imported: {error}") from error
    except SyntaxError as error:
        raise _wrong(f"{error.filename}, line {error.lineno}: {error.msg}") from error
    except Failure:
        raise
    except Exception as error:
        raise _wrong(f"{name} cannot be imported: {told_error(error)}") from error


def told_error(error: BaseException) -> str:
    """An exception as one line, with the innermost place of the caller's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame for frame in frames if f"{os.sep}lawful{os.sep}" not in frame.filename and "<frozen" not in frame.filename
    ]
    at = (own or list(frames))[-1:]
    notes: list[str] = getattr(error, "__notes__", [])
    place = "".join(f" ({frame.filename}, line {frame.lineno})" for frame in at)
    return ". ".join([f"{type(error).__name__}: {error}{place}", *notes])


def _is_own(module: ModuleType, name: str, value: object) -> bool:
    """Whether a module's name is a thing that was made there, rather than imported or the language's own."""
    if name.startswith("_") or isinstance(value, ModuleType):
        return False
    if isinstance(value, type) or hasattr(value, "__code__"):
        return value.__module__ == module.__name__
    return not isinstance(value, (str, bytes))


def _as_module(named: str) -> str:
    """How a file's path is written as a module."""
    path, colon, name = named.rpartition(":") if ":" in named else (named, "", "")
    meant = path.removeprefix("./").removesuffix(".py").replace("/", ".")
    return f" Did you mean {meant + colon + name!r}?" if meant != path and _PLACE.fullmatch(f"{meant}:x") else ""


def _wrong(message: str) -> ConfigurationError:
    return ConfigurationError(message, component="cli", operation="graph")
