"""`Cipher`: the port by which stored bytes are encrypted, and the envelope that says with which key and for which place."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from lawful.core.codec_types import SEALED
from lawful.core.errors import CannotDecrypt, ConfigurationError

_VERSION = 1
_DOMAIN = b"lawful.sealed.v1"
Part: TypeAlias = "str | bytes | int"


class Cipher(Protocol):
    """Authenticated encryption with keys that have names, safe to call from any thread.

    ``place`` is associated data: what was encrypted for one place does not decrypt at another.
    """

    def encrypt(self, plain: bytes, place: bytes) -> tuple[str, bytes]:
        """The id of the key that was used, of 1 to 64 characters, and the encrypted bytes."""
        ...

    def decrypt(self, key_id: str, sealed: bytes, place: bytes) -> bytes:
        """What was encrypted.

        Raises: KeyError, if there is no such key; ValueError, if the bytes were not encrypted with it for this place.
        """
        ...


class Sealer:
    """Puts bytes into envelopes and takes them out: a byte that no msgpack begins with, a version, the key's id, the rest."""

    __slots__ = ("__weakref__", "_cipher", "_plain")

    def __init__(self, cipher: Cipher, *, plain: bool) -> None:
        self._cipher = cipher
        self._plain = plain

    def seal(self, data: bytes, *place: Part) -> bytes:
        """The envelope of ``data`` for this place."""
        key_id, sealed = self._cipher.encrypt(data, _bound(place))
        name = key_id.encode()
        if not 1 <= len(name) <= 255:
            raise ConfigurationError(
                f"a cipher's key id has 1 to 64 characters, not {key_id!a}", component="cipher", operation="encrypt"
            )
        return SEALED + bytes((_VERSION, len(name))) + name + sealed

    @property
    def mark(self) -> bytes:
        """How everything begins that is sealed from now on: with the cipher's current key."""
        sealed = self.seal(b"", "mark")
        return sealed[: 3 + sealed[2]]

    def anew(self, data: bytes, *place: Part) -> bytes:
        """The same in an envelope of the current key. Raises: CannotDecrypt."""
        return self.seal(self.open(data, *place), *place)

    def open(self, data: bytes, *place: Part) -> bytes:
        """What was sealed. Raises: CannotDecrypt, which carries the bytes and says why; `where` is added by the caller."""
        if data[:1] != SEALED:
            if self._plain:
                return data
            raise cannot("are not encrypted, and plain ones are not taken", data)
        if len(data) < 4 or data[1] != _VERSION or len(data) < 3 + data[2]:
            raise cannot("are in an envelope that is not known", data)
        end = 3 + data[2]
        key_id = data[3:end].decode("utf-8", "backslashreplace")
        try:
            return self._cipher.decrypt(key_id, data[end:], _bound(place))
        except KeyError as error:
            raise cannot(f"need the key {key_id!r}, which this cipher does not have", data, key_id) from error
        except ValueError as error:
            raise cannot(
                f"were changed, moved from another place, or encrypted with another key named {key_id!r}", data, key_id
            ) from error


def key_of(data: bytes) -> str | None:
    """The id of the key that ``data`` was sealed with; None for what is not sealed."""
    return data[3 : 3 + data[2]].decode("utf-8", "backslashreplace") if data[:1] == SEALED and len(data) > 3 else None


def cannot(why: str, raw: bytes, key_id: str = "") -> CannotDecrypt:
    error = CannotDecrypt(
        f"stored bytes {why}", component="cipher", operation="decrypt", details={"key": key_id} if key_id else {}
    )
    error.raw = raw
    return error


def _bound(place: tuple[Part, ...]) -> bytes:
    """Parts and their lengths, so that no two places are the same bytes."""
    parts = [part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass") for part in place]
    return _DOMAIN + b"".join(len(part).to_bytes(4, "big") + part for part in parts)
