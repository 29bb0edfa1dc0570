"""From pydantic's errors to findings in sentences: which value in the document, and what is
wrong with it.

A union answers with the errors of all its branches. A person meant one of them: the branch that
fits best speaks, and if none fits at all, one sentence names what would.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails, to_json

from gateval.domain.base import MODEL_NAME_PATTERN, NAME_PATTERN
from gateval.domain.paths import nearest
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.text import SHOWN, quote
from gateval.formats.yaml_document import Document, DocumentPath, look_up, write_path


def describe(value: JsonValue) -> str:
    """Return what a value is, for the end of a sentence: `text "abc"`, `number 3`, `a list`."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"number {str(value)[:SHOWN]}"
    if isinstance(value, str):
        return f"text {quote(value)}"
    return "a list" if isinstance(value, list) else "a mapping"


def one_of(words: Iterable[str], *, last: str = "or") -> str:
    """Return `a, b or c`."""
    *others, final = words
    return f"{', '.join(others)} {last} {final}" if others else final


_OWN_WORDS_LIMIT = 500

EXPECTED: Mapping[str, str] = {
    "string_type": "text",
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type"), "a mapping"
    ),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), "a list"),
    "none_required": "nothing",
}
"""Errors that say the value is of the wrong sort altogether, and what was wanted instead."""

_PATTERNS = {
    NAME_PATTERN: (
        'is no valid name: use lower-case letters, digits, "-" and ".", and begin and end with a '
        "letter or digit."
    ),
    MODEL_NAME_PATTERN: (
        'names no provider: write "provider/model-id", for example "openai/gpt-5".'
    ),
}

_Sentence = Callable[[JsonValue, Mapping[str, Any]], str]


def sentence(error: ErrorDetails) -> str:
    """Return what is wrong with the value, except for missing and unknown keys."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind in EXPECTED:
        return expected_sentence([EXPECTED[kind]], value)
    if kind in _SENTENCES:
        return _SENTENCES[kind](value, context)
    message = error["msg"]  # of a type that none of our models makes today
    text = message.removeprefix("Input should be ").removeprefix("Value error, ").rstrip(".")
    verb = "Expected " if message.startswith("Input should be ") else ""
    return f"{verb}{text}, got {describe(value)}."


def expected_sentence(wanted: list[str], value: JsonValue) -> str:
    """Return that `value` is not one of the wanted sorts, with a hint if quotes would help."""
    quotable = isinstance(value, bool | int | float) and wanted == ["text"]
    hint = " Put it in quotes." if quotable else ""
    return f"Expected {one_of(wanted)}, got {describe(value)}.{hint}"


def unknown_key(key: str, known: list[str]) -> str:
    """Return that a key is not known, with the nearest known one or all of them."""
    hint = nearest(key, known)
    if not hint and known:
        hint = f" Known here: {one_of(known, last='and')}."
    return f"Unknown key {quote(key)}.{hint}"


def missing_key(key: str) -> str:
    """Return that a required key is missing."""
    return f"The required key {quote(key)} is missing."


def unknown_word(what: str, word: str, known: list[str]) -> str:
    """Return that a word names no known `what`, with the nearest known one or all of them."""
    hint = nearest(word, known) or f" Known: {one_of(known, last='and')}."
    return f"Unknown {what} {quote(word)}.{hint}"


def _choice(value: JsonValue, context: Mapping[str, Any]) -> str:
    known = _words_in(context.get("expected"))
    if not isinstance(value, str) or not known:
        return f"Expected {one_of(known) if known else 'another value'}, got {describe(value)}."
    return f"{quote(value)} is not known here. Expected {one_of(known)}.{nearest(value, known)}"


def _words_in(listed: object) -> list[str]:
    """The words of pydantic's `'red', 'green' or 3`."""
    return [word.strip("'") for word in re.findall(r"'[^']*'|\b\d+\b", str(listed or ""))]


def _pattern(value: JsonValue, context: Mapping[str, Any]) -> str:
    if str(value).upper().startswith("AGE-SECRET-KEY-"):
        return (
            "This is a private key, which opens what is sealed, and whoever reads this file has it "
            "now. Make a new one with `gateval seal --new-key`; a public one begins with age1."
        )
    pattern = str(context.get("pattern", ""))
    return f"{quote(str(value))} {_PATTERNS.get(pattern, f'does not match the pattern {pattern}.')}"


def _number(words: str, bound: str) -> _Sentence:
    def write(value: JsonValue, context: Mapping[str, Any]) -> str:
        return f"Must be {words} {context.get(bound):g}, but is {str(value)[:40]}."

    return write


def _length(words: str, bound: str, unit: tuple[str, str]) -> _Sentence:
    def write(_: JsonValue, context: Mapping[str, Any]) -> str:
        count = context.get(bound)
        return f"Must have {words} {count} {unit[count != 1]}."

    return write


def _own_words(_: JsonValue, context: Mapping[str, Any]) -> str:
    """The text of a `ValueError` that a validator raised: already a sentence."""
    text = str(context.get("error", "")).strip()[:_OWN_WORDS_LIMIT] or "This value is not valid."
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _other_variant(_: JsonValue, context: Mapping[str, Any]) -> str:
    known = _words_in(context.get("expected_tags"))
    tag = str(context.get("tag", ""))
    return f"{quote(tag)} is not known here. Expected {one_of(known)}.{nearest(tag, known)}"


_ENTRIES = ("entry", "entries")
_CHARACTERS = ("character", "characters")
_SENTENCES: Mapping[str, _Sentence] = {
    "enum": _choice,
    "literal_error": _choice,
    "string_pattern_mismatch": _pattern,
    "greater_than": _number("greater than", "gt"),
    "greater_than_equal": _number("at least", "ge"),
    "less_than": _number("less than", "lt"),
    "less_than_equal": _number("at most", "le"),
    "multiple_of": _number("a multiple of", "multiple_of"),
    "too_short": _length("at least", "min_length", _ENTRIES),
    "too_long": _length("at most", "max_length", _ENTRIES),
    "string_too_short": _length("at least", "min_length", _CHARACTERS),
    "string_too_long": _length("at most", "max_length", _CHARACTERS),
    "value_error": _own_words,
    "assertion_error": _own_words,
    "union_tag_not_found": lambda _, context: missing_key(
        str(context.get("discriminator", "")).strip("'")
    ),
    "union_tag_invalid": _other_variant,
}


class Spot(Enum):
    """Which place of a path a finding is about."""

    VALUE = "value"
    KEY = "key"
    PARENT = "parent"
    """The key is missing, so the mapping that lacks it."""


class SchemaFinding(NamedTuple):
    """One thing that is wrong at `path`, seen from the validated value."""

    path: DocumentPath
    spot: Spot
    message: str


class _Located(NamedTuple):
    error: ErrorDetails
    path: DocumentPath
    value: JsonValue
    spot: Spot
    union: DocumentPath | None
    branch: str

    @property
    def wrong_sort(self) -> bool:
        return self.error["type"] in EXPECTED and self.path == self.union


def findings(
    model: type[BaseModel],
    value: JsonValue,
    errors: Iterable[ErrorDetails],
    also_known: Iterable[str] = (),
) -> list[SchemaFinding]:
    """Return the findings of `model`'s errors about `value`; `also_known` keys others check."""
    plain: list[_Located] = []
    unions: defaultdict[DocumentPath, list[_Located]] = defaultdict(list)
    for error in errors:
        located = _locate(value, error)
        least: int = error.get("ctx", {}).get("min_length", 0)
        held = located.value
        if error["type"] == "too_short" and isinstance(held, list | dict) and len(held) >= least:
            continue  # it is said to be too short just because its entries are wrong
        (plain if located.union is None else unions[located.union]).append(located)
    found = [_finding(model, located, also_known) for located in plain]
    for path, group in unions.items():
        best = _best_branch(group)
        found += [_finding(model, located, also_known) for located in best]
        if not best:
            wanted = dict.fromkeys(EXPECTED[located.error["type"]] for located in group)
            message = expected_sentence(list(wanted), group[0].value)
            found.append(SchemaFinding(path, Spot.VALUE, message))
    return found


def _best_branch(group: list[_Located]) -> list[_Located]:
    """Return the errors of the branch that fits best, or none if no branch fits at all."""
    branches: defaultdict[str, list[_Located]] = defaultdict(list)
    for located in group:
        branches[located.branch].append(located)
    fitting = [
        branch for branch in branches.values() if not any(located.wrong_sort for located in branch)
    ]
    best = min(fitting, key=len, default=[])

    def of_another_sort(one: _Located) -> bool:
        """Whether it comes from a union inside, of which another branch fits the value's sort."""
        depth = len(one.path)
        deeper = any(len(b.path) > depth and b.path[:depth] == one.path for b in best)
        return one.error["type"] in EXPECTED and deeper

    return [one for one in best if not of_another_sort(one)]


def _locate(value: JsonValue, error: ErrorDetails) -> _Located:
    """Follow an error's location through the value; what leads nowhere names a union's branch."""
    path: list[str | int] = []
    spot, union, branch = Spot.VALUE, None, ""
    for index, step in enumerate(error["loc"]):
        there, entry = look_up(value, step)
        if there:
            path.append(step)
            value = entry
        elif step == "[key]":
            spot = Spot.KEY
        elif error["type"] == "missing" and index == len(error["loc"]) - 1:
            path.append(step)
            spot = Spot.PARENT
        elif union is None:  # inside a branch, only the tag of a kind leads nowhere
            union, branch = tuple(path), str(step)
    if error["type"] == "extra_forbidden":
        spot = Spot.KEY
    return _Located(error, tuple(path), value, spot, union, branch)


def _finding(model: type[BaseModel], located: _Located, also_known: Iterable[str]) -> SchemaFinding:
    kind, last = located.error["type"], located.path[-1] if located.path else ""
    if kind == "missing":
        said = (
            missing_key(last) if isinstance(last, str) else f"The list ends before item {last + 1}."
        )
        return SchemaFinding(located.path, Spot.PARENT, said)
    if kind == "extra_forbidden":
        known = known_keys(model, located.error["loc"][:-1])
        if len(located.path) == 1:
            known += also_known
        said = _too_deep(model, located.path) or unknown_key(str(last), known)
        return SchemaFinding(located.path, Spot.KEY, said)
    return SchemaFinding(located.path, located.spot, sentence(located.error))


def _too_deep(model: type[BaseModel], path: DocumentPath) -> str:
    """Say where a key belongs that a mapping around its own knows; empty where none does."""
    key = str(path[-1])
    for depth in range(len(path) - 2, 0, -1):
        around, beside = path[:depth], path[depth]
        if isinstance(beside, str) and key != beside and key in known_keys(model, around):
            under = quote(write_path(around))
            return f"Unknown key {quote(key)}. It stands beside {quote(beside)}, under {under}."
    return ""


def known_keys(model: type[BaseModel], location: tuple[str | int, ...]) -> list[str]:
    """Return the keys that may stand in the mapping at pydantic's `location` inside `model`."""
    models = [model]
    for step in location:
        if isinstance(step, int):
            continue
        annotations = [
            field.annotation
            for inner in models
            for name, field in inner.model_fields.items()
            if (field.alias or name) == step
        ]
        named = [inner for inner in models if inner.__name__ == step]
        models = named or [inner for each in annotations for inner in _models_in(each)] or models
    names = [field.alias or name for inner in models for name, field in inner.model_fields.items()]
    return [name for name in dict.fromkeys(names) if name.isidentifier()]


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [inner for part in get_args(annotation) for inner in _models_in(part)]


Model = TypeVar("Model", bound=BaseModel)

PROBLEM_LIMIT = 100
"""Problems told of one file. Nobody reads more, and each costs a search for the nearest word."""


def validate(
    model: type[Model],
    value: JsonValue,
    document: Document,
    path: DocumentPath = (),
    *,
    also_known: Iterable[str] = (),
) -> tuple[Model | None, tuple[Problem, ...]]:
    """Return `value` as `model`, or None and the reasons why it is not, all up to the limit.

    `value` is what stands at `path` in the document, or that mapping without the keys that someone
    else checks (`also_known`). It is checked as strict JSON, so that text is never taken for a
    number, and by camelCase keys only.
    """
    try:
        return (
            model.model_validate_json(to_json(value), strict=True, by_alias=True, by_name=False),
            (),
        )
    except ValidationError as error:
        errors = error.errors(include_url=False)[: PROBLEM_LIMIT + 1]
        found = findings(model, value, errors, also_known)
        return None, tuple(_problem(document, path, each) for each in found)


def problem_at(document: Document, path: DocumentPath, message: str) -> Problem:
    """Return a problem with the value at `path`."""
    return Problem(place=_value_place(document, path), path=write_path(path), message=message)


def _problem(document: Document, path: DocumentPath, finding: SchemaFinding) -> Problem:
    where = (*path, *finding.path)
    if finding.spot is Spot.KEY:
        place = document.key_place(where)
    elif finding.spot is Spot.PARENT:
        place = document.key_place(where[:-1])
    else:
        place = _value_place(document, where)
    return Problem(place=place, path=write_path(where), message=finding.message)


def _value_place(document: Document, path: DocumentPath) -> SourceLocation:
    """Where the value stands; for one that is not written (`spec:`), its key."""
    if document.data_at(path) is None:
        return document.key_place(path)
    return document.place(path)
