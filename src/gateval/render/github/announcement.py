"""Everything that is said about one report on GitHub, and to later steps of the job."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.domain.decision.report import Report
from gateval.domain.forge.announcement import Announcement
from gateval.domain.forge.check_run import SUMMARY_LIMIT, TITLE_LIMIT, conclude
from gateval.domain.forge.stamp import MARKER
from gateval.domain.score import score_of
from gateval.domain.text.figures import least_score
from gateval.domain.verdicts import GateVerdict
from gateval.render.comment.comment import LIMIT, render_comment
from gateval.render.comment.fitting import size
from gateval.render.github.annotations import MOST, annotate, left_out_note
from gateval.render.view import ReportView
from gateval.safe.sanitize import label

JOB_SUMMARY_LIMIT = 320_000
"""UTF-16 units, each at most three bytes: below the runner's limit of 1 MiB for a step."""

_FIRST_TRY = 60_000
_NOTES = 2_000
"""Bytes kept for the notes that publishing and this module put in front."""


UNVERIFIED = "unverified"
"""The output `verdict` of a claim: never what it claims, which a later step could believe."""


def announce(view: ReportView) -> Announcement:
    """Render comment, check run and job summary, each below its own limit."""
    found = annotate(view)
    whole = render_comment(view, limit=JOB_SUMMARY_LIMIT)
    passes = view.verdict is GateVerdict.PASS
    return Announcement(
        conclusion=conclude(view.verdict, unverified=bool(view.frame.unverified)),
        title=label(view.title, TITLE_LIMIT),
        check_summary=_check_summary(view, left_out_note(found), whole),
        comment=whole if size(whole) <= LIMIT else render_comment(view),
        job_summary=_unmarked(whole),
        annotations=found[:MOST],
        unasked=bool(view.plan.nothing) and passes and not view.plan.after_merge,
    )


def report_outputs(report: Report, *, claimed: bool) -> Mapping[str, str]:
    """Return the outputs of the action's step that are known from the report, by their names."""
    scores = [compared.head.score for compared in report.comparison.evals]
    scores += [score_of(one.rate, one.rate) for one in report.results.sealed]
    return {
        "verdict": UNVERIFIED if claimed else report.decision.verdict.value,
        "score": least_score(scores),
        "regressions": str(len(report.comparison.regressed)),
    }


def _check_summary(view: ReportView, note: str, whole: str) -> str:
    """Return `whole` if it fits, else render below GitHub's limit for a check run.

    The limit is told in characters but bites at bytes (dorny/test-reporter counts bytes).
    """
    limit = _FIRST_TRY
    text = whole
    while True:
        text = _unmarked(text) + (f"\n{note}\n" if note else "")
        excess = len(text.encode()) / (SUMMARY_LIMIT - _NOTES)
        if excess <= 1 or limit <= SMALLEST:
            return text
        text = render_comment(view, limit=limit)
        limit = max(SMALLEST, int(limit / excess) - 100)


def _unmarked(comment: str) -> str:
    return comment.removeprefix(MARKER).lstrip("\n")


SMALLEST = 20_000
"""The smallest limit of a comment: at three bytes a unit still below that of a check run."""
