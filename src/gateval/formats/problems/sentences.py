"""Sentences on wrong values: pydantic's error types without pydantic's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import JsonValue
from pydantic_core import ErrorDetails

from gateval.domain.base import MODEL_NAME_PATTERN, NAME_PATTERN
from gateval.domain.repository.place import nearest
from gateval.domain.text.quoting import quote
from gateval.formats.problems.wording import describe, one_of

_OWN_WORDS_LIMIT = 500

EXPECTED: Mapping[str, str] = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
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
    return _unusual(error["msg"], value)


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


def _no_variant(_: JsonValue, context: Mapping[str, Any]) -> str:
    key = str(context.get("discriminator", "")).strip("'")
    return missing_key(key)


def _other_variant(_: JsonValue, context: Mapping[str, Any]) -> str:
    known = _words_in(context.get("expected_tags"))
    tag = str(context.get("tag", ""))
    return f"{quote(tag)} is not known here. Expected {one_of(known)}.{nearest(tag, known)}"


def _unusual(message: str, value: JsonValue) -> str:
    """An error type that none of our models makes today, as well as it can be put."""
    text = message.removeprefix("Input should be ").removeprefix("Value error, ").rstrip(".")
    verb = "Expected " if message.startswith("Input should be ") else ""
    return f"{verb}{text}, got {describe(value)}."


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
    "union_tag_not_found": _no_variant,
    "union_tag_invalid": _other_variant,
}
