"""JSON Schema of a state class, as input and output forms read it."""

from __future__ import annotations

from typing import Any

from lawful.core.lazy import late
from lawful.graph.state import Schema


def json_schema(schema: Schema) -> dict[str, Any]:
    """An object schema of the state's keys; ``required`` are those without a default whose type does not allow None."""
    if schema.kind == "root":
        return _of(schema.typ)
    return {
        "title": schema.name,
        "type": "object",
        "properties": {key: _of(schema.annotations[key]) for key in schema.keys},
        "required": list(schema.required),
    }


def _of(annotation: Any) -> dict[str, Any]:
    """One type's schema; {} (anything) where JSON Schema has no word for it."""
    pydantic = late("pydantic")
    try:
        return pydantic.TypeAdapter(annotation).json_schema()
    except (pydantic.PydanticUserError, pydantic.PydanticSchemaGenerationError):
        return {}
