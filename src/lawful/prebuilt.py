"""LangGraph's prebuilt nodes: those that are here, and for each other name what does the same."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.agents.tool_node import ToolNode as ToolNode
    from lawful.agents.tool_node import tools_condition as tools_condition
    from lawful.compat.injected import InjectedState as InjectedState
    from lawful.compat.injected import InjectedStore as InjectedStore
else:
    _TABLE = {
        "InjectedState": "lawful.compat.injected",
        "InjectedStore": "lawful.compat.injected",
        "ToolNode": "lawful.agents.tool_node",
        "tools_condition": "lawful.agents.tool_node",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
