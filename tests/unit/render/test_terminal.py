"""The terminal's summary: the same facts, no control over the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gateval.domain.report import Report
from gateval.render.terminal import render_summary
from tests.helpers import sample_reports
from tests.unit.render.conftest import Golden
from tests.unit.render.test_comment import SAMPLES


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
def test_golden(sample: Callable[[], Report], golden: Golden) -> None:
    golden(render_summary(sample()), "txt")


def test_colours_are_ours_alone_and_add_nothing_else() -> None:
    colored = render_summary(sample_reports.hostile(), color=True)
    bare = re.sub(r"\x1b\[[\d;]*m", "", colored)

    assert "\x1b[" in colored
    assert "\x1b" not in bare
    assert [line.rstrip() for line in bare.splitlines()] == render_summary(
        sample_reports.hostile()
    ).splitlines()


@pytest.mark.parametrize("width", [20, 40, 60, 100, 200])
def test_no_line_is_a_command_for_a_ci_runner_however_it_wraps(width: int) -> None:
    shown = render_summary(sample_reports.hostile(), width=width)

    assert not re.search(r"(?m)^\s*::|##\w*\[", shown)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", shown)


def test_markup_of_the_layout_library_means_nothing() -> None:
    results = sample_reports.regressed_results()
    plan = results.plan.model_copy(update={"warnings": ("[red]x[/red] [link=https://a]y[/link]",)})
    report = Report(
        results.model_copy(update={"plan": plan}),
        sample_reports.regressed().comparison,
        sample_reports.regressed().decision,
    )

    assert "warning: [red]x[/red] [link=https://a]y[/link]" in render_summary(report)


def test_of_many_fixtures_some_are_shown_and_the_others_counted() -> None:
    shown = render_summary(sample_reports.many(100))

    assert shown.count("(load-eval, critical)") == 20
    assert "and 80 more; results.v1.json holds them all" in shown
