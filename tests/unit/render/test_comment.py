"""The comment as a whole, and below every limit."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.plan.planned_eval import Removed
from gateval.domain.problems import SourceLocation
from gateval.domain.results.results import RunInfo
from gateval.domain.trials.trial import Outcome, Trial
from gateval.render.comment import LIMIT, render_comment, size
from gateval.render.view import ReportView
from tests.helpers import sample_reports
from tests.helpers.hostile import hostile_results
from tests.helpers.reports import edit_plan, make, make_results
from tests.unit.render.conftest import Golden

SAMPLES = {
    "regressed": sample_reports.regressed,
    "passing": sample_reports.passing,
    "nothing": sample_reports.nothing,
    "provider down": sample_reports.provider_down,
    "incomplete": sample_reports.incomplete,
    "warned": sample_reports.warned,
    "hostile": sample_reports.hostile,
}


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
def test_golden(sample: Callable[[], Report], golden: Golden) -> None:
    golden(render_comment(ReportView(sample())), "md")


def test_the_first_line_is_the_marker_by_which_the_gate_finds_its_comment() -> None:
    comment = render_comment(ReportView(sample_reports.hostile()))

    assert comment.startswith("<!-- gateval:comment v1 -->\n### ")
    assert comment.count("<!--") == 2, "and the border above the evals"


def test_equal_trials_give_equal_bytes() -> None:
    results = sample_reports.regressed_results()
    info = RunInfo(run="other", started_at="2026-01-01T00:00:00Z", seconds=9.0, isolation="none")
    again = results.model_copy(update={"trials": results.trials[::-1], "info": info})

    assert render_comment(ReportView(make_report(again))) == render_comment(
        ReportView(make_report(results))
    )


def test_how_long_trials_took_stands_in_one_place() -> None:
    results = sample_reports.regressed_results()
    later = tuple(t.model_copy(update={"seconds": t.seconds + 7.5}) for t in results.trials)
    slower = render_comment(ReportView(make_report(results.model_copy(update={"trials": later}))))
    as_it_was = render_comment(ReportView(make_report(results)))
    before, _, rest = as_it_was.partition("<details><summary>Cost and time")

    assert slower.startswith(before)
    assert slower.endswith(rest.partition("</details>")[2])
    assert slower != as_it_was


def balanced(comment: str) -> bool:
    """Whether every fold is closed and every fence too, none inside the other's middle."""
    depth = 0
    fence = ""
    for line in comment.splitlines():
        ticks = re.match(r"`{3,}", line)
        if fence:
            fence = "" if line == fence else fence
        elif ticks:
            fence = ticks[0]
        else:
            depth += line.count("<details>") - line.count("</details>")
    return not fence and depth == 0


@cache
def many_evals(count: int) -> Report:
    rows = "\n".join(
        f"eval-{n:03}-eval f base:pass head:{'fail' if n % 2 else 'pass'}" for n in range(count)
    )
    return make(rows)  # fmt: skip


@cache
def many_of_everything() -> Report:
    rows = "\n".join(
        f"{name}-eval {name}{n} high base:{base} head:{head}"
        for name, base, head in (
            ("regressed", "pass", "fail"),
            ("silent", "pass", "candidate"),
            ("failing", "fail", "fail"),
            ("unmeasured", "pass", "provider"),
            ("improved", "fail", "pass"),
            ("passing", "pass", "pass"),
        )
        for n in range(120)
    )
    results = make_results(rows, threshold=0.0)
    gaps = tuple(
        trial.model_copy(update={"reason": f"Provider answered {number} times nothing."})
        for number, trial in enumerate(results.trials)
    )
    results = results.model_copy(update={"trials": gaps})
    place = SourceLocation(file="evals/gone.yaml")
    removed = tuple(
        Removed(kind="fixture", name=f"gone{n}", eval="x-eval", place=place) for n in range(300)
    )
    warnings = tuple(f"warning {n} " + "x" * 300 for n in range(300))
    return make_report(edit_plan(results, removed=removed, warnings=warnings))


LARGE = {
    "1000 failing fixtures": lambda: sample_reports.many(1000),
    "300 Evals": lambda: many_evals(300),
    "everything": many_of_everything,
    "dollars": lambda: make_report(
        hostile_results(sample_reports.regressed_results(), "$" * 20_000)
    ),
    "long words": lambda: make_report(
        hostile_results(sample_reports.regressed_results(), "漢😀" * 20_000)
    ),
}


@pytest.mark.parametrize("limit", [20_000, LIMIT])
@pytest.mark.parametrize("sample", LARGE.values(), ids=LARGE.keys())
def test_it_stays_below_the_limit_and_says_what_it_left_out(
    sample: Callable[[], Report], limit: int
) -> None:
    comment = render_comment(ReportView(sample()), limit=limit)

    assert size(comment) <= limit
    assert len(comment.encode()) < 4 * 65_536
    assert balanced(comment)
    assert "gateval check --base" in comment


def test_of_1000_fixtures_that_fail_alike_one_is_told_and_the_others_are_named() -> None:
    comment = render_comment(ReportView(sample_reports.many(1000)))

    assert len(re.findall(r"(?m)^#### fixture-\d+", comment)) == 1
    assert "<summary>The same in 999 more</summary>" in comment
    named = len(set(re.findall(r"fixture-\d{4}", comment)))
    assert named > 250
    assert f"and {1000 - named} more" in comment
    assert "Not shown here" not in comment


CAUSES = (
    "Expected a call of `clarify_reason`, saw `refund` at step 2.",
    'Expected "order {0}" in the final message, saw "Hello {0}".',
    "Expected a judge's score of at least 0.7, saw 0.2: It is rude.",
)


def three_causes(fixtures: int, agents: int) -> Report:
    """So many regressions, for three reasons in turn."""
    rows = "\n".join(
        f"agent-{n % agents:02}-eval f-{n:03} base:pass head:fail" for n in range(fixtures)
    )
    results = make_results(rows)
    trials = [
        with_reason(trial, CAUSES[number % 3].format(number))
        if (number := int(trial.key.fixture[2:])) >= 0 and trial.outcome is Outcome.FAIL
        else trial
        for trial in results.trials
    ]
    return make_report(results.model_copy(update={"trials": tuple(trials)}))


def with_reason(trial: Trial, reason: str) -> Trial:
    assessments = tuple(one.model_copy(update={"reason": reason}) for one in trial.assessments)
    return trial.model_copy(update={"reason": reason, "assessments": assessments})


@pytest.mark.parametrize("agents", [1, 7, 97])
def test_of_500_regressions_the_three_causes_stand_in_the_first_60_lines(agents: int) -> None:
    comment = render_comment(ReportView(three_causes(500, agents)))

    first = "\n".join(comment.splitlines()[:60])
    assert "500 fixtures, 3 causes:" in first
    assert first.count("**167 fixtures**") == 2
    assert first.count("**166 fixtures**") == 1
    for words in ("clarify_reason", "in the final message", "at least 0.7"):
        assert words in first
    assert len(re.findall(r"(?m)^#### ", comment)) == 3
    assert "Cut to fit" not in comment or agents == 97


def test_few_fixtures_that_fail_otherwise_are_told_each() -> None:
    comment = render_comment(ReportView(three_causes(12, 1)))

    assert len(re.findall(r"(?m)^#### ", comment)) == 6, "4 of their own, and two causes of 4 each"
    assert "12 fixtures, 6 causes:" in comment
    assert comment.count("<summary>The same in 3 more</summary>") == 2


def test_room_is_used_before_anything_is_left_out() -> None:
    report = sample_reports.distinct(400)
    comment = render_comment(ReportView(report))

    in_full = re.findall(r"(?m)^#### (fixture-\d+)", comment)
    lines = re.findall(r"(?m)^- \*\*(fixture-\d+)", comment)
    left = re.search(r"Not shown here: ([\d,]+) regressed fixtures\.", comment)
    assert left
    assert len(in_full) == 12
    assert len(in_full) + len(lines) + int(left[1].replace(",", "")) == 400
    assert all(int(name[-4:]) % 4 == 3 for name in in_full), "critical ones first"
    assert f"\N{HORIZONTAL ELLIPSIS} and {left[1]} more." in comment
    assert "`gateval report results.v1.json` shows it" in comment
    assert size(comment) > LIMIT - 3_000


def test_what_fits_is_not_cut() -> None:
    assert "Cut to fit" not in render_comment(ReportView(sample_reports.regressed()))


def test_each_part_gets_room_when_there_is_much_of_everything() -> None:
    comment = render_comment(ReportView(many_of_everything()))

    for title in (
        "### Regressed",
        "### Does not answer any more",
        "### Failing",
        "### Not measured",
        "### No longer evaluated",
        "### Warnings",
        "Improved (120)",
        "Passing (120)",
        "Cost and time",
    ):
        assert title in comment
