"""The words on GitHub: reports, annotations, stored verdicts, replies, troubles.

They carry no marker: they are not the gate's report, and no later run writes over them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gateval.domain.decision.decision import Decision, Report
from gateval.domain.forge.check_run import (
    SUMMARY_LIMIT,
    TITLE_LIMIT,
    Annotation,
    AnnotationLevel,
    Announcement,
    Conclusion,
    RunFindings,
    conclude,
    unmarked,
)
from gateval.domain.history.verdicts import LISTED, HistoryRecord
from gateval.domain.label_decision import GateLabel
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.problems import InvalidManifests, SourceLocation
from gateval.domain.text import (
    BORDER,
    EMPTY,
    END,
    LINES,
    MARKER,
    PARAGRAPHS,
    Safe,
    least_score,
    markdown,
    show_score,
    show_threshold,
)
from gateval.domain.verdicts import GateVerdict, score_of
from gateval.errors import GatevalError
from gateval.render.comment import LIMIT, render_comment, size
from gateval.render.comment_parts import fill
from gateval.render.report.bar import bypass_title, label_lines
from gateval.render.report.facts import Frame
from gateval.render.report.wording import ICONS, count
from gateval.render.view import ReportView
from gateval.safe.sanitize import inline, label, link, own_command, plain_line, xml_text

MOST = 200
"""Annotations of one run; four requests."""

_MESSAGE = 2_000


def annotate(view: ReportView) -> tuple[Annotation, ...]:
    """Return all annotations, worst first; none of a claim is more than a warning."""
    return tuple(
        _annotation(
            one.place, one.title, one.message, fails=one.blocks and not view.frame.unverified
        )
        for one in view.findings
    )


def left_out_note(found: Sequence[Annotation]) -> Safe:
    """Return the sentence about annotations above `MOST`; empty when all are shown."""
    left = len(found) - MOST
    if left <= 0:
        return EMPTY
    noun = markdown("annotation is") if left == 1 else markdown("annotations are")
    return markdown("{:,} more {} not shown on the files; the worst {} are.", left, noun, MOST)


def _annotation(place: SourceLocation, title: str, message: str, *, fails: bool) -> Annotation:
    return Annotation(
        path=label(place.file, 400),
        line=place.line,
        level=AnnotationLevel.FAILURE if fails else AnnotationLevel.WARNING,
        title=label(title, TITLE_LIMIT),
        message=xml_text(message, _MESSAGE),
    )


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
        job_summary=unmarked(whole),
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


def _check_summary(view: ReportView, note: Safe, whole: Safe) -> Safe:
    """Return `whole` if it fits, else render below GitHub's limit for a check run.

    The limit is told in characters but bites at bytes (dorny/test-reporter counts bytes).
    """
    limit = _FIRST_TRY
    text = whole
    while True:
        text = unmarked(text.before(END, markdown("{}\n\n", note)) if note else text)
        excess = len(text.encode()) / (SUMMARY_LIMIT - _NOTES)
        if excess <= 1 or limit <= SMALLEST:
            return text
        text = render_comment(view, limit=limit)
        limit = max(SMALLEST, int(limit / excess) - 100)


SMALLEST = 20_000
"""The smallest limit of a comment: at three bytes a unit still below that of a check run."""


_ASKS = 10


class Explanation(NamedTuple):
    """What is known of one fixture at a head.

    `fixture` is None if head has none of this name that can be read; `instead` then names the
    nearest. `evals` are those of head that have it. `record` is the confirmed verdict, None for the
    reason in `why_not`. `log` leads to the check run.
    """

    name: str
    head: str
    fixture: Fixture | None
    instead: str
    evals: tuple[str, ...]
    record: HistoryRecord | None
    why_not: str
    log: str


def explanation(told: Explanation) -> Safe:
    """Return the answer as GitHub-flavoured markdown."""
    record = told.record
    reasons = [one for one in record.reasons if one.fixture == told.name] if record else []
    evals = {one.eval for one in reasons}
    listed = [one.eval for one in record.evals] if record else []
    whole = record is not None and record.evals_total <= len(listed)
    return fill(
        "github/explained.md.j2",
        told=told,
        asks=[
            (one.type, f"{one.place.file}:{one.place.line}")
            for one in (told.fixture.assertions[:_ASKS] if told.fixture else ())
        ],
        more=max(0, len(told.fixture.assertions) - _ASKS) if told.fixture else 0,
        reasons=reasons,
        unrun=whole and not reasons and not set(told.evals) & set(listed),
        evals=", ".join(told.evals),
        unlisted=bool(record and record.reasons_total > LISTED),
        scores=[
            (
                one.eval,
                show_score(one.score, one.threshold),
                show_threshold(one.threshold),
            )
            for one in (record.evals if record else ())
            if one.eval in evals
        ],
        log=link("What the run reported", told.log),
    )


def refusal(why: str, again: str = "") -> Safe:
    """Return the answer to a command that is not carried out; `again` is one to copy."""
    return fill("github/refused.md.j2", why=why, again=own_command(again))


_REASONS = 20

_LINE = 2_500
"""Characters of a line in the log: a reason of the longest kind, and what stands around it."""


class Shown(NamedTuple):
    """What our check run shows of what the evals found: markdown, notes on lines, and what later
    runs are to remember. A run wrote it, and nobody else may change it.
    """

    evals: Safe = EMPTY
    annotations: tuple[Annotation, ...] = ()
    findings: RunFindings | None = None


def announce_restated(
    record: HistoryRecord, decision: Decision, frame: Frame, shown: Shown
) -> Announcement:
    """Render a stored verdict with the labels as they are now, above what the run had `shown`.

    Where that does not fit, or there is none, the stored reasons stand in its place.
    """
    why, labels = _why(record), label_lines(decision)
    top = fill(
        "github/restated.md.j2",
        marker=MARKER,
        icon=ICONS[decision.verdict],
        verdict=decision.verdict,
        why=why,
        head=record.head[:12],
        labels=labels,
        measured=link("an earlier run", record.run.url) if _of_ours(record, frame) else "",
        recorded_at=record.recorded_at,
        log=link("Log of this run", frame.run_url) if frame.run_url else "",
    )
    end = fill(
        "emergency.md.j2",
        labels=labels,
        may_bypass="" if decision.bypass else " or ".join(frame.may_bypass),
        label=GateLabel.BYPASS,
    )
    text = _framed(top, shown.evals, end)
    if not shown.evals or len(text.encode()) > SUMMARY_LIMIT - _NOTES:
        reasons = [markdown("- {}", inline(one.text, 400)) for one in record.reasons[:_REASONS]]
        if (left := record.reasons_total - _REASONS) > 0:
            reasons.append(markdown("- and {:,} more", left))
        text = _framed(top, LINES.joined(reasons), end)
    words = f"{decision.verdict}: {why}"
    return Announcement(
        conclusion=conclude(decision.verdict, unverified=False),
        title=label(bypass_title(decision) or words[:1].upper() + words[1:], TITLE_LIMIT),
        check_summary=unmarked(text),
        comment=text,
        job_summary=unmarked(text),
        annotations=shown.annotations,
        findings=shown.findings,
    )


def _framed(top: Safe, evals: Safe, end: Safe) -> Safe:
    parts = (one for one in (top, BORDER, evals, END, end) if one)
    return markdown("{}\n", PARAGRAPHS.joined(parts))


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
    if record.headline:
        return record.headline
    first = record.reasons[0].text if record.reasons else "the evals said so before"
    rest = record.reasons_total - 1
    return f"{first} and {count(rest, 'more reason')}" if rest > 0 else first


_SHOWN = 50


def announce_trouble(error: GatevalError, run_url: str = "") -> Announcement:
    """Render an error: what is wrong, where, and what to do next. Nothing of it lets merge."""
    problems = error.problems if isinstance(error, InvalidManifests) else ()
    lines = [markdown("- {}", inline(str(problem), 600)) for problem in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        lines.append(markdown("- and {:,} more", len(problems) - _SHOWN))
    return _announcement(
        f"Could not evaluate: {error.message}",
        markdown("\N{WARNING SIGN}\N{VARIATION SELECTOR-16} Gateval: could not evaluate"),
        [inline(error.message, _MESSAGE), LINES.joined(lines), inline(error.hint, 600)],
        run_url,
        annotations=tuple(
            _annotation(one.place, one.path or "invalid manifest", one.message, fails=True)
            for one in problems[:_SHOWN]
        ),
    )


def announce_draft(run_url: str = "") -> Announcement:
    """Render that a draft is not evaluated yet."""
    text = markdown(
        "Drafts wait here (`policy.drafts: wait`). Mark the pull request as ready for review."
    )
    heading = markdown("\N{DOUBLE VERTICAL BAR} Gateval: waits until the draft is ready")
    title = "Waits until the draft is ready for review"
    return _announcement(title, heading, [text], run_url, unasked=True)


def _announcement(
    title: str,
    heading: Safe,
    parts: Sequence[Safe],
    run_url: str,
    *,
    annotations: tuple[Annotation, ...] = (),
    unasked: bool = False,
) -> Announcement:
    log = link("Log of the run", run_url) if run_url else EMPTY
    said = (part for part in (markdown("### {}", heading), *parts, log) if part)
    body = markdown("{}\n", PARAGRAPHS.joined(said))
    return Announcement(
        conclusion=Conclusion.ACTION_REQUIRED,
        title=label(title, TITLE_LIMIT),
        check_summary=body,
        comment=LINES.joined([MARKER, body]),
        job_summary=body,
        annotations=annotations,
        unasked=unasked,
    )
