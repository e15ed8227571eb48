"""The values of low-level graphs, at the place where LangGraph has them."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.core.retry import RetryPolicy as RetryPolicy
    from lawful.core.retry import default_retry_on as default_retry_on
    from lawful.graph.policies import CachePolicy as CachePolicy
    from lawful.graph.runtime import StreamWriter as StreamWriter
    from lawful.graph.shapes import All as All
    from lawful.graph.snapshot import PregelTask as PregelTask
    from lawful.graph.snapshot import StateSnapshot as StateSnapshot
    from lawful.graph.streams import StreamMode as StreamMode
    from lawful.graph.updates import StateUpdate as StateUpdate
else:
    _TABLE = {
        "All": "lawful.graph.shapes",
        "CachePolicy": "lawful.graph.policies",
        "PregelTask": "lawful.graph.snapshot",
        "RetryPolicy": "lawful.core.retry",
        "StateSnapshot": "lawful.graph.snapshot",
        "StateUpdate": "lawful.graph.updates",
        "StreamMode": "lawful.graph.streams",
        "StreamWriter": "lawful.graph.runtime",
        "default_retry_on": "lawful.core.retry:default_retry_on",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
