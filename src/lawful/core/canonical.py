"""One spelling for each JSON value, digests over it, and bytes by which two states can be compared."""

from __future__ import annotations

import json
from hashlib import sha256
from math import isfinite
from typing import Any

from lawful.core.codec import Registry, default
from lawful.core.codec_types import class_of
from lawful.core.errors import ValidationError
from lawful.core.secret import holds, texts

_ATOMS: frozenset[type] = frozenset({type(None), bool, int, str})
_KEYS: frozenset[type] = frozenset({str})
_MAX_DEPTH = 100
_write = json.JSONEncoder(ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":")).encode


def canonical(value: Any, *, where: str = "value") -> bytes:
    """``value`` as ASCII JSON with sorted keys and no spaces; ``1`` and ``1.0`` stay apart.

    Only None, bool, int, float, str, list and dict with str keys, of exactly these types.

    Raises: ValidationError, which names the place, for anything else, for NaN and infinities, and beyond 100 levels.
    """
    _check(value, where, 0)
    text = _write(value)
    if (secrets := texts()) and holds(text, secrets):
        raise _refused(f"{where} holds the text of a Secret", where)
    return text.encode("ascii")


def digest(domain: str, value: Any) -> bytes:
    """SHA-256, 32 bytes, over the domain and the canonical JSON of ``value``.

    ``domain`` says what the digest is of, with a version, such as "effect.v1": digests of unlike things never agree.

    Raises: ValidationError, for a value that is not JSON or a domain that is empty or holds NUL.
    """
    if not domain or "\0" in domain:
        raise _refused(f"{domain!r} is no digest domain", "domain")
    return sha256(domain.encode() + b"\0" + canonical(value)).digest()


def state_bytes(value: Any, registry: Registry = default) -> bytes:
    """Bytes that are equal for two values exactly if they are equal in value and type, the order of dict keys aside.

    Raises: ValidationError, for a class that ``registry`` does not know.
    """
    return registry.encode_sorted(value)


def _check(value: Any, path: str, depth: int) -> None:
    kind = class_of(value)
    if kind in _ATOMS or (kind is float and isfinite(value)):
        return
    if kind is float:
        raise _refused(f"{path} is {value!r}, which JSON does not have", path)
    if depth >= _MAX_DEPTH:
        raise _refused(f"{path} is nested more than {_MAX_DEPTH} levels deep", path)
    if kind is list:
        _check_list(value, path, depth)
    elif kind is dict:
        _check_dict(value, path, depth)
    else:
        raise _refused(f"{path} is a {kind.__qualname__}, which is not JSON", path)


def _check_list(items: list[Any], path: str, depth: int) -> None:
    if not _ATOMS.issuperset(map(type, items)):
        for index, item in enumerate(items):
            _check(item, f"{path}[{index}]", depth + 1)


def _check_dict(fields: dict[Any, Any], path: str, depth: int) -> None:
    if not _KEYS.issuperset(map(type, fields)):
        odd = next(key for key in fields if type(key) is not str)
        raise _refused(f"{path} has the key {odd!r}; JSON keys are str", path)
    if not _ATOMS.issuperset(map(type, fields.values())):
        for key, item in fields.items():
            _check(item, f"{path}[{key!r}]", depth + 1)


def _refused(message: str, path: str) -> ValidationError:
    return ValidationError(message, component="canonical", operation="canonical", details={"path": path})
