"""How a server is asked, by its own OpenAPI description. Pure.

The description is the repository's, or what the server itself says. A body made of it is a guess
all the same: which of its fields takes the question is told by their names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gateval.domain.setup.invocation import ANSWERED, ASKED, MESSAGES, PROMPT, Invocation
from gateval.domain.setup.program import is_asked
from gateval.domain.strict_json import object_of, strings_of, value_at

FILES = ("openapi.json", "openapi.yaml", "openapi.yml", "swagger.json", "swagger.yaml")
"""What such a description is called, in the folder of a program or the repository's root."""

SERVED_AT = "/openapi.json"
"""Where servers of FastAPI, Litestar and the like have theirs."""

MOST_STEPS = 20
"""References that lead from one to the next, and schemas inside one another."""

SOME_TEXT = "gateval"
SOME = {
    "string": SOME_TEXT,
    "integer": 1,
    "number": 1,
    "boolean": False,
    "array": [],
    "null": None,
}
SOME_UUID = "00000000-0000-4000-8000-000000000000"


IDENTITY = re.compile(
    r"(?:^|_)(?:id|uuid|key|token|name|user|email|model|language|lang|type|role|password|secret|phone"
    r"|url|code|date|status)$"
)
"""How fields are called that hold who or what something is, and no text of anybody."""


def takes_question(name: str) -> bool:
    """Whether a field is called as those are that take questions: `user_query`."""
    held = is_identity(name) or name.lower().startswith("system")
    return names_one_of(name, ASKED) and not held


def is_identity(name: str) -> bool:
    """Whether a field is called as those are that hold no text: `imageUrl`, `user_id`."""
    return bool(IDENTITY.search(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()))


def names_one_of(name: str, words: tuple[str, ...]) -> bool:
    """Whether one of the parts of a name is among these words: `userQuery` has `query`."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")
    return name in words or any(one in parts for one in words)


_LOOKED_AFTER = re.compile(r"/(?:admin|settings|config)/")


def is_looked_after(route: str) -> bool:
    """Whether a server is administered at a route, which asks no agent."""
    return bool(_LOOKED_AFTER.search(route))


def asked_as_described(document: object) -> Invocation | None:
    """Return how the likeliest endpoint of a description is asked; None if none takes a question.

    It is one that takes JSON by POST, and has a field that a question can go into. What else has to
    be there gets its default, an example, or some value of its type.
    """
    if not isinstance(document, dict):
        return None
    found = [one for one in _endpoints(document) if one is not None]
    return max(found, key=lambda one: (is_asked(one.route), one.answer != ""), default=None)


def _endpoints(document: Mapping[str, Any]) -> Iterator[Invocation | None]:
    paths = document.get("paths")
    for path, methods in paths.items() if isinstance(paths, dict) else ():
        post = value_at(methods, "post")
        if isinstance(path, str) and isinstance(post, dict) and "{" not in path:
            yield _endpoint(document, path, post)


def _endpoint(document: Mapping[str, Any], path: str, post: Mapping[str, Any]) -> Invocation | None:
    request = _schema(document, _resolved(document, post.get("requestBody")))
    fields = _fields(request)
    kinds = {name: _resolved(document, one).get("type") for name, one in fields.items()}
    texts = [one for one in ASKED if kinds.get(one) == "string" and one != MESSAGES]
    field = texts[0] if texts else MESSAGES if kinds.get(MESSAGES) == "array" else ""
    if not field or not path.startswith("/") or not path.isprintable():
        return None
    body = {field: "{{ messages }}" if field == MESSAGES else PROMPT}
    for name in _required(request):
        if name in fields and name not in body:
            body[name] = _some(document, fields[name], MOST_STEPS)
    responses = post.get("responses")
    said = responses.get("200", responses.get("201")) if isinstance(responses, dict) else None
    answer = _fields(_schema(document, _resolved(document, said)))
    told = [one for one in ANSWERED if one in answer]
    return Invocation(
        route=path, field=field, answer=told[0] if told else "", body=json.dumps(body)
    )


def _schema(document: Mapping[str, Any], around: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the JSON that a request or a response has."""
    return _resolved(document, value_at(around, "content", "application/json", "schema"))


def _resolved(document: Mapping[str, Any], schema: object) -> dict[str, Any]:
    """Return a part of the description with what it refers to, and one of its choices."""
    for _ in range(MOST_STEPS):
        if not isinstance(schema, dict):
            return {}
        if isinstance(reference := schema.get("$ref"), str):
            schema = _at(document, reference)
            continue
        choices = next((schema[key] for key in ("anyOf", "oneOf") if key in schema), None)
        if not isinstance(choices, list):
            return _joined(document, schema)
        whole = [one for one in choices if isinstance(one, dict) and one.get("type") != "null"]
        schema = whole[0] if whole else {}
    return {}


def _joined(document: Mapping[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with what `allOf` adds to it, a step deep."""
    parts = schema.get("allOf")
    if not isinstance(parts, list):
        return schema
    whole = {key: value for key, value in schema.items() if key != "allOf"}
    for part in parts[:MOST_STEPS]:
        reference = value_at(part, "$ref")
        more = _at(document, reference) if isinstance(reference, str) else part
        if isinstance(more, dict):
            both = _fields(more) | _fields(whole)
            needed = [*_required(more), *_required(whole)]
            whole = {**more, **whole, "properties": both, "required": needed}
    return whole


def _fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    return object_of(schema, "properties")


def _required(schema: Mapping[str, Any]) -> list[str]:
    return strings_of(schema, "required")


def _at(document: Mapping[str, Any], reference: str) -> object:
    """Return what a reference into this document names, {} for any other."""
    found: object = document
    if not reference.startswith("#/"):
        return {}
    for step in reference[2:].split("/"):
        found = value_at(found, step.replace("~1", "/").replace("~0", "~"))
    return found


def _some(document: Mapping[str, Any], schema: object, left: int) -> Any:
    """Return a value that fits: what the description says by example, else one of its type."""
    for key in ("default", "example", "const"):
        if isinstance(schema, dict) and schema.get(key) is not None:
            return harmless(schema[key])
    known = _resolved(document, schema)
    examples = [known[key] for key in ("default", "example", "const") if known.get(key) is not None]
    for key in ("examples", "enum"):
        listed = known.get(key)
        examples += listed[:1] if isinstance(listed, list) else []
    if examples:
        return harmless(examples[0])
    if known.get("format") == "uuid":
        return SOME_UUID
    if left and (fields := _fields(known)):
        wanted = [name for name in _required(known) if name in fields]
        return {name: _some(document, fields[name], left - 1) for name in wanted[:MOST_STEPS]}
    kind = known.get("type")
    return SOME.get(kind, {}) if isinstance(kind, str) else SOME_TEXT


def harmless(value: object) -> object:
    """Return an example as a body may hold it: no text of it is a template."""
    text = json.dumps(value, default=str)
    return json.loads(text) if "{{" not in text and "{%" not in text else SOME_TEXT
