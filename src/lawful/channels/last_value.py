"""LastValue and LastValueAfterFinish, at the place where LangGraph has them."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.channels import LastValue as LastValue
    from lawful.graph.channels import LastValueAfterFinish as LastValueAfterFinish
else:
    _TABLE = {
        "LastValue": "lawful.graph.channels",
        "LastValueAfterFinish": "lawful.graph.channels",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
