"""Reads the assertions of a fixture: each is checked by the model registered for its type."""

from __future__ import annotations

from pydantic import Field

from gateval.domain.base import JsonObject, Spec
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.manifests.severity import AssertionWeight, Severity
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote
from gateval.formats.native.written import Source
from gateval.formats.problems.sentences import unknown_word
from gateval.formats.problems.validation import PROBLEM_LIMIT, problem_at, validate
from gateval.formats.yaml.document import DocumentPath

PARTS = "assertions"
"""The key of a combinator under which the assertions stand that it is made of."""

LEVELS = 4
"""How deep combinators may stand in one another."""


class AssertionCommon(Spec):
    """The keys that every assertion has."""

    type: str = Field(description="Which assertion this is.")
    weight: AssertionWeight = Field(
        default=1.0,
        description="How much it counts in its fixture's score, 0 for not at all. Whatever its "
        "weight, a fixture passes only if it does.",
    )
    severity: Severity | None = Field(
        default=None,
        description="How much it matters inside its fixture, by the weights of the Eval; the "
        "fixture's severity if absent.",
    )
    name: str = Field(
        default="", max_length=200, description="What it is called, where its type does not tell."
    )
    required: bool = Field(
        default=False,
        description="With `scoring.model: weighted`, whether the trial fails where it fails, "
        "whatever the others score. With `fixtures` every assertion is required.",
    )
    axis: str | None = Field(
        default=None, description="The quality it measures, for grouping in reports."
    )


COMMON_KEYS = tuple(AssertionCommon.model_fields)
"""They are one word each, so field and key are the same."""

INNER_KEYS = ("type",)
"""What an assertion has that stands inside others."""

WEIGHED_KEYS = ("type", "name", "weight")
"""What it has where these are weighed."""


def read_assertions(
    source: Source, path: DocumentPath
) -> tuple[list[AssertionSpec], list[Problem]]:
    """Return the assertions in the list at `path`, and what is wrong with them.

    What is no mapping is left out: the model of what is around it has refused it.
    """
    return _read_all(source, path, 0, COMMON_KEYS)


def read_check(
    source: Source, path: DocumentPath
) -> tuple[AssertionSpec | None, tuple[Problem, ...]]:
    """Return the one assertion at `path`, which has a `type` and its options alone.

    One of an unknown type is `unsupported`, and no problem.
    """
    raw = source.document.data_at(path)
    if not isinstance(raw, dict):
        return None, ()
    kind = raw.get("type")
    if isinstance(kind, str) and kind not in source.registries.assertions:
        reason = f"unsupported: there is no check of type {quote(kind)} here"
        place = source.document.place(path)
        return AssertionSpec(type="unsupported", unsupported=reason, place=place), ()
    return read_one(source, path, raw, INNER_KEYS)


def _read_all(
    source: Source, path: DocumentPath, level: int, shared: tuple[str, ...]
) -> tuple[list[AssertionSpec], list[Problem]]:
    raw = source.document.data_at(path)
    assertions: list[AssertionSpec] = []
    problems: list[Problem] = []
    for index, each in enumerate(raw if isinstance(raw, list) else []):
        if len(problems) > PROBLEM_LIMIT:
            break
        if isinstance(each, dict):
            assertion, broken = read_one(source, (*path, index), each, shared, level)
            problems += broken
            if assertion is not None:
                assertions.append(assertion)
    return assertions, problems


def read_one(
    source: Source, path: DocumentPath, raw: JsonObject, shared: tuple[str, ...], level: int = 0
) -> tuple[AssertionSpec | None, tuple[Problem, ...]]:
    """Return the assertion that `raw` is, which stands at `path`, and what is wrong with it.

    Of the keys that all have it may have those in `shared`.
    """
    document = source.document
    options: JsonObject = {key: raw[key] for key in raw if key not in shared}
    common_raw: JsonObject = {key: raw[key] for key in raw if key in shared}
    common, problems = validate(AssertionCommon, common_raw, document, path)
    kind = raw.get("type")
    if not isinstance(kind, str):
        return None, problems
    registered = source.registries.assertions.get(kind)
    if registered is None:
        message = _unknown_type(kind, source)
        return None, (*problems, problem_at(document, (*path, "type"), message))
    _, broken = validate(registered, options, document, path, also_known=shared)
    parts: list[AssertionSpec] = []
    if kind in source.registries.combinators:
        if level == LEVELS:
            message = f"Assertions may stand {LEVELS} levels deep in others, and no deeper."
            return None, (*problems, *broken, problem_at(document, path, message))
        options.pop(PARTS, None)
        keys = WEIGHED_KEYS if kind in source.registries.weighing else INNER_KEYS
        parts, inner = _read_all(source, (*path, PARTS), level + 1, keys)
        broken = (*broken, *inner)
    if common is None or broken:
        return None, (*problems, *broken)
    assertion = AssertionSpec(
        type=kind,
        name=common.name,
        weight=common.weight,
        required=common.required,
        severity=common.severity,
        axis=common.axis,
        options=options,
        needs_judge=kind in source.registries.judged or any(one.needs_judge for one in parts),
        parts=tuple(parts),
        place=document.place(path),
    )
    return assertion, ()


def _unknown_type(kind: str, source: Source) -> str:
    known = source.registries.elsewhere.get(kind.lower().replace("_", "-"))
    if known is None:
        return unknown_word("assertion type", kind, list(source.registries.assertions))
    return f"Unknown assertion type {quote(kind)}. Here it is {known}."
