"""What the running node can ask for without a parameter."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.runtime import get_config as get_config
    from lawful.graph.runtime import get_runtime as get_runtime
    from lawful.graph.runtime import get_store as get_store
    from lawful.graph.runtime import get_stream_writer as get_stream_writer
else:
    _TABLE = {
        "get_config": "lawful.graph.runtime",
        "get_runtime": "lawful.graph.runtime",
        "get_store": "lawful.graph.runtime",
        "get_stream_writer": "lawful.graph.runtime",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
