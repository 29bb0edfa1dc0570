"""Reads an EvalFixture; each assertion is checked by the model registered for its type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, JsonValue, field_validator

from gateval.domain.base import JsonObject, Name, Spec
from gateval.domain.manifests.fixture import (
    AssertionSpec,
    Fixture,
    FixtureInput,
    FixtureKind,
    InputType,
    Origin,
    ToolReplay,
)
from gateval.domain.manifests.messages import MESSAGES_LIMIT, Content, Role, text_of
from gateval.domain.manifests.severity import Severity, Weight
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote
from gateval.formats.native.written import ManifestKind, Read, Source, Written, canonical, meaning
from gateval.formats.problems.sentences import missing_key, unknown_word
from gateval.formats.problems.validation import PROBLEM_LIMIT, problem_at, validate
from gateval.formats.yaml.document import Document, DocumentPath


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


class TurnBody(Spec):
    """One turn of a conversation: what the user says, and what must hold of the answer."""

    user: Content = Field(description="What the user says.")
    assertions: tuple[JsonObject, ...] = Field(
        default=(), description="What must hold of the answer to that, and of the steps to it."
    )

    @field_validator("user")
    @classmethod
    def _says_something(cls, user: Content) -> Content:
        if not text_of(user).strip():
            raise ValueError("The user says nothing in this turn")
        return user


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
    input: FixtureInput | None = Field(
        default=None, description="What comes in; with `turns`, what was there before the first."
    )
    turns: tuple[TurnBody, ...] = Field(
        default=(),
        max_length=MESSAGES_LIMIT,
        description="What the user says, one after the other, each after the agent's answer.",
    )
    assertions: tuple[JsonObject, ...] = Field(
        default=(),
        description="What must hold; all of them, for the fixture to pass. With `turns`, they look "
        "at the whole conversation and its last answer.",
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


def read(source: Source) -> Read:
    """Return the fixture and its problems; assertions are checked even if the rest is wrong."""
    document, problems = validate(FixtureDocument, source.body, source.document)
    assertions, broken = _read_assertions(source)
    if document is None or broken:
        return Read(None, (*problems, *broken))
    spec = document.spec
    if missing := _missing(spec, source.document):
        return Read(None, (*problems, *missing))
    turns = tuple(text_of(turn.user) for turn in spec.turns)
    written = canonical(spec) | {"assertions": [_meant(each) for each in assertions]}
    if turns:
        written["turns"] = list(turns)
    fixture = Fixture(
        name=document.metadata.name,
        labels=document.metadata.labels,
        target_agent=spec.target_agent,
        fixture_kind=spec.kind,
        severity=spec.severity,
        description=spec.description,
        origin=spec.origin,
        input=spec.input or FixtureInput(type=InputType.PROMPT, payload={}),
        turns=turns,
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


def _read_assertions(source: Source) -> tuple[list[AssertionSpec], list[Problem]]:
    assertions: list[AssertionSpec] = []
    problems: list[Problem] = []
    for path, each in _written_assertions(source):
        if len(problems) > PROBLEM_LIMIT:
            break
        assertion, broken = _read_assertion(source, path, each)
        problems += broken
        if assertion is not None:
            assertions.append(assertion)
    return assertions, problems


def _written_assertions(source: Source) -> Iterator[tuple[DocumentPath, JsonObject]]:
    """Yield what stands where assertions do: those of the whole, then those of each turn.

    What is no mapping there, the fixture's own check has refused.
    """
    turns = source.document.data_at(("spec", "turns"))
    lists: list[DocumentPath] = [("spec", "assertions")]
    count = len(turns) if isinstance(turns, list) else 0
    lists += [("spec", "turns", number, "assertions") for number in range(count)]
    for path in lists:
        raw = source.document.data_at(path)
        for index, each in enumerate(raw if isinstance(raw, list) else []):
            if isinstance(each, dict):
                yield (*path, index), each


def _unknown_type(kind: str, source: Source) -> str:
    known = source.registries.elsewhere.get(kind.lower().replace("_", "-"))
    if known is None:
        return unknown_word("assertion type", kind, list(source.registries.assertions))
    return f"Unknown assertion type {quote(kind)}. Here it is {known}."


def _read_assertion(
    source: Source, path: DocumentPath, raw: JsonObject
) -> tuple[AssertionSpec | None, tuple[Problem, ...]]:
    document = source.document
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
        turn=_turn(path),
        place=document.place(path),
    )
    return assertion, ()


def _missing(spec: FixtureBody, document: Document) -> tuple[Problem, ...]:
    """Return what nothing would be asked or checked without; turns do for the rest."""
    wanted: list[tuple[DocumentPath, str]] = []
    asked = spec.input
    if not spec.turns:
        if asked is None:
            wanted.append((("spec", "input"), missing_key("input")))
        elif not asked.messages and "payload" not in asked.model_fields_set:
            wanted.append((("spec", "input", "payload"), missing_key("payload")))
        elif asked.messages and asked.messages[-1].role is not Role.USER:
            message = "The last message has to be the user's: the agent answers it."
            wanted.append((("spec", "input", "messages", len(asked.messages) - 1), message))
    if not spec.assertions and not any(turn.assertions for turn in spec.turns):
        written = "assertions" in spec.model_fields_set
        message = "Must have at least 1 entry." if written else missing_key("assertions")
        wanted.append((("spec", "assertions"), message))
    return tuple(problem_at(document, path, message) for path, message in wanted)


def _turn(path: DocumentPath) -> int | None:
    """Return the turn (from 1) whose assertion stands there, None for one of the whole."""
    number = path[2] if path[1] == "turns" else None
    return number + 1 if isinstance(number, int) else None


def _meant(assertion: AssertionSpec) -> JsonValue:
    return assertion.model_dump(
        mode="json", exclude={"place", "needs_judge"}, exclude_defaults=True
    )


FIXTURE = ManifestKind("EvalFixture", FixtureDocument, read)
