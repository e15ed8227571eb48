"""The low-level form of a graph: channels, and nodes that subscribe to them."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.pregel import ChannelWriteEntry as ChannelWriteEntry
    from lawful.graph.pregel import NodeBuilder as NodeBuilder
    from lawful.graph.pregel import Pregel as Pregel
    from lawful.graph.pregel import PregelNode as PregelNode
else:
    _TABLE = {
        "ChannelWriteEntry": "lawful.graph.pregel",
        "NodeBuilder": "lawful.graph.pregel",
        "Pregel": "lawful.graph.pregel",
        "PregelNode": "lawful.graph.pregel",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
