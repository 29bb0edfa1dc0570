"""The comment as a whole, and below every limit."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gateval.domain.decision.report import Report, make_report
from gateval.domain.plan.planned_eval import Removed
from gateval.domain.repository.place import Place
from gateval.domain.results.results import RunInfo
from gateval.render.comment.comment import LIMIT, render_comment
from gateval.render.comment.fitting import size
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
    golden(render_comment(sample()), "md")


def test_the_first_line_is_the_marker_by_which_the_gate_finds_its_comment() -> None:
    comment = render_comment(sample_reports.hostile())

    assert comment.startswith("<!-- gateval:comment v1 -->\n### ")
    assert comment.count("<!--") == 2, "and the border above the evals"


def test_equal_trials_give_equal_bytes() -> None:
    results = sample_reports.regressed_results()
    trials = tuple(t.model_copy(update={"seconds": 7.5}) for t in results.trials[::-1])
    info = RunInfo(run="other", started_at="2026-01-01T00:00:00Z", seconds=9.0, isolation="none")
    again = results.model_copy(update={"trials": trials, "info": info})

    assert render_comment(make_report(again)) == render_comment(make_report(results))


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


def many_evals(count: int) -> Report:
    rows = "\n".join(
        f"eval-{n:03}-eval f base:pass head:{'fail' if n % 2 else 'pass'}" for n in range(count)
    )
    return make(rows)  # fmt: skip


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
    place = Place(file="evals/gone.yaml")
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
    comment = render_comment(sample(), limit=limit)

    assert size(comment) <= limit
    assert len(comment.encode()) < 4 * 65_536
    assert balanced(comment)
    assert "gateval check --base" in comment


def test_of_1000_failing_fixtures_the_worst_are_shown_in_full_and_the_others_counted() -> None:
    comment = render_comment(sample_reports.many(1000))

    in_full = re.findall(r"(?m)^#### (fixture-\d+)", comment)
    lines = re.findall(r"(?m)^- \*\*(fixture-\d+)", comment)
    left = re.search(r"Not shown here: ([\d,]+) regressed fixtures\.", comment)
    assert left
    assert len(in_full) == 12
    assert len(lines) > 100
    assert len(in_full) + len(lines) + int(left[1].replace(",", "")) == 1000
    assert all(int(name[-4:]) % 4 == 3 for name in in_full), "critical ones first"
    assert f"… and {left[1]} more." in comment
    assert "`gateval report results.v1.json` shows it" in comment


def test_what_fits_is_not_cut() -> None:
    assert "Cut to fit" not in render_comment(sample_reports.regressed())


def test_each_part_gets_room_when_there_is_much_of_everything() -> None:
    comment = render_comment(many_of_everything())

    for title in (
        "### Regressed",
        "### Does not answer any more",
        "### Failing",
        "### Not measured",
        "### No longer evaluated",
        "### Warnings",
        "Improved (120)",
        "Passing (120)",
        "Tokens and models",
    ):
        assert title in comment
