"""Which trials are asked for, at which borders, and when no more are."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.plan.planned_eval import Bar
from gateval.domain.results.progress import next_trials
from gateval.domain.results.results import Results, RunInfo, results_of
from gateval.domain.trials.trial import Outcome, Side, Trial, TrialKey
from tests.helpers.first_trials import first_trials
from tests.helpers.reports import TWELVE_OF_FIFTEEN, edit, edit_plan, make_results, make_trial
from tests.helpers.tiers import examples

BY_CHANCE: dict[str, Any] = {"threshold": None, "deterministic": False}
EXACT: dict[str, Any] = {"threshold": None, "deterministic": True}


def borders(results: Results, fixture: str = "f", evaluation: str = "a-eval") -> list[str]:
    """How many trials base and head have of a fixture at each border, as `base+head`."""
    by_key = {trial.key: trial for trial in results.trials}
    finished: list[Trial] = []
    seen: list[str] = []
    while keys := [key for key in next_trials(results.plan, finished) if key in by_key]:
        finished += [by_key[key] for key in keys]
        mine = [
            t.key.side for t in finished if (t.key.eval, t.key.fixture) == (evaluation, fixture)
        ]
        seen.append(f"{mine.count(Side.BASE)}+{mine.count(Side.HEAD)}")
    return [text for number, text in enumerate(seen) if number == 0 or text != seen[number - 1]]


@pytest.mark.parametrize(
    ("outcomes", "asked"),
    [
        pytest.param("base:pass head:pass", ["1+1"], id="no worse: stops"),
        pytest.param("base:fail head:fail", ["1+1"], id="as bad: stops"),
        pytest.param("base:fail head:pass", ["1+1"], id="better: stops"),
        pytest.param("base:pass head:fail+pass", ["1+1", "3+3"], id="luck"),
        pytest.param("base:pass head:fail", ["1+1", "3+3"], id="broken, and alone"),
        pytest.param(
            "base:pass head:fail+pass,fail,pass,fail,fail", ["1+1", "3+3", "6+6"], id="broken"
        ),
        pytest.param(
            f"base:pass head:{TWELVE_OF_FIFTEEN}",
            ["1+1", "3+3", "6+6", "10+10", "15+15"],
            id="all looks",
        ),
        pytest.param("base:pass,pass head:pass,fail", ["2+2", "7+6"], id="two repetitions"),
        pytest.param(
            "base:pass,pass,pass head:fail,fail,pass+pass",
            ["3+3", "8+6", "13+10", "18+15"],
            id="three repetitions",
        ),
        pytest.param("base:pass,pass,pass head:fail,pass,pass", ["3+3"], id="one of three"),
        pytest.param("base:pass head:provider", ["1+1"], id="a lost trial of head is a pass"),
        pytest.param("base:provider head:fail", ["1+1"], id="a lost trial of base is a failure"),
        pytest.param("base:pass head:fail+provider,pass", ["1+1", "3+3"], id="lost later"),
        pytest.param("base:fail head:candidate", ["1+1", "3+3", "6+6"], id="silent head"),
        pytest.param(
            "base:fail,fail,fail head:skip,skip,skip", ["3+3", "8+6"], id="silent three times"
        ),
        pytest.param("base:pass head:candidate+pass", ["1+1", "3+3"], id="silent once"),
        pytest.param("base:new head:candidate", ["0+1", "0+3"], id="silent without a baseline"),
        pytest.param("base:new head:fail", ["0+1"], id="nothing to compare with"),
        pytest.param("added base:pass head:pass", ["1+1"], id="new, passes"),
        pytest.param("added base:pass head:fail+pass", ["1+1", "1+3"], id="new, two of three"),
        pytest.param("added base:same head:fail", ["0+1", "0+3"], id="new, agent unchanged"),
        pytest.param("added base:pass head:provider", ["1+1"], id="new, lost"),
    ],
)
def test_by_chance(outcomes: str, asked: list[str]) -> None:
    assert borders(make_results(f"a-eval f {outcomes}", **BY_CHANCE)) == asked


@pytest.mark.parametrize(
    ("outcomes", "asked"),
    [
        pytest.param("base:pass head:pass", ["1+1"], id="the same"),
        pytest.param("base:fail head:pass", ["1+1"], id="better"),
        pytest.param("base:pass head:fail", ["1+1", "2+2"], id="one flip, confirmed"),
        pytest.param("base:pass head:candidate", ["1+1", "2+2"], id="silence is alike, too"),
        pytest.param("base:pass,pass head:fail,fail", ["2+2"], id="confirmed by what was planned"),
        pytest.param("base:pass head:fail+pass", ["1+1", "2+2", "3+3"], id="head differs"),
        pytest.param("base:pass+fail head:fail", ["1+1", "2+2", "3+3"], id="base differs"),
        pytest.param("base:pass,fail head:pass,fail", ["2+2"], id="differs, but no worse"),
        pytest.param("base:pass head:fail+judge,pass", ["1+1", "2+2", "3+3"], id="lost"),
    ],
)
def test_deterministic_candidates(outcomes: str, asked: list[str]) -> None:
    assert borders(make_results(f"a-eval f {outcomes}", **EXACT)) == asked


def test_two_answers_that_differ_are_not_deterministic_though_both_fail() -> None:
    results = make_results("a-eval f base:pass head:fail", **EXACT)
    assert borders(results) == ["1+1", "2+2"]
    results = edit(results, "a-eval/f #2 on head", output="another answer")
    assert [str(key) for key in next_trials(results.plan, results.trials)] == [
        "a-eval/f #3 on base",
        "a-eval/f #3 on head",
    ]


def test_a_real_judge_is_never_deterministic() -> None:
    results = make_results("a-eval f base:pass head:fail", **EXACT)
    (planned,) = results.plan.evals
    (fixture,) = planned.fixtures
    asked = fixture.assertions[0].model_copy(update={"needs_judge": True})
    fixture = fixture.model_copy(update={"assertions": (asked,)})
    for model, wanted in (("scripted/judge", []), ("openai/gpt-x", [3, 3])):
        judged = planned.model_copy(
            update={"fixtures": (fixture,), "judge": JudgeSpec(model=model)}
        )
        plan = results.plan.model_copy(update={"evals": (judged,)})
        assert [key.repetition for key in next_trials(plan, results.trials)] == wanted


FOUR = "a-eval f {base}head:fail\n" + "\n".join(f"a-eval g{n} {{base}}head:pass" for n in range(3))


@pytest.mark.parametrize(
    ("rows", "threshold", "asked"),
    [
        pytest.param(FOUR.format(base=""), 0.75, ["0+1"], id="met"),
        pytest.param(FOUR.format(base=""), 0.8, ["0+1", "0+3"], id="missed within the interval"),
        pytest.param(FOUR.format(base=""), 1.0, ["0+1"], id="never for 1"),
        pytest.param("a-eval f head:fail", 0.9, ["0+1"], id="far off"),
        pytest.param("a-eval f head:fail,fail,pass", 0.8, ["0+3"], id="three already"),
        pytest.param("a-eval f head:provider", 0.8, ["0+1"], id="not measured"),
        pytest.param(FOUR.format(base="base:fail "), 0.8, ["1+1", "1+3"], id="head alone"),
    ],
)
def test_a_missed_threshold_is_looked_at_again_once(
    rows: str, threshold: float, asked: list[str]
) -> None:
    results = make_results(rows, threshold=threshold, deterministic=False)
    assert borders(results) == asked
    assert next_trials(results.plan, results.trials) == ()


def test_a_deterministic_candidate_is_not_asked_again_for_a_threshold() -> None:
    assert borders(make_results(FOUR.format(base="base:fail "), threshold=0.8)) == ["1+1"]


def slipping(flips: int, later: str = "pass") -> Results:
    """Twenty fixtures that passed; so many of them fail their first trial now."""
    rows = [
        f"a-eval f{n} base:pass head:{f'fail+{later}' if n < flips else 'pass'}" for n in range(20)
    ]
    return make_results("\n".join(rows), **BY_CHANCE)


@pytest.mark.parametrize(
    ("flips", "asked"), [(0, ["1+1"]), (3, ["1+1"]), (4, ["1+1", "6+6"]), (7, ["1+1"])]
)
def test_broad_slippage_is_looked_at_twice_at_most(flips: int, asked: list[str]) -> None:
    """Three flips say too little, seven enough; between them all fixtures are looked at again."""
    assert borders(slipping(flips), "f19") == asked


def test_base_and_head_alternate_in_the_order_of_the_plan() -> None:
    rows = "b-eval z base:pass,pass head:pass,pass\na-eval f base:pass head:pass"
    plan = make_results(rows, **BY_CHANCE).plan
    assert [str(key) for key in next_trials(plan, ())] == [
        "b-eval/z #1 on base",
        "b-eval/z #1 on head",
        "b-eval/z #2 on base",
        "b-eval/z #2 on head",
        "a-eval/f #1 on base",
        "a-eval/f #1 on head",
    ]
    assert next_trials(plan, ()) == first_trials(plan)
    assert plan.trial_count == len(first_trials(plan))


def test_a_run_that_was_cut_short_is_asked_for_what_is_missing() -> None:
    results = make_results("a-eval f base:pass head:fail", **BY_CHANCE)
    for gone in results.trials:
        left = [trial for trial in results.trials if trial is not gone]
        assert gone.key in next_trials(results.plan, left)


def with_bar(
    rows: str, reused: tuple[str, ...], threshold: float | None, **shares: float
) -> Results:
    """Head's `a-eval` and, as `a-eval.tip`, the target branch's version of it."""
    thresholds = {"a-eval": None, "a-eval.tip": threshold}
    results = make_results(rows, threshold=thresholds, deterministic=False)
    own, bar = results.plan.evals
    bar = bar.model_copy(update={"bar": Bar(eval="a-eval", reused=reused), "agent": "a", **shares})
    trials = tuple(trial for trial in results.trials if trial.key.eval == "a-eval")
    return edit_plan(results, evals=(own, bar)).model_copy(update={"trials": trials})


def test_the_target_branchs_threshold_may_want_more_of_heads_trials() -> None:
    own = FOUR.format(base="base:fail ")
    results = with_bar(
        own + "\n" + own.replace("a-eval", "a-eval.tip"), ("f", "g0", "g1", "g2"), 0.8
    )
    first = [trial for trial in results.trials if trial.key.repetition == 1]
    keys = next_trials(results.plan, first)
    assert {(key.eval, key.side) for key in keys} == {("a-eval", Side.HEAD)}
    assert {key.repetition for key in keys} == {2, 3}
    assert len(keys) == 2 * 4


def test_the_target_branchs_look_at_all_fixtures_may_want_more_of_heads_trials() -> None:
    """It compares more fixtures than head's own version does, so it may be unsure alone."""
    names = [f"f{n}" for n in range(6)]
    rows = "\n".join(
        f"{name} {fixture} base:pass head:{'fail+pass' if n < 4 else 'pass'}"
        for name in ("a-eval", "a-eval.tip")
        for n, fixture in enumerate(names)
    )
    results = with_bar(rows, tuple(names), None)
    own, bar = results.plan.evals
    alone = edit_plan(results, evals=(own.model_copy(update={"broad_share": 0.0}), bar))
    first = [trial for trial in results.trials if trial.key.repetition == 1]
    keys = [key for key in next_trials(alone.plan, first) if key.fixture == "f5"]
    assert {key.eval for key in keys} == {"a-eval"}
    assert max(key.repetition for key in keys) == 6


@st.composite
def runs(draw: st.DrawFn) -> Results:
    """A plan with any trials that its rules ask for, finished in any order."""
    rows = []
    for number in range(draw(st.integers(1, 8))):
        words = "pass," * draw(st.integers(0, 1))
        base = draw(st.sampled_from(("pass", "fail", "pass", "pass")))
        kind = draw(st.sampled_from(("", "", "added")))
        rows.append(f"a-eval f{number} {kind} base:{words}{base} head:{words}pass")
    lengths = {row.count(",") for row in rows}
    rows = [row for row in rows if row.count(",") == min(lengths)]
    threshold = draw(st.sampled_from((None, 0.5, 0.8, 1.0)))
    exact = draw(st.booleans())
    plan = make_results("\n".join(rows), threshold=threshold, deterministic=exact).plan
    return results_of(plan, trials_of(plan, draw(st.integers(0, 2**20))), RunInfo())


def trials_of(plan: Any, seed: int) -> list[Trial]:
    """Run a plan: the outcome hangs on the key alone, the order of trials on the seed's luck."""
    luck = Random(seed)
    finished: list[Trial] = []
    while keys := list(next_trials(plan, finished)):
        luck.shuffle(keys)
        finished += [make_trial(key, word_of(key, seed)) for key in keys]
        luck.shuffle(finished)
    return finished


def word_of(key: TrialKey, seed: int) -> str:
    words = ("pass", "pass", "pass", "fail", "fail", "provider", "candidate")
    return Random(f"{key} {seed}").choice(words)


@settings(max_examples=examples(60), deadline=None)
@given(results=runs(), luck=st.integers(0, 2**20))
def test_what_runs_does_not_depend_on_which_trial_ended_first(results: Results, luck: int) -> None:
    """Every run of the same outcomes makes the same trials, and none that no rule can ask for."""
    of = {trial.key: trial for trial in results.trials}
    order = Random(luck)
    finished: list[Trial] = []
    while keys := list(next_trials(results.plan, finished)):
        order.shuffle(keys)
        finished += [of[key] for key in keys]
        order.shuffle(finished)
    assert results_of(results.plan, finished, RunInfo()) == results
    assert any(trial.outcome is not Outcome.SKIP for trial in finished)
