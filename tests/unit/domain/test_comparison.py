"""Head against base: every way in which a fixture can move."""

from __future__ import annotations

import pytest

from gateval.domain.plan.planned_eval import Removed
from gateval.domain.problems import SourceLocation
from gateval.domain.results.compare import compare
from gateval.domain.results.comparison import FixtureChange, FixtureComparison
from gateval.domain.trials.trial import Cause
from tests.helpers.reports import TWELVE_OF_FIFTEEN, edit, make, make_results

TEN_UNSTEADY = ",".join(["pass"] * 6 + ["fail"] * 4)


def compared(row: str, *, deterministic: bool = True) -> FixtureComparison:
    return make(row, deterministic=deterministic).comparison.evals[0].fixtures[0]


@pytest.mark.parametrize(
    ("outcomes", "change"),
    [
        ("base:pass head:pass", FixtureChange.UNCHANGED),
        ("base:fail head:fail", FixtureChange.UNCHANGED),
        ("base:pass,fail head:fail,pass", FixtureChange.UNCHANGED),
        ("base:pass head:fail", FixtureChange.REGRESSED),
        ("base:pass,pass head:fail,fail", FixtureChange.REGRESSED),
        ("base:pass,pass head:pass,fail", FixtureChange.REGRESSED),
        ("base:pass,pass head:pass,fail+pass", FixtureChange.UNCHANGED),
        (f"base:pass head:{TWELVE_OF_FIFTEEN}", FixtureChange.NOT_CONFIRMED),
        ("base:pass,fail head:fail,fail", FixtureChange.UNCHANGED),
        ("base:fail head:pass", FixtureChange.IMPROVED),
        ("base:fail,pass head:pass,pass", FixtureChange.UNCHANGED),
        ("base:fail,fail,fail,fail,pass head:pass,pass,pass,pass,pass", FixtureChange.IMPROVED),
        ("base:pass head:judge", FixtureChange.INCONCLUSIVE),
        ("base:pass,pass head:fail,-", FixtureChange.INCONCLUSIVE),
        ("base:judge,pass head:judge,pass", FixtureChange.INCONCLUSIVE),
        ("base:pass,- head:pass,pass", FixtureChange.INCONCLUSIVE),
        ("base:pass,judge head:fail,fail", FixtureChange.INCONCLUSIVE),
        ("base:gate head:fail", FixtureChange.INCONCLUSIVE),
        ("base:gate,fail head:pass,pass", FixtureChange.UNCHANGED),
        ("base:pass,fail,judge head:pass,pass,pass", FixtureChange.UNCHANGED),
        ("base:gate,gate head:pass,pass", FixtureChange.UNCHANGED),
        ("base:candidate head:pass", FixtureChange.IMPROVED),
        ("base:pass head:candidate+pass", FixtureChange.UNCHANGED),
        ("base:candidate head:fail", FixtureChange.UNCHANGED),
        (f"base:{TEN_UNSTEADY} head:{TEN_UNSTEADY}", FixtureChange.UNRELIABLE_BASELINE),
        ("added base:pass head:fail", FixtureChange.NEW),
        ("base:new head:pass", FixtureChange.NEW),
        ("base:new head:fail", FixtureChange.NEW),
        ("base:same head:fail", FixtureChange.UNCHANGED),
        ("base:none head:pass", FixtureChange.NOT_COMPARED),
    ],
)
def test_how_a_fixture_moved(outcomes: str, change: FixtureChange) -> None:
    found = compared(f"a-eval f {outcomes}")

    assert found.change is change
    assert not found.no_answer


@pytest.mark.parametrize(
    ("outcomes", "silent"),
    [
        ("base:pass head:candidate", True),
        ("base:fail head:skip", True),
        ("base:pass,fail head:candidate,skip", True),
        ("base:pass,judge head:candidate,candidate", False),
        ("base:fail,fail head:candidate,candidate", True),
        ("base:fail,fail head:candidate,candidate+fail", False),
        ("base:candidate,candidate+pass head:candidate,candidate", True),
        ("base:pass,pass head:candidate,provider", False),
        ("base:pass,pass head:candidate,-", False),
        ("base:fail,fail head:candidate,fail", False),
        ("base:candidate head:candidate", False),
        ("base:new head:candidate", False),
    ],
)
def test_silence_is_a_regression_only_where_base_answers(outcomes: str, silent: bool) -> None:
    found = compared(f"a-eval f {outcomes}", deterministic=False)

    assert found.no_answer is silent
    assert (found.change is FixtureChange.REGRESSED) is silent


def test_a_time_out_that_a_provider_caused_is_no_silence() -> None:
    results = edit(
        make_results("a-eval f base:pass head:skip"), "a-eval/f #1 on head", cause=Cause.PROVIDER
    )

    assert compare(results).evals[0].fixtures[0].change is FixtureChange.INCONCLUSIVE


@pytest.mark.parametrize(
    ("outcomes", "gap"),
    [
        ("base:pass head:fail", False),
        ("base:judge head:pass", False),
        ("base:judge head:fail", True),
        ("base:pass,- head:pass,fail", True),
        ("base:pass,- head:pass,pass", False),
        ("base:new head:fail", False),
    ],
)
def test_a_gap_in_the_baseline_matters_unless_head_is_perfect(outcomes: str, gap: bool) -> None:
    assert compared(f"a-eval f {outcomes}").baseline_gap is gap


@pytest.mark.parametrize(
    ("outcomes", "hides"),
    [
        ("base:pass head:judge", True),
        ("base:judge head:fail", True),
        ("base:pass,pass head:pass,judge", False),
        ("base:pass,fail head:judge,judge", False),
        ("base:new head:judge", False),
    ],
)
def test_what_was_not_measured_may_hide_a_break(outcomes: str, hides: bool) -> None:
    assert compared(f"a-eval f {outcomes}").may_hide_break is hides


@pytest.mark.parametrize(
    ("rows", "delta"),
    [
        ("a-eval f base:pass head:fail", -1.0),
        ("a-eval f base:fail head:pass", 1.0),
        ("a-eval f base:pass,fail head:pass,fail", 0.0),
        ("a-eval f base:pass head:judge", None),
        ("a-eval f base:judge head:pass", None),
        ("a-eval f base:new head:pass", None),
    ],
)
def test_the_difference_is_unknown_unless_both_sides_are_measured(
    rows: str, delta: float | None
) -> None:
    assert make(rows).comparison.evals[0].delta == delta


def test_evals_and_fixtures_keep_the_plans_order_and_removed_ones_are_carried() -> None:
    removed = Removed(
        kind="Eval", name="c-eval", eval="c-eval", place=SourceLocation(file="c.yaml")
    )
    report = make(
        """
        b-eval z base:pass head:pass
        b-eval y base:pass head:pass
        a-eval x base:new  head:pass
        """,
        removed=(removed,),
    )

    names = [[e.eval, *(f.fixture for f in e.fixtures)] for e in report.comparison.evals]
    assert names == [["b-eval", "z", "y"], ["a-eval", "x"]]
    assert report.comparison.removed == (removed,)


def test_the_order_of_trials_does_not_matter() -> None:
    results = make_results("a-eval f base:pass,fail head:fail,pass\na-eval g base:fail,- head:-,-")
    turned = results.model_copy(update={"trials": results.trials[::-1]})

    assert compare(turned) == compare(results)
