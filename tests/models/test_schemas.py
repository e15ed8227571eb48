"""Schemas as providers can take them: the author's stays untouched, references are written out, what is lost is named."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lawful.models.schemas import NO_BOUNDS, is_open, plain, strict, without_nulls

pytestmark = pytest.mark.unit

TREE: dict[str, Any] = {
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}},
            "required": ["name"],
        },
        "Colour": {"enum": ["red", "blue"], "type": "string"},
    },
    "type": "object",
    "properties": {
        "root": {"$ref": "#/$defs/Node"},
        "colour": {"$ref": "#/$defs/Colour", "description": "of the root"},
        "$defs": {"type": "string"},
    },
    "required": ["root"],
}


def test_references_are_written_out_and_recursion_is_a_named_loss() -> None:
    before = copy.deepcopy(TREE)
    shaped = plain(TREE)
    assert before == TREE
    assert "$ref" not in str(shaped.schema)
    assert "$defs" not in {key for key in shaped.schema}
    assert shaped.schema["properties"]["colour"] == {
        "enum": ["red", "blue"],
        "type": "string",
        "description": "of the root",
    }
    # A field may have any name, that of a keyword too.
    assert shaped.schema["properties"]["$defs"] == {"type": "string"}
    assert shaped.losses == ("$.properties.root.properties.next: #/$defs/Node contains itself; cut here",)


def test_a_reference_to_nothing_is_a_named_loss() -> None:
    shaped = plain({"type": "object", "properties": {"a": {"$ref": "#/$defs/None"}, "b": {"$ref": "https://x/y"}}})
    assert len(shaped.losses) == 2
    assert shaped.schema["properties"]["a"] == {"type": "object"}


def test_a_schema_without_references_is_the_same() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]}
    assert plain(schema).schema == schema
    assert plain(schema).losses == ()


def test_strict_closes_objects_and_requires_every_field() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "minLength": 2, "default": "xx"},
            "b": {"type": "object", "properties": {"c": {"enum": ["x"]}}, "additionalProperties": True},
        },
        "required": ["b"],
    }
    shaped = strict(schema)
    made = shaped.schema
    assert made["required"] == ["a", "b"]
    assert made["additionalProperties"] is False
    assert made["properties"]["a"] == {"type": ["string", "null"], "description": "(minLength: 2)"}
    inner = made["properties"]["b"]
    assert inner["additionalProperties"] is False
    assert inner["properties"]["c"] == {"anyOf": [{"enum": ["x"]}, {"type": "null"}]}
    assert {loss.partition(": ")[2] for loss in shaped.losses} == {"minLength", "default", "additionalProperties"}


def test_strict_keeps_a_choice_of_forms() -> None:
    schema = {"type": "object", "properties": {"v": {"oneOf": [{"type": "string"}, {"type": "null"}]}}}
    assert strict(schema).schema["properties"]["v"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}


@pytest.mark.parametrize(
    "field, kept",
    [
        ({"type": "string"}, False),
        ({"type": ["string", "null"]}, True),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"enum": ["a"]}, False),
        ({"enum": ["a", None]}, True),
        ({}, True),
    ],
)
def test_nulls_are_dropped_only_where_they_were_never_allowed(field: dict[str, Any], kept: bool) -> None:
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": {"properties": {"v": field}}}}}
    assert without_nulls({"list": [{"v": None}]}, schema) == {"list": [{"v": None} if kept else {}]}


def test_an_all_of_one_is_that_one() -> None:
    schema = {
        "$defs": {"C": {"enum": ["r"]}},
        "type": "object",
        "properties": {"c": {"allOf": [{"$ref": "#/$defs/C"}]}},
    }
    assert plain(schema).schema["properties"]["c"] == {"enum": ["r"]}


@pytest.mark.parametrize(
    "schema, is_it",
    [
        ({"type": "object", "additionalProperties": True}, True),
        (
            {"type": "object", "properties": {"a": {"additionalProperties": {"type": "integer"}, "type": "object"}}},
            True,
        ),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, False),
        ({"type": "object", "properties": {}, "additionalProperties": False}, False),
    ],
)
def test_an_object_with_fields_of_any_name_is_open(schema: dict[str, Any], is_it: bool) -> None:
    assert is_open(schema) is is_it


def test_bounds_that_a_grammar_cannot_hold_are_told_in_words() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
    assert strict(schema).schema["properties"]["n"] == {"type": "integer", "minimum": 1}
    shaped = strict(schema, NO_BOUNDS)
    assert shaped.schema["properties"]["n"] == {"type": "integer", "description": "(minimum: 1)"}
    assert shaped.losses == ("$.n: minimum",)
