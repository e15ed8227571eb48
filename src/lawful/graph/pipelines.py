"""A pipeline as a node of a graph: it gets the state, and what it comes to is the node's update."""

from __future__ import annotations

from typing import Any

from lawful.core.errors import GraphBuildError
from lawful.core.lazy import late
from lawful.graph.runtime import Runtime


class PipelineNode:
    """Called as a node; its error is the node's failure, so the node's retry policy and error handler see it."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline
        self.__name__ = name_as_node(pipeline, "pipeline")
        self._play: Any = late("lawful.pipeline.inside", "play")

    async def __call__(self, state: Any, runtime: Runtime[Any]) -> Any:
        return await self._play(self.pipeline, state, runtime.context, runtime.stream_writer)


def is_pipeline(fn: Any) -> bool:
    """Told by the module that all its kinds are of, which is not imported for that: the engine knows no event loop."""
    return type(fn).__module__ == "lawful.pipeline.nodes"


def name_as_node(pipeline: Any, default: str = "") -> str:
    """What a pipeline of one step is called. Raises: GraphBuildError, if it is of several and there is no default."""
    name = str(late("lawful.pipeline.nodes", "name_of")(pipeline)) or default
    if not name:
        raise GraphBuildError(
            'A pipeline of several parts needs a name: add_node("name", pipeline)',
            component="graph",
            operation="add_node",
        )
    return name
