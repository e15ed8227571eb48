"""Tools: functions and effects that an agent may call, as values; their sets, and the gates before each call."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.tools.cassette import ToolRecorder as ToolRecorder
    from lawful.tools.cassette import ToolReplayer as ToolReplayer
    from lawful.tools.definition import AnyTool as AnyTool
    from lawful.tools.definition import Tool as Tool
    from lawful.tools.definition import UndeclaredTool as UndeclaredTool
    from lawful.tools.definition import as_tool as as_tool
    from lawful.tools.definition import tool as tool
    from lawful.tools.facts import Facts as Facts
    from lawful.tools.facts import add_facts as add_facts
    from lawful.tools.gates import Rules as Rules
    from lawful.tools.sources import Rated as Rated
    from lawful.tools.sources import Source as Source
    from lawful.tools.sources import source_of as source_of
    from lawful.tools.tainted import Tainted as Tainted
    from lawful.tools.toolset import Toolset as Toolset
    from lawful.tools.traits import Traits as Traits
else:
    _TABLE = {
        "AnyTool": "lawful.tools.definition",
        "Tool": "lawful.tools.definition",
        "UndeclaredTool": "lawful.tools.definition",
        "add_facts": "lawful.tools.facts",
        "as_tool": "lawful.tools.definition",
        "source_of": "lawful.tools.sources",
        "tool": "lawful.tools.definition",
        "Facts": "lawful.tools.facts",
        "Rated": "lawful.tools.sources",
        "Rules": "lawful.tools.gates",
        "Source": "lawful.tools.sources",
        "Tainted": "lawful.tools.tainted",
        "ToolRecorder": "lawful.tools.cassette",
        "ToolReplayer": "lawful.tools.cassette",
        "Toolset": "lawful.tools.toolset",
        "Traits": "lawful.tools.traits",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
