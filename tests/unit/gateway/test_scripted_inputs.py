"""Scripted models that measure texts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedSpec
from gateval.domain.trials.model_call import InputKind, InputRequest
from gateval.gateway.scripted import is_too_much, measure, vector


def script(**spec: object) -> ScriptedModel:
    parsed = ScriptedSpec.model_validate({"rules": [{"reply": "x"}], **spec})
    return ScriptedModel(name="m", path="m.yaml", digest="0", spec=parsed)


@given(st.text(max_size=200), st.integers(1, 64))
def test_a_vector_has_the_length_one_whatever_the_text(text: str, size: int) -> None:
    found = vector(text, size)
    assert len(found) == size
    assert math.isclose(math.fsum(number * number for number in found), 1, abs_tol=1e-5)
    assert vector(text, size) == found


def test_a_vector_is_the_same_on_every_machine() -> None:
    assert vector("Red red apple", 4) == [0.4472136, 0.0, 0.8944272, 0.0]
    assert vector("apple, RED; red", 4) == vector("Red red apple", 4)
    assert vector("", 3) == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("spec", "asked", "size"),
    [
        ({"dimensions": 8}, None, 8),
        ({"dimensions": 8}, 16, 16),
        ({}, None, 256),
    ],
)
def test_the_request_and_then_the_script_say_how_many(
    spec: dict[str, object], asked: int | None, size: int
) -> None:
    request = InputRequest(model="m", texts=("a b", "cccccccc"), dimensions=asked)
    found = measure(script(**spec), InputKind.EMBEDDING, request)
    assert [len(one) for one in found.vectors] == [size, size]
    assert found.usage is not None
    assert found.usage.total == 3


def test_a_text_offends_by_what_the_first_rule_that_applies_names() -> None:
    judge = script(
        rules=[{"when": {"user": "kill"}, "reply": "violence, self-harm/intent, nonsense"}]
    )
    request = InputRequest(model="m", texts=("I kill", "Hello"))
    found = measure(judge, InputKind.MODERATION, request)
    assert found.flags == [frozenset({"violence", "self-harm/intent"}), frozenset()]
    assert found.usage is None


@pytest.mark.parametrize(
    ("texts", "size", "too_much"),
    [(1, 4096, False), (1, 4097, True), (122, 4096, False), (123, 4096, True), (1, 10**12, True)],
)
def test_answers_are_bounded(texts: int, size: int, too_much: bool) -> None:
    request = InputRequest(model="m", texts=("x",) * texts, dimensions=size)
    assert is_too_much(script(dimensions=1), request) is too_much
