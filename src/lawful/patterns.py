"""Several agents as one graph, by a short path: `lawful.agents.patterns` has each in its own room."""

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
    _TABLE = {
        "Board": "lawful.agents.patterns.boards",
        "View": "lawful.agents.patterns.boards",
        "blackboard": "lawful.agents.patterns.boards",
        "debate": "lawful.agents.patterns.debating",
        "hand_off": "lawful.agents.patterns.handoff",
        "map_reduce": "lawful.agents.patterns.mapreduce",
        "plan_and_execute": "lawful.agents.patterns.plan",
        "supervise": "lawful.agents.patterns.supervising",
        "vote": "lawful.agents.patterns.voting",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
