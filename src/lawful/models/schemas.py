"""A JSON Schema as a provider can take it: references written out, recursion cut, keywords named that it would ignore; pure.

The schema that a tool has stays as it is; these make another one, and say what was lost on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from msgspec import Struct

from lawful.models.values import JSONSchema


class Shaped(Struct, frozen=True):
    """A schema for one provider."""

    schema: JSONSchema
    losses: tuple[str, ...] = ()
    """What it no longer says, each as ``path: what``."""


def plain(schema: JSONSchema) -> Shaped:
    """Without ``$ref`` and ``$defs``: each reference is written out in its place.

    Where a reference leads back into itself the schema there is an object of any form, and that is a named loss.
    """
    losses: list[str] = []
    done = cast("JSONSchema", _inline(schema, schema, (), "$", losses))
    return Shaped({k: v for k, v in done.items() if k not in ("$defs", "definitions")}, tuple(losses))


_UNSAID: Final = frozenset(
    {"minLength", "maxLength", "patternProperties", "unevaluatedProperties", "propertyNames", "minProperties"}
    | {"maxProperties", "unevaluatedItems", "contains", "minContains", "maxContains", "uniqueItems", "default"}
    | {"if", "then", "else", "not", "dependentRequired", "dependentSchemas", "allOf", "oneOf"}
)


NO_BOUNDS: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"}
)
"""What some grammars cannot hold to beside what none can."""


def is_open(schema: JSONSchema) -> bool:
    """Whether an object in it may have fields of any name: closing it would forbid what it is for."""
    return any(loss.endswith(": additionalProperties") for loss in strict(schema).losses)


def strict(schema: JSONSchema, unsaid: frozenset[str] = frozenset()) -> Shaped:
    """As providers that decode under a grammar want it: every object closed, every field required.

    A field that was optional may be null instead. Keywords that such a grammar cannot hold to are told in the
    description, for the model to read, and named as losses; the answer is still checked against the whole schema by us.
    """
    done = plain(schema)
    losses = list(done.losses)
    return Shaped(_Strict(_UNSAID | unsaid, losses).schema(done.schema, "$"), tuple(losses))


def _inline(node: Any, root: JSONSchema, inside: tuple[str, ...], path: str, losses: list[str]) -> Any:
    if isinstance(node, list):
        items = cast("list[Any]", node)
        return [_inline(item, root, inside, f"{path}[{n}]", losses) for n, item in enumerate(items)]
    if not isinstance(node, dict):
        return node
    facts = _merged(cast("JSONSchema", node))
    target = facts.get("$ref")
    if not isinstance(target, str):
        return {
            key: _inline(value, root, inside, f"{path}.{key}", losses)
            for key, value in facts.items()
            if key not in ("$defs", "definitions") or path != "$"
        }
    beside = {key: value for key, value in facts.items() if key != "$ref"}
    found = _resolve(root, target)
    if found is None:
        losses.append(f"{path}: {target} leads nowhere")
        return {"type": "object", **beside}
    if target in inside:
        losses.append(f"{path}: {target} contains itself; cut here")
        return {"type": "object", "description": f"again a {target.rpartition('/')[2]}", **beside}
    return {**_inline(found, root, (*inside, target), path, losses), **beside}


def _merged(schema: JSONSchema) -> JSONSchema:
    """An ``allOf`` of one schema says no more than that schema beside the rest."""
    parts = schema.get("allOf")
    if not isinstance(parts, list) or len(cast("list[Any]", parts)) != 1 or not isinstance(parts[0], dict):
        return schema
    rest = {key: value for key, value in schema.items() if key != "allOf"}
    return {**cast("JSONSchema", parts[0]), **rest}


def _resolve(root: JSONSchema, target: str) -> JSONSchema | None:
    if not target.startswith("#"):
        return None
    node: Any = root
    for part in target[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        node = cast("JSONSchema", node).get(key) if isinstance(node, dict) else None
    return cast("JSONSchema", node) if isinstance(node, dict) else None


class _Strict:
    """Makes a schema strict, and notes what is lost."""

    def __init__(self, unsaid: frozenset[str], losses: list[str]) -> None:
        self._unsaid = unsaid
        self._losses = losses

    def schema(self, schema: JSONSchema, path: str) -> JSONSchema:
        made: JSONSchema = {}
        unsaid: list[str] = []
        for key, value in schema.items():
            if key in self._unsaid:
                self._losses.append(f"{path}: {key}")
                if key not in ("default", "oneOf", "allOf"):
                    unsaid.append(f"{key}: {value}")
            if key in ("oneOf", "allOf", "anyOf", "prefixItems") and isinstance(value, list):
                place = key if key == "prefixItems" else "anyOf"
                made[place] = [self._any(item, f"{path}.{key}") for item in cast("list[Any]", value)]
            elif key == "properties" and isinstance(value, dict):
                made[key] = self._fields(cast("JSONSchema", value), schema, path)
            elif key == "items":
                made[key] = self._any(value, f"{path}.{key}")
            elif key != "required" and key not in self._unsaid:
                made[key] = value
        if made.get("type") == "object" or "properties" in made:
            self._close(made, schema, path)
        if unsaid:
            made["description"] = " ".join(filter(None, [made.get("description", ""), f"({'; '.join(unsaid)})"]))
        return made

    def _close(self, made: JSONSchema, schema: JSONSchema, path: str) -> None:
        if schema.get("additionalProperties") not in (None, False):
            self._losses.append(f"{path}: additionalProperties")
        made.setdefault("properties", {})
        made["required"] = list(made["properties"])
        made["additionalProperties"] = False

    def _fields(self, fields: JSONSchema, schema: JSONSchema, path: str) -> JSONSchema:
        required = set(cast("list[str]", schema.get("required") or []))
        made: JSONSchema = {}
        for name, field in fields.items():
            shaped = self._any(field, f"{path}.{name}")
            made[name] = shaped if name in required else _or_null(shaped)
        return made

    def _any(self, node: Any, path: str) -> Any:
        return self.schema(cast("JSONSchema", node), path) if isinstance(node, dict) else node


def _or_null(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    facts = cast("JSONSchema", schema)
    kind = facts.get("type")
    if isinstance(kind, str) and "enum" not in facts and "const" not in facts:
        return {**facts, "type": kind if kind == "null" else [kind, "null"]}
    if isinstance(facts.get("anyOf"), list) and {"type": "null"} in facts["anyOf"]:
        return facts
    return {"anyOf": [facts, {"type": "null"}]}


def without_nulls(value: Any, schema: JSONSchema) -> Any:
    """``value`` without the nulls that `strict` made possible: those of fields which may be left out but not be null.

    ``schema`` is a plain one.
    """
    if isinstance(value, list):
        inner = schema.get("items")
        if not isinstance(inner, dict):
            return cast("list[Any]", value)
        return [without_nulls(item, cast("JSONSchema", inner)) for item in cast("list[Any]", value)]
    fields = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(fields, dict):
        return cast("Any", value)
    required = cast("list[str]", schema.get("required") or [])
    made: JSONSchema = {}
    for name, held in cast("JSONSchema", value).items():
        field = cast("JSONSchema", fields).get(name)
        if (
            held is None
            and name not in required
            and isinstance(field, dict)
            and not _nullable(cast("JSONSchema", field))
        ):
            continue
        made[name] = without_nulls(held, cast("JSONSchema", field)) if isinstance(field, dict) else held
    return made


def _nullable(schema: JSONSchema) -> bool:
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return True
    if any(_nullable(option) for option in schema.get("anyOf") or schema.get("oneOf") or ()):
        return True
    return (
        "type" not in schema and "anyOf" not in schema and "oneOf" not in schema and None in schema.get("enum", (None,))
    )
