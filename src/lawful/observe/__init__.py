"""What happened: spans and metrics, log lines, and the cost of runs, each a listener of a run's events."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.observe.alerts import watch_unknown as watch_unknown
    from lawful.observe.cost import Costs as Costs
    from lawful.observe.cost import Spent as Spent
    from lawful.observe.log import JsonLog as JsonLog
    from lawful.observe.metrics import Metrics as Metrics
    from lawful.observe.parts import part as part
    from lawful.observe.spans import Tracing as Tracing
else:
    _TABLE = {
        "Tracing": "lawful.observe.spans",
        "Metrics": "lawful.observe.metrics",
        "JsonLog": "lawful.observe.log",
        "Costs": "lawful.observe.cost",
        "Spent": "lawful.observe.cost",
        "watch_unknown": "lawful.observe.alerts",
        "part": "lawful.observe.parts",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
