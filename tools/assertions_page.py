"""The pages of the assertions, made from their classes and samples: a list, and one page each."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gateval.assertions.base import Assertion
from gateval.assertions.registry import ASSERTIONS
from gateval.formats.native.fixture import AssertionCommon

SAMPLES = Path(__file__).parent.parent / "examples" / "assertions"

_INTRODUCTION = """\
# Assertions

One check each on a trial, under `spec.assertions` of an EvalFixture. The fixture passes when all of
them pass. An assertion is *passed*, *failed*, or an *error*: it could not be evaluated, for example
because the candidate gave no trace. An error is neither a pass nor a fail, and it keeps the fixture
from passing.

Every assertion gives one sentence, what it expected and what it saw, and the numbers of the trace
steps it rests on. Steps count from 1. The final message is the last assistant step.

| assertion | what it checks |
|---|---|
"""


def pages() -> Iterator[tuple[str, str]]:
    """Yield `assertions.md`, which lists them, and the page of each, by their paths and texts."""
    rows = [
        f"| [{name}](assertions/{name}.md) | {_checks(kind)} |" for name, kind in ASSERTIONS.items()
    ]
    common = _table(AssertionCommon.model_json_schema())
    listed = "\n".join(rows)
    yield "assertions.md", f"{_INTRODUCTION}{listed}\n\nThese keys all of them have:\n\n{common}"
    for name, kind in ASSERTIONS.items():
        yield f"assertions/{name}.md", _page(name, kind)


def _checks(kind: type[Assertion]) -> str:
    first = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    return first.replace("\n", " ").replace("|", "\\|")


def _page(name: str, kind: type[Assertion]) -> str:
    note, manifest = (SAMPLES / f"{name}.yaml").read_text(encoding="utf-8").split("apiVersion:")
    assertions = manifest.partition("  assertions:\n")[2]
    return "\n".join(
        [
            f"# {name}\n",
            f"{inspect.getdoc(kind)}\n",
            f"```yaml\nassertions:\n{textwrap.dedent(assertions)}```\n",
            f"{_uses(note)}\n",
            f"A test gives both to [`{name}.yaml`](../../../examples/assertions/{name}.yaml).\n",
            _table(kind.model_json_schema()),
            *_inner_tables(kind.model_json_schema()),
            "Keys that [all assertions](../assertions.md) have stand there.\n",
        ]
    )


def _inner_tables(schema: dict[str, Any], above: str = "") -> list[str]:
    """Return the tables of what stands in lists of mappings, those inside them too."""
    tables = []
    for key, field in schema["properties"].items():
        inner = _mapping_in(field, schema)
        if inner is not None:
            whole = {**inner, "$defs": schema["$defs"]}
            name = f"{above}{key}"
            tables += [f"Of each in `{name}`:\n", _table(whole), *_inner_tables(whole, f"{name}.")]
    return tables


def _mapping_in(field: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the mappings that a list holds, None if it holds none of their own."""
    choices = [field, *field.get("anyOf", ())]
    items = [one["items"] for one in choices if one.get("type") == "array"]
    for item in [part for one in items for part in (one, *one.get("anyOf", ()))]:
        found = schema.get("$defs", {}).get(item.get("$ref", "").rpartition("/")[2])
        if found is not None and "properties" in found:
            return dict(found)
    return None


def _uses(note: str) -> str:
    """Return the comment of a sample, without its first line, as a list."""
    lines = [line.removeprefix("# ") for line in note.splitlines()[1:]]
    starts = ("Passes", "Fails")
    return "\n".join(("- " if line.startswith(starts) else "  ") + line for line in lines)


def _table(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    rows = ["| key | what | values | default |", "|---|---|---|---|"]
    for key, field in schema["properties"].items():
        default = "required" if key in required else _default(field.get("default"))
        what = field["description"].replace("|", "\\|")
        rows.append(f"| `{key}` | {what} | {_values(field, schema)} | {default} |")
    return "\n".join(rows) + "\n"


def _default(value: object) -> str:
    return "none" if value in (None, [], {}) else f"`{json.dumps(value)}`"


def _values(field: dict[str, Any], schema: dict[str, Any]) -> str:
    """Return in words what a field takes."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return _values(schema["$defs"][name], schema) if name in schema["$defs"] else "any JSON"
    if "anyOf" in field:
        return next(_values(one, schema) for one in field["anyOf"] if one.get("type") != "null")
    if "enum" in field or "const" in field:
        return ", ".join(f"`{one}`" for one in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        if _mapping_in(field, schema) is not None:
            return "a list of mappings"
        texts = field["items"].get("type") == "string"
        return "a list of texts" if texts else "a list of assertions"
    words = {"string": "a text", "boolean": "`true`, `false`", "object": "a mapping"}
    return words.get(field.get("type", ""), _number(field) if "type" in field else "any JSON")


def _number(field: dict[str, Any]) -> str:
    kind = "a whole number" if field["type"] == "integer" else "a number"
    if "exclusiveMinimum" in field:
        return f"{kind} above {field['exclusiveMinimum']:g}"
    if "minimum" in field and "maximum" in field:
        return f"{kind} from {field['minimum']:g} to {field['maximum']:g}"
    return f"{kind} from {field['minimum']:g}" if "minimum" in field else kind
