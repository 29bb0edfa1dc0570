"""Cases of one file as one family: which tests there are, what each may spend, what follows."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.planned_eval import ALONE_AT_MOST, PlannedEval, joint_tests, together_only
from gateval.domain.results.compare import compare
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.results.progress import next_trials
from gateval.domain.results.results import Results
from gateval.domain.statistics.broad import LEAST_DROP, LEAST_DROP_OF_MANY, broad_step
from gateval.domain.statistics.design import (
    BROAD,
    FIXTURES,
    JointErrorBudget,
    LookResult,
    eval_shares,
    joint_shares,
)
from gateval.domain.statistics.walk import PassCount
from tests.helpers.reports import make_results

CROWD = 240


@pytest.mark.parametrize("alone", [0, 1, 40])
@pytest.mark.parametrize("together", [0, 201, 10_000])
@pytest.mark.parametrize("families", [0, 1, 30])
@pytest.mark.parametrize("axes", [0, 2, 7])
def test_all_tests_of_an_eval_spend_what_it_has(
    alone: int, together: int, families: int, axes: int
) -> None:
    """Bonferroni: the chance of any false alarm is at most the sum, five in a hundred."""
    if alone + together == 0:
        return
    shares = eval_shares(FIXTURES, BROAD, alone, together)
    joint = joint_shares(shares.joint, families, axes)
    spent = alone * shares.fixture + together * shares.silence
    spent += joint.whole + families * joint.family + axes * joint.axis
    assert joint.whole >= joint.axis
    assert spent == pytest.approx(FIXTURES + BROAD)
    assert spent <= 0.05 + 1e-12


def test_without_families_nothing_changes() -> None:
    assert eval_shares(FIXTURES, BROAD, 10, 0) == (FIXTURES / 10, 0.0, BROAD)
    assert joint_shares(BROAD, 0) == JointErrorBudget(BROAD, 0.0, 0.0)


def fixtures(**sizes: int) -> list[Fixture]:
    (one,) = make_results("e f base:pass head:pass").plan.evals[0].fixtures
    return [
        one.model_copy(
            update={"name": f"{family}-{n}", "family": "" if family == "plain" else family}
        )
        for family, size in sizes.items()
        for n in range(size)
    ]


TESTS = [
    ({"plain": 1}, []),
    ({"plain": 5}, [("", 5, 2, LEAST_DROP)]),
    ({"small": 5}, [("", 5, 2, LEAST_DROP)]),
    ({"small": 200}, [("", 200, 2, LEAST_DROP)]),
    ({"large": 201}, [("", 201, 1, LEAST_DROP_OF_MANY)]),
    ({"plain": 3, "single": 1}, [("", 4, 2, LEAST_DROP)]),
    ({"plain": 3, "small": 5}, [("", 8, 2, LEAST_DROP), ("small", 5, 2, LEAST_DROP)]),
    (
        {"small": 5, "large": 201},
        [
            ("", 206, 1, LEAST_DROP_OF_MANY),
            ("small", 5, 2, LEAST_DROP),
            ("large", 201, 1, LEAST_DROP_OF_MANY),
        ],
    ),
]


@pytest.mark.parametrize(("sizes", "expected"), TESTS, ids=str)
def test_which_fixtures_are_tested_together(
    sizes: dict[str, int], expected: Sequence[tuple[str, int, int, float]]
) -> None:
    made = fixtures(**sizes)
    names = [one.name for one in made]
    found = joint_tests(made, names, 1)
    assert [
        (one.family, len(one.fixtures), len(one.looks), one.least_drop) for one in found
    ] == expected
    apart = together_only(made, names)
    assert len(apart) == sum(size for size in sizes.values() if size > ALONE_AT_MOST)


@pytest.mark.parametrize(("head", "least", "most"), [(0.9, 0.0, 0.05), (0.75, 0.95, 1.0)])
def test_a_large_family_keeps_the_promise_and_finds_what_it_says(
    head: float, least: float, most: float
) -> None:
    """300 runs of 201 cases that pass in 90 % on base, with the share of an Eval that is alone."""
    random, (test,) = Random(15), joint_tests(made := fixtures(f=201), [f.name for f in made], 1)
    share = eval_shares(FIXTURES, BROAD, 0, 201).joint
    blocked = 0
    for _ in range(300):
        strata = [
            tuple(PassCount(passes=random.random() < rate, trials=1) for rate in (0.9, head))
            for _ in made
        ]
        pairs = [(one[0], one[1]) for one in strata]
        said = broad_step(test.looks, 0, pairs, share, least_drop=test.least_drop)
        blocked += said.step is LookResult.REGRESSED
    assert least <= blocked / 300 <= most


def test_what_is_added_does_not_make_a_family_large() -> None:
    made = fixtures(cases=300)
    assert together_only(made, [one.name for one in made[:200]]) == frozenset()


def crowd(*, failing: int = 0, silent: int = 0, base: str = "pass") -> Results:
    """An Eval of 240 cases of one file: so many fail on head, so many give no answer."""
    words = ["fail+-"] * failing + ["candidate+-"] * silent
    words += ["pass"] * (CROWD - len(words))
    rows = "\n".join(f"e f-{n} base:{base} head:{word}" for n, word in enumerate(words))
    results = make_results(rows, threshold=None, deterministic=False)
    (planned,) = results.plan.evals
    shares = eval_shares(FIXTURES, BROAD, 0, CROWD)
    of_file = tuple(one.model_copy(update={"family": "f"}) for one in planned.fixtures)
    mine: PlannedEval = planned.model_copy(
        update={
            "fixtures": of_file,
            "fixture_share": 0.0,
            "silence_share": shares.silence,
            "broad_share": shares.joint,
        }
    )
    plan = results.plan.model_copy(update={"evals": (mine,)})
    return results.model_copy(update={"plan": plan})


def test_one_failing_case_of_many_buys_no_trials_and_does_not_block() -> None:
    results = crowd(failing=1)
    assert next_trials(results.plan, results.trials) == ()
    (found,) = compare(results).evals
    assert not found.regressed
    assert found.broad is not None
    assert found.broad.step is LookResult.STOP
    assert {one.change for one in found.fixtures} == {FixtureChange.UNCHANGED}


def test_many_failing_cases_block_together() -> None:
    results = crowd(failing=12)
    assert next_trials(results.plan, results.trials) == ()
    (found,) = compare(results).evals
    assert found.slipped
    assert FixtureChange.REGRESSED not in {one.change for one in found.fixtures}


def test_as_many_failures_on_both_sides_do_not() -> None:
    (found,) = compare(crowd(failing=12, base="fail")).evals
    assert not found.regressed


def test_only_a_silent_case_is_asked_again() -> None:
    """A case without an answer never passes, so it gets the trials to give one."""
    results = crowd(silent=1)
    asked = next_trials(results.plan, results.trials)
    assert {one.fixture for one in asked} == {"f-0"}
    assert max(one.repetition for one in asked) == 3
    (found,) = compare(results).evals
    assert found.fixtures[0].change is FixtureChange.INCONCLUSIVE
