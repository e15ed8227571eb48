"""LangGraph's own classes that its checkpoints hold: a closed table of their ids and how each is stored."""

from __future__ import annotations

from typing import Any

from lawful.core.codec import Registry, default
from lawful.core.codec_kinds import Misfit
from lawful.core.lazy import late

_PLAIN = ("Interrupt", "Overwrite", "TimeoutPolicy", "Command", "StateSnapshot", "PregelTask")


def langgraph_registry() -> Registry:
    """A registry of plain data, langchain's messages and LangGraph's own classes.

    Raises: ConfigurationError, which names the extra, where LangGraph is not installed.
    """
    types, made = late("langgraph.types", extra="langgraph"), default.child()
    for name in _PLAIN:
        cls = getattr(types, name, None)
        if cls is not None:
            made.register(cls, id=f"langgraph:{name}")
    send = types.Send

    def packet(told: Any) -> Any:
        if type(told) is not list or len(told) != 3:  # pyright: ignore[reportUnknownArgumentType]
            raise Misfit("is not stored as a Send is")
        return send(told[0], told[1], timeout=told[2])

    made.register(
        send, id="langgraph:Send", encode=lambda v: [v.node, v.arg, getattr(v, "timeout", None)], decode=packet
    )
    snapshot = late("langgraph.checkpoint.serde.types", "_DeltaSnapshot")
    made.register(snapshot, id="langgraph:DeltaSnapshot", encode=lambda v: v.value, decode=snapshot)
    return made
