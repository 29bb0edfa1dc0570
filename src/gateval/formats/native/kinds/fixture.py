"""Reads an EvalFixture; `assertion.py` reads what is under `assertions`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gateval.domain.base import JsonObject, Name, Spec
from gateval.domain.manifests.fixture import (
    Fixture,
    FixtureInput,
    FixtureKind,
    Origin,
    ToolReplay,
)
from gateval.domain.manifests.severity import Severity
from gateval.formats.native.kinds.assertion import read_assertions
from gateval.formats.native.written import ManifestKind, Read, Source, Written, canonical, meaning
from gateval.formats.problems.validation import validate


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


_ASSERTIONS = ("spec", "assertions")

_CHECKED_LATER = ("targetAgent", "toolReplay", "shadowTools")
"""Keys that are checked together with the Eval and the Agent, so their places are kept."""


def read(source: Source) -> Read:
    """Return the fixture and its problems; assertions are checked even if the rest is wrong."""
    document, problems = validate(FixtureDocument, source.body, source.document)
    assertions, broken = read_assertions(source, _ASSERTIONS)
    if document is None or broken:
        return Read(None, (*problems, *broken))
    spec = document.spec
    written = canonical(spec) | {"assertions": [each.meaning for each in assertions]}
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
    return Read(fixture, problems)


FIXTURE = ManifestKind("EvalFixture", FixtureDocument, read)
