"""`MemoryCache`: results of nodes in this process's memory, the least recently used forgotten first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from lawful.core.clock import SYSTEM, Clock
from lawful.core.errors import ConfigurationError
from lawful.journal.cache_port import FullKey, Namespace


class MemoryCache:
    """Keeps at most ``max_entries`` results for as long as the process lives; a forked child has a copy."""

    blocking = False

    def __init__(self, *, max_entries: int = 10_000, clock: Clock = SYSTEM) -> None:
        self.max_entries = bounded(max_entries)
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[FullKey, tuple[bytes, float | None]] = OrderedDict()

    def get(self, keys: Sequence[FullKey]) -> Mapping[FullKey, bytes]:
        now = self._clock.monotonic()
        found: dict[FullKey, bytes] = {}
        with self._lock:
            for key in keys:
                value, until = self._kept.get(key, (None, None))
                if value is None:
                    continue
                if until is not None and until <= now:
                    del self._kept[key]
                    continue
                self._kept.move_to_end(key)
                found[key] = value
        return found

    def set(self, pairs: Mapping[FullKey, tuple[bytes, float | None]]) -> None:
        now = self._clock.monotonic()
        with self._lock:
            for key, (value, ttl) in pairs.items():
                self._kept[key] = (value, None if ttl is None else now + ttl)
                self._kept.move_to_end(key)
            while len(self._kept) > self.max_entries:
                self._kept.popitem(last=False)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        with self._lock:
            if namespaces is None:
                self._kept.clear()
                return
            gone = set(namespaces)
            for key in [key for key in self._kept if key[0] in gone]:
                del self._kept[key]


def bounded(entries: int) -> int:
    """How many entries a cache may keep. Raises: ConfigurationError."""
    if isinstance(entries, bool) or not isinstance(entries, int) or entries < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(
            f"max_entries is an int of at least 1, got {entries!r}", component="cache", operation="open"
        )
    return entries
