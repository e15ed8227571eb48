"""A compiled graph as a component of a pipeline: ``prim(graph)`` takes its input and gives its state."""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar, cast

from lawful.core.errors import Error
from lawful.core.result import Err, Ok, Result
from lawful.core.signals import GraphInterrupt
from lawful.graph.outcome import Done, Failed, Paused, RunResult

S = TypeVar("S")


class _Graph(Protocol[S]):
    @property
    def name(self) -> str: ...
    async def run(self, input: Any, config: Any = None, **options: Any) -> RunResult[S]: ...


class AsComponent(Generic[S]):
    """What `lawful.pipeline.prim` asks of a component, by what every compiled graph has."""

    kind = "graph"

    @property
    def component_id(self) -> str:
        return cast("_Graph[S]", self).name

    async def __call__(self, value: Any, /) -> Result[S, Error]:
        """The state that the graph ends with, or the error that it fails with.

        Inside a graph's node it runs as a graph invoked there: in that run's journal, lease and namespace.

        Raises: GraphInterrupt, where it asks; any other control signal; a bug of one of its nodes.
        """
        match await cast("_Graph[S]", self).run(value):
            case Done(state):
                return Ok(state)
            case Failed(error):
                return Err(cast("Error", error))
            case Paused(questions):
                raise GraphInterrupt(questions)
