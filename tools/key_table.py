"""The keys that a JSON Schema allows, as one table: what each is for, takes, and has by default."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

Schema = dict[str, Any]

_WORDS = {"string": "a text", "boolean": "`true`, `false`", "object": "a mapping"}


class _Key(NamedTuple):
    path: str
    what: str
    values: str
    default: str
    kind: str = ""


class _Choice(NamedTuple):
    """One of what may stand at a key: the name of its definition, and whether in a list."""

    name: str
    schema: Schema
    listed: bool

    @property
    def is_assertion(self) -> bool:
        return self.name.startswith("assertion-")

    @property
    def kind(self) -> str:
        """What tells it from its like: the `type` that it asks for, or the several."""
        asked = self.schema["properties"].get("type", {})
        return "`, `".join(asked.get("enum", [asked.get("const", self.name)]))


def key_table(schema: Schema, definitions: Schema | None = None) -> str:
    """Return a table of all keys, those inside others by their paths (`policy.bypass.roles`).

    `definitions` are what `$ref` leads to, if not the schema's own `$defs`. Where a mapping has
    several kinds, told apart by `type`, a key is told once, with the kinds that have it.
    """
    known = schema.get("$defs", {}) if definitions is None else definitions
    rows = [
        f"| `{one.path}` | {_cell(one)} | {one.values} | {one.default} |"
        for one in _keys(schema, known, "", ())
    ]
    return "\n".join(["| key | what | values | default |", "|---|---|---|---|", *rows]) + "\n"


def _cell(key: _Key) -> str:
    return key.what.replace("|", "\\|") + (f" (`{key.kind}`)" if key.kind else "")


def _keys(schema: Schema, known: Schema, above: str, inside: tuple[str, ...]) -> Iterator[_Key]:
    required = set(schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        choices = _choices(field, known)
        mappings = [one for one in choices if "properties" in one.schema]
        default = _default(None if mappings else field.get("default"))
        default = "required" if name in required else default
        shown = _shown(choices, known) if mappings else values(field, known)
        yield _Key(f"{above}{name}", _description(field, choices), shown, default)
        inner = [one for one in mappings if one.name not in inside and not one.is_assertion]
        yield from _inner(inner, known, f"{above}{name}", inside)


def _inner(
    mappings: list[_Choice], known: Schema, above: str, inside: tuple[str, ...]
) -> Iterator[_Key]:
    """Yield the keys of mappings that may stand at a path; of several, with the kinds."""
    found: dict[_Key, list[str]] = {}
    for one in mappings:
        path = f"{above}[]." if one.listed else f"{above}."
        for key in _keys(one.schema, known, path, (*inside, one.name)):
            if len(mappings) == 1 or key.path != f"{path}type":
                found.setdefault(key, []).append(one.kind)
    for key, kinds in found.items():
        yield key if len(kinds) == len(mappings) else key._replace(kind="`, `".join(kinds))


def _description(field: Schema, choices: list[_Choice]) -> str:
    told = (one.schema["description"] for one in choices if "description" in one.schema)
    return str(field.get("description") or next(told, ""))


def _shown(choices: list[_Choice], known: Schema) -> str:
    words = []
    for one in choices:
        word = "assertion" if one.is_assertion else "mapping"
        if "properties" not in one.schema:
            words.append(values(one.schema, known))
        else:
            words.append(f"a list of {word}s" if one.listed else f"a {word}")
    return " or ".join(dict.fromkeys(words))


def _choices(
    field: Schema, known: Schema, name: str = "", *, listed: bool = False
) -> list[_Choice]:
    """Return what may stand there, and whether in a list."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return _choices(known.get(name, {}), known, name, listed=listed)
    for word in ("anyOf", "oneOf"):
        if word in field:
            return [
                one for part in field[word] for one in _choices(part, known, name, listed=listed)
            ]
    if field.get("type") == "array" and isinstance(field.get("items"), dict):
        inner = _choices(field["items"], known, listed=True)
        if any("properties" in one.schema for one in inner):
            return inner
    return [] if field.get("type") == "null" else [_Choice(name, field, listed)]


def _default(value: object) -> str:
    return "none" if value in (None, "", [], {}) else f"`{json.dumps(value)}`"


def values(field: Schema, known: Schema) -> str:
    """Return in words what a field takes."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        if name.startswith("assertion-"):
            return "an assertion"
        return values(known[name], known) if known.get(name) else "any JSON"
    for word in ("anyOf", "oneOf"):
        if word in field:
            parts = [one for one in field[word] if one.get("type") != "null"]
            return " or ".join(dict.fromkeys(values(one, known) for one in parts))
    if "enum" in field or "const" in field:
        return ", ".join(f"`{one}`" for one in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        if each := field.get("prefixItems"):
            return f"a list of {len(each)}: {', '.join(values(one, known) for one in each)}"
        inner = values(field.get("items") or {}, known)
        plural = {"a text": "texts", "a mapping": "mappings", "an assertion": "assertions"}
        number = "whole numbers" if inner.startswith("a whole number") else inner
        return f"a list of {plural.get(inner, number)}"
    if field.get("type") in ("integer", "number"):
        return _number(field)
    return _WORDS.get(field.get("type", ""), "any JSON")


def _number(field: Schema) -> str:
    kind = "a whole number" if field["type"] == "integer" else "a number"
    if "exclusiveMinimum" in field:
        return f"{kind} above {field['exclusiveMinimum']:,.9g}"
    if "minimum" in field and "maximum" in field:
        return f"{kind} from {field['minimum']:,.9g} to {field['maximum']:,.9g}"
    return f"{kind} from {field['minimum']:,.9g}" if "minimum" in field else kind
