"""The codes under which LangGraph documents errors, and what raises them here."""

from __future__ import annotations

from enum import Enum


class ErrorCode(Enum):
    """LangGraph's names; every error here also carries a ``code`` of its own (docs/errors.md)."""

    GRAPH_RECURSION_LIMIT = "GRAPH_RECURSION_LIMIT"
    """`GraphRecursionError`."""
    INVALID_CONCURRENT_GRAPH_UPDATE = "INVALID_CONCURRENT_GRAPH_UPDATE"
    """`InvalidUpdateError`: several writers of a key without a merge."""
    INVALID_GRAPH_NODE_RETURN_VALUE = "INVALID_GRAPH_NODE_RETURN_VALUE"
    """`InvalidUpdateError`: a node returned no update."""
    MULTIPLE_SUBGRAPHS = "MULTIPLE_SUBGRAPHS"
    """Nothing here: several graphs called in one node have namespaces of their own."""
    INVALID_CHAT_HISTORY = "INVALID_CHAT_HISTORY"
    """A conversation with a tool call that has no result."""
