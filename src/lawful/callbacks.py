"""Handlers that hear of pauses and resumes."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.callbacks import GraphCallbackHandler as GraphCallbackHandler
    from lawful.graph.callbacks import GraphInterruptEvent as GraphInterruptEvent
    from lawful.graph.callbacks import GraphLifecycleEvent as GraphLifecycleEvent
    from lawful.graph.callbacks import GraphResumeEvent as GraphResumeEvent
else:
    _TABLE = {
        "GraphCallbackHandler": "lawful.graph.callbacks",
        "GraphInterruptEvent": "lawful.graph.callbacks",
        "GraphLifecycleEvent": "lawful.graph.callbacks",
        "GraphResumeEvent": "lawful.graph.callbacks",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
