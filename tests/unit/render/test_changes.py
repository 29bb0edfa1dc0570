"""What changed in an Agent: before and after, or what came or went."""

from __future__ import annotations

import pytest

from gateval.domain.decision.decision import make_report
from gateval.domain.plan.plan import AgentChange, ChangeKind
from gateval.domain.plan.planned_eval import Reason
from gateval.render.comment import render_comment
from gateval.render.terminal.plan_table import render_plan
from gateval.render.view import ReportView
from tests.helpers import sample_reports
from tests.helpers.reports import edit_plan


@pytest.mark.parametrize(
    ("before", "after", "plain", "marked"),
    [
        ("old", "new", "a.yaml:9 spec.system: old → new", ": <code>old</code> → <code>new</code>"),
        ("", "new", "a.yaml:9 spec.system, added: new", ", added: <code>new</code>"),
        ("old", "", "a.yaml:9 spec.system, removed: old", ", removed: <code>old</code>"),
        ("", "", "a.yaml:9 spec.system\n", "\n"),
    ],
)
def test_a_reason_is_told(before: str, after: str, plain: str, marked: str) -> None:
    reason = Reason(where="a.yaml:9", what="spec.system", before=before, after=after)
    change = AgentChange(agent="desk", kind=ChangeKind.MODIFIED, reasons=(reason,))
    results = edit_plan(sample_reports.regressed_results(), changes=(change,))
    assert plain in render_plan(results.plan)
    assert f"<code>a.yaml:9</code> spec.system{marked}" in render_comment(
        ReportView(make_report(results))
    )
