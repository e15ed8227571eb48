"""`EncryptedCache`: any cache with its results encrypted; namespaces and digests of keys are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lawful.core.errors import CannotDecrypt
from lawful.journal.cache_port import Cache, FullKey, Namespace
from lawful.journal.cipher import Cipher, Part, Sealer


class EncryptedCache:
    """``cache`` with its results encrypted by ``cipher``, each bound to its namespace and key.

    What was encrypted with a key that the cipher no longer has, or was not encrypted, counts as forgotten: the node runs.
    Bytes that were changed or moved are an error all the same. Raises: CannotDecrypt, and what ``cache`` raises.
    """

    def __init__(self, cache: Cache, cipher: Cipher) -> None:
        self.inner = cache
        """The cache beneath, which sees encrypted bytes only."""
        self._sealer = Sealer(cipher, plain=False)

    @property
    def blocking(self) -> bool:
        return self.inner.blocking

    def get(self, keys: Sequence[FullKey]) -> Mapping[FullKey, bytes]:
        found: dict[FullKey, bytes] = {}
        for key, data in self.inner.get(keys).items():
            value = self._opened(key, data)
            if value is not None:
                found[key] = value
        return found

    def set(self, pairs: Mapping[FullKey, tuple[bytes, float | None]]) -> None:
        self.inner.set({key: (self._sealer.seal(value, *_place(key)), ttl) for key, (value, ttl) in pairs.items()})

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        self.inner.clear(namespaces)

    def _opened(self, key: FullKey, data: bytes) -> bytes | None:
        try:
            return self._sealer.open(data, *_place(key))
        except CannotDecrypt as error:
            if error.__cause__ is None or isinstance(error.__cause__, KeyError):
                return None
            found = CannotDecrypt(
                f"A cached result of node {key[0][-1] if key[0] else '?'!r}: {error.message}; clear_cache() forgets it",
                component="cache",
                operation="read",
                details=error.details,
            )
            found.raw = error.raw
            raise found from error.__cause__


def _place(key: FullKey) -> tuple[Part, ...]:
    namespace, digest = key
    return ("cached", len(namespace), *namespace, digest)
