"""The managed values, at the place where LangGraph has them."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.managed import IsLastStep as IsLastStep
    from lawful.graph.managed import IsLastStepManager as IsLastStepManager
    from lawful.graph.managed import RemainingSteps as RemainingSteps
    from lawful.graph.managed import RemainingStepsManager as RemainingStepsManager
else:
    _TABLE = {
        "IsLastStep": "lawful.graph.managed",
        "IsLastStepManager": "lawful.graph.managed",
        "RemainingSteps": "lawful.graph.managed",
        "RemainingStepsManager": "lawful.graph.managed",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
