"""The page of all keys of manifests and of the gate config, made from their schemas."""

from __future__ import annotations

from typing import Any

from gateval.app.authoring import schema_of
from gateval.formats.schemas import KINDS
from tools.key_table import Schema, key_table

_INTRODUCTION = """\
# Keys

Every key of every kind, with its default, as the [schemas](schema/) have them. Those of a
manifest's `spec` are told; `apiVersion`, `kind` and `metadata` (`name`, `labels`) stand above it.
[Manifests](manifests.md) says how they work together. A word in brackets says for which `type` a
key is.
"""


def page() -> str:
    """Return `docs/reference/keys.md`."""
    parts = [_INTRODUCTION]
    for kind in KINDS:
        schema: dict[str, Any] = schema_of(kind)
        parts.append(
            f"## {kind}\n\n{schema['description']}\n\n{key_table(_spec(schema), schema['$defs'])}"
        )
    return "\n".join(parts)


def _spec(schema: Schema) -> Schema:
    """Return the part that a manifest has of its own; all of it, of what is no manifest."""
    spec = schema["properties"].get("spec")
    return schema["$defs"][spec["$ref"].rpartition("/")[2]] if spec else schema
