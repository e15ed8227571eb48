"""Agent programs as typed values: built with ``>>``, ``&`` and ``|``, looked at before they run, then interpreted."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.pipeline.build import always as always
    from lawful.pipeline.build import branch as branch
    from lawful.pipeline.build import each as each
    from lawful.pipeline.build import identity as identity
    from lawful.pipeline.build import in_turn as in_turn
    from lawful.pipeline.build import par as par
    from lawful.pipeline.build import prim as prim
    from lawful.pipeline.build import pure as pure
    from lawful.pipeline.build import retry as retry
    from lawful.pipeline.build import step as step
    from lawful.pipeline.build import switch as switch
    from lawful.pipeline.build import timeout as timeout
    from lawful.pipeline.caching import MemoryCache as MemoryCache
    from lawful.pipeline.checking import check as check
    from lawful.pipeline.circuits import CircuitBreaker as CircuitBreaker
    from lawful.pipeline.drawing import draw as draw
    from lawful.pipeline.drawing import draw_mermaid as draw_mermaid
    from lawful.pipeline.drying import dry_run as dry_run
    from lawful.pipeline.explaining import Explanation as Explanation
    from lawful.pipeline.explaining import explain as explain
    from lawful.pipeline.guarding import breaker as breaker
    from lawful.pipeline.guarding import cached as cached
    from lawful.pipeline.guarding import guard as guard
    from lawful.pipeline.guarding import rate_limit as rate_limit
    from lawful.pipeline.limits import RateLimiter as RateLimiter
    from lawful.pipeline.machine import run as run
    from lawful.pipeline.machine import run_sync as run_sync
    from lawful.pipeline.nodes import Component as Component
    from lawful.pipeline.nodes import Node as Node
    from lawful.pipeline.nodes import Pipeline as Pipeline
    from lawful.pipeline.optimiser import optimise as optimise
    from lawful.pipeline.optimiser import rewrites as rewrites
    from lawful.pipeline.registry import Registry as Registry
    from lawful.pipeline.scene import Run as Run
    from lawful.pipeline.streaming import Stream as Stream
    from lawful.pipeline.streaming import stream as stream
    from lawful.pipeline.streaming import streamed as streamed
    from lawful.pipeline.walking import count as count
    from lawful.pipeline.walking import names as names
    from lawful.pipeline.walking import walk as walk
    from lawful.pipeline.wire import from_json as from_json
    from lawful.pipeline.wire import to_json as to_json
else:
    _TABLE = {
        "Pipeline": "lawful.pipeline.nodes",
        "Component": "lawful.pipeline.nodes",
        "Node": "lawful.pipeline.nodes",
        "identity": "lawful.pipeline.build",
        "pure": "lawful.pipeline.build",
        "step": "lawful.pipeline.build",
        "prim": "lawful.pipeline.build",
        "branch": "lawful.pipeline.build",
        "switch": "lawful.pipeline.build",
        "par": "lawful.pipeline.build",
        "each": "lawful.pipeline.build",
        "in_turn": "lawful.pipeline.build",
        "always": "lawful.pipeline.build",
        "retry": "lawful.pipeline.build",
        "timeout": "lawful.pipeline.build",
        "breaker": "lawful.pipeline.guarding",
        "CircuitBreaker": "lawful.pipeline.circuits",
        "rate_limit": "lawful.pipeline.guarding",
        "RateLimiter": "lawful.pipeline.limits",
        "cached": "lawful.pipeline.guarding",
        "MemoryCache": "lawful.pipeline.caching",
        "guard": "lawful.pipeline.guarding",
        "streamed": "lawful.pipeline.streaming",
        "run": "lawful.pipeline.machine",
        "run_sync": "lawful.pipeline.machine",
        "stream": "lawful.pipeline.streaming",
        "Stream": "lawful.pipeline.streaming",
        "Run": "lawful.pipeline.scene",
        "walk": "lawful.pipeline.walking",
        "count": "lawful.pipeline.walking",
        "names": "lawful.pipeline.walking",
        "explain": "lawful.pipeline.explaining",
        "Explanation": "lawful.pipeline.explaining",
        "draw": "lawful.pipeline.drawing",
        "draw_mermaid": "lawful.pipeline.drawing",
        "to_json": "lawful.pipeline.wire",
        "from_json": "lawful.pipeline.wire",
        "Registry": "lawful.pipeline.registry",
        "optimise": "lawful.pipeline.optimiser",
        "rewrites": "lawful.pipeline.optimiser",
        "dry_run": "lawful.pipeline.drying",
        "check": "lawful.pipeline.checking",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
