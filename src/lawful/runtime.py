"""What a node may ask of its run."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.control import RunControl as RunControl
    from lawful.graph.runtime import ExecutionInfo as ExecutionInfo
    from lawful.graph.runtime import Runtime as Runtime
    from lawful.graph.runtime import get_runtime as get_runtime
else:
    _TABLE = {
        "ExecutionInfo": "lawful.graph.runtime",
        "RunControl": "lawful.graph.control",
        "Runtime": "lawful.graph.runtime",
        "get_runtime": "lawful.graph.runtime",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
