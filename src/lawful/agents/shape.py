"""The type that an agent's answer must have: its JSON Schema for the model, and the reading of what the model says."""

from __future__ import annotations

import json
import re
from typing import Any, Final, cast

from msgspec import Struct

from lawful.core.errors import ConfigurationError, ParsingError
from lawful.core.lazy import late
from lawful.models.values import OutputSpec

_FENCE: Final = re.compile(r"^\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)


class Shape(Struct, frozen=True):
    """An output type, ready to be asked for and read."""

    typ: Any
    schema: dict[str, Any]
    adapter: Any
    wrapped: bool
    """The type is no object, so that the model is asked for an object with one field ``value``."""

    @property
    def spec(self) -> OutputSpec:
        return OutputSpec(
            self.schema, name=re.sub(r"\W+", "_", getattr(self.typ, "__name__", "answer"))[:64] or "answer"
        )

    def prompt(self) -> str:
        """What a model that cannot be held to a schema is told instead."""
        return f"Answer with JSON alone, without a code fence, that fits this schema:\n{json.dumps(self.schema)}"

    def read(self, text: str) -> Any:
        """The value that ``text`` is. Raises: ParsingError with the text and what is wrong with it."""
        found = _FENCE.match(text)
        try:
            told = json.loads(found[1] if found else text)
        except ValueError as error:
            raise self._unfit(text, f"it is no JSON: {error}") from error
        if self.wrapped:
            if not isinstance(told, dict) or "value" not in told:
                raise self._unfit(text, "it is no object with a field 'value'")
            told = cast("dict[str, Any]", told)["value"]
        try:
            return self.adapter.validate_python(told)
        except late("pydantic", "ValidationError") as error:
            said = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'answer'}: {one['msg']}" for one in error.errors())
            raise self._unfit(text, said) from error

    def _unfit(self, text: str, why: str) -> ParsingError:
        return ParsingError(
            f"The answer is no {getattr(self.typ, '__name__', self.typ)}: {why}",
            component="agents",
            operation="output",
            details={"text": text[:2_000], "problem": why},
        )


def shape_of(typ: Any) -> Shape | None:
    """The shape of an output type; None for none, and for str, which is any text.

    Raises: ConfigurationError, for what has no JSON Schema.
    """
    if typ is None or typ is str:
        return None
    pydantic = late("pydantic")
    try:
        adapter = pydantic.TypeAdapter(typ)
        schema = adapter.json_schema()
    except (
        pydantic.errors.PydanticUserError,
        pydantic.errors.PydanticInvalidForJsonSchema,
        NameError,
        TypeError,
    ) as error:
        raise ConfigurationError(
            f"output={typ!r}: no JSON Schema can be made of it: {error}",
            component="agents",
            operation="output",
            cause=error,
        ) from error
    wrapped = schema.get("type") != "object"
    if wrapped:
        inner = {k: v for k, v in schema.items() if k != "$defs"}
        defs = {"$defs": schema["$defs"]} if "$defs" in schema else {}
        schema = {
            "type": "object",
            "properties": {"value": inner},
            "required": ["value"],
            "additionalProperties": False,
            **defs,
        }
    return Shape(typ, schema, adapter, wrapped)
