"""Agents: a model that calls tools in a loop, as a value; its middleware, and the patterns of several agents."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.agents.agent import Agent as Agent
    from lawful.agents.answer import Answer as Answer
    from lawful.agents.callbacks import AgentCallbacks as AgentCallbacks
    from lawful.agents.callbacks import TurnStats as TurnStats
    from lawful.agents.loop import build_agent_loop as build_agent_loop
    from lawful.agents.state import AgentState as AgentState
    from lawful.core.errors import GraphRecursionError as GraphRecursionError
else:
    _TABLE = {
        "Agent": "lawful.agents.agent",
        "AgentCallbacks": "lawful.agents.callbacks",
        "Answer": "lawful.agents.answer",
        "build_agent_loop": "lawful.agents.loop",
        "TurnStats": "lawful.agents.callbacks",
        "AgentState": "lawful.agents.state",
        "GraphRecursionError": "lawful.core.errors",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
