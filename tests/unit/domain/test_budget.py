"""What a budget takes away: repetitions, those that tell least first, never a fixture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import CONFIRMING, KnownRegression
from gateval.domain.planning.shares import within
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.results.outlook import found_drop, outlook, spare_trials
from gateval.domain.results.progress import next_trials
from gateval.domain.results.results import RunInfo, results_of
from gateval.domain.statistics.design import design
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import Side, Trial, TrialKey
from gateval.domain.verdicts import GateVerdict, ReasonCode
from gateval.render.report.plan_wording import budget_lines, outlook_lines
from gateval.render.report.usage import certainty
from tests.helpers.false_alarms import false_alarm
from tests.helpers.reports import make_results, make_trial
from tests.helpers.tiers import examples

Oracle = Callable[[TrialKey], bool]
BUDGET = (
    "budget (policy.budget): {}; then nothing is run again that looks worse, and the gate does not "
    "pass on it"
)
PRICE = (
    "without it, a drop in one fixture is found in 4 of 5 cases if its pass rate falls by {:.0f} "
    "points or more; that is its price"
)
USAGE = Usage(input_tokens=90, output_tokens=10, usd=0.01)


def plan_of(fixtures: int, reps: int, **budget: Any) -> Plan:
    sides = ",".join(["pass"] * reps)
    rows = "\n".join(f"a-eval f{n:02} base:{sides} head:{sides}" for n in range(fixtures))
    plan = make_results(rows, threshold=None, deterministic=False).plan
    return plan.model_copy(update={"policy": Policy.model_validate({"budget": budget})})


def run(plan: Plan, passes: Oracle, seconds: float = 1.0) -> tuple[Trial, ...]:
    finished: list[Trial] = []
    while keys := next_trials(plan, finished):
        for key in keys:
            trial = make_trial(key, "pass" if passes(key) else "fail")
            finished.append(trial.model_copy(update={"usage": USAGE, "seconds": seconds}))
    return tuple(finished)


def reported(plan: Plan, passes: Oracle, seconds: float = 1.0) -> Report:
    return make_report(results_of(plan, run(plan, passes, seconds), RunInfo()))


def broken(*names: str) -> Oracle:
    return lambda key: key.side is Side.BASE or key.fixture not in names


def regressed(report: Report) -> set[str]:
    (one,) = report.comparison.evals
    return {f.fixture for f in one.fixtures if f.change is FixtureChange.REGRESSED}


@pytest.mark.parametrize(
    ("asked", "budget", "kept"),
    [
        ([3], None, [3]),
        ([3], 60, [3]),
        ([3], 59, [2]),
        ([3], 20, [1]),
        ([3], 1, [1]),
        ([5, 2], 80, [2, 2]),
        ([5, 2], 119, [3, 2]),
        ([5, 5], 140, [4, 3]),
        ([1, 1], 1, [1, 1]),
        ([1000], 10_000, [500]),
    ],
)
def test_the_most_repeated_are_cut_first(
    asked: list[int], budget: int | None, kept: list[int]
) -> None:
    """Ten fixtures on two sides each."""
    evals = []
    for number, reps in enumerate(asked):
        (one,) = plan_of(10, 1).evals
        execution = one.execution.model_copy(update={"reps_per_fixture": reps})
        evals.append(one.model_copy(update={"name": f"e{number}", "execution": execution}))
    cut = within(evals, budget)
    assert [one.execution.reps_per_fixture for one in cut] == kept
    assert [one.uncut.execution.reps_per_fixture for one in cut] == asked
    assert all(len(one.fixtures) == 10 for one in cut)


@given(
    seed=st.integers(0, 10_000),
    fixtures=st.integers(2, 8),
    reps=st.sampled_from([1, 2, 3]),
    extra=st.integers(0, 60),
    rate=st.sampled_from([0.5, 0.8, 0.95]),
)
@settings(max_examples=examples(60), deadline=None)
def test_a_budget_only_takes_alarms_away(
    seed: int, fixtures: int, reps: int, extra: int, rate: float
) -> None:
    """The same draws, with and without: what it calls regressed, the whole schedule does, too.

    So the bound on false alarms holds under any budget.
    """
    draws = Random(seed)
    outcomes: dict[str, bool] = {}

    def passes(key: TrialKey) -> bool:
        return outcomes.setdefault(str(key), draws.random() < rate)

    free = plan_of(fixtures, reps)
    whole = reported(free, passes)
    limit = free.trial_count + extra
    cut = reported(plan_of(fixtures, reps, repetitions=limit), passes)

    assert regressed(cut) <= regressed(whole)
    assert whole.comparison.evals[0].slipped or not cut.comparison.evals[0].slipped
    assert free.trial_count <= len(cut.results.trials) <= limit
    codes = {reason.code for reason in cut.decision.reasons}
    assert ReasonCode.MISSING_TRIALS not in codes


def test_what_looked_worse_and_could_not_be_looked_at_again_is_no_pass() -> None:
    report = reported(plan_of(4, 1, repetitions=8), broken("f01"))
    assert len(report.results.trials) == 8
    assert report.decision.verdict is GateVerdict.INCOMPLETE
    (told,) = [one for one in report.decision.reasons if one.code is ReasonCode.BUDGET]
    assert told.text == (
        "f01 looks worse: passed 1 of 1 before, 0 of 1 now, and the budget of the run "
        "(policy.budget) leaves nothing to look again"
    )


def test_a_budget_that_is_enough_changes_nothing() -> None:
    free, tight = plan_of(6, 1), plan_of(6, 1, repetitions=60)
    assert run(tight, broken("f01")) == run(free, broken("f01"))
    assert reported(tight, broken("f01")).decision.verdict is GateVerdict.FAIL
    assert reported(tight, broken()).decision.verdict is GateVerdict.PASS


def test_who_looks_worst_is_served_first() -> None:
    """Three repetitions: f00 fails one of them, f02 all; there is room for one more look."""

    def passes(key: TrialKey) -> bool:
        fails = {"f00": key.repetition == 1, "f02": True}.get(key.fixture, False)
        return key.side is Side.BASE or not fails

    trials = run(plan_of(4, 3, repetitions=24 + 8), passes)
    many = {name: sum(t.key.fixture == name for t in trials) for name in ("f00", "f01", "f02")}
    assert many == {"f00": 6, "f01": 6, "f02": 14}


@pytest.mark.parametrize(
    ("budget", "seconds", "most"),
    [
        ({"tokens": 1_000}, 1, 10),
        ({"tokens": 1_200}, 1, 12),
        ({"usd": 0.10}, 1, 10),
        ({"usd": 0.12}, 1, 12),
        ({"usd": 100}, 1, 1000),
        ({"minutes": 0.5}, 12, 10),  # four side by side: 12 s of a trial are 3 s of the run
        ({"minutes": 1000, "usd": 0.10}, 12, 10),
    ],
)
def test_tokens_money_and_minutes_end_further_looks(
    budget: dict[str, Any], seconds: float, most: int
) -> None:
    """Two of four fixtures break; each wants four more trials for its second look."""
    plan = plan_of(4, 1, **budget)
    free = len(run(plan_of(4, 1), broken("f01", "f02")))
    trials = run(plan, broken("f01", "f02"), seconds)
    assert 8 <= len(trials) <= min(most, free)
    if most >= 1000:
        assert len(trials) == free


def test_money_that_nobody_knows_ends_nothing() -> None:
    plan = plan_of(4, 1, usd=0.001)
    finished: list[Trial] = []
    while keys := next_trials(plan, finished):
        finished += [make_trial(key, "pass" if broken("f01")(key) else "fail") for key in keys]
    assert len(finished) == len(run(plan_of(4, 1), broken("f01")))


def test_all_together_are_not_looked_at_again_either() -> None:
    """Every fixture fails one of three on head: none looks bad enough alone, all together do."""

    def passes(key: TrialKey) -> bool:
        return key.side is Side.BASE or (int(key.fixture[1:]) + key.repetition) % 5 > 0

    plan = plan_of(12, 3, repetitions=72)
    report = reported(plan, passes)
    assert len(report.results.trials) == 72
    (told,) = [one.text for one in report.decision.reasons if one.code is ReasonCode.BUDGET]
    assert told.startswith("a-eval looks worse as a whole, and the budget of the run")
    assert report.decision.verdict is GateVerdict.INCOMPLETE


def test_an_unchanged_agent_passes_on_the_smallest_budget() -> None:
    report = reported(plan_of(10, 1, repetitions=1), lambda _: True)
    assert report.decision.verdict is GateVerdict.PASS
    assert len(report.results.trials) == 20


def cut_plan(fixtures: int, reps: int, budget: int) -> Plan:
    plan = plan_of(fixtures, reps, repetitions=budget)
    return plan.model_copy(update={"evals": tuple(within(plan.evals, budget))})


def test_the_price_is_told_in_detectable_drop() -> None:
    free, cut = plan_of(10, 6), cut_plan(10, 6, 30)
    seen = outlook(cut)
    assert seen.drop is not None
    assert seen.free_drop == outlook(free).drop
    assert seen.drop > (seen.free_drop or 0)
    assert budget_lines(cut) == (
        BUDGET.format("30 repetitions"),
        "it leaves a-eval 1 of 6 repetitions",
        "it leaves 10 trials for what looks worse",
        PRICE.format(100 * (seen.free_drop or 0)),
    )
    assert set(budget_lines(cut)) <= set(outlook_lines(cut))


@pytest.mark.parametrize(
    ("budget", "left"),
    [
        ({"tokens": 1}, "nothing of it"),
        ({"usd": 0.08}, "nothing of it"),
        ({"minutes": 0.1}, "nothing of it"),
        ({"usd": 0.125}, "room for 4 more trials"),
        ({"tokens": 1_000_000}, "room for 9,992 more trials"),
    ],
)
def test_what_a_used_up_budget_could_have_missed_is_told(budget: dict[str, Any], left: str) -> None:
    """Tokens, money and time are known afterwards, and so is how far one could look."""
    seconds = 4.0 if "minutes" in budget else 1.0
    said = certainty(reported(plan_of(4, 1, **budget), lambda _: True, seconds))
    free = certainty(reported(plan_of(4, 1), lambda _: True))
    assert f"The planned trials left {left}." in said
    assert (free[0] in said) is ("9,992" in left)
    assert any(line.endswith("that is its price.") for line in said) is ("9,992" not in left)


def test_looks_that_no_fixture_can_reach_find_nothing() -> None:
    (planned,) = plan_of(10, 1).evals
    drops = [found_drop(planned, spare) for spare in (0, 4, 10, 18, 28, 1000)]
    assert drops == sorted(drops, reverse=True)
    assert drops[0] == 1.0
    assert drops[-2] == drops[-1] < 1


def test_a_cut_schedule_keeps_its_share() -> None:
    """What `within` leaves is a schedule of its own, calibrated like any other before the run."""
    (cut,) = cut_plan(10, 6, 60).evals
    assert cut.execution.reps_per_fixture == 3
    rule = design(cut.looks, cut.fixture_share)
    assert false_alarm(rule) <= cut.fixture_share


def test_a_budget_below_one_of_each_says_so() -> None:
    plan = cut_plan(10, 3, 5)
    assert spare_trials(plan) == 0
    assert budget_lines(plan)[2].startswith("one trial of each fixture and side takes 15 more")


@pytest.mark.parametrize(
    "wrong",
    [
        {"repetitions": 0},
        {"repetitions": -5},
        {"repetitions": 1.5},
        {"usd": 0},
        {"usd": -1},
        {"usd": float("nan")},
        {"minutes": -1},
        {"tokens": 0},
        {"eur": 5},
    ],
)
def test_wrong_budgets_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="budget"):
        Policy.model_validate({"budget": wrong})


@given(
    passing=st.lists(st.sampled_from([0.0, 0.5, 0.9, 1.0]), min_size=2, max_size=6),
    seed=st.integers(0, 10_000),
    limit=st.none() | st.integers(1, 60),
    added=st.booleans(),
    standing=st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
def test_all_fixtures_of_a_sealed_eval_are_asked_as_often(
    passing: list[float], seed: int, limit: int | None, added: bool, standing: bool
) -> None:
    """Whoever counts what an agent is asked learns nothing of one: budget, new or known ones."""
    plan = plan_of(len(passing), 1, **({} if limit is None else {"repetitions": limit}))
    (planned,) = plan.evals
    known = KnownRegression(
        fixture="f01", base_passes=3, base_trials=3, head_passes=0, head_trials=3
    )
    sealed = planned.model_copy(
        update={
            "sealed": True,
            "compared": tuple(one for one in planned.compared if one != "f00" or not added),
            "added": ("f00",) if added else (),
            "standing": (known,) if standing else (),
        }
    )
    plan = plan.model_copy(update={"evals": (sealed,)})
    random = Random(seed)

    def passes(key: TrialKey) -> bool:
        return key.side is Side.BASE or random.random() < passing[int(key.fixture[1:])]

    finished: list[Trial] = []
    while keys := next_trials(plan, finished):
        finished += [make_trial(key, "pass" if passes(key) else "fail") for key in keys]
        asked = Counter((one.key.fixture, one.key.side) for one in finished)
        for side in Side:
            assert len({asked[one.name, side] for one in sealed.fixtures}) == 1
    if limit is not None:
        least = len(passing) * 2 * (CONFIRMING if added else 1)
        assert len(finished) <= max(limit, least)
    report = make_report(results_of(plan, finished, RunInfo()))
    assert not any(one.missing for one in report.comparison.evals[0].fixtures)
