"""JSON Schemas of what people write, for editors: completion, hover texts, red lines.

They are made from the same models that read the files. What a model's own validators refuse, and
what only shows when manifests are together, a schema cannot say; `gateval validate` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import MODEL_RUNTIME, AgentSpec, RuntimeSpec
from gateval.domain.manifests.evaluation import ScriptedSpec
from gateval.domain.manifests.gate_config import GateConfig
from gateval.formats.base import NATIVE_VERSION, Registries
from gateval.formats.native.agent import NOT_WRITTEN
from gateval.formats.native.experiment_document import ExperimentBody
from gateval.formats.native.fixture import (
    COMMON_KEYS,
    INNER_KEYS,
    PARTS,
    WEIGHED_KEYS,
    AssertionCommon,
    FixtureBody,
)
from gateval.formats.native.written import KINDS as MANIFESTS
from gateval.formats.native.written import manifest_kind

Schema: TypeAlias = dict[str, Any]
Definitions: TypeAlias = dict[str, Schema]

_REFERENCE = "#/$defs/"


def properties(schema: Schema) -> dict[str, Schema]:
    """Return the properties of an object's schema, to read or to change."""
    found: dict[str, Schema] = schema["properties"]
    return found


def variant(
    word: str,
    common: Schema,
    options: Schema,
    *,
    implied: bool = False,
    needed: tuple[str, ...] = (),
) -> Schema:
    """Return the schema of an object whose `type` is `word`: its own keys and the common ones.

    `implied`: the object may leave out `type`. `needed` are common keys that it may not leave out.
    """
    shared = properties(common)
    kind = {key: value for key, value in shared["type"].items() if key != "default"}
    required = [*([] if implied else ["type"]), *options.get("required", ()), *needed]
    return {
        **options,
        "properties": {**shared, **options.get("properties", {}), "type": {**kind, "const": word}},
        "required": required,
    }


def choice(names: list[str]) -> Schema:
    """Return that exactly one of these definitions must fit."""
    return {"oneOf": [{"$ref": f"{_REFERENCE}{name}"} for name in names]}


def pruned(schema: Schema, definitions: Definitions) -> Definitions:
    """Return the definitions that `schema` uses, directly or not, by name."""
    used: set[str] = set()
    waiting = set(_references(schema))
    while waiting:
        name = waiting.pop()
        used.add(name)
        waiting |= set(_references(definitions[name])) - used
    return {name: definitions[name] for name in sorted(used)}


def tidy(schema: Any) -> Any:
    """Return a schema without the titles and null defaults that nobody wrote.

    Of descriptions the first paragraph stays: what follows is for readers of the code.
    """
    if isinstance(schema, list):
        return [tidy(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key == "default" and value in (None, {}, []):
            continue
        if key == "description" and isinstance(value, str):
            kept[key] = re.sub(r"\s+", " ", value.partition("\n\n")[0]).strip()
        else:
            kept[key] = tidy(value)
    return kept


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for part in schema:
            yield from _references(part)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix(_REFERENCE)
            else:
                yield from _references(value)


DIALECT = "https://json-schema.org/draft/2020-12/schema"

_SINGLE: Mapping[str, type[BaseModel]] = {"GateConfig": GateConfig, "ScriptedModel": ScriptedSpec}

KINDS: tuple[str, ...] = (*MANIFESTS, *_SINGLE)
"""Everything that people write, by the name that `manifest_schema` takes."""


def manifest_schema(kind: str, registries: Registries) -> JsonObject:
    """Return the JSON Schema (2020-12) of a kind. Raises KeyError for a kind not in `KINDS`."""
    root = _SINGLE[kind] if kind in _SINGLE else manifest_kind(kind).written
    models = _Models(
        [root, FixtureBody, ExperimentBody, AssertionCommon, AgentSpec, RuntimeSpec], registries
    )
    if kind == "EvalFixture":
        _put_assertions(models, registries)
    if kind == "Experiment":
        _put_scorers(models, registries)
    if kind == "Agent":
        _put_runtimes(models, registries)
    schema = models.definition(root)
    if kind in MANIFESTS:
        # The `status` that exports of pai.io/v1 carry is allowed, and only there.
        status: JsonObject = {"description": "What a cluster knows of the manifest. Left alone."}
        schema = {
            **schema,
            "properties": {**properties(schema), "status": status},
            "if": {"properties": {"apiVersion": {"const": NATIVE_VERSION}}},
            "then": {"properties": {"status": False}},
        }
    definitions = pruned(schema, models.definitions)
    return {
        "$schema": DIALECT,
        "title": kind,
        **tidy(schema),
        **({"$defs": tidy(definitions)} if definitions else {}),
    }


class _Models:
    """The schemas of several models with one set of definitions, which may be changed."""

    def __init__(self, roots: list[type[BaseModel]], registries: Registries) -> None:
        known = [*roots, *registries.assertions.values(), *registries.runtimes.values()]
        unique = dict.fromkeys(known)
        references, schema = models_json_schema(
            [(model, "validation") for model in unique], by_alias=True
        )
        self.definitions: Definitions = schema["$defs"]
        self._names = {
            model: reference["$ref"].rpartition("/")[2]
            for (model, _), reference in references.items()
        }

    def definition(self, model: type[BaseModel]) -> JsonObject:
        """The schema of a model, to read or to change."""
        return self.definitions[self._names[model]]


def _put_assertions(models: _Models, registries: Registries) -> None:
    common = models.definition(AssertionCommon)
    names = []
    for word, options in registries.assertions.items():
        names.append(f"assertion-{word}")
        models.definitions[names[-1]] = variant(word, common, models.definition(options))
    for word in registries.combinators:
        keys = WEIGHED_KEYS if word in registries.weighing else INNER_KEYS
        outside = dict.fromkeys((key for key in COMMON_KEYS if key not in keys), False)
        inside = choice(names) | {"properties": outside}
        properties(models.definitions[f"assertion-{word}"])[PARTS] |= {"items": inside}
    where = properties(models.definition(FixtureBody))
    where["assertions"] |= {"items": choice(names)}


def _put_scorers(models: _Models, registries: Registries) -> None:
    """Name the scorers, for completion; what their options are the reader checks."""
    words: JsonObject = {
        "enum": [*dict.fromkeys((*registries.scorers, *registries.assertions))],
        "description": "A scorer, or an assertion: its score is one.",
    }
    common = properties(models.definition(AssertionCommon))
    keys = {key: one for key, one in common.items() if key in {"name", "weight"}}
    mapping: JsonObject = {"type": "object", "required": ["type"]}
    mapping["properties"] = {"type": words, **keys}
    where = properties(models.definition(ExperimentBody))
    where["scorers"] |= {"items": {"anyOf": [words, mapping]}}


def _put_runtimes(models: _Models, registries: Registries) -> None:
    common = models.definition(RuntimeSpec)
    for key in NOT_WRITTEN:
        properties(common).pop(key)
    names = []
    for word, options in registries.runtimes.items():
        names.append(f"runtime-{word}")
        own = models.definition(options)
        models.definitions[names[-1]] = variant(
            word,
            common,
            own,
            implied=word == MODEL_RUNTIME,
            needed=registries.required.get(word, ()),
        )
    where = properties(models.definition(AgentSpec))
    where["runtime"] = {"description": where["runtime"]["description"], **choice(names)}
