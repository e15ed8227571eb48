"""What else LangGraph's compiled graphs have: that which is here under its name, and what to use instead of the rest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from lawful.graph.draw import graph_within
from lawful.graph.instead import missing
from lawful.graph.jsonschema import json_schema
from lawful.graph.program import Program
from lawful.graph.state import read_schema


class Likeness:
    """A graph's parts by LangGraph's names."""

    program: Program
    blueprint: Any
    stream_mode: str = "updates"
    """What streams show by default."""

    @property
    def builder(self) -> Any:
        """The `StateGraph` that the graph was compiled from, as it is now: to compile it once more, otherwise."""
        return self.blueprint.builder

    @property
    def context_schema(self) -> Any:
        """The class of what ``context=`` takes, or None."""
        return self.program.context_schema

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """JSON Schema of what ``context=`` takes, or None."""
        return None if self.context_schema is None else json_schema(read_schema(self.context_schema))

    def get_subgraphs(self, *, namespace: str | None = None, recurse: bool = False) -> Iterator[tuple[str, Any]]:
        """The graphs that nodes are, or that their functions name, each with its namespace ("outer|inner", no task ids).

        ``namespace`` gives that one alone; ``recurse`` goes down into them, which a nested ``namespace`` needs.
        """
        for name, node in self.program.nodes.items():
            if namespace is not None and namespace != name and not namespace.startswith(f"{name}|"):
                continue
            graph = node.subgraph if node.subgraph is not None else graph_within(node.fn)
            if graph is None:
                continue
            if namespace in (None, name):
                yield name, graph
            if recurse and namespace != name:
                rest = None if namespace is None else namespace[len(name) + 1 :]
                yield from ((f"{name}|{n}", g) for n, g in graph.get_subgraphs(namespace=rest, recurse=True))

    async def aget_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> AsyncIterator[tuple[str, Any]]:
        """As `get_subgraphs`."""
        for each in self.get_subgraphs(namespace=namespace, recurse=recurse):
            yield each

    if not TYPE_CHECKING:  # to a type checker no name is known that is not there

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            raise missing(self, name, (n for n in dir(type(self)) if not n.startswith("_")))
