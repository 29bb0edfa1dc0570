"""The pull-request comment: what a reviewer needs to know, most urgent first.

Equal trials give equal bytes: nothing in here depends on a clock, a run id or a duration.
"""

from __future__ import annotations

from gateval.domain.decision.report import Report
from gateval.domain.ruling import GateLabel
from gateval.domain.verdicts import GateVerdict
from gateval.render.comment.fitting import fit, size
from gateval.render.comment.parts import comment_parts
from gateval.render.report.environment import fill
from gateval.render.report.frame import PLAIN, Frame
from gateval.render.report.labels import label_lines
from gateval.render.report.reproduce import reproduce_command
from gateval.render.report.usage import scripted_models
from gateval.render.report.words.counts import listing
from gateval.render.report.words.headline import headline
from gateval.render.report.words.wording import ICONS, UNVERIFIED_ICON
from gateval.safe.sanitize import border, link, marker

LIMIT = 60_000
"""GitHub refuses comments of more than 65,536 characters. The rest is for what a label event says
above the evidence, which stays."""

_NOTICE = 700
"""Room kept for the sentence that says what was left out."""


def render_comment(report: Report, frame: Frame = PLAIN, *, limit: int = LIMIT) -> str:
    """Return the comment as GitHub-flavoured markdown of at most `limit` UTF-16 units.

    `limit` must be at least 20,000. What does not fit is cut between whole pieces and named.
    """
    head = _head(report, frame)
    foot = _foot(report, frame, "")
    room = limit - size(head) - size(foot) - _NOTICE
    fitted = fit(comment_parts(report, frame), room)
    if fitted.left_out:
        foot = _foot(report, frame, listing(fitted.left_out, 12))
    return "\n\n".join((head, *fitted.texts, foot)) + "\n"


def _head(report: Report, frame: Frame) -> str:
    plan, decision = report.results.plan, report.decision
    return fill(
        "head.md.j2",
        marker=marker(),
        icon=UNVERIFIED_ICON if frame.unverified else ICONS[decision.verdict],
        verdict=f"unverified, claims {decision.verdict}" if frame.unverified else decision.verdict,
        unverified=frame.unverified,
        unkept=frame.unkept,
        fresh=plan.fresh,
        why=headline(report),
        labels=label_lines(decision),
        may_bypass=_may_bypass(report, frame),
        label=GateLabel.BYPASS,
        border=border(),
        worktree=plan.head.worktree,
        head=plan.head.short,
        base=plan.base.short if plan.base else "",
        scripted=", ".join(scripted_models(report)),
    )


def _foot(report: Report, frame: Frame, left_out: str) -> str:
    plan = report.results.plan
    return fill(
        "foot.md.j2",
        command=reproduce_command(plan),
        worktree=plan.head.worktree,
        policy_source=plan.policy_source,
        policy_digest=plan.policy_digest[:12],
        left_out=left_out,
        log=link("Log of this run", frame.run_url) if frame.run_url else "",
        artifacts=link("Results and traces", frame.files_url) if frame.files_url else "",
        anchor=frame.anchor,
    )


def _may_bypass(report: Report, frame: Frame) -> str:
    """Return the roles that may let this through; empty where there is nothing to let through."""
    settled = report.decision.verdict in {GateVerdict.PASS, GateVerdict.BYPASSED}
    return "" if settled or frame.unverified else " or ".join(frame.may_bypass)
