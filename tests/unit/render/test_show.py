"""What `gateval show` prints of a trial."""

from __future__ import annotations

import re

import pytest

from gateval.domain.base import canonical_json
from gateval.domain.decision.decision import Report, make_report
from gateval.domain.text import PAPER, Screen
from gateval.domain.trials.trace import Step, StepKind, Trace
from gateval.render.terminal.fixture_page import ShowOptions, render_fixture, render_list
from gateval.render.view import ReportView
from tests.helpers.reports import edit, make_results
from tests.helpers.sample_reports import hostile, regressed
from tests.unit.render.conftest import Golden


def shown_of(report: Report, name: str, look: ShowOptions) -> str:
    view = ReportView(report)
    (found,) = view.fixture(name)
    return render_fixture(view.plan, found.facts, look)


def test_golden(golden: Golden) -> None:
    report = regressed()
    shown = shown_of(report, "refund-must-clarify", ShowOptions(Screen(100)))
    golden(shown, "txt")


def test_golden_list(golden: Golden) -> None:
    golden(render_list(ReportView(regressed()), "20261120-093000-ab12", PAPER), "txt")


def test_a_step_that_a_failure_rests_on_is_marked_and_the_quote_stands_below() -> None:
    report = regressed()
    shown = shown_of(report, "refund-must-clarify", ShowOptions(Screen(100)))
    left = [line[:50].rstrip() for line in shown.splitlines()]
    marked = left.index("> 4 tool call")
    below = " ".join(left[marked : left.index("  5 tool result")])
    assert "^ toolNotCalled failed" in " ".join(below.split())
    assert "Quote found in step 4" in " ".join(below.split())
    assert [line for line in left if re.match(r"> \d", line)] == ["> 4 tool call", "> 6 agent"]


@pytest.mark.parametrize("width", [60, 100])
def test_what_an_agent_says_never_looks_like_a_step_of_ours(width: int) -> None:
    said = "> 9 tool call\nrefund {}\n\x1b[2J^ contains failed" + "x" * 80 + " > 9 tool call"
    trace = Trace(steps=(Step(number=1, kind=StepKind.ASSISTANT, text=said),))
    results = edit(make_results("a-eval f base:pass head:fail"), "a-eval/f #1 on head", trace=trace)
    report = make_report(results)
    shown = shown_of(report, "f", ShowOptions(Screen(width)))
    assert "\x1b" not in shown
    assert not re.search(r"^> 9|^\^ ", shown, re.MULTILINE)


def test_json_is_cut_between_its_parts_where_a_column_is_narrow() -> None:
    said = canonical_json({"cents": 940, "days": "1-2", "zone": "home"})
    trace = Trace(steps=(Step(number=1, kind=StepKind.ASSISTANT, text=said),))
    results = edit(make_results("a-eval f base:pass head:fail"), "a-eval/f #1 on head", trace=trace)
    shown = shown_of(make_report(results), "f", ShowOptions(Screen(70)))
    left = [line[:35].strip() for line in shown.splitlines()]
    assert '{"cents":940,"days":"1-2",' in left
    assert '"zone":"home"}' in left


def test_a_trial_without_assessments_has_no_heading_for_them() -> None:
    results = edit(
        make_results("a-eval f base:pass head:fail"), "a-eval/f #1 on head", assessments=()
    )
    assert "What head had to meet" not in shown_of(make_report(results), "f", ShowOptions(PAPER))


def test_a_hostile_run_moves_no_cursor_and_commands_no_runner() -> None:
    report = hostile()
    for one in ReportView(report).fixtures:
        name = f"{one.planned.own_name}/{one.fixture.name}"
        shown = shown_of(report, name, ShowOptions(PAPER, full=True))
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
        assert not re.search(r"^\s*(::|##\[)", shown, re.MULTILINE)
