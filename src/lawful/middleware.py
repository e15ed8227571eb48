"""What stands around an agent's calls, by a short path: `lawful.agents.middleware` has each in its own room."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.agents.middleware.base import Middleware as Middleware
    from lawful.agents.middleware.base import ModelAsk as ModelAsk
    from lawful.agents.middleware.base import ModelHandler as ModelHandler
    from lawful.agents.middleware.base import ToolAsk as ToolAsk
    from lawful.agents.middleware.base import ToolHandler as ToolHandler
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
    _TABLE = {
        "Middleware": "lawful.agents.middleware.base",
        "ModelAsk": "lawful.agents.middleware.base",
        "ToolAsk": "lawful.agents.middleware.base",
        "Turn": "lawful.agents.middleware.base",
        "ContextEdit": "lawful.agents.middleware.context",
        "PromptCache": "lawful.agents.middleware.context",
        "Summarize": "lawful.agents.middleware.context",
        "ModelFallback": "lawful.agents.middleware.fallback",
        "ModelRetry": "lawful.agents.middleware.fallback",
        "Taint": "lawful.agents.middleware.framing",
        "taint": "lawful.agents.middleware.framing",
        "ClassifierRail": "lawful.agents.middleware.guard",
        "Guardrails": "lawful.agents.middleware.guard",
        "KeywordRail": "lawful.agents.middleware.guard",
        "LengthRail": "lawful.agents.middleware.guard",
        "RegexRail": "lawful.agents.middleware.guard",
        "Heartbeat": "lawful.agents.middleware.heartbeat",
        "CostLimit": "lawful.agents.middleware.limits",
        "ModelCallLimit": "lawful.agents.middleware.limits",
        "TimeLimit": "lawful.agents.middleware.limits",
        "ToolCallLimit": "lawful.agents.middleware.limits",
        "CacheReads": "lawful.agents.middleware.reads",
        "cache_reads": "lawful.agents.middleware.reads",
        "ToolRetry": "lawful.agents.middleware.retries",
        "Thresholds": "lawful.agents.middleware.spiral",
        "Counsel": "lawful.agents.middleware.steadying",
        "counsel": "lawful.agents.middleware.steadying",
        "ModelHandler": "lawful.agents.middleware.base",
        "ToolHandler": "lawful.agents.middleware.base",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
