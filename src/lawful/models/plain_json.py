"""How JSON of unknown form is read without surprises: what is no object is an empty one, what is no list an empty one."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

JSON: TypeAlias = dict[str, Any]


def table(value: Any) -> JSON:
    """``value``, if it is an object; else an empty one."""
    return cast("JSON", value) if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """``value``, if it is a list; else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []
