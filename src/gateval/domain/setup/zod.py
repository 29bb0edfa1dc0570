"""What the schema of a Node handler demands of a body: zod, TypeBox, valibot, JSON schema. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gateval.domain.setup.node_text import braced, parts, without_comments
from gateval.domain.setup.openapi import SOME, SOME_TEXT, SOME_UUID, takes_question

_FIELD = re.compile(r"\s*[\"']?(\w+)[\"']?\s*:\s*")
_GIVEN = re.compile(
    r"\.(?:optional|nullish|default|catch)\(|^[tv]\.(?:Optional|optional|nullish)\("
)
_FIRST = re.compile(
    r"(?:z\.(?:enum|literal)|v\.(?:picklist|literal)|t\.(?:Literal|Union)|Type\.Literal)"
    r"\(\s*+\[?\s*+(?:t\.Literal\(\s*+)?[\"']([^\"'\n]*)[\"']"
)
_KINDS = {
    "number": 1, "integer": 1, "numeric": 1, "boolean": False, "array": [], "record": {},
    "null": None, "any": {}, "unknown": {}, "date": "2026-01-01T00:00:00Z",
}  # fmt: skip
_NAMES = r"(?:z|v|t|Type|Joi|yup|Yup)\."
_OBJECT = re.compile(rf"{_NAMES}(?:strictO|looseO|[oO])bject\(\s*\{{")
_LIST = re.compile(rf"{_NAMES}[aA]rray\(")
_NAMED = re.compile(r"\b(\w+)\s*(?::[^=\n]{1,300})?=\s*")
_REFERENCE = re.compile(r"(\w+)\s*(?:\.|,|$)")
_REQUIRED = re.compile(r"\brequired\s*:\s*\[([^\]]*)\]")
_PROPERTIES = re.compile(r"\bproperties\s*:\s*\{")
_JSON_KIND = re.compile(r"\btype\s*:\s*\[?\s*[\"'](\w+)")
_JSON_FIRST = re.compile(r"\benum\s*:\s*\[\s*[\"']([^\"'\n]+)")
_MOST_DEEP = 4


def schemas_of(text: str) -> dict[str, str]:
    """Return the schemas that are kept under a name, each as it is written."""
    found = {}
    for one in _NAMED.finditer(text):
        if made := _OBJECT.match(text, one.end()):
            found[one[1]] = made[0] + braced(text, made.end()) + "})"
    return found


def schema_fields(
    schema: str, schemas: Mapping[str, str], left: int = _MOST_DEEP
) -> dict[str, Any]:
    """Return the fields that have to be there, with values, and those that may take a question.

    `schemas` are others by their names. What is no schema has no fields.
    """
    schema = without_comments(schema).strip()
    made = _OBJECT.match(schema)
    if made is None:
        return _of_json(schema, left) if _PROPERTIES.search(schema) else {}
    found: dict[str, Any] = {}
    for part in parts(braced(schema, made.end())):
        named = _FIELD.match(part)
        if named is None or not left:
            continue
        kind = part[named.end() :].strip()
        inner = braced(kind, kind.find("{") + 1) if "{" in kind else ""
        around = kind.replace(inner, "") if inner else kind
        if not _GIVEN.search(around) or takes_question(named[1]):
            found[named[1]] = _value(kind, schemas, left)
    return found


def _value(kind: str, schemas: Mapping[str, str], left: int) -> Any:
    kind = re.sub(r"^[tv]\.(?:Optional|optional|nullable|pipe)\(\s*", "", kind)
    if first := _FIRST.match(kind):
        return first[1]
    if _OBJECT.match(kind):
        return schema_fields(kind, schemas, left - 1)
    if _LIST.match(kind):
        return []
    if ".uuid(" in kind:
        return SOME_UUID
    reference = _REFERENCE.match(kind)
    if reference and reference[1] in schemas and left:
        return schema_fields(schemas[reference[1]], schemas, left - 1)
    name = re.match(rf"{_NAMES}(?:coerce\.)?(\w+)", kind)
    return _KINDS.get(name[1].lower(), SOME_TEXT) if name else SOME_TEXT


def _of_json(schema: str, left: int) -> dict[str, Any]:
    """Return the same of a JSON schema that is written as an object."""
    properties = _PROPERTIES.search(schema)
    if properties is None or not left:
        return {}
    inner = braced(schema, properties.end())
    needed = _REQUIRED.search(schema.replace(inner, ""))
    names = re.findall(r"[\"'](\w+)[\"']", needed[1]) if needed else []
    found: dict[str, Any] = {}
    for part in parts(inner):
        named = _FIELD.match(part)
        if named and (named[1] in names or takes_question(named[1])):
            kind, first = _JSON_KIND.search(part), _JSON_FIRST.search(part)
            deeper = _of_json(part[named.end() :], left - 1)
            found[named[1]] = deeper or (
                first[1] if first else SOME.get(kind[1] if kind else "string", {})
            )
    return found
