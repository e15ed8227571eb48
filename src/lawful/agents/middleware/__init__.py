"""Middleware: what stands around an agent's model calls and tool calls.

In a list the first is the outermost. Where several are used, this order has shown itself: `ORDER`.
"""

from __future__ import annotations

from typing import Final

from lawful.core.lazy import face

ORDER: Final = ("CacheReads", "Taint", "Heartbeat", "Counsel", "PromptCache")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.agents.middleware.base import Middleware as Middleware
    from lawful.agents.middleware.base import ModelAsk as ModelAsk
    from lawful.agents.middleware.base import ToolAsk as ToolAsk
    from lawful.agents.middleware.base import Turn as Turn
    from lawful.agents.middleware.context import ContextEdit as ContextEdit
    from lawful.agents.middleware.context import PromptCache as PromptCache
    from lawful.agents.middleware.context import Summarize as Summarize
    from lawful.agents.middleware.fallback import ModelFallback as ModelFallback
    from lawful.agents.middleware.fallback import ModelRetry as ModelRetry
    from lawful.agents.middleware.framing import Taint as Taint
    from lawful.agents.middleware.framing import taint as taint
    from lawful.agents.middleware.guard import ClassifierRail as ClassifierRail
    from lawful.agents.middleware.guard import Guardrails as Guardrails
    from lawful.agents.middleware.guard import KeywordRail as KeywordRail
    from lawful.agents.middleware.guard import LengthRail as LengthRail
    from lawful.agents.middleware.guard import RegexRail as RegexRail
    from lawful.agents.middleware.heartbeat import Heartbeat as Heartbeat
    from lawful.agents.middleware.limits import CostLimit as CostLimit
    from lawful.agents.middleware.limits import ModelCallLimit as ModelCallLimit
    from lawful.agents.middleware.limits import TimeLimit as TimeLimit
    from lawful.agents.middleware.limits import ToolCallLimit as ToolCallLimit
    from lawful.agents.middleware.reads import CacheReads as CacheReads
    from lawful.agents.middleware.reads import cache_reads as cache_reads
    from lawful.agents.middleware.retries import ToolRetry as ToolRetry
    from lawful.agents.middleware.spiral import Thresholds as Thresholds
    from lawful.agents.middleware.steadying import Counsel as Counsel
    from lawful.agents.middleware.steadying import counsel as counsel
else:
    _WHERE = {
        "base": ("Middleware", "ModelAsk", "ToolAsk", "Turn"),
        "context": ("ContextEdit", "PromptCache", "Summarize"),
        "steadying": ("Counsel", "counsel"),
        "fallback": ("ModelFallback", "ModelRetry"),
        "guard": ("ClassifierRail", "Guardrails", "KeywordRail", "LengthRail", "RegexRail"),
        "heartbeat": ("Heartbeat",),
        "limits": ("CostLimit", "ModelCallLimit", "TimeLimit", "ToolCallLimit"),
        "reads": ("CacheReads", "cache_reads"),
        "retries": ("ToolRetry",),
        "spiral": ("Thresholds",),
        "framing": ("Taint", "taint"),
    }
    _TABLE = {name: f"lawful.agents.middleware.{module}" for module, names in _WHERE.items() for name in names}
    __all__ = ["ORDER", *_TABLE]
    __getattr__, __dir__ = face(globals(), _TABLE)
