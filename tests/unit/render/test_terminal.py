"""The terminal's summary: the same facts, no control over the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.plan.planned_eval import Bar
from gateval.domain.text import Screen
from gateval.domain.trials.model_call import Usage
from gateval.render.terminal.summary import render_summary
from gateval.render.view import ReportView
from tests.helpers import sample_reports
from tests.helpers.reports import edit, edit_plan, make, make_results
from tests.unit.render.conftest import Golden
from tests.unit.render.test_comment import SAMPLES


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
def test_golden(sample: Callable[[], Report], golden: Golden) -> None:
    golden(render_summary(ReportView(sample())), "txt")


def test_colours_are_ours_alone_and_add_nothing_else() -> None:
    colored = render_summary(ReportView(sample_reports.hostile()), Screen(color=True))
    bare = re.sub(r"\x1b\[[\d;]*m", "", colored)

    assert "\x1b[" in colored
    assert "\x1b" not in bare
    assert [line.rstrip() for line in bare.splitlines()] == render_summary(
        ReportView(sample_reports.hostile())
    ).splitlines()


@pytest.mark.parametrize("width", [20, 40, 60, 100, 200])
def test_no_line_is_a_command_for_a_ci_runner_however_it_wraps(width: int) -> None:
    shown = render_summary(ReportView(sample_reports.hostile()), Screen(width))

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

    assert "warning: [red]x[/red] [link=https://a]y[/link]" in render_summary(ReportView(report))


def test_of_many_fixtures_that_fail_alike_one_is_shown_and_the_others_named() -> None:
    shown = render_summary(ReportView(sample_reports.many(100)))

    assert shown.count("(load-eval, critical)") == 1
    named = " ".join(shown.split())
    assert "The same in 99 more: fixture-0007 (evals/fixture-0007.yaml:8), fixture-0011" in named
    assert "and 87 more gateval check" in named


@pytest.mark.parametrize("width", [60, 72, 80, 100])
def test_no_name_and_no_verdict_is_broken_in_a_narrow_terminal(width: int) -> None:
    eval_, agent = "invoice-extractor-for-orders-eval", "invoice-extractor-for-orders"
    shown = render_summary(ReportView(make(f"{eval_} f1 base:pass head:fail")), Screen(width))
    words = shown.split()
    assert eval_ in {word.strip("(),:") for word in words}
    assert agent in {word.strip("(),:") for word in words}
    assert "threshold" in words
    wrapped = [line for line in shown.splitlines() if not line.lstrip().startswith("gateval ")]
    assert max(map(len, wrapped)) <= width


def test_where_a_table_does_not_fit_each_eval_is_a_paragraph() -> None:
    name = "invoice-extractor-for-orders"
    shown = render_summary(ReportView(make(f"{name}-eval f1 base:pass head:fail")), Screen(60))
    assert f"{name}, {name}-eval: regressed, below" in " ".join(shown.split())
    assert "Score 0.00, Base 1.00, Δ −1.00, Threshold 1.00" in shown


def test_tokens_are_shown_where_somebody_counted_them() -> None:
    counted = Usage(input_tokens=5, output_tokens=2)
    results = make_results("a-eval f base:pass head:pass\nb-eval g base:pass head:pass")
    shown = render_summary(
        ReportView(make_report(edit(results, "a-eval/f #1 on head", usage=counted)))
    )
    assert "\na: head 5 in, 2 out, unknown; base unknown, unknown\n" in shown
    assert "\nb: head" not in shown


def test_the_target_branchs_version_of_an_eval_is_called_that() -> None:
    results = make_results("a-eval.base-tip f base:pass head:fail")
    bar = results.plan.evals[0].model_copy(update={"bar": Bar(eval="a-eval")})
    shown = render_summary(ReportView(make_report(edit_plan(results, evals=(bar,)))))
    assert "f (a-eval (target branch), medium): passed 2 of 2 before, 0 of 2 now" in shown
    assert "a-eval.base-tip (" not in shown
