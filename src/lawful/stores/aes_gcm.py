"""`AESGCM`: the cipher that is shipped, by the package `cryptography`; extra ``cipher``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from lawful.core.errors import ConfigurationError, nearest
from lawful.core.lazy import late

_NONCE = 12


class AESGCM:
    """AES in Galois/Counter Mode (NIST SP 800-38D), with a random nonce of 96 bits for each piece.

    ``keys`` maps the id of each key to its 16, 24 or 32 bytes; ``current`` is the id of the one that encrypts, and all of
    them decrypt. To rotate, add a key and make it the current one; keep the old one for as long as anything needs it.
    One key should encrypt fewer than 2**32 pieces. Make a key by ``AESGCM.new_key()`` and keep it out of the database.

    Raises: ConfigurationError, for a key of another length, an unknown ``current``, or without the extra.
    """

    __slots__ = ("_current", "_keys")

    def __init__(self, keys: Mapping[str, bytes], *, current: str) -> None:
        if current not in keys:
            raise _wrong(f"there is no key {current!a} to encrypt with.{nearest(current, keys)}")
        for name, key in keys.items():
            if not 1 <= len(name) <= 64 or not name.isascii() or not name.isprintable():
                raise _wrong(f"a key's id has 1 to 64 printable ASCII characters, not {name!a}")
            if len(key) not in (16, 24, 32):
                raise _wrong(f"the key {name!r} has {len(key)} bytes; AES has keys of 16, 24 and 32")
        aead = late("cryptography.hazmat.primitives.ciphers.aead", extra="cipher")
        self._keys: dict[str, Any] = {name: aead.AESGCM(bytes(key)) for name, key in keys.items()}
        self._current = current

    @staticmethod
    def new_key() -> bytes:
        """32 random bytes of the operating system."""
        return os.urandom(32)

    def encrypt(self, plain: bytes, place: bytes) -> tuple[str, bytes]:
        """As `Cipher.encrypt`."""
        nonce = os.urandom(_NONCE)
        return self._current, nonce + self._keys[self._current].encrypt(nonce, plain, place)

    def decrypt(self, key_id: str, sealed: bytes, place: bytes) -> bytes:
        """As `Cipher.decrypt`."""
        key = self._keys[key_id]
        if len(sealed) < _NONCE + 16:
            raise ValueError("too short for a nonce and a tag")
        try:
            return key.decrypt(sealed[:_NONCE], sealed[_NONCE:], place)
        except late("cryptography.exceptions", "InvalidTag", extra="cipher") as error:
            raise ValueError("the tag does not fit") from error

    def __repr__(self) -> str:
        return f"AESGCM(keys={sorted(self._keys)}, current={self._current!r})"


def _wrong(message: str) -> ConfigurationError:
    return ConfigurationError(message, component="cipher", operation="open")
