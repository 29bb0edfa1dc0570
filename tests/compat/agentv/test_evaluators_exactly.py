"""Scores of evaluators against a second implementation, to 1e-12."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.manifests.fixture import Reference
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import StepKind, Trace, TraceBuilder
from gateval.domain.trials.trial import Answer, Assessment
from gateval.judging.judge import Judge
from tests.compat.agentv import second
from tests.compat.rows import states
from tests.helpers.scripted_calls import ScriptedCalls, says
from tests.helpers.tiers import examples
from tests.helpers.trials import assessed, said

EXACT: dict[str, Any] = {"abs": 1e-12, "rel": 0}
WEIGHTS = st.one_of(st.just(0.0), st.floats(0.001, 1000), st.integers(0, 9).map(float))
TOOLS = st.sampled_from(("read", "write", "ask"))
ARGUMENTS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3)
CALLS = st.lists(st.tuples(TOOLS, ARGUMENTS), max_size=8)
EXPECTED = st.lists(st.tuples(TOOLS, st.none() | ARGUMENTS), min_size=1, max_size=5)


def made(calls: list[second.Call], usage: Usage | None = None, model_calls: int = 0) -> Answer:
    builder = TraceBuilder()
    for tool, arguments in calls:
        builder.add(StepKind.TOOL_CALL, tool=tool, arguments=arguments)
    trace = Trace(steps=builder.steps(), usage=usage or Usage(), model_calls=model_calls)
    return Answer(output="Done.", trace=trace, seconds=2)


CHECKS = st.lists(
    st.tuples(WEIGHTS, st.booleans(), st.none() | st.integers(0, 10)), min_size=1, max_size=6
)


@states("Rubrics: weights, `required`, `required_min_score` and ranges, to 1e-12")
@settings(max_examples=examples(150), deadline=None)
@given(CHECKS, st.booleans(), st.data())
def test_rubrics(
    written: list[tuple[float, bool, int | None]], ranged: bool, data: st.DataObject
) -> None:
    checks = [
        {"id": f"c{at}", "weight": weight, "required": required, "required_min_score": least,
         "ranged": ranged and at == 0}
        for at, (weight, required, least) in enumerate(written)
    ]  # fmt: skip
    answer = st.integers(0, 10) if ranged else st.booleans()
    answers = {
        str(check["id"]): data.draw(answer) for check in checks if data.draw(st.integers(0, 4)) > 0
    }
    found = _rubric(checks, answers, ranged=ranged)
    score, broken = second.rubric(checks, answers)
    assert found.score == pytest.approx(float(score), **EXACT)
    assert found.fatal is broken
    assert found.status.value == ("passed" if not broken and score >= Fraction(8, 10) else "failed")


def _rubric(checks: list[dict[str, Any]], answers: dict[str, int], *, ranged: bool) -> Assessment:
    items = [
        {"id": one["id"], "text": "It holds.", "weight": one["weight"],
         "required": one["required"], "minPoints": one["required_min_score"]}
        | ({"ranges": {"0": "bad", "5": "good"}} if one["ranged"] else {})
        for one in checks
    ]  # fmt: skip
    key = "score" if ranged else "satisfied"
    proof = {"evidence_step": 2, "quote": "Done."}
    told = [
        {"id": name, key: value, "reasoning": "So.", **proof} for name, value in answers.items()
    ]
    reply = json.dumps({"checks": told, "overall_reasoning": "So."})
    judge = Judge(ScriptedCalls([says(reply)], forever=True))
    return assessed({"type": "rubric", "items": items}, said("Done."), judge)


TREES: st.SearchStrategy[Any] = st.recursive(
    st.booleans(), lambda inner: st.lists(st.tuples(WEIGHTS, inner), min_size=1, max_size=4),
    max_leaves=10,
)  # fmt: skip


def _depth(tree: Any) -> int:
    return 1 + max(_depth(inner) for _, inner in tree) if isinstance(tree, list) else 0


@states("Composites of composites, to 1e-12")
@settings(max_examples=examples(200), deadline=None)
@given(TREES.filter(lambda tree: isinstance(tree, list) and _depth(tree) <= 4))
def test_composites(tree: list[Any]) -> None:
    def written(inner: Any) -> dict[str, Any]:
        if isinstance(inner, list):
            parts = [{**written(part), "weight": weight} for weight, part in inner]
            return {"type": "composite", "assertions": parts}
        return {"type": "contains", "value": "Done" if inner else "Never"}

    found = assessed(written(tree), said("Done."))
    assert found.score == pytest.approx(float(second.composite(tree)), **EXACT)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=8), st.floats(0, 1))
def test_composites_with_a_threshold(hits: list[bool], least: float) -> None:
    parts = [{"type": "contains", "value": "Done" if hit else "Never"} for hit in hits]
    found = assessed({"type": "composite", "threshold": least, "assertions": parts}, said("Done."))
    share = second.threshold([float(hit) for hit in hits], 0.8)
    assert found.score == pytest.approx(float(share), **EXACT)
    if abs(float(share) - least) > 1e-8:
        assert (found.status.value == "passed") is (share >= least)


@states("Trajectories by `minimums`, `in_order` and `exact`, to 1e-12")
@settings(max_examples=examples(150), deadline=None)
@given(CALLS, st.dictionaries(TOOLS, st.integers(0, 3), min_size=1))
def test_trajectories_in_any_order(calls: list[second.Call], minimums: dict[str, int]) -> None:
    wanted = {"type": "toolTrajectory", "mode": "anyOrder", "minimums": minimums}
    found = assessed(wanted, made(calls))
    assert found.score == pytest.approx(float(second.any_order(minimums, calls)), **EXACT)


@settings(max_examples=examples(300), deadline=None)
@given(CALLS, EXPECTED, st.sampled_from(("inOrder", "exact")))
def test_trajectories_in_order(
    calls: list[second.Call], expected: list[tuple[str, dict[str, Any] | None]], mode: str
) -> None:
    wanted = {
        "type": "toolTrajectory",
        "mode": mode,
        "expected": [
            {"tool": tool} | ({} if arguments is None else {"arguments": arguments})
            for tool, arguments in expected
        ],
    }
    other = second.in_order if mode == "inOrder" else second.exact
    found = assessed(wanted, made(calls))
    assert found.score == pytest.approx(float(other(expected, calls)), **EXACT)


VALUES = st.dictionaries(
    st.sampled_from("abcd"), st.decimals(-9, 9, places=2).map(float), max_size=4
)
FIELDS = st.lists(
    st.fixed_dictionaries(
        {
            "path": st.sampled_from("abcd"),
            "match": st.sampled_from(("exact", "numeric_tolerance")),
            "required": st.booleans(),
            "weight": WEIGHTS,
            "tolerance": st.sampled_from((0.0, 0.5, 0.1)),
            "relative": st.booleans(),
        }
    ),
    min_size=1,
    max_size=5,
)


@states("Fields: weights, `required`, tolerances and both aggregations, to 1e-12")
@settings(max_examples=examples(300), deadline=None)
@given(FIELDS, VALUES.filter(bool), VALUES, st.booleans())
def test_fields(
    wanted: list[dict[str, Any]], expected: dict[str, float], answer: dict[str, float], whole: bool
) -> None:
    def written(field: dict[str, Any]) -> dict[str, Any]:
        if field["match"] == "exact":
            return {key: field[key] for key in ("path", "match", "required", "weight")}
        return {**field, "match": "numericTolerance"}

    options: dict[str, Any] = {"fields": [written(field) for field in wanted]}
    options |= {"aggregation": "allOrNothing"} if whole else {}
    found = assessed(
        {"type": "fieldAccuracy", **options}, said(json.dumps(answer)), None,
        Reference(answer=dict(expected)),
    )  # fmt: skip
    score = second.fields(wanted, expected, answer, all_or_nothing=whole)
    assert found.score == pytest.approx(float(score), **EXACT)


LIMITS = st.dictionaries(
    st.sampled_from(("maxToolCalls", "maxLlmCalls", "maxTokens", "maxSeconds")),
    st.integers(0, 6).map(float), min_size=1,
)  # fmt: skip


@states("Limits of `execution_metrics`, to 1e-12")
@settings(max_examples=examples(100), deadline=None)
@given(LIMITS, CALLS, st.integers(0, 6), st.integers(0, 6))
def test_metrics(
    limits: dict[str, float], calls: list[second.Call], asked: int, tokens: int
) -> None:
    seen = {"maxToolCalls": len(calls), "maxLlmCalls": asked, "maxTokens": tokens, "maxSeconds": 2}
    usage = Usage(input_tokens=tokens, output_tokens=0)
    whole = {key: limit if key == "maxSeconds" else int(limit) for key, limit in limits.items()}
    found = assessed({"type": "executionMetrics", **whole}, made(calls, usage, asked))
    assert found.score == pytest.approx(float(second.metrics(limits, seen)), **EXACT)
