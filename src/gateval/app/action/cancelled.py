"""Ends a run of the action that somebody cancelled: decides nothing, keeps what was completed.

A runner kills a cancelled job after seconds, so what is written here comes first, and what is kept
in git last.
"""

from __future__ import annotations

from gateval.app.action.event import ActionEvent
from gateval.app.action.measure import ActionMeasurement, shown_folder
from gateval.app.action.progress import ActionProgress
from gateval.app.action.publish import frame_of
from gateval.app.action.result import ActionResult
from gateval.app.action.stored.kept_run import keep_run
from gateval.domain.decision.report import make_report
from gateval.domain.decision.trust import unverified
from gateval.errors import EXIT_INTERRUPTED

_SAID = "gateval: interrupted; what was finished is in the results."


def end_cancelled(
    event: ActionEvent, measured: ActionMeasurement, progress: ActionProgress
) -> ActionResult:
    """Write views and record of what was completed, and complete the check as cancelled.

    Log and job summary say what is kept.
    """
    from gateval.app.run.views import write_views
    from gateval.render.github.announcement import announce
    from gateval.render.view import ReportView

    report, folder = make_report(measured.results), measured.folder
    plan, trust = report.results.plan, event.trigger.trust
    claim = unverified(trust, plan, event.resolved.number)
    views = write_views(report, folder)
    unfinished = progress.cancel()
    kept = keep_run(event, make_report(measured.whole), measured)
    frame = frame_of(event, plan.policy, unverified=claim)
    return ActionResult(
        EXIT_INTERRUPTED,
        {"results": shown_folder(event.context, folder)},
        summary=announce(ReportView(report, frame)).job_summary,
        text=f"{_SAID}\n{kept.note}{views['summary']}",
        unfinished=unfinished,
    )
