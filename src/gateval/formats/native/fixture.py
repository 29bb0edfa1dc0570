"""Reads an EvalFixture and its assertions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field, ValidationError, field_validator

from gateval.domain.base import JsonObject, Name, Spec
from gateval.domain.manifests.fixture import (
    PREFERENCE,
    AssertionSpec,
    AssertionWeight,
    Fixture,
    FixtureInput,
    FixtureKind,
    InputType,
    Origin,
    Reference,
    Severity,
    ToolReplay,
)
from gateval.domain.manifests.messages import MESSAGES_LIMIT, Content, Role, files_in, text_of
from gateval.domain.manifests.playground import PlaygroundSpec
from gateval.domain.problems import Problem
from gateval.domain.strict_json import list_of
from gateval.domain.text import quote
from gateval.formats.base import Source
from gateval.formats.native.cases import CasesFile
from gateval.formats.native.written import (
    ManifestKind,
    ReadDocument,
    Written,
    canonical,
    envelope,
    meaning,
)
from gateval.formats.problems import PROBLEM_LIMIT, missing_key, problem_at, unknown_word, validate
from gateval.formats.yaml_document import Document, DocumentPath, write_path

PARTS = "assertions"
"""The key of a combinator under which the assertions stand that it is made of."""

LEVELS = 4
"""How deep combinators may stand in one another."""


class AssertionCommon(Spec):
    """The keys that every assertion has."""

    type: str
    """Which assertion this is."""
    weight: AssertionWeight = 1.0
    """How much it counts in its fixture's score, 0 for not at all. Whatever its weight, a fixture
    passes only if it does."""
    severity: Severity | None = None
    """How much it matters inside its fixture, by the weights of the Eval; the fixture's severity if
    absent."""
    name: str = Field(default="", max_length=200)
    """What it is called, where its type does not tell."""
    required: bool = False
    """With `scoring.model: weighted`, whether the trial fails where it fails, whatever the others
    score. With `fixtures` every assertion is required."""
    axis: str | None = None
    """The quality it measures, for grouping in reports."""


COMMON_KEYS = tuple(AssertionCommon.model_fields)
"""They are one word each, so field and key are the same."""

INNER_KEYS = ("type",)
"""What an assertion has that stands inside others."""

WEIGHED_KEYS = ("type", "name", "weight")
"""What it has where these are weighed."""


def read_assertions(
    source: Source, path: DocumentPath, level: int = 0, shared: tuple[str, ...] = COMMON_KEYS
) -> tuple[list[AssertionSpec], list[Problem]]:
    """Return the assertions in the list at `path` that are mappings, and the problems."""
    raw = source.document.data_at(path)
    assertions: list[AssertionSpec] = []
    problems: list[Problem] = []
    for index, each in enumerate(list_of(raw)):
        if len(problems) > PROBLEM_LIMIT:
            break
        if isinstance(each, dict):
            assertion, broken = read_one(source, (*path, index), each, shared, level)
            problems += broken
            if assertion is not None:
                assertions.append(assertion)
    return assertions, problems


def read_check(
    source: Source, path: DocumentPath
) -> tuple[AssertionSpec | None, tuple[Problem, ...]]:
    """Return the assertion at `path`, which has no common keys; an unknown one is `unsupported`."""
    raw = source.document.data_at(path)
    if not isinstance(raw, dict):
        return None, ()
    kind = raw.get("type")
    if isinstance(kind, str) and kind not in source.registries.assertions:
        reason = f"unsupported: there is no check of type {quote(kind)} here"
        place = source.document.place(path)
        return AssertionSpec(type="unsupported", unsupported=reason, place=place), ()
    return read_one(source, path, raw, INNER_KEYS)


def read_one(
    source: Source, path: DocumentPath, raw: JsonObject, shared: tuple[str, ...], level: int = 0
) -> tuple[AssertionSpec | None, tuple[Problem, ...]]:
    """Return the assertion `raw` at `path`, with `shared` of the common keys, and its problems."""
    document = source.document
    options: JsonObject = {key: raw[key] for key in raw if key not in shared}
    common_raw: JsonObject = {key: raw[key] for key in raw if key in shared}
    kind = raw.get("type")
    common: AssertionCommon | None
    problems: tuple[Problem, ...] = ()
    if len(common_raw) == 1 and isinstance(kind, str):  # as most are
        common = AssertionCommon.of_known(type=kind)
    else:
        common, problems = validate(AssertionCommon, common_raw, document, path)
    if not isinstance(kind, str):
        return None, problems
    registered = source.registries.assertions.get(kind)
    if registered is None:
        elsewhere = source.registries.elsewhere.get(kind.lower().replace("_", "-"))
        message = unknown_word("assertion type", kind, list(source.registries.assertions))
        if elsewhere is not None:
            message = f"Unknown assertion type {quote(kind)}. Here it is {elsewhere}."
        return None, (*problems, problem_at(document, (*path, "type"), message))
    written = json.dumps(options)
    broken: tuple[Problem, ...] = ()
    if len(written) > _OFTEN or not _fits(registered, written):
        _, broken = validate(registered, options, document, path, also_known=shared)
    parts: list[AssertionSpec] = []
    if kind in source.registries.combinators:
        if level == LEVELS:
            message = f"Assertions may stand {LEVELS} levels deep in others, and no deeper."
            return None, (*problems, *broken, problem_at(document, path, message))
        options.pop(PARTS, None)
        written = json.dumps(options)
        keys = WEIGHED_KEYS if kind in source.registries.weighing else INNER_KEYS
        parts, inner = read_assertions(source, (*path, PARTS), level + 1, keys)
        broken = (*broken, *inner)
    broken = (*broken, *_misplaced(kind, document, path, raw, shared))
    if common is None or broken:
        return None, (*problems, *broken)
    assertion = AssertionSpec.of_known(
        type=kind,
        name=common.name,
        weight=0.0 if kind == PREFERENCE else common.weight,
        required=common.required,
        severity=common.severity,
        axis=common.axis,
        options=_one_of_equal(written),
        needs_judge=kind in source.registries.judged or any(one.needs_judge for one in parts),
        parts=tuple(parts),
        place=document.place(path),
    ).lean()
    return assertion, ()


_OFTEN = 2_000
"""Characters of options that many fixtures may have in common."""


@lru_cache(1_024)
def _fits(model: type[BaseModel], written: str) -> bool:
    """Whether these options are valid: many fixtures ask the same."""
    try:
        model.model_validate_json(written, strict=True, by_alias=True, by_name=False)
    except ValidationError:
        return False
    return True


@lru_cache(1_024)
def _one_of_equal(options: str) -> JsonObject:
    """Return one object for options that are equal: many fixtures ask the same."""
    found: JsonObject = json.loads(options)
    return found


_OF_ONE_TRIAL = ("weight", "required", "severity", "axis")


def _misplaced(
    kind: str, document: Document, path: DocumentPath, raw: JsonObject, shared: tuple[str, ...]
) -> Iterator[Problem]:
    """Yield what an assertion cannot have that is about both sides' answers and no single trial."""
    if kind != PREFERENCE:
        return
    if shared != COMMON_KEYS or path[:2] != ("spec", "assertions"):
        message = (
            f"A `{kind}` compares head's answer with base's: it stands in `spec.assertions` of an "
            "EvalFixture, and in no turn and no other assertion."
        )
        yield problem_at(document, path, message)
    for key in _OF_ONE_TRIAL:
        if key in raw:
            message = f"A `{kind}` decides nothing of a single trial, so it has no `{key}`."
            yield problem_at(document, (*path, key), message)


def _lonely(
    assertions: Sequence[AssertionSpec], document: Document, turns: Sequence[object]
) -> tuple[Problem, ...]:
    """Return what is wrong with a fixture's preferences: a second one, nothing beside it, turns."""
    places = [at for at, one in enumerate(assertions) if one.type == PREFERENCE]
    path: DocumentPath = ("spec", "assertions")
    if len(places) > 1:
        message = f"A fixture has one `{PREFERENCE}`: write one rubric for all of it."
        return (problem_at(document, (*path, places[1]), message),)
    if places and turns:
        message = (
            f"A `{PREFERENCE}` compares two answers to the same input, and in a conversation of "
            "`turns` each side has its own course."
        )
        return (problem_at(document, (*path, places[0]), message),)
    if places and len(assertions) == 1:
        message = (
            f"Beside a `{PREFERENCE}`, which needs both sides' answers, a fixture has an assertion "
            "that each answer has to pass, such as `notContains`."
        )
        return (problem_at(document, (*path, 0), message),)
    return ()


def with_file_places(fixture: Fixture, document: Document) -> Fixture:
    """Return the fixture with the places of its files."""
    files = {write_path(path): document.place(path) for path, _ in fixture.attached()}
    return fixture.model_copy(update={"places": fixture.places | files}) if files else fixture


class TurnBody(Spec):
    """One turn of a conversation: what the user says, and what must hold of the answer."""

    user: Content
    """What the user says."""
    assertions: tuple[JsonObject, ...] = ()
    """What must hold of the answer to that, and of the steps to it."""

    @field_validator("user")
    @classmethod
    def _says_something(cls, user: Content) -> Content:
        if not text_of(user).strip() and not any(files_in(user)):
            raise ValueError("The user says nothing in this turn")
        return user


class FixtureBody(Spec):
    """`spec` of an EvalFixture."""

    target_agent: Name | None = None
    """The Agent this fixture is meant for: no other Agent's Eval can select it."""
    kind: FixtureKind = FixtureKind.GOLDEN
    """What the fixture documents; the gate treats all three alike."""
    severity: Severity = Severity.MEDIUM
    """How much this fixture weighs in the Eval's score."""
    description: str = ""
    """What it is about, in a sentence; reports show it."""
    origin: Origin | None = None
    cases: CasesFile | None = None
    """Makes this the template of many fixtures, one for each case: every `{{ case.x }}` below is
    filled in."""
    input: FixtureInput | None = None
    """What comes in; with `turns`, what was there before the first."""
    turns: tuple[TurnBody, ...] = Field(default=(), max_length=MESSAGES_LIMIT)
    """What the user says, one after the other, each after the agent's answer."""
    assertions: tuple[JsonObject, ...] = ()
    """What must hold; all of them, for the fixture to pass. With `turns`, they look at the whole
    conversation and its last answer."""
    reference: Reference | None = None
    """What a good answer is, for judges and checks; agents get none."""
    playground: PlaygroundSpec | None = None
    tool_replay: tuple[ToolReplay, ...] = ()
    """Recorded answers of tools, given instead of calling them."""
    shadow_tools: tuple[str, ...] = ()
    """Tools whose calls are only recorded and answered with `{"shadow": true}`."""


class FixtureDocument(Written):
    """One test case: one input, and the assertions on what comes of it."""

    kind: Literal["EvalFixture"]
    spec: FixtureBody


_CHECKED_LATER = ("targetAgent", "playground", "toolReplay", "shadowTools")
"""Keys that are checked together with the Eval and the Agent, so their places are kept."""


_AS_WRITTEN = frozenset(FixtureBody.model_fields) - {
    "kind",
    "cases",
    "input",
    "turns",
    "assertions",
}
"""Fields of the manifest that the fixture has as they are."""


class Meant(NamedTuple):
    """A fixture, what it means by keys of `spec`, and its problems; if any, neither is there."""

    fixture: Fixture | None
    written: JsonObject | None
    problems: tuple[Problem, ...]


def read(source: Source) -> ReadDocument:
    """Return the fixture and its problems; assertions are checked even if the rest is wrong."""
    found = read_meaning(source)
    return ReadDocument(found.fixture, found.problems)


def read_meaning(source: Source) -> Meant:
    """Return the fixture with what its digest covers.

    The assertions of the whole come first, then those of each turn.
    """
    document, problems = validate(FixtureDocument, source.body, source.document)
    assertions, broken = read_assertions(source, ("spec", "assertions"))
    listed = source.document.data_at(("spec", "turns"))
    for number in range(len(listed) if isinstance(listed, list) else 0):
        more, wrong = read_assertions(source, ("spec", "turns", number, "assertions"))
        assertions += [one.model_copy(update={"turn": number + 1}) for one in more]
        broken += wrong
    if document is None or broken:
        return Meant(None, None, (*problems, *broken))
    spec = document.spec
    if missing := (
        *_missing(spec, source.document),
        *_lonely(assertions, source.document, spec.turns),
    ):
        return Meant(None, None, (*problems, *missing))
    written: JsonObject = canonical(spec) | {"assertions": [each.meaning for each in assertions]}
    if spec.turns:
        written["turns"] = [
            said if isinstance(said := one.user, str) else [canonical(part) for part in said]
            for one in spec.turns
        ]
    places = {
        f"spec.{key}": source.document.key_place(("spec", key))
        for key in _CHECKED_LATER
        if source.document.data_at(("spec", key)) is not None
    }
    fixture = Fixture.of_known(
        **{**envelope(source, document), **{key: getattr(spec, key) for key in _AS_WRITTEN}},
        fixture_kind=spec.kind,
        input=spec.input.lean() if spec.input else FixtureInput(type=InputType.PROMPT, payload={}),
        turns=tuple(turn.user for turn in spec.turns),
        assertions=tuple(assertions),
        places=places,
        digest=meaning(document.kind, document.metadata, written),
    ).lean()
    return Meant(with_file_places(fixture, source.document), written, problems)


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
