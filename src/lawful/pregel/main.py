"""Pregel and NodeBuilder, at the place where LangGraph has them."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.pregel import NodeBuilder as NodeBuilder
    from lawful.graph.pregel import Pregel as Pregel
else:
    _TABLE = {
        "NodeBuilder": "lawful.graph.pregel",
        "Pregel": "lawful.graph.pregel",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
