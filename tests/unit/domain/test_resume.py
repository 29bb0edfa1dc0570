"""Which trials of an earlier run count in one that goes on from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateval.domain.plan.plan import Plan
from gateval.domain.results.resume import addresses, kept_trials, resumed_sentence
from gateval.domain.tree import Revision
from gateval.domain.trials.trial import Trial
from tests.helpers.reports import make

ROWS = """
    support-eval refund high base:pass,pass head:fail,pass
    support-eval greets      base:pass,pass head:provider,judge
    other-eval   adds        base:new       head:pass
"""


def results() -> tuple[Plan, tuple[Trial, ...]]:
    """A plan and what came of it."""
    made = make(ROWS).results
    return made.plan, made.trials


def changed(plan: Plan, where: str, name: str, **update: Any) -> Plan:
    """The plan with other values of one Agent, Eval or fixture."""
    if where == "fixture":
        evals = [
            one.model_copy(
                update={
                    "fixtures": tuple(
                        each.model_copy(update=update if each.name == name else {})
                        for each in one.fixtures
                    )
                }
            )
            for one in plan.evals
        ]
        return plan.model_copy(update={"evals": tuple(evals)})
    values = getattr(plan, where)
    new = tuple(one.model_copy(update=update if one.name == name else {}) for one in values)
    return plan.model_copy(update={where: new})


def names(kept: tuple[Trial, ...]) -> set[str]:
    """The fixtures of trials."""
    return {one.key.fixture for one in kept}


def test_what_was_measured_is_kept_red_and_green_and_what_was_lost_is_not() -> None:
    plan, trials = results()
    kept = kept_trials(plan, plan, trials)
    assert set(kept.measured) == {one for one in trials if one.passed is not None}
    assert {one.passed for one in kept.measured} == {True, False}
    assert not kept.to_judge, "the trials of this language have no whole trace"


@pytest.mark.parametrize(
    ("where", "name", "update", "left"),
    [
        ("agents", "support", {"closure": "f" * 64}, {"adds"}),
        ("agents", "other", {"models": ("openai/other",)}, {"refund", "greets"}),
        ("fixture", "refund", {"digest": "e" * 64}, {"greets", "adds"}),
        ("fixture", "refund", {"shadow_tools": ("pay",)}, {"greets", "adds"}),
        ("evals", "other-eval", {"needs_model": False}, {"refund", "greets"}),
    ],
)
def test_trials_of_another_address_run_again(
    where: str, name: str, update: dict[str, Any], left: set[str]
) -> None:
    plan, trials = results()
    kept = kept_trials(changed(plan, where, name, **update), plan, trials)
    assert names(kept.measured) == left


def test_nothing_is_kept_of_other_revisions_or_under_another_policy() -> None:
    plan, trials = results()
    head = Revision(name="HEAD", commit="9" * 40, tree="8" * 40)
    assert not kept_trials(plan.model_copy(update={"head": head}), plan, trials).measured
    gateway = plan.policy.gateway.model_copy(update={"max_tokens": 7})
    policy = plan.policy.model_copy(update={"gateway": gateway})
    assert not kept_trials(plan.model_copy(update={"policy": policy}), plan, trials).measured


def test_what_the_plan_does_not_ask_for_is_left_out() -> None:
    plan, trials = results()
    far = trials[0].model_copy(update={"key": replace(trials[0].key, repetition=1_000)})
    unknown = trials[0].model_copy(update={"key": replace(trials[0].key, eval="x")})
    assert kept_trials(plan, plan, (far, unknown)).measured == ()


def test_nothing_of_a_sealed_eval_is_kept() -> None:
    plan, trials = results()
    sealed = changed(plan, "evals", "support-eval", sealed=True)
    assert names(kept_trials(sealed, plan, trials).measured) == {"adds"}
    assert names(kept_trials(plan, sealed, trials).measured) == {"adds"}


def test_every_trial_has_addresses_of_its_own() -> None:
    plan, trials = results()
    address = addresses(plan)
    found = [address(one.key) for one in trials]
    assert len({answer for answer, _ in found}) == len({said for _, said in found}) == len(trials)
    assert [addresses(plan)(one.key) for one in trials] == found, "equal plans, equal addresses"


def test_the_answer_does_not_depend_on_the_judge() -> None:
    plan, trials = results()
    judge = plan.evals[0].judge.model_copy(update={"model": "openai/other"})
    other = changed(plan, "evals", "support-eval", judge=judge)
    for one in trials:
        (answer, said), (now, saying) = addresses(plan)(one.key), addresses(other)(one.key)
        assert answer == now
        assert (said == saying) is (one.key.eval != "support-eval")


def test_what_is_kept_is_said() -> None:
    plan, trials = results()
    said = resumed_sentence("20261120-093000-ab12", kept_trials(plan, plan, trials), 2)
    assert said.startswith("Goes on from run 20261120-093000-ab12; of its trials, ")
    assert "count, red and green alike; 2 under way when it ended are paid again." in said
