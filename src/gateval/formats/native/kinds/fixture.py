"""Reads an EvalFixture; each assertion is checked by the model registered for its type."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field, JsonValue

from gateval.domain.base import JsonObject, Name, Spec
from gateval.domain.manifests.fixture import (
    AssertionSpec,
    Fixture,
    FixtureInput,
    FixtureKind,
    Origin,
    ToolReplay,
)
from gateval.domain.manifests.severity import Severity, Weight
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote
from gateval.formats.native.cases.written import CasesFile
from gateval.formats.native.written import ManifestKind, Read, Source, Written, canonical, meaning
from gateval.formats.problems.sentences import unknown_word
from gateval.formats.problems.validation import PROBLEM_LIMIT, problem_at, validate


class AssertionCommon(Spec):
    """The keys that every assertion has."""

    type: str = Field(description="Which assertion this is.")
    weight: Weight = Field(default=1.0, description="How much it counts in its fixture's score.")
    severity: Severity | None = Field(
        default=None,
        description="How much it matters inside its fixture; the fixture's severity if absent.",
    )
    axis: str | None = Field(
        default=None, description="The quality it measures, for grouping in reports."
    )


class FixtureBody(Spec):
    """`spec` of an EvalFixture."""

    target_agent: Name | None = Field(
        default=None,
        description="The Agent this fixture is meant for: no other Agent's Eval can select it.",
    )
    kind: FixtureKind = Field(
        default=FixtureKind.GOLDEN,
        description="What the fixture documents; the gate treats all three alike.",
    )
    severity: Severity = Field(
        default=Severity.MEDIUM, description="How much this fixture weighs in the Eval's score."
    )
    description: str = Field(
        default="", description="What it is about, in a sentence; reports show it."
    )
    origin: Origin | None = None
    cases: CasesFile | None = Field(
        default=None,
        description="Makes this the template of many fixtures, one for each case: every "
        "`{{ case.x }}` below is filled in.",
    )
    input: FixtureInput
    assertions: tuple[JsonObject, ...] = Field(
        min_length=1, description="What must hold; all of them, for the fixture to pass."
    )
    tool_replay: tuple[ToolReplay, ...] = Field(
        default=(), description="Recorded answers of tools, given instead of calling them."
    )
    shadow_tools: tuple[str, ...] = Field(
        default=(),
        description='Tools whose calls are only recorded and answered with `{"shadow": true}`.',
    )


class FixtureDocument(Written):
    """One test case: one input, and the assertions on what comes of it."""

    kind: Literal["EvalFixture"]
    spec: FixtureBody


COMMON_KEYS = tuple(AssertionCommon.model_fields)
"""They are one word each, so field and key are the same."""


_CHECKED_LATER = ("targetAgent", "toolReplay", "shadowTools")
"""Keys that are checked together with the Eval and the Agent, so their places are kept."""


class Meant(NamedTuple):
    """A fixture, what it means by keys of `spec`, and its problems; if any, neither is there."""

    fixture: Fixture | None
    written: JsonObject | None
    problems: tuple[Problem, ...]


def read(source: Source) -> Read:
    """Return the fixture and its problems; assertions are checked even if the rest is wrong."""
    found = read_meaning(source)
    return Read(found.fixture, found.problems)


def read_meaning(source: Source) -> Meant:
    """Return the fixture with what its digest covers."""
    document, problems = validate(FixtureDocument, source.body, source.document)
    assertions, broken = _read_assertions(source)
    if document is None or broken:
        return Meant(None, None, (*problems, *broken))
    spec = document.spec
    written: JsonObject = canonical(spec) | {"assertions": [_meant(each) for each in assertions]}
    fixture = Fixture(
        name=document.metadata.name,
        labels=document.metadata.labels,
        target_agent=spec.target_agent,
        fixture_kind=spec.kind,
        severity=spec.severity,
        description=spec.description,
        origin=spec.origin,
        input=spec.input,
        assertions=tuple(assertions),
        tool_replay=spec.tool_replay,
        shadow_tools=spec.shadow_tools,
        place=source.document.place(("metadata", "name")),
        places={
            f"spec.{key}": source.document.key_place(("spec", key))
            for key in _CHECKED_LATER
            if source.document.data_at(("spec", key)) is not None
        },
        path=source.path,
        digest=meaning(document.kind, document.metadata, written),
    )
    return Meant(fixture, written, problems)


def _read_assertions(source: Source) -> tuple[list[AssertionSpec], list[Problem]]:
    raw = source.document.data_at(("spec", "assertions"))
    assertions: list[AssertionSpec] = []
    problems: list[Problem] = []
    for index, each in enumerate(raw if isinstance(raw, list) else []):
        if len(problems) > PROBLEM_LIMIT:
            break
        if isinstance(each, dict):  # anything else, the fixture's own check has refused
            assertion, broken = _read_assertion(source, index, each)
            problems += broken
            if assertion is not None:
                assertions.append(assertion)
    return assertions, problems


def _unknown_type(kind: str, source: Source) -> str:
    known = source.registries.elsewhere.get(kind.lower().replace("_", "-"))
    if known is None:
        return unknown_word("assertion type", kind, list(source.registries.assertions))
    return f"Unknown assertion type {quote(kind)}. Here it is {known}."


def _read_assertion(
    source: Source, index: int, raw: JsonObject
) -> tuple[AssertionSpec | None, tuple[Problem, ...]]:
    document, path = source.document, ("spec", "assertions", index)
    common_raw: JsonObject = {key: raw[key] for key in raw if key in COMMON_KEYS}
    options: JsonObject = {key: raw[key] for key in raw if key not in COMMON_KEYS}
    common, problems = validate(AssertionCommon, common_raw, document, path)
    kind = raw.get("type")
    if not isinstance(kind, str):
        return None, problems
    registered = source.registries.assertions.get(kind)
    if registered is None:
        message = _unknown_type(kind, source)
        return None, (*problems, problem_at(document, (*path, "type"), message))
    _, broken = validate(registered, options, document, path, also_known=COMMON_KEYS)
    if common is None or broken:
        return None, (*problems, *broken)
    assertion = AssertionSpec(
        type=kind,
        weight=common.weight,
        severity=common.severity,
        axis=common.axis,
        options=options,
        needs_judge=kind in source.registries.judged,
        place=document.place(path),
    )
    return assertion, ()


def _meant(assertion: AssertionSpec) -> JsonValue:
    return assertion.model_dump(
        mode="json", exclude={"place", "needs_judge"}, exclude_defaults=True
    )


FIXTURE = ManifestKind("EvalFixture", FixtureDocument, read)
