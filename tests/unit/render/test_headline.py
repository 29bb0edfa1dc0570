"""The first line: verdict and why, in a reviewer's words."""

from __future__ import annotations

import pytest

from gateval.domain.manifests.gate_config import InconclusivePolicy, Policy, RegressionPolicy
from gateval.domain.plan.planned_eval import StoredTrials
from gateval.render.report.headline import headline
from tests.helpers.reports import TWELVE_OF_FIFTEEN, make

WARN = Policy(regressions=RegressionPolicy.WARN, inconclusive=InconclusivePolicy.WARN)


@pytest.mark.parametrize(
    ("rows", "threshold", "policy", "said"),
    [
        ("a-eval f base:pass head:fail", 0.0, None, "f passed before and fails now"),
        (
            "a-eval f base:pass head:fail\na-eval g base:pass head:fail",
            0.0,
            None,
            "f and g passed before and fail now",
        ),
        (
            "\n".join(f"a-eval f{n} base:pass head:fail" for n in range(3)),
            0.0,
            None,
            "3 fixtures passed before and fail now",
        ),
        ("a-eval f base:pass head:candidate", 0.0, None, "a no longer answers"),
        (
            "a-eval f base:pass head:skip\nb-eval g base:pass head:candidate",
            0.0,
            None,
            "a, b no longer answer",
        ),
        ("a-eval f base:new head:fail", 1.0, None, "a-eval is below its threshold"),
        (
            "\n".join(f"e{n}-eval f base:new head:fail" for n in range(1200)),
            1.0,
            None,
            "1,200 Evals are below their thresholds",
        ),
        ("a-eval f head:pass,-", 0.0, None, "1 of 2 planned runs did not happen"),
        (
            "a-eval f head:judge\na-eval g head:provider\na-eval h head:provider",
            0.0,
            None,
            (
                "the model provider was down or refused the call in 2 runs; "
                "the judge gave no usable verdict in 1 run"
            ),
        ),
        (
            "a-eval f base:gate head:fail\na-eval g head:gate base:pass",
            0.0,
            None,
            "something that the run needs was not there in 1 run and in 1 of base",
        ),
        (
            "a-eval f base:provider head:fail\na-eval g base:pass head:pass",
            0.0,
            None,
            "base could not be measured in 1 run: the model provider was down or refused the call",
        ),
        (
            "a-eval f base:provider head:judge\na-eval g base:judge head:fail",
            0.0,
            None,
            "the judge gave no usable verdict in 1 run; base could not be measured in 2 runs",
        ),
        (
            "a-eval f head:candidate\na-eval g head:pass",
            0.0,
            None,
            "the agent gave no answer in 1 run",
        ),
        (
            "a-eval f head:candidate",
            0.0,
            None,
            "a gave no answer: the candidate had a bad day",
        ),
        (
            "a-eval f base:fail head:fail",
            0.0,
            None,
            (
                "a-eval: nothing passes, and nothing passes on base either; this Eval cannot see a "
                "regression"
            ),
        ),
        (
            "a-eval f base:candidate head:candidate\nb-eval g base:pass head:pass",
            0.9,
            None,
            "a gave no answer, on base neither: the candidate had a bad day",
        ),
        ("a-eval f base:pass head:pass", None, None, "1 Eval measured; nothing regressed"),
        ("a-eval f base:new head:pass", None, None, "1 Eval passes"),
        ("a-eval f base:new head:fail", None, None, "not all fixtures of a-eval pass"),
        ("a-eval f head:pass", 1.0, None, "1 Eval meets its threshold"),
        (
            "a-eval f head:pass\nb-eval g base:pass head:pass",
            1.0,
            None,
            "2 Evals meet their thresholds; nothing regressed",
        ),
        (
            "a-eval f base:pass head:fail",
            0.0,
            WARN,
            "1 Eval meets its threshold; 1 fixture regressed, which the policy lets pass",
        ),
        (
            f"a-eval f base:pass head:{TWELVE_OF_FIFTEEN}",
            0.0,
            None,
            "1 Eval meets its threshold; 1 fixture looks worse",
        ),
        (
            "a-eval f head:judge\na-eval g head:pass",
            0.0,
            WARN,
            "1 Eval meets its threshold; 1 run without a verdict, which the policy lets pass",
        ),
    ],
)
def test_headline(rows: str, threshold: float, policy: Policy | None, said: str) -> None:
    assert headline(make(rows, threshold=threshold, policy=policy)) == said


def test_nothing_to_evaluate() -> None:
    assert headline(make("", nothing="No agent changed.")) == "No agent changed"


def test_fresh_trials_of_a_stored_base_stand_for_none_of_head_that_did_not_run() -> None:
    report = make("a-eval f base:pass,pass head:pass,-", threshold=0.0)
    stored = (StoredTrials(fixture="f", marks="pp"),)
    (planned,) = report.results.plan.evals
    plan = report.results.plan.model_copy(
        update={"evals": (planned.model_copy(update={"stored": stored}),)}
    )
    results = report.results.model_copy(update={"plan": plan})
    said = headline(report._replace(results=results))
    assert said.startswith("1 of 2 planned runs did not happen")
