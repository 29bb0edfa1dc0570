"""Trims GitHub's published descriptions to what the test server needs: `tests/data/github/`.

    python -m tools.github_data

fetches the packages below with npm and writes the files anew. To use newer ones, change version
and integrity here, run it, and look at the difference.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs

from tests.servers.github import routes
from tests.servers.github.routing import ROUTES

TARGET = Path(__file__).parents[1] / "tests" / "data" / "github"
OPENAPI = (
    "@octokit/openapi",
    "23.0.2",
    "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
)
EXAMPLES = (
    "@octokit/webhooks-examples",
    "7.6.1",
    "sha512-De6U3XB6O3DtCa7bKgCMzTHdeopqqZ6SNivMYJnK65ierKL1AnNIA0tkRYCRS7lwGT792d+Ps1WbfHlso6MynQ==",
)
SCHEMAS = (
    "@octokit/webhooks-schemas",
    "7.6.1",
    "sha512-qW0Bwtb76r4m2WzVhKDyfEeEnt1GEQoRjkCqmq2ZeB0nNVDJ+Z2LBDS9FDPyduuMXf/ZTWiCJp9PFFHgRfBe3A==",
)
EVENTS = {
    "pull_request": (
        "opened",
        "synchronize",
        "reopened",
        "ready_for_review",
        "labeled",
        "unlabeled",
        "closed",
    ),
    "merge_group": ("checks_requested",),
    "issue_comment": ("created",),
    "push": (None,),
    "workflow_dispatch": (None,),
}
_PROSE = {
    "description",
    "summary",
    "title",
    "example",
    "examples",
    "externalDocs",
    "tags",
    "deprecated",
    "x-github",
    "x-octokit",
    "x-webhooks",
    "x-github-breaking-changes",
}


def main() -> None:
    """Write every file."""
    TARGET.mkdir(parents=True, exist_ok=True)
    described = json.loads(fetch(OPENAPI, "package/generated/api.github.com.json"))
    _write("openapi.json", {"source": " ".join(OPENAPI), **trimmed(described, operations())})
    schema = trimmed_schema(json.loads(fetch(SCHEMAS, "package/schema.json")))
    _write("webhook-schemas.json", {"source": " ".join(SCHEMAS), **schema})
    index = json.loads(fetch(EXAMPLES, "package/api.github.com/index.json"))
    payloads = recorded(index, schema)
    _write("webhook-payloads.json", {"source": " ".join(EXAMPLES), "payloads": payloads})


def operations() -> set[tuple[str, str]]:
    """Return (path, method) of all that the test server serves."""
    if not routes.__all__:
        raise SystemExit("importing the routes registers none")
    return {(route.template, route.method.lower()) for route in ROUTES}


def trimmed(described: dict[str, Any], wanted: set[tuple[str, str]]) -> dict[str, Any]:
    """Return these operations and the components they need, without prose."""
    paths: dict[str, Any] = {}
    for path, method in sorted(wanted):
        paths.setdefault(path, {})[method] = without_prose(described["paths"][path][method])
    components: dict[str, Any] = {}
    todo = sorted(_references(paths))
    while todo:
        _, _, kind, name = todo.pop().split("/")
        if name not in components.setdefault(kind, {}):
            component = without_prose(described["components"][kind][name])
            components[kind][name] = component
            todo += _references(component)
    ordered = {kind: dict(sorted(named.items())) for kind, named in sorted(components.items())}
    return {"openapi": described["openapi"], "paths": paths, "components": ordered}


def trimmed_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions of our events and all that they stand on."""
    found: dict[str, Any] = {}
    todo = [f"#/definitions/{schema_name(event, action)}" for event, action in _events()]
    while todo:
        name = todo.pop().removeprefix("#/definitions/")
        if name not in found:
            found[name] = without_prose(schema["definitions"][name])
            todo += _references(found[name])
    return {"$schema": schema["$schema"], "definitions": dict(sorted(found.items()))}


def recorded(index: list[dict[str, Any]], schema: dict[str, Any]) -> dict[str, Any]:
    """Return for each event the smallest recorded payload that the schema allows."""
    examples = {each["name"]: each["examples"] for each in index}
    payloads: dict[str, Any] = {}
    for event, action in _events():
        reference = {"$ref": f"#/definitions/{schema_name(event, action)}"}
        allowed = jsonschema_rs.Draft7Validator({**schema, **reference})
        fitting = [
            each
            for each in examples[event]
            if each.get("action") == action and allowed.is_valid(each)
        ]
        payloads[schema_name(event, action)] = min(fitting, key=_emptiness)
    return payloads


def _emptiness(payload: dict[str, Any]) -> tuple[int, int]:
    """A payload that says more is better, and of those the shorter one."""
    return list(payload.values()).count(None), len(json.dumps(payload))


def schema_name(event: str, action: str | None) -> str:
    """Return the name that the schemas give to an event with this action."""
    return f"{event}${action or 'event'}"


def _events() -> Iterator[tuple[str, str | None]]:
    for event, actions in EVENTS.items():
        for action in actions:
            yield event, action


def without_prose(value: Any, *, names: bool = False) -> Any:
    """Drop what only people read; under `properties` every key is a name and stays."""
    if isinstance(value, list):
        return [without_prose(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_prose(each, names=key == "properties" and not names)
        for key, each in value.items()
        if names or key not in _PROSE
    }


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def fetch(package: tuple[str, str, str], member: str) -> bytes:
    """Return a file of an npm package whose integrity is the one written down."""
    name, version, integrity = package
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", f"{name}@{version}"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        archive = next(Path(folder).iterdir())
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if integrity != f"sha512-{found}":
            raise SystemExit(f"{name} {version} has the integrity sha512-{found}")
        with tarfile.open(archive) as files:
            content = files.extractfile(member)
            if content is None:
                raise SystemExit(f"{name} {version} has no file {member}")
            return content.read()


def _write(name: str, value: dict[str, Any]) -> None:
    (TARGET / name).write_text(in_lines(value), encoding="utf-8")


def in_lines(value: dict[str, Any]) -> str:
    """Return JSON with one line for each path, component or definition, so that changes show."""
    lines = ["{"]
    for key, part in value.items():
        lines += [f"{json.dumps(key)}: {_block(part, 2 if key == 'components' else 1)},"]
    lines[-1] = lines[-1].removesuffix(",")
    return "\n".join([*lines, "}", ""])


def _block(value: Any, depth: int) -> str:
    if depth == 0 or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    inner = [f"{json.dumps(key)}:{_block(each, depth - 1)}" for key, each in value.items()]
    return "{\n" + ",\n".join(inner) + "\n}"


if __name__ == "__main__":
    main()
