"""Tool arguments that are nested very deeply: stored as they are, or kept as text."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from gateval.domain.strict_json import DEPTH_LIMIT
from gateval.wire.base import tool_call


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    ("levels", "kept"), [(1, True), (DEPTH_LIMIT, True), (DEPTH_LIMIT + 1, False), (400, False)]
)
def test_what_could_not_be_read_back_is_kept_as_text(levels: int, kept: bool) -> None:
    call = tool_call("id", "search", nested(levels))
    assert (call.raw is None) is kept
    assert call.arguments == (json.loads(nested(levels)) if kept else {})
    if not kept:
        assert call.raw == nested(levels)


def test_arguments_that_come_as_an_object_are_held_to_the_same() -> None:
    value: JsonValue = json.loads(nested(DEPTH_LIMIT + 1))
    assert tool_call("id", "search", value).raw == nested(DEPTH_LIMIT + 1)
