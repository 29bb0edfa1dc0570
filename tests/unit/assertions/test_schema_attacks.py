"""Schemas whose check would take very long although they and the message are small."""

from __future__ import annotations

import json
import time

import pytest

from gateval.assertions.schemas import compiled_schema, mismatches, text_limit
from gateval.domain.base import JsonObject


def nested(key: str, levels: int) -> JsonObject:
    schema: JsonObject = {key: {"type": "integer"}}
    for _ in range(levels - 1):
        schema = {"allOf": [schema], key: {"type": "integer"}}
    return schema


@pytest.mark.parametrize("key", ["unevaluatedProperties", "unevaluatedItems"])
def test_what_looks_again_at_everything_inside_it_is_not_nested_deeply(key: str) -> None:
    with pytest.raises(ValueError, match="may be nested 3 levels deep"):
        compiled_schema(json.dumps(nested(key, 14)))
    with pytest.raises(ValueError, match="may be nested 3 levels deep"):
        compiled_schema(
            json.dumps({"$defs": {"x": nested(key, 3)}, "$ref": "#/$defs/x", key: False})
        )
    began = time.process_time()
    value: JsonObject = {f"b{number}": 1 for number in range(6000)}
    mismatches(compiled_schema(json.dumps(nested(key, 3))), value)
    assert time.process_time() - began < 2


def test_dividing_by_many_awkward_numbers_is_bounded() -> None:
    def dividing(count: int) -> str:
        divisors = [{"multipleOf": (number + 1) * 1e-300} for number in range(count)]
        return json.dumps({"items": {"allOf": divisors}})

    with pytest.raises(ValueError, match="more than 5,000 parts"):
        compiled_schema(dividing(100))
    bounded = compiled_schema(dividing(15))
    began = time.process_time()
    mismatches(bounded, [1e308] * (text_limit(bounded) // 7))
    assert time.process_time() - began < 4
