"""The words on GitHub when a label changed and the evals were not run again."""

from __future__ import annotations

from gateval.domain.decision.decision import Decision
from gateval.domain.forge.announcement import Announcement
from gateval.domain.forge.check_run import TITLE_LIMIT, conclude
from gateval.domain.history.record import HistoryRecord
from gateval.domain.ruling import GateLabel
from gateval.domain.text.figures import show_score, show_threshold
from gateval.render.report.environment import fill
from gateval.render.report.frame import Frame
from gateval.render.report.labels import bypass_title, label_lines
from gateval.render.report.words.counts import count
from gateval.render.report.words.wording import ICONS
from gateval.safe.sanitize import border, label, link, marker, plain_line

_REASONS = 20

_LINE = 2_500
"""Characters of a line in the log: a reason of the longest kind, and what stands around it."""


def announce_restated(record: HistoryRecord, decision: Decision, frame: Frame) -> Announcement:
    """Render a stored verdict with the labels as they are now."""
    why = _why(record)
    text = fill(
        "github/restated.md.j2",
        marker=marker(),
        border=border(),
        icon=ICONS[decision.verdict],
        verdict=decision.verdict,
        why=why,
        head=record.head[:12],
        policy_digest=record.policy[:12],
        labels=label_lines(decision),
        measured=link("an earlier run", record.run.url) if _of_ours(record, frame) else "",
        recorded_at=record.recorded_at,
        rows=[
            (
                one.eval,
                show_score(one.score, one.threshold),
                show_threshold(one.threshold),
                one,
            )
            for one in record.evals
        ],
        more=record.evals_total - len(record.evals),
        reasons=[reason.text for reason in record.reasons[:_REASONS]],
        more_reasons=max(0, record.reasons_total - _REASONS),
        may_bypass="" if decision.bypass else " or ".join(frame.may_bypass),
        label=GateLabel.BYPASS,
        log=link("Log of this run", frame.run_url) if frame.run_url else "",
    )
    unmarked = text.removeprefix(str(marker())).lstrip("\n")
    words = f"{decision.verdict}: {why}"
    return Announcement(
        conclusion=conclude(decision.verdict, unverified=False),
        title=label(bypass_title(decision) or words[:1].upper() + words[1:], TITLE_LIMIT),
        check_summary=unmarked,
        comment=text,
        job_summary=unmarked,
        keeps_evals=True,
    )


def restated_text(record: HistoryRecord, decision: Decision, *, unchanged: bool) -> str:
    """Return the same for the log, a line or two."""
    first = f"Gateval: {decision.verdict}. {_why(record)}."
    told = "Nothing changed on GitHub." if unchanged else ""
    where = f"Measured at {record.recorded_at}; the evals were not run again. {told}".strip()
    lines = (first, *map(str, label_lines(decision)), where)
    return "".join(f"{plain_line(line, _LINE)}\n" for line in lines)


def _of_ours(record: HistoryRecord, frame: Frame) -> bool:
    """Whether a record's run is one beside this run: anybody who may push can write a record."""
    runs, _, _ = frame.run_url.rpartition("/")
    return bool(runs) and record.run.url == f"{runs}/{record.run.id}" and record.run.id.isdigit()


def _why(record: HistoryRecord) -> str:
    first = record.reasons[0].text if record.reasons else "the evals said so before"
    rest = record.reasons_total - 1
    return f"{first} and {count(rest, 'more reason')}" if rest > 0 else first
