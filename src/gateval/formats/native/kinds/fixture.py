"""Reads an EvalFixture; `assertion.py` reads what is under `assertions`."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field, field_validator

from gateval.domain.base import JsonObject, Name, Spec
from gateval.domain.manifests.fixture import (
    AssertionSpec,
    Fixture,
    FixtureInput,
    FixtureKind,
    InputType,
)
from gateval.domain.manifests.fixtures.messages import (
    MESSAGES_LIMIT,
    Content,
    Role,
    files_in,
    text_of,
)
from gateval.domain.manifests.fixtures.playground import PlaygroundSpec
from gateval.domain.manifests.fixtures.recorded import Origin, ToolReplay
from gateval.domain.manifests.fixtures.reference import Reference
from gateval.domain.manifests.severity import Severity
from gateval.domain.repository.place import Problem
from gateval.formats.native.cases.written import CasesFile
from gateval.formats.native.kinds.assertion import read_assertions
from gateval.formats.native.kinds.attached import plain_content, with_file_places
from gateval.formats.native.written import ManifestKind, Read, Source, Written, canonical, meaning
from gateval.formats.problems.sentences import missing_key
from gateval.formats.problems.validation import problem_at, validate
from gateval.formats.yaml.document import Document, DocumentPath


class TurnBody(Spec):
    """One turn of a conversation: what the user says, and what must hold of the answer."""

    user: Content = Field(description="What the user says.")
    assertions: tuple[JsonObject, ...] = Field(
        default=(), description="What must hold of the answer to that, and of the steps to it."
    )

    @field_validator("user")
    @classmethod
    def _says_something(cls, user: Content) -> Content:
        if not text_of(user).strip() and not any(files_in(user)):
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
    cases: CasesFile | None = Field(
        default=None,
        description="Makes this the template of many fixtures, one for each case: every "
        "`{{ case.x }}` below is filled in.",
    )
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
    reference: Reference | None = Field(
        default=None, description="What a good answer is, for judges and checks; agents get none."
    )
    playground: PlaygroundSpec | None = None
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


_CHECKED_LATER = ("targetAgent", "playground", "toolReplay", "shadowTools")
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
    if missing := _missing(spec, source.document):
        return Meant(None, None, (*problems, *missing))
    turns = tuple(turn.user for turn in spec.turns)
    written: JsonObject = canonical(spec) | {"assertions": [each.meaning for each in assertions]}
    if turns:
        written["turns"] = [plain_content(one) for one in turns]
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
        reference=spec.reference,
        assertions=tuple(assertions),
        playground=spec.playground,
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
    return Meant(with_file_places(fixture, source.document), written, problems)


def _read_assertions(source: Source) -> tuple[list[AssertionSpec], list[Problem]]:
    """Return the assertions of the whole, then those of each turn, and what is wrong with them."""
    assertions, problems = read_assertions(source, ("spec", "assertions"))
    turns = source.document.data_at(("spec", "turns"))
    for number in range(len(turns) if isinstance(turns, list) else 0):
        more, broken = read_assertions(source, ("spec", "turns", number, "assertions"))
        assertions += [one.model_copy(update={"turn": number + 1}) for one in more]
        problems += broken
    return assertions, problems


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
        if written and spec.origin is not None and spec.kind is FixtureKind.BAD:
            message = f"{message} The agent failed here: write what it should have done."
        wanted.append((("spec", "assertions"), message))
    return tuple(problem_at(document, path, message) for path, message in wanted)


FIXTURE = ManifestKind("EvalFixture", FixtureDocument, read)
