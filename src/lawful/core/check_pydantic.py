"""The types and constraints that pydantic checks for us, in strict mode; pydantic is imported when a schema first has one."""

from __future__ import annotations

from typing import Any

from lawful.core.check_parts import Miss, Test
from lawful.core.lazy import late


def is_constraint(metadata: Any) -> bool:
    """Whether a piece of ``Annotated`` metadata limits the values: ``Field(gt=0)``, ``Gt(0)``, a validator."""
    module = type(metadata).__module__.partition(".")[0]
    return module in ("pydantic", "annotated_types") or hasattr(metadata, "__get_pydantic_core_schema__")


def constrained(note: Any, base: Test | None) -> Test:
    """The base type's own test, and then pydantic's."""
    limits = pydantic_test(note)

    def test(value: Any) -> Miss | None:
        miss = None if base is None else base(value)
        return miss if miss is not None else limits(value)

    return test


def pydantic_test(note: Any) -> Test:
    """What pydantic says in strict mode; the value that it makes is dropped. Raises: TypeError, if it has no schema."""
    pydantic = late("pydantic")
    refusal = late("pydantic_core").ValidationError
    try:
        validate = pydantic.TypeAdapter(note).validate_python
    except pydantic.errors.PydanticUserError as error:
        raise TypeError(str(error).partition("\n")[0]) from error

    def test(value: Any) -> Miss | None:
        try:
            validate(value, strict=True)
        except refusal as error:
            first: Any = error.errors(include_url=False, include_context=False)[0]
            path = "".join(f"[{step!r}]" for step in first["loc"])
            return path, f"{first['msg']}, got {first['input']!r:.60}"
        return None

    return test
