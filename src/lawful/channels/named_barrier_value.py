"""NamedBarrierValue and NamedBarrierValueAfterFinish, at the place where LangGraph has them."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.channels import NamedBarrierValue as NamedBarrierValue
    from lawful.graph.channels import NamedBarrierValueAfterFinish as NamedBarrierValueAfterFinish
else:
    _TABLE = {
        "NamedBarrierValue": "lawful.graph.channels",
        "NamedBarrierValueAfterFinish": "lawful.graph.channels",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
