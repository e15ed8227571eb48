"""A cipher for tests, of the standard library alone: it binds to its place and notices changes, and is no protection."""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from hashlib import blake2b


class TestCipher:
    """A keystream and a tag by BLAKE2b; a new nonce for each piece."""

    __test__ = False

    def __init__(self, keys: Mapping[str, bytes], current: str) -> None:
        self.keys = dict(keys)
        self.current = current

    def encrypt(self, plain: bytes, place: bytes) -> tuple[str, bytes]:
        key, nonce = self.keys[self.current], os.urandom(12)
        body = _mixed(key, nonce, plain)
        return self.current, nonce + _tag(key, nonce, body, place) + body

    def decrypt(self, key_id: str, sealed: bytes, place: bytes) -> bytes:
        key, nonce, tag, body = self.keys[key_id], sealed[:12], sealed[12:28], sealed[28:]
        if not hmac.compare_digest(tag, _tag(key, nonce, body, place)):
            raise ValueError("the tag does not fit")
        return _mixed(key, nonce, body)


def _mixed(key: bytes, nonce: bytes, data: bytes) -> bytes:
    stream = b"".join(blake2b(nonce + n.to_bytes(4, "big"), key=key).digest() for n in range(len(data) // 64 + 1))
    return bytes(a ^ b for a, b in zip(data, stream, strict=False))


def _tag(key: bytes, nonce: bytes, body: bytes, place: bytes) -> bytes:
    return blake2b(nonce + len(place).to_bytes(4, "big") + place + body, key=key, digest_size=16).digest()
