"""DeltaChannel, at the place where LangGraph has it."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.channel_forms import DeltaChannel as DeltaChannel
else:
    _TABLE = {
        "DeltaChannel": "lawful.graph.channel_forms",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
