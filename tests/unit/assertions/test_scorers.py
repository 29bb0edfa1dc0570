"""Scorers of experiments: the number that comes of an answer and what is expected of it."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.assertions.scorers import calls_of, leaves, matching
from gateval.domain.manifests.fixture import Reference
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import Step, StepKind
from gateval.domain.trials.trial import Answer
from tests.helpers.trials import assessed, said, trace


def score(kind: str, expected: Any, answer: Answer, **options: Any) -> float | None:
    """The score of a scorer, None for an error."""
    found = assessed({"type": kind, **options}, answer, reference=Reference(answer=expected))
    assert found.type == kind
    return found.score


def calls(*made: str) -> Answer:
    return Answer(output="Done.", trace=trace(*(f"call {one}" for one in made)), seconds=1)


@pytest.mark.parametrize(
    ("kind", "expected", "output", "options", "wanted"),
    [
        ("exactMatch", "HELLO", "HELLO", {}, 1),
        ("exactMatch", "HELLO", "Hello", {}, 0),
        ("exactMatch", {"a": [1, 2]}, '{"a": [1.0, 2]}', {}, 1),
        ("exactMatch", {"a": 1}, "a is 1", {}, 0),
        ("exactMatch", 42, "42", {}, 1),
        ("exactMatch", None, "42", {}, None),
        ("containsExpected", "four", "It is four.", {}, 1),
        ("containsExpected", ["9:00", "17:00", "Sunday", "closed"], "9:00, closed", {}, 0.5),
        ("containsExpected", "FOUR", "It is four.", {}, 0),
        ("containsExpected", "FOUR", "It is four.", {"ignoreCase": True}, 1),
        ("containsExpected", "", "It is four.", {}, None),
        ("containsExpected", ["It", ""], "It is four.", {}, None),
        ("levenshtein", "kitten", "sitting", {}, 1 - 3 / 7),
        ("levenshtein", "KITTEN", "kitten", {}, 0),
        ("levenshtein", "KITTEN", "kitten", {"ignoreCase": True}, 1),
        ("levenshtein", "", "", {}, 1),
        ("levenshtein", "abc", "", {}, 0),
        ("numericExpected", "1,299.50", "1299.5", {}, 1),
        ("numericExpected", 0.2, "0.3", {"tolerance": 0.1}, 1),
        ("numericExpected", 3, "about 3 or 4", {}, 0),
        ("numericExpected", 4, "about 3 or 4", {"find": "last"}, 1),
        ("numericExpected", 9007199254740993, "9007199254740993", {}, 1),
        ("numericExpected", 9007199254740993, "9007199254740992", {}, 0),
        ("numericExpected", "1e999", "1e999", {}, 1),
        ("numericExpected", 10**400, "5", {}, 0),
        ("numericExpected", 0.1, "0.1", {}, 1),
        ("numericExpected", "many", "3", {}, None),
        ("jsonMatch", {"a": 1, "b": {"c": 2}}, '{"a": 1, "b": {"c": 3}, "d": 4}', {}, 1 / 3),
        ("jsonMatch", '{"a": 1}', '{"a": 1.0}', {}, 1),
        ("jsonMatch", [], "[]", {}, 1),
        ("jsonMatch", [1, 2], "[2, 1]", {}, 0),
        ("jsonMatch", {"a": True}, '{"a": 1}', {}, 0),
        ("jsonMatch", {"a": 1}, "no JSON", {}, 0),
    ],
)  # fmt: skip
def test_scores_of_texts(
    kind: str, expected: Any, output: str, options: dict[str, Any], wanted: float | None
) -> None:
    found = score(kind, expected, said(output), **options)
    assert found == (None if wanted is None else pytest.approx(wanted, abs=1e-12))


FIND, PAY = {"tool": "find", "arguments": {"id": 1}}, {"name": "pay", "args": {"usd": 5}}


@pytest.mark.parametrize(
    ("expected", "made", "options", "wanted"),
    [
        (FIND, ['find {"id": 1}'], {}, 1),
        (FIND, ['find {"id": 1, "deep": true}'], {}, 1),
        (FIND, ['find {"id": 1, "deep": true}'], {"mode": "exact"}, 0),
        (FIND, ['find {"id": 2}'], {}, 0),
        (FIND, [], {}, 0),
        ([FIND, PAY], ['pay {"usd": 5}', 'find {"id": 1}'], {}, 1),
        ([FIND, PAY], ['find {"id": 1}', 'find {"id": 1}'], {}, 0.5),
        ([FIND, FIND], ['find {"id": 1}'], {}, 0.5),
        (["find", FIND], ['find {"id": 1}', 'find {"id": 2}'], {}, 1),
        (FIND, ['find {"id": 1}', "other {}"], {"others": "counted"}, 0.5),
        ([], [], {}, 1),
        ([], ["find {}"], {}, 0),
        ('[{"tool": "find"}]', ['find {"id": 9}'], {}, 1),
        (
            {"type": "function", "function": {"name": "pay", "arguments": '{"usd": 5}'}},
            ['pay {"usd": 5}'],
            {},
            1,
        ),
        ({"usd": 5}, ['pay {"usd": 5}'], {}, None),
    ],
)
def test_scores_of_calls(
    expected: Any, made: list[str], options: dict[str, Any], wanted: float | None
) -> None:
    assert score("toolUsage", expected, calls(*made), **options) == wanted


@pytest.mark.parametrize(
    ("kind", "options", "answer", "wanted"),
    [
        ("costScore", {"maxTokens": 100}, 100, 1),
        ("costScore", {"maxTokens": 100}, 400, 0.25),
        ("costScore", {"maxTokens": 0}, 400, 0),
        ("latencyScore", {"maxSeconds": 2}, 0, 1),
        ("latencyScore", {"maxSeconds": 2}, 8, 0.25),
    ],
)
def test_scores_of_cost_and_time(
    kind: str, options: dict[str, Any], answer: int, wanted: float
) -> None:
    usage = Usage(input_tokens=answer, output_tokens=0)
    told = trace("says: 4", source="gateway", usage=usage)
    assert score(kind, None, Answer(output="4", seconds=answer, trace=told), **options) == wanted


def test_the_wait_for_a_provider_is_not_the_agents() -> None:
    told = trace("says: 4").model_copy(update={"waited": 6.0, "source": "gate"})
    answer = Answer(output="4", seconds=10, trace=told)
    assert score("latencyScore", None, answer, maxSeconds=2) == 0.5


def edits(one: str, other: str) -> int:
    """Levenshtein's distance by its own definition (Wagner & Fischer 1974), apart from ours."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row[0] = row[0], at
        for to, wanted in enumerate(other, 1):
            before, row[to] = (
                row[to],
                min(row[to] + 1, row[to - 1] + 1, before + (letter != wanted)),
            )
    return row[-1]


LETTERS = st.text("abÄ🙂 ", max_size=9)


@given(LETTERS, LETTERS)
def test_likeness_by_letters_is_what_its_definition_gives(one: str, other: str) -> None:
    ours, theirs = one.strip(), other.strip()
    wanted = 1 - edits(ours, theirs) / (max(len(ours), len(theirs)) or 1)
    assert score("levenshtein", other, said(one)) == pytest.approx(wanted, abs=1e-12)


@given(LETTERS, st.lists(st.text("abÄ🙂 ", min_size=1, max_size=3), min_size=1, max_size=5))
def test_the_share_of_texts_is_counted(output: str, parts: list[str]) -> None:
    wanted = sum(output.find(part) >= 0 for part in parts) / len(parts)
    assert score("containsExpected", parts, said(output)) == pytest.approx(wanted, abs=1e-12)


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abcd"), max_size=6))
def test_the_share_of_calls_is_that_of_two_bags(wanted: list[str], made: list[str]) -> None:
    """By names alone: the calls that both bags hold, over what is expected, or the greater bag."""
    both = (Counter(wanted) & Counter(made)).total()
    answer = calls(*(f"{name} {{}}" for name in made))
    plain = both / len(wanted) if wanted else float(not made)
    counted = both / max(len(wanted), len(made)) if wanted or made else 1.0
    expected: Any = list(wanted)
    assert score("toolUsage", expected, answer) == pytest.approx(plain, abs=1e-12)
    assert score("toolUsage", expected, answer, others="counted") == pytest.approx(
        counted, abs=1e-12
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("xy", max_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON, JSON)
def test_likeness_of_json_is_symmetric_and_1_for_itself(one: Any, other: Any) -> None:
    assert score("jsonMatch", [one], said(json.dumps([one]))) == 1
    there, back = (
        score("jsonMatch", [a], said(json.dumps([b]))) for a, b in ((one, other), (other, one))
    )
    assert there == back
    assert len(dict(leaves(one))) == len(list(leaves(one)))


STEPS = [Step(number=n, kind=StepKind.TOOL_CALL, tool="x", arguments={}) for n in range(1, 5)]


@given(st.lists(st.lists(st.sampled_from(STEPS), max_size=4, unique_by=id), max_size=4))
def test_as_many_calls_are_paired_as_can_be(fits: list[list[Step]]) -> None:
    best = max(
        sum(step in fit for step, fit in zip(order, fits, strict=False))
        for order in permutations(STEPS)
    )
    assert len(matching(fits)) == best


def test_what_is_no_call_is_none() -> None:
    assert calls_of([{"tool": "a"}, {"arguments": {}}]) is None
    assert calls_of(["a"] * 201) is None
