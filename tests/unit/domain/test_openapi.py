"""How a server is asked, by its OpenAPI description."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateval.domain.setup.openapi import asked_as_described

TEXT = {"type": "string"}


def described(schema: dict[str, Any], path: str = "/chat", **schemas: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}}
    answer = {"application/json": {"schema": {"properties": {"reply": TEXT, "id": TEXT}}}}
    return {
        "paths": {
            path: {
                "post": {
                    "requestBody": {"content": content},
                    "responses": {"200": {"content": answer}},
                }
            }
        },
        "components": {"schemas": schemas},
    }


BODIES = [
    ({"properties": {"message": TEXT}}, {"message": "{{ prompt }}"}),
    ({"properties": {"id": TEXT, "question": TEXT}}, {"question": "{{ prompt }}"}),
    ({"properties": {"messages": {"type": "array"}}}, {"messages": "{{ messages }}"}),
    (
        {
            "properties": {
                "query": TEXT,
                "session": {"type": "string", "format": "uuid"},
                "top": {"type": "integer"},
                "mode": {"enum": ["fast", "slow"]},
                "user": {"properties": {"name": TEXT, "age": {}}, "required": ["name"]},
                "stream": {"type": "boolean", "default": False},
                "tags": {"anyOf": [{"type": "null"}, {"type": "array"}]},
                "left": TEXT,
            },
            "required": ["query", "session", "top", "mode", "user", "stream", "tags", "absent"],
        },
        {
            "query": "{{ prompt }}",
            "session": "00000000-0000-4000-8000-000000000000",
            "top": 1,
            "mode": "fast",
            "user": {"name": "gateval"},
            "stream": False,
            "tags": [],
        },
    ),
    (
        {
            "properties": {"text": TEXT, "who": {"example": "{{ input.payload }}"}},
            "required": ["who"],
        },
        {"text": "{{ prompt }}", "who": "gateval"},
    ),
]


@pytest.mark.parametrize(("schema", "body"), BODIES)
def test_a_body_holds_the_question_and_what_has_to_be_there(
    schema: dict[str, Any], body: dict[str, Any]
) -> None:
    asked = asked_as_described(described(schema))
    assert asked is not None
    assert json.loads(asked.body) == body
    assert (asked.route, asked.answer) == ("/chat", "reply")


def test_references_are_followed_and_choices_taken() -> None:
    ask = {
        "allOf": [{"$ref": "#/components/schemas/Base"}],
        "properties": {"prompt": {"$ref": "#/components/schemas/Text"}},
    }
    base = {"properties": {"user": TEXT}, "required": ["user"]}
    schema = {"anyOf": [{"type": "null"}, {"$ref": "#/components/schemas/Ask"}]}
    asked = asked_as_described(described(schema, Ask=ask, Base=base, Text=TEXT))
    assert asked is not None
    assert json.loads(asked.body) == {"prompt": "{{ prompt }}", "user": "gateval"}


def test_the_likeliest_endpoint_is_asked() -> None:
    both = described({"properties": {"text": TEXT}}, "/feedback")
    both["paths"] |= described({"properties": {"text": TEXT}}, "/v1/ask")["paths"]
    both["paths"] |= described({"properties": {"text": TEXT}}, "/chat/{thread}")["paths"]
    asked = asked_as_described(both)
    assert asked is not None
    assert asked.route == "/v1/ask"


LOOP = {"properties": {"prompt": TEXT, "a": {"$ref": "#/components/schemas/A"}}, "required": ["a"]}
ODD: list[object] = [
    None,
    [],
    {"paths": []},
    {"paths": {"/x": None, "/y": {"post": []}, "/z": {"post": {"requestBody": 3}}}},
    described({"properties": {"count": {"type": "integer"}}}),
    described({"$ref": "#/components/schemas/A"}, A={"$ref": "#/components/schemas/A"}),
    described({"$ref": "file:///etc/passwd"}),
    described({"properties": {"prompt": TEXT}}, "/ch\u202eat"),
    {
        "paths": {
            "/chat": {
                "post": {
                    "requestBody": {
                        "content": {"application/json": {"schema": {"allOf": [{"properties": []}]}}}
                    }
                }
            }
        }
    },
]


@pytest.mark.parametrize("document", ODD)
def test_an_odd_description_tells_nothing(document: object) -> None:
    assert asked_as_described(document) is None


def test_schemas_inside_themselves_come_to_an_end() -> None:
    inner = {"properties": {"a": {"$ref": "#/components/schemas/A"}}, "required": ["a"]}
    assert asked_as_described(described(LOOP, A=inner)) is not None
