"""The JSON Schemas for editors: they say yes to what the reader takes and no to what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from gateval.app.authoring import manifests_schema
from gateval.domain.base import JsonObject
from gateval.formats.schemas import KINDS, manifest_schema
from gateval.formats.yaml_reader import read_documents
from tests.helpers.manifests import REGISTRIES, parse

PAI = Path(__file__).parents[2] / "data" / "pai"


@cache
def schema_of(kind: str) -> JsonObject:
    return manifest_schema(kind, REGISTRIES)


@cache
def validator(kind: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(schema_of(kind))


def documents(text: str) -> list[Any]:
    found, problems = read_documents("a.yaml", text.encode())
    assert problems == ()
    return [document.data for document in found]


def examples() -> list[JsonObject]:
    return [
        one for file in sorted(PAI.glob("*.yaml")) for one in documents(file.read_text("utf-8"))
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_schema_is_a_schema(kind: str) -> None:
    schema = schema_of(kind)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == kind
    jsonschema_rs.meta.validate(schema)


def test_the_examples_fit() -> None:
    validators = {kind: validator(kind) for kind in KINDS}
    assert len(examples()) == 13
    for example in examples():
        kind = example["kind"]
        assert isinstance(kind, str)
        assert [str(error) for error in validators[kind].iter_errors(example)] == []


def test_one_schema_for_files_with_several_kinds() -> None:
    schema = manifests_schema()
    jsonschema_rs.meta.validate(schema)
    whole = jsonschema_rs.Draft202012Validator(schema)
    for example in examples():
        assert [str(error) for error in whole.iter_errors(example)] == []
        assert not whole.is_valid({**example, "kind": "Unknown"})
        assert not whole.is_valid({**example, "metadata": 7})
    single = validator("Agent").iter_errors({"kind": "Agent", "spec": {"runtime": {"typ": "x"}}})
    several = whole.iter_errors({"kind": "Agent", "spec": {"runtime": {"typ": "x"}}})
    assert len(list(several)) == len(list(single)) > 0


FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: f}
spec:
  input: {type: prompt, payload: {prompt: hi}}
  assertions:
    - {type: judge, rubric: polite, weight: 2, severity: high, axis: tone}
"""
EVAL = """\
apiVersion: pai.io/v1
kind: Eval
metadata: {name: e}
spec: {targetAgent: a, fixtures: [f]}
status: {phase: Passed}
"""
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: a, uid: 1}
spec:
  memories: [x]
  system: {file: p.md}
  runtime: {type: service, cwd: a, command: [run], ready: {path: /}, env: {A: b}}
"""
CALIBRATION = """\
apiVersion: gateval/v1
kind: JudgeCalibration
metadata: {name: c}
spec:
  rubric: polite
  judgeModels: [openai/gpt-5]
  examples: [{candidateOutput: hello, humanScore: 1}]
"""

BROKEN = [
    (FIXTURE, "gateval/v1", "gateval/v2"),
    (FIXTURE, "kind: EvalFixture", "kind: Eval"),
    (FIXTURE, "{name: f}", "{name: F}"),
    (FIXTURE, "{name: f}", "{name: f, label: {}}"),
    (FIXTURE, "spec:", "status: {}\nspec:"),
    (FIXTURE, "spec:", "spec:\n  target_agent: a"),
    (FIXTURE, "type: prompt", "type: mail"),
    (FIXTURE, "type: judge", "type: juge"),
    (FIXTURE, "type: judge, ", ""),
    (FIXTURE, "rubric: polite, ", ""),
    (FIXTURE, "weight: 2", "weight: -1"),
    (FIXTURE, "weight: 2", "wieght: 2"),
    (FIXTURE, "severity: high", "severity: top"),
    (EVAL, "targetAgent: a, ", ""),
    (EVAL, "fixtures: [f]", "fixtures: f"),
    (EVAL, "fixtures: [f]", "scoring: {passThreshold: 85}"),
    (EVAL, "fixtures: [f]", "judge: {model: gpt}"),
    (EVAL, "fixtures: [f]", "pass_threshold: 1"),
    (AGENT, "type: service", "type: servise"),
    (AGENT, "type: service", "type: command"),
    (AGENT, "command: [run]", "command: run"),
    (AGENT, "ready: {path: /}", "ready: {}"),
    (AGENT, "system: {file: p.md}", "system: {fiel: p.md}"),
    (CALIBRATION, "humanScore: 1", "humanScore: 2"),
    (CALIBRATION, "rubric: polite", "rubrik: polite"),
]


@pytest.mark.parametrize(("text", "old", "new"), BROKEN)
def test_reader_and_schema_agree(text: str, old: str, new: str) -> None:
    (good,) = documents(text)
    (bad,) = documents(text.replace(old, new, 1))
    schema = validator(good["kind"])
    assert schema.is_valid(good)
    assert not schema.is_valid(bad)
    assert parse(text).problems == ()
    parsed = parse(text.replace(old, new, 1))
    assert parsed.problems or old.startswith("kind:")


def test_a_model_runtime_needs_no_type() -> None:
    schema = validator("Agent")
    (agent,) = documents(AGENT)
    for runtime in ({}, {"type": "model"}):
        agent["spec"]["runtime"] = runtime
        assert schema.is_valid(agent)


def test_files_of_one_value() -> None:
    config, script = validator("GateConfig"), validator("ScriptedModel")
    assert config.is_valid({"manifests": ["a/**"], "policy": {"candidateEnv": ["LANG"]}})
    assert not config.is_valid({"policy": {"candidate_env": []}})
    assert script.is_valid({"rules": [{"when": {"user": "x"}, "toolCalls": [{"name": "t"}]}]})
    assert not script.is_valid({"rules": []})


def nodes(schema: object, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property of a schema, with its path."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "properties":
                for name, one in value.items():
                    if isinstance(one, dict):
                        yield f"{path}.{name}", one
            yield from nodes(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from nodes(value, f"{path}/{index}")


@pytest.mark.parametrize("kind", KINDS)
def test_editors_can_explain_every_key(kind: str) -> None:
    """Each key of ours is described, itself or by what it refers to."""
    schema = schema_of(kind)
    definitions: Any = schema.get("$defs", {})
    ours = {
        name for name in definitions if not name.startswith(("assertion-", "runtime-", "UpWhen"))
    }
    for path, node in nodes({**schema, "$defs": {name: definitions[name] for name in ours}}):
        parts = [node, *node.get("anyOf", ())]
        referred = [definitions[part["$ref"][8:]] for part in parts if "$ref" in part]
        assert "const" in node or any(part.get("description") for part in (*parts, *referred)), path


def test_nothing_internal_is_left() -> None:
    for kind in KINDS:
        for path, node in nodes(schema_of(kind)):
            assert "title" not in node, path
            assert not path.endswith((".options", ".needsJudge", ".place"))


def test_an_unknown_kind_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        manifest_schema("Nothing", REGISTRIES)
