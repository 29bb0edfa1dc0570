"""The glossary explains every word that a verdict, a comparison or a reason is told in."""

from __future__ import annotations

import re
from enum import StrEnum

import pytest

from gateval.domain.label_decision import LabelStatus
from gateval.domain.manifests.fixture import Severity
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.trials.trial import Cause, Outcome
from gateval.domain.verdicts import GateVerdict, ReasonCode
from gateval.render.comment import render_comment
from gateval.render.page.document import render_page
from gateval.render.report.wording import GLOSSARY
from gateval.render.view import ReportView
from tests.helpers import sample_reports
from tests.helpers.command import ROOT
from tests.helpers.github_markdown import FRAME

PAGE = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
REASONS = (ROOT / "docs/reference/reasons.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words", [GateVerdict, FixtureChange, Outcome, Cause, LabelStatus, Severity]
)
def test_every_word_of_the_output_is_explained(words: type[StrEnum]) -> None:
    assert [one for one in words if not re.search(rf"\b{re.escape(one)}\b", PAGE)] == []


def test_every_reason_is_explained_and_no_other() -> None:
    rows = [row.partition("|")[0] for row in re.findall(r"^\| (`.*)", REASONS, re.M)]
    assert [code for row in rows for code in re.findall(r"`([a-z-]+)`", row)] == [*ReasonCode]


def test_comment_and_report_lead_to_it() -> None:
    assert GLOSSARY.partition("/blob/main/")[2] == "docs/glossary.md"
    view = ReportView(sample_reports.regressed(), FRAME)
    for shown in (render_comment(view), render_page(view)):
        assert GLOSSARY in shown
