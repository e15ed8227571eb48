"""State keys that the engine computes and never stores."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.managed import IsLastStep as IsLastStep
    from lawful.graph.managed import RemainingSteps as RemainingSteps
else:
    _TABLE = {
        "IsLastStep": "lawful.graph.managed",
        "RemainingSteps": "lawful.graph.managed",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
