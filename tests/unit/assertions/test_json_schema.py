from __future__ import annotations

import json
import time
from typing import Any

import pytest
from pydantic import ValidationError

from gateval.assertions.schemas import count_nodes
from gateval.assertions.text import JsonSchema
from tests.helpers.trials import assessed, said

ORDER = {
    "type": "object",
    "required": ["id", "items"],
    "properties": {
        "id": {"type": "string", "pattern": "^[A-Z]+-[0-9]+$"},
        "when": {"type": "string", "format": "date"},
        "items": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/item"}},
    },
    "additionalProperties": False,
    "$defs": {"item": {"type": "object", "required": ["sku"]}},
}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"requird": {"type": "string"}, "tpye": True}},
        {"type": "object", "example": {"typ": 1}, "x-titles": 1, "nullable": True, "team": "a"},
        {"enum": [{"requird": 1}], "const": {"typ": 1}, "dependentRequired": {"typ": ["a"]}},
    ],
)
def test_names_and_examples_are_no_keywords(schema: dict[str, Any]) -> None:
    assert JsonSchema.model_validate({"schema": schema}) is not None


def doubling(levels: int) -> dict[str, Any]:
    """A schema of `levels` definitions, each of which refers to the next one twice."""
    names = [f"d{level}" for level in range(levels)]
    links: dict[str, Any] = {
        name: {"allOf": [{"$ref": f"#/$defs/{other}"}] * 2}
        for name, other in zip(names, [*names[1:], "end"], strict=True)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**links, "end": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("output", "options", "status"),
    [
        ('{"id": "A-1", "items": [{"sku": 1}]}', {"schema": ORDER}, "passed"),
        ('{"id": "A-1", "when": "2026-11-20", "items": [{"sku": 1}]}', {"schema": ORDER}, "passed"),
        ('{"id": "A-1", "when": "soon", "items": [{"sku": 1}]}', {"schema": ORDER}, "failed"),
        ('{"id": "a-1", "items": [{"sku": 1}]}', {"schema": ORDER}, "failed"),
        ('{"id": "A-1", "items": []}', {"schema": ORDER}, "failed"),
        ("no json", {"schema": ORDER}, "failed"),
        (
            '{"order": {"id": "A-1", "items": [{"sku": 1}]}}',
            {"schema": ORDER, "field": "order"},
            "passed",
        ),
        ("{}", {"schema": ORDER, "field": "order"}, "failed"),
        (
            "3",
            {"schema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "integer"}},
            "passed",
        ),
        ("3", {"schema": {}}, "passed"),
        ("3", {"schema": doubling(8)}, "passed"),
    ],
)
def test_checks(output: str, options: dict[str, Any], status: str) -> None:
    found = assessed({"type": "jsonSchema", **options}, said(output))
    assert (found.status.value, found.steps) == (status, (2,))


def test_names_up_to_three_mismatches_with_their_paths() -> None:
    output = json.dumps({"id": 5, "items": [{"sku": 1}, {}, {}, {}], "x": 1})
    found = assessed({"type": "jsonSchema", "schema": ORDER}, said(output))
    assert found.status.value == "failed"
    assert found.reason.startswith("Expected the final message to fit the schema, saw $")
    assert '$.items[1]: "sku" is a required property' in found.reason
    assert found.reason.count("$") == 3


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "strin"}, "the schema cannot be used: .*strin"),
        ({"pattern": "(?=a)"}, "cannot be used"),
        ({"pattern": "(a{1000}){1000}"}, "cannot be used"),
        ({"format": "colour"}, "cannot be used"),
        ({"requird": ["id"]}, '"requird" is no keyword of JSON Schema; did you mean "required"\\?'),
        ({"properties": {"a": {"items": {"typ": "string"}}}}, 'did you mean "type"\\?'),
        ({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"propertys": {}}}}, '"properties"'),
        ({"$ref": "http://127.0.0.1:9/schema"}, "leaves the schema; nothing is fetched"),
        ({"$ref": "file:///etc/passwd"}, "leaves the schema"),
        ({"$ref": "other.json#/a"}, "leaves the schema"),
        ({"$ref": "http://json-schema.org/draft-07/schema#"}, "leaves the schema"),
        ({"$ref": "#name"}, "leaves the schema"),
        ({"$ref": "#/$defs/none"}, "names nothing"),
        ({"$ref": "#"}, "goes round in a circle"),
        ({"properties": {"child": {"$ref": "#"}}}, "goes round in a circle"),
        (
            {"$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}}},
            "goes round in a circle",
        ),
        ({"$dynamicRef": "#x"}, "is not supported"),
        ({"properties": {"a": {"$id": "http://x/", "$ref": "#/b"}}}, "`\\$id` inside"),
        ({"$schema": "http://evil.example/schema"}, "use JSON Schema 2020-12"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "use JSON Schema 2020-12"),
        (doubling(40), "more than 5,000 parts"),
        ({"enum": ["x" * 100] * 1000}, "at most 65,536"),
    ],
)
def test_a_schema_that_cannot_be_used_or_bounded_is_refused_when_read(
    schema: dict[str, Any], why: str
) -> None:
    begin = time.process_time()
    with pytest.raises(ValidationError, match=why):
        JsonSchema.model_validate({"schema": schema})
    assert time.process_time() - begin < 2


def test_a_property_called_like_a_keyword_is_no_reference() -> None:
    schema = {"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}}}
    found = assessed({"type": "jsonSchema", "schema": schema}, said('{"$ref": "x", "$id": 4}'))
    assert found.status.value == "failed"
    assert "$.$id: 4 is not" in found.reason


def test_references_are_counted_as_often_as_they_are_used() -> None:
    assert count_nodes({}) == 1
    assert count_nodes({"multipleOf": 3}) == 300
    once = count_nodes(doubling(1))
    assert count_nodes(doubling(6)) > 2**6 > once
    escaped: dict[str, Any] = {
        "$ref": "#/$defs/a~1b%20c",
        "$defs": {"a/b c": {"anyOf": [{"$ref": "#/$defs/x/0"}]}, "x": [{}]},
    }
    assert count_nodes(escaped) == 12


def test_many_mismatches_in_a_big_message_are_found_fast() -> None:
    schema = {"items": {"allOf": [{"type": "string"}] * 500}}
    output = json.dumps(list(range(10_000)))
    begin = time.process_time()
    found = assessed({"type": "jsonSchema", "schema": schema}, said(output))
    assert found.status.value == "failed"
    assert found.reason.count("$") == 1
    assert time.process_time() - begin < 2


def test_a_message_that_is_too_long_is_an_error() -> None:
    found = assessed({"type": "jsonSchema", "schema": {}}, said(json.dumps("x" * 200_000)))
    assert found.status.value == "error"
    assert "200,002 characters; with this schema at most 100,000 are checked" in found.reason
