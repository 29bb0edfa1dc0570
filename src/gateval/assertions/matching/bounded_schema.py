"""JSON Schemas from a pull request, checked at a cost that is bounded before anything is checked.

The work is proportional to the schema's size, its references written out (`schema_references`),
times the size of the message; both are limited. It happens in native code that nothing interrupts.
"""

from __future__ import annotations

import functools
import itertools
import json
from typing import TYPE_CHECKING, NamedTuple

from pydantic import JsonValue

from gateval.assertions.matching.schema_references import count_nodes
from gateval.assertions.matching.schema_words import misspelled
from gateval.domain.base import JsonObject
from gateval.domain.text.quoting import quote
from gateval.judging.neutral import shorten

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

SIZE_LIMIT = 64 * 1024
"""Characters of a schema as JSON."""

_TEXT_LIMIT = 100_000
_WORK_LIMIT = 100_000_000
_DETAILS_LIMIT = 5_000_000
_PATTERN_BYTES = 512 * 1024
_MISMATCHES = 3


class BoundedValidator(NamedTuple):
    """A compiled schema and its size, references written out."""

    validator: Validator
    nodes: int


@functools.lru_cache(maxsize=128)
def compiled(schema: str) -> BoundedValidator:
    """Return the validator of a schema given as JSON. Raises ValueError with a sentence."""
    import jsonschema_rs

    if len(schema) > SIZE_LIMIT:
        raise ValueError(
            f"the schema has {len(schema):,} characters; at most {SIZE_LIMIT:,} are allowed"
        )
    document: JsonObject = json.loads(schema)
    nodes = count_nodes(document)
    try:
        validator = jsonschema_rs.validator_for(
            document,
            validate_formats=True,
            ignore_unknown_formats=False,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES),
        )
    except jsonschema_rs.ValidationError as error:
        raise ValueError(f"the schema cannot be used: {_mismatch(error)}") from None
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        raise ValueError(f"the schema cannot be used: {shorten(str(error))}") from None
    if slip := misspelled(document):
        key, meant = slip
        raise ValueError(f'{quote(key)} is no keyword of JSON Schema; did you mean "{meant}"?')
    return BoundedValidator(validator, nodes)


def text_limit(bounded: BoundedValidator) -> int:
    """The greatest size of a value, in characters of JSON, that is checked with this schema."""
    return min(_TEXT_LIMIT, _WORK_LIMIT // bounded.nodes)


def mismatches(bounded: BoundedValidator, value: JsonValue) -> tuple[str, ...]:
    """Return up to three mismatches as `$.path: what is wrong`; none if the value fits."""
    validator = bounded.validator
    if validator.is_valid(value):
        return ()
    if len(json.dumps(value)) * bounded.nodes <= _DETAILS_LIMIT:
        found = itertools.islice(validator.iter_errors(value), _MISMATCHES)
        return tuple(_mismatch(error) for error in found)
    return (_first_mismatch(validator, value),)


def _first_mismatch(validator: Validator, value: JsonValue) -> str:
    import jsonschema_rs

    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return _mismatch(error)
    raise AssertionError("a value that is not valid has a first mismatch")


def _mismatch(error: ValidationError) -> str:
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{shorten(part, 60)}"
        for part in error.instance_path
    )
    return f"${path}: {shorten(error.message, 160)}"
