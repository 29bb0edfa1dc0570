"""What is said on GitHub: each text below its limit, each conclusion honest."""

from __future__ import annotations

import pytest

from gateval.domain.forge.check_run import SUMMARY_LIMIT, TITLE_LIMIT, Conclusion
from gateval.domain.text import MARKER
from gateval.render.comment import LIMIT, size
from gateval.render.github import announce
from gateval.render.report.facts import PLAIN, Frame
from gateval.render.view import ReportView
from tests.helpers import sample_reports
from tests.helpers.github_markdown import read
from tests.helpers.reports import make
from tests.unit.render.conftest import Golden

FORK = Frame(
    unverified="This pull request comes from a fork, so its run had no keys.",
    run_url="https://github.com/octo/shop/actions/runs/7",
    files_url="https://github.com/octo/shop/actions/runs/7#artifacts",
)
TREE = "https://github.com/octo/shop/blob/0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("rows", "conclusion"),
    [
        ("a-eval one base:pass head:pass", Conclusion.SUCCESS),
        ("a-eval one base:pass head:fail", Conclusion.FAILURE),
        ("a-eval one base:pass head:provider", Conclusion.ACTION_REQUIRED),
        ("a-eval one base:pass head:-", Conclusion.ACTION_REQUIRED),
        ("", Conclusion.SUCCESS),
    ],
)
def test_conclusions(rows: str, conclusion: Conclusion) -> None:
    report = make(rows)

    assert announce(ReportView(report, PLAIN)).conclusion is conclusion
    assert announce(ReportView(report, FORK)).conclusion is Conclusion.ACTION_REQUIRED


def test_a_claim_is_called_one_everywhere() -> None:
    said = announce(ReportView(sample_reports.passing(), FORK))

    assert said.title.startswith("Unverified, claims pass: ")
    for text in (said.comment, said.check_summary, said.job_summary):
        assert "Gateval: unverified, claims pass" in text
        assert "**Unverified.** This pull request comes from a fork" in text
        assert "✅" not in text


def test_only_the_comment_bears_the_marker() -> None:
    said = announce(ReportView(sample_reports.regressed(), PLAIN))

    assert said.comment.startswith(f"{MARKER}\n### ")
    assert said.check_summary.startswith("### ")
    assert said.job_summary.startswith("### ")


def test_limits_hold_with_much_to_say() -> None:
    said = announce(ReportView(sample_reports.distinct(600), FORK))

    assert size(said.comment) <= LIMIT
    assert len(said.check_summary.encode()) <= SUMMARY_LIMIT - 1000
    assert len(said.job_summary.encode()) < 2**20
    assert len(said.title) <= TITLE_LIMIT
    assert size(said.job_summary) > LIMIT, "the summary has more room and uses it"
    for text in (said.comment, said.check_summary):
        assert "Cut to fit" in text
    for text in (said.comment, said.check_summary, said.job_summary):
        assert read(text).balanced


def test_limits_hold_in_any_script() -> None:
    report = sample_reports.distinct(300, word="審査" * 40)
    said = announce(ReportView(report, PLAIN))

    assert len(said.check_summary.encode()) <= SUMMARY_LIMIT - 1000
    assert len(said.job_summary.encode()) < 2**20
    assert size(said.comment) <= LIMIT


def test_only_our_own_link_comes_out() -> None:
    said = announce(ReportView(sample_reports.regressed(), FORK))

    assert read(said.comment).tags.count("a") == 3  # the glossary is the third
    log = "https://github.com/octo/shop/actions/runs/7"
    assert f"[Log of this run]({log}) · [Results and traces]({log}#artifacts)" in said.comment
    odd = announce(ReportView(sample_reports.regressed(), Frame(run_url="https://x/) <b>")))
    assert "https://x" not in odd.comment
    assert odd.comment.count("https") == 1
    nothing = announce(ReportView(sample_reports.regressed(), FORK._replace(files_url="")))
    assert f"[Log of this run]({log}) · [What the words mean](" in nothing.comment
    assert "Results and traces" not in nothing.comment


GOLDEN = {
    "failing": (
        sample_reports.regressed,
        PLAIN._replace(run_url=FORK.run_url, files_url=FORK.files_url, tree_url=TREE),
    ),
    "passing": (
        sample_reports.passing,
        PLAIN._replace(run_url=FORK.run_url, files_url=FORK.files_url),
    ),
    "inconclusive": (
        sample_reports.provider_down,
        PLAIN._replace(run_url=FORK.run_url, files_url=FORK.files_url),
    ),
    "unverified": (sample_reports.passing, FORK),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str, golden: Golden) -> None:
    sample, frame = GOLDEN[name]
    said = announce(ReportView(sample(), frame))
    notes = "\n".join(
        f"{one.path}:{one.line} {one.level} {one.title}\n    " + one.message.replace("\n", "\n    ")
        for one in said.annotations
    )
    shown = {
        "conclusion": said.conclusion,
        "title": said.title,
        "comment": said.comment,
        "check run": said.check_summary,
        "annotations": notes,
        "job summary": said.job_summary,
    }
    golden("\n\n".join(f"======== {sink}\n{text}" for sink, text in shown.items()) + "\n", "txt")
