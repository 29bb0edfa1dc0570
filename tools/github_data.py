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

from tests.servers.github import routes
from tests.servers.github.routing import ROUTES

TARGET = Path(__file__).parents[1] / "tests" / "data" / "github"
OPENAPI = (
    "@octokit/openapi",
    "23.0.2",
    "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
)
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
    described = json.loads(_fetch(OPENAPI, "package/generated/api.github.com.json"))
    _write("openapi.json", {"source": " ".join(OPENAPI), **trimmed(described, operations())})


def operations() -> set[tuple[str, str]]:
    """Return (path, method) of all that the test server serves."""
    if not routes.__all__:
        raise SystemExit("importing the routes registers none")
    return {(route.template, route.method.lower()) for route in ROUTES}


def trimmed(described: dict[str, Any], wanted: set[tuple[str, str]]) -> dict[str, Any]:
    """Return these operations and the components they need, without prose."""
    paths: dict[str, Any] = {}
    for path, method in sorted(wanted):
        paths.setdefault(path, {})[method] = _without_prose(described["paths"][path][method])
    components: dict[str, Any] = {}
    todo = sorted(_references(paths))
    while todo:
        _, _, kind, name = todo.pop().split("/")
        if name not in components.setdefault(kind, {}):
            component = _without_prose(described["components"][kind][name])
            components[kind][name] = component
            todo += _references(component)
    ordered = {kind: dict(sorted(named.items())) for kind, named in sorted(components.items())}
    return {"openapi": described["openapi"], "paths": paths, "components": ordered}


def _without_prose(value: Any, *, names: bool = False) -> Any:
    """Drop what only people read; under `properties` every key is a name and stays."""
    if isinstance(value, list):
        return [_without_prose(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_prose(each, names=key == "properties" and not names)
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


def _fetch(package: tuple[str, str, str], member: str) -> bytes:
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
    """Write JSON with one line for each path, component or definition, so that changes show."""
    lines = ["{"]
    for key, part in value.items():
        lines += [f"{json.dumps(key)}: {_block(part, 2 if key == 'components' else 1)},"]
    lines[-1] = lines[-1].removesuffix(",")
    (TARGET / name).write_text("\n".join([*lines, "}", ""]), encoding="utf-8")


def _block(value: Any, depth: int) -> str:
    if depth == 0 or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    inner = [f"{json.dumps(key)}:{_block(each, depth - 1)}" for key, each in value.items()]
    return "{\n" + ",\n".join(inner) + "\n}"


if __name__ == "__main__":
    main()
