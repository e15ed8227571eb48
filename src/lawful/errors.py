"""The errors and signals of graphs by LangGraph's names; all errors of the library are in `lawful.core.errors`."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.core.errors import EmptyChannelError as EmptyChannelError
    from lawful.core.errors import EmptyInputError as EmptyInputError
    from lawful.core.errors import GraphRecursionError as GraphRecursionError
    from lawful.core.errors import InvalidUpdateError as InvalidUpdateError
    from lawful.core.errors import NodeCancelledError as NodeCancelledError
    from lawful.core.errors import NodeTimeoutError as NodeTimeoutError
    from lawful.core.errors import UnknownQuestion
    from lawful.core.signals import GraphBubbleUp as GraphBubbleUp
    from lawful.core.signals import GraphDrained as GraphDrained
    from lawful.core.signals import GraphInterrupt as GraphInterrupt
    from lawful.core.signals import ParentCommand as ParentCommand
    from lawful.graph.error_codes import ErrorCode as ErrorCode
    from lawful.graph.policies import NodeError as NodeError

    UnknownInterruptError = UnknownQuestion
else:
    _TABLE = {
        "EmptyChannelError": "lawful.core.errors",
        "EmptyInputError": "lawful.core.errors",
        "ErrorCode": "lawful.graph.error_codes",
        "GraphBubbleUp": "lawful.core.signals",
        "GraphDrained": "lawful.core.signals",
        "GraphInterrupt": "lawful.core.signals",
        "GraphRecursionError": "lawful.core.errors",
        "InvalidUpdateError": "lawful.core.errors",
        "NodeCancelledError": "lawful.core.errors",
        "NodeError": "lawful.graph.policies",
        "NodeTimeoutError": "lawful.core.errors",
        "ParentCommand": "lawful.core.signals",
        "UnknownInterruptError": "lawful.core.errors:UnknownQuestion",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
