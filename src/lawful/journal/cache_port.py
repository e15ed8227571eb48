"""`Cache`: the port that keeps results of nodes; bytes only, which nobody but the graph's own codec reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

Namespace: TypeAlias = tuple[str, ...]
"""Whose results these are: tenant, graph, node. Compared label by label, never as a pattern."""
FullKey: TypeAlias = tuple[Namespace, str]
"""A namespace, and a digest of all that the result depends on."""


@runtime_checkable
class Cache(Protocol):
    """Results by key. Every method is safe to call from any thread.

    A cache may forget what it likes, when it likes; it never gives what was not put under exactly that key.
    Errors are the `StoreError` family of core/errors.py.
    """

    @property
    def blocking(self) -> bool:
        """Whether a call waits for a disk or a network, so that an event loop should not make it."""
        ...

    def get(self, keys: Sequence[FullKey]) -> Mapping[FullKey, bytes]:
        """What is kept under ``keys`` and has not expired; the others are left out."""
        ...

    def set(self, pairs: Mapping[FullKey, tuple[bytes, float | None]]) -> None:
        """Keep each value, for so many seconds or (None) until it is cleared."""
        ...

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget all that is kept under exactly these namespaces; None: everything."""
        ...
