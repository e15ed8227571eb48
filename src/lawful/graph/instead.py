"""What does here what a name of LangGraph's does, where there is no such name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from lawful.core.errors import nearest

_RUNNABLE: Final = (
    "InputType", "OutputType", "abatch_as_completed", "as_tool", "assign", "astream_log", "atransform",
    "batch_as_completed", "bind", "config_specs", "get_name", "get_prompts", "map", "pick", "pipe", "transform",
    "with_alisteners", "with_fallbacks", "with_listeners", "with_retry", "with_types",
)  # fmt: skip
INSTEAD: Final[Mapping[str, str]] = {
    **{name: f"RunnableLambda(graph.invoke).{name}: a graph is none of LangChain's Runnables" for name in _RUNNABLE},
    "config_schema": "get_context_jsonschema()",
    "get_config_jsonschema": "get_context_jsonschema()",
    "get_input_schema": "get_input_jsonschema()",
    "get_output_schema": "get_output_jsonschema()",
    "attach_branch": "the builder's add_conditional_edges, then compile()",
    "attach_edge": "the builder's add_edge, then compile()",
    "attach_node": "the builder's add_node, then compile()",
    "draw_ascii": "draw_mermaid(), as text",
    "draw_mermaid_png": "draw_mermaid(), as text; whatever shows Mermaid makes the picture",
    "draw_png": "draw_mermaid(), as text; whatever shows Mermaid makes the picture",
    "print_ascii": "print(draw_mermaid())",
    "retry_policy": "add_node(..., retry_policy=) or set_node_defaults",
    "cache_policy": "add_node(..., cache_policy=) or set_node_defaults",
    "stream_channels": "get_output_jsonschema() names the output's keys, a stream shows the whole state",
    "stream_channels_asis": "get_output_jsonschema() names the output's keys, a stream shows the whole state",
}
"""By a name of LangGraph's, what does the same here."""


def missing(of: object, name: str, known: Iterable[str]) -> AttributeError:
    """The error for an attribute that is not there."""
    told = INSTEAD.get(name)
    hint = f" Here it is {told}." if told is not None else nearest(name, known)
    return AttributeError(f"{type(of).__name__!r} object has no attribute {name!r}.{hint}", name=name, obj=of)
