"""A pipeline inside a node of a graph: its environment is the run's context, its events and chunks are the node's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lawful.core.context import here
from lawful.core.result import Err
from lawful.pipeline.leaves import perform
from lawful.pipeline.machine import started
from lawful.pipeline.nodes import Pipeline
from lawful.pipeline.scene import Scene


async def play(pipeline: Pipeline[Any, Any], value: Any, env: Any, write: Callable[[Any], object]) -> Any:
    """What the pipeline comes to.

    Raises: its error; the questions, unknown outcomes and other control signals of its steps, as they are.
    """
    scene = Scene(perform, env, clock=here("a pipeline").run.clock, write=write)
    end = await started(pipeline, value, scene)
    if isinstance(end, Err):
        raise end.error
    return end.value
