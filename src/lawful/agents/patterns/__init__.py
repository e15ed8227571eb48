"""Patterns of several agents; each is a function that returns a graph."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.agents.patterns.boards import Board as Board
    from lawful.agents.patterns.boards import View as View
    from lawful.agents.patterns.boards import blackboard as blackboard
    from lawful.agents.patterns.debating import debate as debate
    from lawful.agents.patterns.handoff import hand_off as hand_off
    from lawful.agents.patterns.mapreduce import map_reduce as map_reduce
    from lawful.agents.patterns.plan import plan_and_execute as plan_and_execute
    from lawful.agents.patterns.supervising import supervise as supervise
    from lawful.agents.patterns.voting import vote as vote
else:
    _WHERE = {
        "boards": ("Board", "View", "blackboard"),
        "debating": ("debate",),
        "handoff": ("hand_off",),
        "mapreduce": ("map_reduce",),
        "plan": ("plan_and_execute",),
        "supervising": ("supervise",),
        "voting": ("vote",),
    }
    _TABLE = {name: f"lawful.agents.patterns.{module}" for module, names in _WHERE.items() for name in names}
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
