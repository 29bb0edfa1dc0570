"""JSON Schemas of what people write, for editors: completion, hover texts, red lines.

They are made from the same models that read the files. What a model's own validators refuse, and
what only shows when manifests are together, a schema cannot say; `gateval validate` does.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import MODEL_RUNTIME, AgentSpec, RuntimeSpec
from gateval.domain.manifests.policy.gate_config import GateConfig
from gateval.domain.manifests.scripted import ScriptedSpec
from gateval.formats.native.experiments.kind import EXPERIMENT
from gateval.formats.native.experiments.written import ExperimentBody
from gateval.formats.native.kinds.agent import NOT_WRITTEN
from gateval.formats.native.kinds.assertion import (
    COMMON_KEYS,
    INNER_KEYS,
    PARTS,
    WEIGHED_KEYS,
    AssertionCommon,
)
from gateval.formats.native.kinds.fixture import FixtureBody
from gateval.formats.native.kinds.registry import KINDS as MANIFESTS
from gateval.formats.registries import Registries
from gateval.formats.schema_parts import (
    Definitions,
    choice,
    properties,
    pruned,
    tidy,
    variant,
    with_status,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_SINGLE: Mapping[str, type[BaseModel]] = {"GateConfig": GateConfig, "ScriptedModel": ScriptedSpec}

KINDS: tuple[str, ...] = (*MANIFESTS, *_SINGLE)
"""Everything that people write, by the name that `manifest_schema` takes."""


def manifest_schema(kind: str, registries: Registries) -> JsonObject:
    """Return the JSON Schema (2020-12) of a kind. Raises KeyError for a kind not in `KINDS`."""
    root = _SINGLE[kind] if kind in _SINGLE else MANIFESTS[kind].written
    models = _Models(
        [root, FixtureBody, ExperimentBody, AssertionCommon, AgentSpec, RuntimeSpec], registries
    )
    if kind == "EvalFixture":
        _put_assertions(models, registries)
    if kind == EXPERIMENT.name:
        _put_scorers(models, registries)
    if kind == "Agent":
        _put_runtimes(models, registries)
    schema = models.definition(root)
    if kind in MANIFESTS:
        schema = with_status(schema)
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
