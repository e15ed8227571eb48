"""Tools across the border: one of langchain's as a `Tool`, and a tool or effect of ours as one of langchain's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lawful.core.errors import ConfigurationError
from lawful.core.lazy import late
from lawful.core.messages import ToolCall
from lawful.models.portal import no_loop_here
from lawful.tools.definition import AnyTool, Tool, as_tool
from lawful.tools.signature import Arguments
from lawful.tools.traits import Traits


def from_langchain_tool(given: Any, *, pure_read: bool = False) -> AnyTool:
    """A tool of langchain's as one of ours: its schema and its check of arguments stay its own.

    Nobody says what it does, so it counts as undeclared unless ``pure_read``.

    Raises: ConfigurationError, for what is no tool of langchain's.
    """
    if not isinstance(given, late("langchain_core.tools", "BaseTool", extra="langchain")):
        raise ConfigurationError(
            f"{type(given).__name__} is no tool of langchain's", component="compat", operation="from_langchain_tool"
        )
    made = given
    told = late("langchain_core.utils.function_calling", "convert_to_openai_tool")(made)["function"]
    schema: dict[str, Any] = told.get("parameters") or {"type": "object", "properties": {}}

    async def call(**arguments: Any) -> Any:
        return await made.ainvoke(arguments)

    return Tool(
        str(told["name"]),
        str(told.get("description") or ""),
        Arguments(schema, tuple(schema.get("properties", ())), {}, None),
        Traits(pure_read=pure_read, declared=pure_read),
        call,
        ends_turn=bool(made.return_direct),
    )


def to_langchain_tool(given: Any) -> Any:
    """A tool, an effect or a function as a tool of langchain's; arguments are checked as ever, before anything runs.

    Raises: ConfigurationError, for what is no tool, and where langchain_core is missing.
    """
    tool = as_tool(given)
    make: Callable[..., Any] = late("langchain_core.tools", "StructuredTool", extra="langchain")

    async def arun(**arguments: Any) -> Any:
        return await tool.acall(ToolCall(tool.name, arguments))

    def run(**arguments: Any) -> Any:
        no_loop_here("invoke", "ainvoke")
        return late("asyncio").run(tool.acall(ToolCall(tool.name, arguments)))

    return make(
        name=tool.name,
        description=tool.description or tool.name,
        args_schema=tool.parameters,
        func=run,
        coroutine=arun,
        return_direct=tool.ends_turn,
    )
