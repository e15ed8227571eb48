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
    from lawful.agents.turn_rules import Turn as Turn
    from lawful.agents.turn_rules import TurnOpen as TurnOpen
    from lawful.agents.turn_rules import TurnOver as TurnOver
    from lawful.agents.turn_rules import TurnRules as TurnRules
    from lawful.agents.turns import Turns as Turns
    from lawful.core.errors import GraphRecursionError as GraphRecursionError
else:
    _TABLE = {
        "Agent": "lawful.agents.agent",
        "AgentCallbacks": "lawful.agents.callbacks",
        "Answer": "lawful.agents.answer",
        "build_agent_loop": "lawful.agents.loop",
        "Turn": "lawful.agents.turn_rules",
        "TurnOpen": "lawful.agents.turn_rules",
        "TurnOver": "lawful.agents.turn_rules",
        "TurnRules": "lawful.agents.turn_rules",
        "Turns": "lawful.agents.turns",
        "TurnStats": "lawful.agents.callbacks",
        "AgentState": "lawful.agents.state",
        "GraphRecursionError": "lawful.core.errors",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
