"""Each fixture stands in exactly one place, and trials with one reason are one gap."""

from __future__ import annotations

import pytest

from gateval.domain.decision.decision import make_report
from gateval.domain.results.comparison import FixtureStatus
from gateval.domain.trials.trial import Cause, Side
from gateval.render.report.facts import gather, silent_agents, with_status
from gateval.render.report.findings import find_gaps
from tests.helpers import sample_reports
from tests.helpers.reports import TWELVE_OF_FIFTEEN, edit, make, make_results


@pytest.mark.parametrize(
    ("outcomes", "where"),
    [
        ("base:pass head:fail", FixtureStatus.REGRESSED),
        ("base:pass head:candidate", FixtureStatus.SILENT),
        (f"base:pass head:{TWELVE_OF_FIFTEEN}", FixtureStatus.SUSPECT),
        ("base:fail head:fail", FixtureStatus.FAILING),
        ("base:new head:fail", FixtureStatus.FAILING),
        ("base:fail,fail head:pass,fail", FixtureStatus.FAILING),
        ("base:pass,pass head:judge,fail+pass", FixtureStatus.FAILING),
        ("base:pass,pass head:candidate,pass", FixtureStatus.FAILING),
        ("base:candidate head:candidate", FixtureStatus.UNMEASURED),
        ("base:new head:candidate", FixtureStatus.UNMEASURED),
        ("base:pass head:judge", FixtureStatus.UNMEASURED),
        ("base:pass,pass head:pass,-", FixtureStatus.UNMEASURED),
        ("base:fail head:pass", FixtureStatus.IMPROVED),
        ("base:pass head:pass", FixtureStatus.PASSING),
        ("base:judge head:pass", FixtureStatus.PASSING),
        ("base:new head:pass", FixtureStatus.PASSING),
    ],
)
def test_standing(outcomes: str, where: FixtureStatus) -> None:
    (fact,) = gather(make(f"a-eval f {outcomes}", threshold=0.0))
    assert fact.status is where


def test_worst_first_by_severity_then_rate_then_plan() -> None:
    report = make(
        """
        a-eval one   low      base:fail,fail head:fail,fail
        a-eval two   critical base:fail,fail head:fail,pass
        a-eval three critical base:fail,fail head:fail,fail
        a-eval four  low      base:fail,fail head:fail,fail
        """
    )
    names = [fact.fixture.name for fact in with_status(gather(report), FixtureStatus.FAILING)]

    assert names == ["three", "two", "one", "four"]


@pytest.mark.parametrize(
    ("outcomes", "repetition"),
    [("pass,fail,judge", 2), ("pass,judge,skip", 3), ("skip,pass,-", 1), ("pass,pass,pass", 1)],
)
def test_the_repetition_that_says_most_is_shown(outcomes: str, repetition: int) -> None:
    (fact,) = gather(make(f"a-eval f head:{outcomes}"))

    assert fact.worst is not None
    assert fact.worst.key.repetition == repetition


def test_among_failing_repetitions_the_lowest_score_is_shown() -> None:
    results = edit(make_results("a-eval f head:fail,fail"), "a-eval/f #1 on head", score=0.5)

    (fact,) = gather(make_report(results))

    assert fact.worst is not None
    assert fact.worst.key.repetition == 2


def test_a_fixture_that_never_ran_has_no_worst_repetition() -> None:
    (fact,) = gather(make("a-eval f head:-"))
    assert (fact.worst, fact.broken) == (None, ())


def test_an_assertion_that_the_plan_does_not_know_stands_where_the_fixture_does() -> None:
    (fact,) = gather(make("a-eval f head:fail"))
    stray = fact.broken[0].model_copy(update={"index": 99})

    assert fact.place(fact.broken[0]) == "evals/f.yaml:8"
    assert fact.place(stray) == "evals/f.yaml:8"


def test_an_agent_that_does_not_answer_is_named_once() -> None:
    (agent,) = silent_agents(gather(sample_reports.regressed()))

    assert agent.agent == "invoice"
    assert [fact.fixture.name for fact in agent.facts] == ["reads-total", "reads-date"]


def test_trials_with_the_same_reason_are_one_gap() -> None:
    report = make(
        """
        a-eval f base:pass,provider head:provider,provider
        a-eval g base:pass,pass     head:provider,-
        b-eval h base:pass,-        head:judge,pass
        """
    )
    gaps = find_gaps(gather(report))

    assert [(g.agent, g.sides, g.cause, g.trials, g.where) for g in gaps] == [
        ("a", (Side.HEAD, Side.BASE), Cause.PROVIDER, 4, ("a-eval/f", "a-eval/g")),
        ("a", (Side.HEAD,), None, 1, ("a-eval/g",)),
        ("b", (Side.HEAD,), Cause.JUDGE, 1, ("b-eval/h",)),
        ("b", (Side.BASE,), None, 1, ("b-eval/h",)),
    ]


def test_a_gap_shows_what_the_judge_could_not_prove() -> None:
    (_, gap) = find_gaps(gather(sample_reports.provider_down()))

    assert gap.verdict is not None
    assert gap.verdict.violations[0].quote == "The answer is 42"


def test_an_agent_whose_silence_is_measured_leaves_no_gap() -> None:
    assert find_gaps(gather(sample_reports.regressed())) == ()


def test_who_gave_no_answer_can_be_run_again_alone() -> None:
    report = make("a-eval f base:candidate head:candidate")
    head, base = find_gaps(gather(report))
    plan = report.results.plan
    assert head.again(plan).endswith(" --fixture f")
    assert base.again(plan) == ""
    (outage, *_) = find_gaps(gather(make("a-eval f base:pass head:provider")))
    assert outage.again(plan) == ""


def test_where_no_side_answers_both_have_a_gap() -> None:
    gaps = find_gaps(gather(make("a-eval f base:candidate head:candidate")))
    assert [(gap.sides, gap.cause) for gap in gaps] == [
        ((Side.HEAD,), Cause.CANDIDATE),
        ((Side.BASE,), Cause.CANDIDATE),
    ]
