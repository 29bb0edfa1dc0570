"""Tokens and models: what nobody counted is unknown, never zero."""

from __future__ import annotations

import pytest

from gateval.domain.decision.decision import make_report
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import Trace
from gateval.render.report.plan_wording import judge_questions, models_needed
from gateval.render.report.usage import (
    count_money,
    count_tokens,
    models_used,
    scripted_models,
    usage_by_agent,
)
from tests.helpers import sample_reports
from tests.helpers.reports import edit, make_results


@pytest.mark.parametrize(
    ("usages", "shown"),
    [
        ([], "none"),
        ([(None, None)], "unknown"),
        ([(10, None)], "unknown"),
        ([(0, 0)], "0 in, 0 out"),
        ([(1000, 20), (234, 5)], "1,234 in, 25 out"),
        ([(1, 2), (None, 2)], "1 in, 2 out, unknown for 1 trial"),
        ([(1, 2), (None, None), (None, None)], "1 in, 2 out, unknown for 2 trials"),
    ],
)
def test_tokens(usages: list[tuple[int | None, int | None]], shown: str) -> None:
    tokens = count_tokens(Usage(input_tokens=i, output_tokens=o) for i, o in usages)
    assert str(tokens) == shown


def test_only_trials_that_a_judge_saw_count_for_the_judge() -> None:
    support, invoice, _ = usage_by_agent(sample_reports.regressed())

    assert str(support.judge.tokens) == "3,200 in, 360 out"
    assert str(support.judge.money) == "unknown (no price of scripted/judge)"
    assert [name for name, _ in invoice.sides] == ["head", "base"]


@pytest.mark.parametrize(
    ("usages", "shown"),
    [
        ([], "none"),
        ([Usage()], "unknown"),
        ([Usage(usd=0.0)], "$0"),
        ([Usage(usd=0.00012), Usage(usd=1.5)], "$1.50"),
        ([Usage(usd=0.25), Usage()], "$0.25, unknown for 1 trial"),
        (
            [Usage(usd=0.25), Usage(unpriced=("openai/x",)), Usage(unpriced=("openai/x",))],
            "$0.25, unknown for 2 trials (no price of openai/x)",
        ),
        ([Usage(unpriced=("vllm/a", "vllm/b"))], "unknown (no price of vllm/a, vllm/b)"),
    ],
)
def test_money_that_nobody_knows_is_never_zero(usages: list[Usage], shown: str) -> None:
    assert str(count_money(usages)) == shown


def test_models_are_those_declared_asked_and_answering() -> None:
    report = sample_reports.regressed()
    plan = report.results.plan

    assert models_needed(plan) == ("openai/gpt-x", "scripted/judge")
    assert models_used(report) == ("openai/gpt-x", "scripted/judge", "scripted/support")
    assert scripted_models(report) == ("scripted/judge", "scripted/support")
    assert [judge_questions(planned) for planned in plan.evals] == [4, 0, 0]


def test_a_fallback_that_answered_is_named() -> None:
    trace = Trace(models=("openai/fallback",))
    results = edit(make_results("a-eval f head:pass"), "a-eval/f #1 on head", trace=trace)

    assert models_used(make_report(results)) == ("openai/fallback", "openai/gpt-x")


def test_a_judge_without_assertions_is_not_needed() -> None:
    plan = make_results("a-eval f head:pass").plan
    judge = JudgeSpec(model="openai/judge")
    evals = tuple(planned.model_copy(update={"judge": judge}) for planned in plan.evals)

    assert models_needed(plan.model_copy(update={"evals": evals})) == ("openai/gpt-x",)
