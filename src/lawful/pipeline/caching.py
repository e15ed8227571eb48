"""What a step has answered, kept for equal inputs: the port that a cache has, one in memory, and what a key is made of."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, final

from lawful.core.canonical import state_bytes
from lawful.core.clock import SYSTEM, Clock
from lawful.core.errors import ConfigurationError, ValidationError
from lawful.core.result import Ok

CacheKey: TypeAlias = tuple[str, str]
"""The computation's name with its version, and the digest of its input."""


class Cache(Protocol):
    """Where results are kept; its calls are short and do not wait."""

    @property
    def component_id(self) -> str: ...
    def get(self, key: CacheKey) -> Ok[Any] | None: ...
    def put(self, key: CacheKey, value: Any, ttl: float | None) -> None: ...


@final
class MemoryCache:
    """The ``max_entries`` values used last; safe in threads."""

    def __init__(self, component_id: str = "", *, max_entries: int = 1_024, clock: Clock = SYSTEM) -> None:
        if max_entries < 1:
            raise ConfigurationError(
                f"MemoryCache: max_entries must be at least 1, not {max_entries}",
                component="pipeline",
                operation="cached",
            )
        self.component_id = component_id
        self._most = max_entries
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[CacheKey, tuple[Any, float | None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: CacheKey) -> Ok[Any] | None:
        with self._lock:
            held = self._kept.get(key)
            if held is None:
                return None
            value, until = held
            if until is not None and self._clock.monotonic() >= until:
                del self._kept[key]
                return None
            self._kept.move_to_end(key)
            return Ok(value)

    def put(self, key: CacheKey, value: Any, ttl: float | None) -> None:
        with self._lock:
            self._kept[key] = value, None if ttl is None else self._clock.monotonic() + ttl
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()


def cache_key(name: str, key: Callable[[Any], Any] | None, value: Any) -> CacheKey:
    """The key of an input: equal for inputs (or what ``key`` makes of them) that are equal in value and type.

    Raises: ValidationError, for a class that no codec knows; it names the remedy.
    """
    try:
        blob = state_bytes(value if key is None else key(value))
    except ValidationError as error:
        raise ValidationError(
            f"cached {name!r}: {error.message}; say what its inputs are told apart by, cached(..., key=...)",
            component="pipeline",
            operation="cached",
            details={**error.details, "name": name},
            cause=error,
        ) from error
    return name, hashlib.blake2b(blob, digest_size=16).hexdigest()


def fresh(value: Any) -> Any:
    """The value, or of a list, dict or set a copy, so that who changes his does not change everybody's."""
    return value.copy() if type(value) in (list, dict, set) else value
