"""Results hold no trial that nobody can have asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from gateval.domain.plan.planned_eval import Bar
from gateval.domain.results.results import Results
from gateval.domain.trials.trial import Side, TrialKey
from tests.helpers.reports import edit_plan, make_results, make_trial

HEAD, BASE = Side.HEAD, Side.BASE


def with_trial(results: Results, key: TrialKey) -> Results:
    """The same plan with this trial alone, read as from a file."""
    lone = results.model_copy(update={"trials": (make_trial(key, "fail"),)})
    return Results.model_validate(lone.model_dump(mode="json"))


@pytest.mark.parametrize(
    ("row", "side", "most"),
    [
        ("base:pass head:pass", HEAD, 15),
        ("base:pass head:pass", BASE, 15),
        ("base:pass,pass,pass head:pass,pass,pass", HEAD, 15),
        ("base:pass,pass,pass head:pass,pass,pass", BASE, 18),
        (f"base:{','.join(['pass'] * 20)} head:{','.join(['pass'] * 20)}", BASE, 20),
        ("added base:pass head:pass", HEAD, 3),
        ("added base:pass head:pass", BASE, 3),
        ("base:new head:pass", HEAD, 3),
        ("base:new head:pass", BASE, 0),
        ("base:same head:pass,pass,pass,pass,pass", HEAD, 5),
    ],
)
def test_there_is_a_last_trial_that_can_be_asked_for(row: str, side: Side, most: int) -> None:
    results = make_results(f"a-eval f {row}", deterministic=False)

    def key(repetition: int) -> TrialKey:
        return TrialKey(eval="a-eval", fixture="f", side=side, repetition=repetition)

    if most:
        assert with_trial(results, key(most)).trials
    with pytest.raises(ValidationError, match="is not planned"):
        with_trial(results, key(most + 1))


@pytest.mark.parametrize(
    ("evaluation", "fixture"), [("a-eval", "g"), ("b-eval", "f"), ("a-eval.tip", "f")]
)
def test_a_trial_of_what_does_not_run_under_that_name_is_refused(
    evaluation: str, fixture: str
) -> None:
    """What the target branch's version reuses is measured under head's name alone."""
    rows = "a-eval f base:pass head:pass\na-eval.tip f base:pass head:pass"
    results = make_results(rows)
    own, bar = results.plan.evals
    bar = bar.model_copy(update={"bar": Bar(eval="a-eval", reused=("f",))})
    results = edit_plan(results, evals=(own, bar))
    key = TrialKey(eval=evaluation, fixture=fixture, side=HEAD, repetition=1)
    with pytest.raises(ValidationError, match="is not planned"):
        with_trial(results, key)
    assert with_trial(results, replace(key, eval="a-eval", fixture="f")).trials
