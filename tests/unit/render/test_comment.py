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
from tests.helpers.github_markdown import FRAME, ON_GITHUB
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


@pytest.mark.parametrize("case", ON_GITHUB)
def test_golden_on_github(case: str, golden: Golden) -> None:
    golden(render_comment(ReportView(ON_GITHUB[case](), FRAME)), "md")


def test_the_first_line_is_the_marker_by_which_the_gate_finds_its_comment() -> None:
    comment = render_comment(ReportView(sample_reports.hostile()))

    assert comment.startswith("<!-- gateval:comment v1 -->\n### ")
    assert comment.count("<!--") == 3, "and the lines above and below what the evals found"


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


def test_a_cause_is_an_assertion_whatever_number_it_expects_and_whoever_fails_it() -> None:
    comment = render_comment(ReportView(three_causes(12, 3)))

    assert len(re.findall(r"(?m)^#### ", comment)) == 3
    assert "12 fixtures, 3 causes:" in comment
    assert comment.count("<summary>The same in 3 more</summary>") == 2
    assert comment.count("<summary>In 3 more, the same is expected, with other numbers<") == 1


def test_a_judge_that_says_the_same_of_three_agents_gives_one_cause() -> None:
    comment = render_comment(ReportView(sample_reports.judged()))

    assert len(re.findall(r"(?m)^#### ", comment)) == 1
    assert "<summary>The same in 5 more of support, invoice, tutor</summary>" in comment


def test_what_did_not_move_is_folded_behind_all_that_is_open() -> None:
    comment = render_comment(ReportView(many_evals(6)))

    table, _, folded = comment.partition("<summary>3 more Evals, in which nothing moved</summary>")
    assert table.count("| ❌ regressed") == 3
    assert "| ✅ pass |" not in table
    assert folded.count("| ✅ pass | 0.00 |") == 3
    assert table.index("### Regressed") > table.index("| ❌ regressed")


def test_rows_stay_open_where_none_moved() -> None:
    comment = render_comment(ReportView(sample_reports.stored("passes")))
    assert comment.index("| ✅ pass |") < comment.index("<details>")


def test_what_regressed_stands_right_below_the_table() -> None:
    for case in ("benchmark", "bar-lowered", "several"):
        comment = render_comment(ReportView(sample_reports.stored(case)))
        assert re.findall(r"(?m)^### (.+)$", comment)[1] == "Regressed", case


def test_the_first_difference_stands_beside_the_lines_that_changed() -> None:
    comment = render_comment(ReportView(sample_reports.stored("several")))
    told = comment.partition("#### ")[2].partition("<details>")[0]

    assert "  - Expected a call of <code>clarify_reason</code>\n  - Saw the calls refund.\n" in told
    said = "At step 2 head calls <code>refund</code> where base calls <code>clarify_reason</code>"
    assert f"**First difference:** {said}: 2 of 2 on head, 0 of 2 on base." in told
    assert told.index("First difference") < told.index("-Always ask for the reason first.\n")
    assert "### What changed in the prompt" not in comment, "it is told once"


def test_what_fails_on_base_too_is_one_line_that_names_it() -> None:
    comment = render_comment(ReportView(sample_reports.stored("several")))

    assert "<summary>Failing, on base too (1): refund-asks-why</summary>" in comment
    assert "### Failing" not in comment


def test_commands_to_copy_name_the_whole_head_and_go_to_no_one_else() -> None:
    view = ReportView(sample_reports.regressed(), FRAME)
    comment = render_comment(view)

    assert f"```text\n/gateval rerun d4e5f6a{'0' * 33}\n```" in comment
    assert "```text\n/gateval explain refund-must-clarify\n```" in comment
    for frame in (FRAME._replace(may_bypass=()), FRAME._replace(unverified="It is a fork's.")):
        assert "/gateval " not in render_comment(view.__class__(view.report, frame))
    assert "/gateval " not in render_comment(ReportView(sample_reports.passing(), FRAME))


def test_how_to_bypass_stands_at_the_foot_and_a_bypass_in_force_at_the_top() -> None:
    comment = render_comment(ReportView(sample_reports.regressed(), FRAME))
    assert comment.index("In an emergency") > comment.index("<!-- gateval:end -->")
    comment = render_comment(ReportView(sample_reports.bypassed(), FRAME))
    assert "In an emergency" not in comment
    assert comment.index("Bypassed by ada (admin)") < comment.index("<!-- gateval:evals -->")
    assert comment.index(f"entry 5, hash <code>{'b' * 64}</code>") > comment.index("gateval:end")


def test_room_is_used_before_anything_is_left_out() -> None:
    report = sample_reports.distinct(400)
    comment = render_comment(ReportView(report))

    in_full = re.findall(r"(?m)^#### (fixture-\d+)", comment)
    lines = re.findall(r"(?m)^- \*\*(fixture-\d+)", comment)
    left = re.search(r"Not shown here: ([\d,]+) regressed fixtures\.", comment)
    assert left
    assert len(in_full) == 5
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
        "Failing, on base too (120)",
        "### Not measured",
        "### No longer evaluated",
        "### Warnings",
        "Improved (120)",
        "Passing (120)",
        "Cost and time",
    ):
        assert title in comment
