"""Holds every request and answer against GitHub's own OpenAPI description.

What does not fit is collected here, and fails the test when the server closes, even if the
client swallowed the error. The description is OpenAPI 3.0; its schemas become JSON Schema by
turning `nullable` into a type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from tests.servers.github.deviations import is_known
from tests.servers.github.http import Reply, Request

DESCRIPTION = Path(__file__).parents[2] / "data" / "github" / "openapi.json"
_URN = "urn:github"
_REFUSALS = {401, 403, 404, 409, 410, 422, 429, 500, 502, 503}
"""Statuses that any operation may answer, whether or not it says so."""


class Contract:
    """The rules. `violations` holds a sentence for each breach."""

    def __init__(self) -> None:
        self.violations: list[str] = []

    def check_request(self, template: str, request: Request) -> None:
        """Check query and body of a request."""
        where = f"{request.method} {request.path}"
        operation = _operation(request.method, template)
        known = {each["name"]: each for each in _parameters(operation) if each["in"] == "query"}
        for name, value in request.query.items():
            if name not in known:
                self._breach(f"{where}: GitHub knows no query parameter {name!r}")
            else:
                self._match(
                    f"{where}: query {name}", known[name]["schema"], _typed(value, known[name])
                )
        schema = _json_schema(operation.get("requestBody", {}))
        if schema is None:
            if request.raw:
                self._breach(f"{where}: GitHub takes no body here")
            return
        try:
            body = request.json()
        except ValueError:
            self._breach(f"{where}: the body is not JSON")
            return
        if body is not None or operation["requestBody"].get("required"):
            self._match(f"{where}: request", _closed(schema), body)

    def check_reply(self, template: str, request: Request, reply: Reply) -> None:
        """Check status and body of an answer."""
        where = f"{request.method} {request.path}: answer {reply.status}"
        responses = _operation(request.method, template)["responses"]
        response = _resolve(responses.get(str(reply.status)))
        if response is None:
            if reply.status not in _REFUSALS and reply.status != 304:
                self._breach(f"{where} is not one that GitHub documents")
            return
        schema = _json_schema(response)
        if schema is None:
            if reply.body is not None and reply.status < 400:
                self._breach(f"{where} should have no body")
            return
        self._match(where, schema, json.loads(reply.encoded() or b"null"))

    def unserved(self, request: Request) -> None:
        """Take note of a request that this server has no route for."""
        self._breach(f"{request.method} {request.path}: this server does not serve it")

    def _match(self, where: str, schema: Any, value: Any) -> None:
        for error in _validator(json.dumps(schema)).iter_errors(value):
            place = "/".join(str(part) for part in error.instance_path)
            if is_known(where, place, error.message):
                continue
            self._breach(f"{where}: at {place or 'the top'}: {error.message[:300]}")

    def _breach(self, sentence: str) -> None:
        self.violations.append(sentence)


@cache
def _description() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
    _nullable(parsed)
    return parsed


@cache
def _registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry(
        [(_URN, {"components": _description()["components"]})], draft=jsonschema_rs.Draft4
    )


@cache
def _validator(schema: str) -> jsonschema_rs.Draft4Validator:
    rooted = json.loads(schema.replace('"#/components/', f'"{_URN}#/components/'))
    return jsonschema_rs.Draft4Validator(rooted, registry=_registry(), validate_formats=True)


def _operation(method: str, template: str) -> dict[str, Any]:
    operation: dict[str, Any] = _description()["paths"][template][method.lower()]
    return operation


def _parameters(operation: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [_resolve(each) for each in operation.get("parameters", [])]


def _resolve(value: Any) -> Any:
    if not isinstance(value, dict) or "$ref" not in value:
        return value
    _, _, kind, name = value["$ref"].split("/")
    return _description()["components"][kind][name]


def _json_schema(holder: Mapping[str, Any]) -> Any:
    content = holder.get("content", {}).get("application/json")
    return content["schema"] if content else None


def _typed(value: str, parameter: Mapping[str, Any]) -> Any:
    kind = parameter["schema"].get("type")
    if kind == "integer" and value.lstrip("-").isdigit():
        return int(value)
    return value == "true" if kind == "boolean" and value in {"true", "false"} else value


def _closed(schema: Any) -> Any:
    """Return a request's schema with a misspelt key made an error."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    open_ended = {"oneOf", "anyOf", "allOf", "additionalProperties"} & set(schema)
    if isinstance(schema.get("properties"), dict) and not open_ended:
        closed["additionalProperties"] = False
    return closed


def _nullable(value: Any) -> None:
    """Turn OpenAPI 3.0's `nullable` into JSON Schema, in place."""
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            _nullable(each)
    if not isinstance(value, dict) or value.get("nullable") is not True:
        return
    del value["nullable"]
    if isinstance(value.get("type"), str):
        value["type"] = [value["type"], "null"]
    if "enum" in value and None not in value["enum"]:
        value["enum"].append(None)
    for key in ("anyOf", "oneOf"):
        if key in value:
            value[key].append({"type": "null"})
    if "allOf" in value or "$ref" in value:
        inner = dict(value)
        value.clear()
        value["anyOf"] = [inner, {"type": "null"}]
