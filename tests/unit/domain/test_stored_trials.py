"""Stored base trials: what is not asked for again, and what base as it is now still has to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from gateval.domain.decision.decision import make_report
from gateval.domain.history.verdicts import plan_digest
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import BaselineRun, StoredTrials, UsedBaseline
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.results.outlook import outlook
from gateval.domain.results.progress import next_trials
from gateval.domain.results.results import Results, RunInfo, results_of
from gateval.domain.statistics.design import LookResult
from gateval.domain.trials.trial import Side, Trial, TrialKey
from gateval.domain.verdicts import GateVerdict
from tests.helpers.reports import make_results, make_trial

Words = Callable[[TrialKey], str]
TEN = "p" * 10


def stored_plan(marks: Mapping[str, str], *, repetitions: int = 3, fixtures: int = 0) -> Plan:
    """A plan whose fixtures, named by `marks`, have these base trials stored."""
    names = [*marks, *(f"more-{number}" for number in range(fixtures))]
    word = ",".join(["pass"] * repetitions)
    rows = "\n".join(f"a-eval {name} base:{word} head:{word}" for name in names)
    plan = make_results(rows, threshold=None, deterministic=False).plan
    stored = tuple(StoredTrials(fixture=name, marks=one) for name, one in marks.items())
    evals = tuple(one.model_copy(update={"stored": stored}) for one in plan.evals)
    filled = plan.model_copy(update={"evals": evals})
    run = BaselineRun(run=7, commit="a" * 40, at="2026-11-20T09:00:00Z")
    used = UsedBaseline(digest=filled.stored_digest(), runs=(run,))
    return Plan.model_validate(filled.model_copy(update={"baseline": used}).model_dump())


def run(plan: Plan, say: Words) -> Results:
    """The results of a run in which each trial ends as `say` tells."""
    trials: list[Trial] = []
    while keys := next_trials(plan, trials):
        trials += [make_trial(key, say(key)) for key in keys]
    return results_of(plan, trials, RunInfo())


def made(results: Results, side: Side, fixture: str = "one") -> list[int]:
    return [
        trial.key.repetition
        for trial in results.trials
        if (trial.key.side, trial.key.fixture) == (side, fixture)
    ]


def change(results: Results, fixture: str = "one") -> FixtureChange:
    (compared,) = make_report(results).comparison.evals
    return next(one.change for one in compared.fixtures if one.fixture == fixture)


def passing(_: TrialKey) -> str:
    return "pass"


def head_fails(key: TrialKey) -> str:
    return "fail" if key.side is Side.HEAD else "pass"


def all_fail(_: TrialKey) -> str:
    return "fail"


def test_where_head_does_as_well_base_is_not_measured() -> None:
    results = run(stored_plan({"one": TEN}), passing)
    assert made(results, Side.BASE) == []
    assert made(results, Side.HEAD) == [1, 2, 3]
    (compared,) = make_report(results).comparison.evals
    assert change(results) is FixtureChange.UNCHANGED
    assert compared.base is not None
    assert (compared.base.ends, compared.base.fixtures[0].planned) == ((1.0, 1.0), 10)
    assert make_report(results).decision.evals is GateVerdict.PASS
    assert results.plan.trial_count == outlook(results.plan).planned == 3


def test_one_stored_trial_saves_one() -> None:
    results = run(stored_plan({"one": "p"}, repetitions=1), passing)
    assert (made(results, Side.BASE), made(results, Side.HEAD)) == ([], [1])


def test_a_broken_fixture_regresses_once_base_as_it_is_now_says_so_too() -> None:
    results = run(stored_plan({"one": TEN, "two": TEN}), head_fails)
    assert made(results, Side.BASE)[:3] == [11, 12, 13]
    assert change(results) is FixtureChange.REGRESSED
    assert make_report(results).decision.evals is GateVerdict.FAIL


def test_where_base_is_as_bad_today_nothing_regresses() -> None:
    results = run(stored_plan({"one": TEN}), all_fail)
    report = make_report(results)
    assert change(results) is not FixtureChange.REGRESSED
    assert report.decision.evals is GateVerdict.PASS
    said = [one.text for one in report.decision.reasons]
    assert any("base does no better today, so the stored baseline is outdated" in s for s in said)


def test_an_alarm_of_all_together_is_confirmed_against_fresh_trials_of_base() -> None:
    marks = {f"f{number}": TEN for number in range(20)}

    def slipping(key: TrialKey) -> str:
        """One of three fails, on head only."""
        number = int(key.fixture[1:]) + key.repetition
        return "fail" if key.side is Side.HEAD and number % 3 == 0 else "pass"

    results = run(stored_plan(marks), slipping)
    (compared,) = make_report(results).comparison.evals
    assert compared.slipped
    for name in marks:
        assert made(results, Side.BASE, name)[:5] == [11, 12, 13, 14, 15]

    def both(key: TrialKey) -> str:
        return slipping(replace(key, side=Side.HEAD))

    report = make_report(run(stored_plan(marks), both))
    (compared,) = report.comparison.evals
    assert compared.broad is not None
    assert (compared.broad.step, compared.broad.outdated) == (LookResult.STOP, True)
    assert report.decision.evals is GateVerdict.PASS
    assert any("is below the stored baseline" in one.text for one in report.decision.reasons)


def test_a_silent_head_is_held_against_base_as_it_answers_now() -> None:
    def silent(key: TrialKey) -> str:
        return "candidate" if key.side is Side.HEAD else "pass"

    plan = stored_plan({"one": TEN, "two": TEN})
    report = make_report(run(plan, silent))
    assert report.decision.evals is GateVerdict.FAIL
    today = make_report(run(plan, lambda _: "candidate"))
    assert today.decision.evals is GateVerdict.INCONCLUSIVE
    assert not any(one.no_answer for one in today.comparison.evals[0].fixtures)


def test_fixtures_without_stored_trials_are_measured_on_both_sides() -> None:
    results = run(stored_plan({"one": TEN}, fixtures=1), passing)
    assert made(results, Side.BASE) == []
    assert made(results, Side.BASE, "more-0") == [1, 2, 3]


def test_equal_baselines_and_trials_give_equal_verdicts() -> None:
    first = run(stored_plan({"one": "pppppppppf"}), head_fails)
    again = Results.model_validate_json(first.model_dump_json())
    assert make_report(again).decision == make_report(first).decision


def _with(results: Results, **changes: Any) -> dict[str, Any]:
    return results.model_dump() | changes


def test_a_stored_trial_cannot_be_measured_in_its_place() -> None:
    results = run(stored_plan({"one": TEN}), passing)
    key = TrialKey(eval="a-eval", fixture="one", side=Side.BASE, repetition=3)
    forged = make_trial(key, "pass").model_dump()
    trials = [*(one.model_dump() for one in results.trials), forged]
    with pytest.raises(ValidationError, match="is not planned"):
        Results.model_validate(_with(results, trials=trials))


def test_a_plan_that_names_another_baseline_than_it_carries_is_refused() -> None:
    plan = stored_plan({"one": TEN})
    assert plan.baseline is not None
    content = plan.model_dump()
    content["evals"][0]["stored"][0]["marks"] = "f" * 10
    with pytest.raises(ValidationError, match="not those that the plan's baseline names"):
        Plan.model_validate(content)
    with pytest.raises(ValidationError, match="not those that the plan's baseline names"):
        Plan.model_validate(plan.model_dump() | {"baseline": None})


def test_what_is_stored_does_not_change_what_would_run() -> None:
    """So a label event restates a verdict for which base was not measured."""
    plan = stored_plan({"one": TEN})
    bare = plan.model_copy(
        update={"evals": tuple(one.measured_anew for one in plan.evals), "baseline": None}
    )
    assert plan_digest(plan) == plan_digest(bare)
