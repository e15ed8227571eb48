"""Values of a program's own classes as plain JSON, for whoever only shows them."""

from __future__ import annotations

from typing import Any

import msgspec


def plain(value: Any) -> Any:
    """A value as plain JSON: dataclasses, structs and pydantic models become dicts.

    Raises: TypeError for what has no such form.
    """
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_dumped)


def _dumped(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"an event holds a {type(value).__name__}, which has no JSON form")
    return dump(mode="json")
