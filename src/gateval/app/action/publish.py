"""Says on GitHub what was decided: fresh results, stored verdicts after a label, and troubles."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gateval.adapters.age import own_key
from gateval.adapters.github.runner import RESULTS_URL, NoArtifact, upload_page
from gateval.app.action.context import ActionEvent, uploads_results
from gateval.app.action.earlier_runs import NOT_KEPT, keep_verdict, verdict_record
from gateval.app.action.labels import Decided, note_withdrawals, review_of
from gateval.app.action.notify import notify
from gateval.app.action.result import ActionResult, published
from gateval.domain.audit import AuditEntry
from gateval.domain.decision.decision import Decision, Report, exit_code, unverified, with_labels
from gateval.domain.forge.check_run import Annotation, Announcement, CheckRun, RunFindings, conclude
from gateval.domain.history.standing import findings_of
from gateval.domain.history.verdicts import HistoryRecord, about_record, record_digest, record_of
from gateval.domain.label_decision import GateLabel
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.planning.selection import WHOLE
from gateval.domain.text import least_score, markdown
from gateval.domain.verdicts import EXIT_CODES, DecisionReason, GateVerdict
from gateval.errors import ForgeError
from gateval.publish.check import Publication
from gateval.publish.github import publish
from gateval.render.report.facts import Frame

if TYPE_CHECKING:
    from gateval.render.github import Shown


class Statement(NamedTuple):
    """The gate's words in one case: to GitHub, to the runner, and as exit status."""

    announcement: Announcement
    exit_code: int
    outputs: Mapping[str, str]


def publish_statement(
    event: ActionEvent,
    said: Statement,
    without_labels: Statement | None = None,
    labels: Collection[GateLabel] = (),
    *,
    warnings: tuple[str, ...] = (),
) -> tuple[ActionResult, bool]:
    """Say it on GitHub, unless this is only the step that runs.

    `without_labels` is said instead if head has moved, or one of `labels` was taken off meanwhile.
    Return the result, and whether that was so.
    """
    publication = Publication()
    if event.publishes:
        instead = without_labels.announcement if without_labels else None
        publication = publish(
            event.context.forge, event.target, said.announcement, instead, list(labels)
        )
    dropped = publication.without_labels and without_labels is not None
    final = without_labels if dropped and without_labels is not None else said
    trust, number = event.trigger.trust, event.resolved.number
    result = published(final.exit_code, final.announcement, publication, trust, number)
    outputs = {**final.outputs, **result.outputs}
    return replace(result, outputs=outputs, warnings=(*warnings, *result.warnings)), dropped


def upload_report(event: ActionEvent, page: str | None) -> tuple[str, str]:
    """Upload the page of a run, before anything is said that leads to it.

    Return its address, empty where there is none, and a sentence on why for the log: GitHub
    Enterprise Server has no such service.
    """
    environ = event.context.settings.environ
    if page is None or not event.publishes or not environ.get(RESULTS_URL):
        return "", ""
    stamp, job = event.target.stamp, re.sub(r"[^\w-]", "-", event.context.job)
    scope = "" if stamp.gate == WHOLE else stamp.gate
    parts = filter(None, ("gateval-report", scope, job, str(stamp.attempt or 1)))
    name = f"{'-'.join(parts)}.html"
    try:
        number = upload_page(environ, name, page.encode(), event.context.settings.ca_file)
    except NoArtifact as error:
        return "", f"{error.sentence} It lies in the results folder.\n"
    return f"{event.context.run_url}/artifacts/{number}", ""


def publish_report(
    event: ActionEvent,
    decided: Decided,
    summary: str,
    report_url: str = "",
    *,
    report_lost: bool = False,
) -> ActionResult:
    """Say what was found, and keep it for the next label event. `summary` is for the log, and
    `report_lost` says that a report was written and not uploaded.
    """
    report = decided.report
    plan = report.results.plan
    claim = unverified(event.trigger.trust, plan, event.resolved.number)
    plain = decided.without_labels
    record, plain_record = (verdict_record(event, one, decided.whole) for one in (report, plain))
    lost = keep_verdict(event, record)
    frame = frame_of(event, plan.policy, entry=decided.entry, unverified=claim)
    unkept = NOT_KEPT if lost else ""
    frame = frame._replace(unkept=unkept, report_url=report_url, report_lost=report_lost)
    labels = [one.label for one in report.decision.labels if one.granted]
    result, dropped = publish_statement(
        event,
        _statement(event, report, decided.whole, frame, record),
        _statement(event, plain, decided.whole, frame, plain_record) if labels else None,
        labels,
        warnings=(
            *((event.resolved.warning,) if event.resolved.warning and event.publishes else ()),
            *decided.warnings,
            *([lost] if lost else []),
        ),
    )
    if dropped and plain_record != record and not lost:
        keep_verdict(event, plain_record)
    told = plain if dropped else report
    known = _record_for_others(event, told, plain_record if dropped else record)
    untold = notify(event, plan.policy, told.decision, known, result, report_url)
    result = replace(result, warnings=(*result.warnings, *untold))
    text = summary + (f"\nUnverified. {claim}\n" if claim else "")
    return replace(result, text=text, annotations=_of_the_job(event, result, report))


def _record_for_others(
    event: ActionEvent, report: Report, record: HistoryRecord | None
) -> HistoryRecord | None:
    """Return what others are told from: the record, or one that is kept nowhere."""
    from gateval.render.report.headline import headline

    if record is not None or not report.results.plan.policy.notify:
        return record
    now = event.context.clock.utc_now()
    return record_of(report, run=event.context.run, recorded_at=now, headline=headline(report))


def _of_the_job(event: ActionEvent, result: ActionResult, report: Report) -> tuple[Annotation, ...]:
    """Annotations that the job itself shows, where there is no check run that could."""
    from gateval.render.github import annotate
    from gateval.render.view import ReportView

    speaks = event.publishes or not event.trigger.trust.verified
    return annotate(ReportView(report)) if speaks and not result.outputs["check-url"] else ()


def frame_of(
    event: ActionEvent, policy: Policy, *, entry: AuditEntry | None = None, unverified: str = ""
) -> Frame:
    """Return what is said around a report on this event, but for where its files are."""
    pull = event.resolved.number is not None and event.binds
    return Frame(
        unverified=unverified,
        run_url=event.context.run_url,
        may_bypass=policy.bypass.roles if pull else (),
        anchor=(entry.number, entry.hash) if entry else None,
        tree_url=event.context.tree_url(event.resolved.revisions.head.commit or ""),
    )


def _statement(
    event: ActionEvent, report: Report, whole: Report, frame: Frame, record: HistoryRecord | None
) -> Statement:
    """Say what was found, with a check run that confirms the stored verdict and remembers findings,
    and the pull requests of a merge group by number.
    """
    from gateval.render.github import announce, report_outputs
    from gateval.render.view import ReportView

    claimed = bool(frame.unverified)
    status = exit_code(report.decision, claimed=claimed)
    if uploads_results(event.context, status):
        frame = frame._replace(files_url=f"{event.context.run_url}#artifacts")
    said = announce(ReportView(report, frame))
    changed: dict[str, object] = {"record": record_digest(record)} if record else {}
    if event.binds:
        changed["findings"] = findings_of(whole, own_key(event.context.settings.environ))
    if group := event.resolved.group:
        numbers = markdown(", ").joined(markdown("#{}", number) for number in group)
        said = said.below(markdown("Merge group of {}.", numbers))
    outputs = report_outputs(report, claimed=claimed)
    return Statement(said.replace(**changed), status, outputs)


def restate(
    event: ActionEvent, policy: Policy, record: HistoryRecord, check: CheckRun | None
) -> ActionResult:
    """Decide anew with the labels as they are now; write only what changes by it."""
    from gateval.render.github import restated_text

    review = review_of(event, policy, record.verdict)
    about = about_record(record, event.occurrence(event.context.clock.utc_now()))
    note_withdrawals(review, about)
    if review.on(GateLabel.BYPASS):
        matters = record.verdict is not GateVerdict.PASS
        review.rule(GateLabel.BYPASS, about, matters=matters)
    stored = Decision(
        verdict=record.verdict,
        evals=record.verdict,
        exit_code=EXIT_CODES[record.verdict],
        head=record.head,
        reasons=tuple(
            DecisionReason.model_validate(reason.model_dump()) for reason in record.reasons
        ),
    )
    decision = with_labels(stored, review.label_decisions)
    warnings = list(review.warnings)
    if _stands(event, decision, check):
        url = check.url if check else ""
        return ActionResult(
            exit_code=decision.exit_code,
            outputs={**_outputs(record, decision), "check-url": url},
            text=restated_text(record, decision, unchanged=True),
            warnings=tuple(warnings),
        )
    frame, shown = frame_of(event, policy), _shown(event, check, warnings)
    result, dropped = publish_statement(
        event,
        _restatement(record, decision, frame, shown),
        _restatement(record, stored, frame, shown) if decision.bypass else None,
        [GateLabel.BYPASS],
        warnings=tuple(warnings),
    )
    said = stored if dropped else decision
    untold = notify(event, policy, said, record, result)
    return replace(
        result,
        text=restated_text(record, said, unchanged=False),
        warnings=(*result.warnings, *untold),
    )


def _shown(event: ActionEvent, check: CheckRun | None, warnings: list[str]) -> Shown:
    """Return what a check run of ours shows; annotations that cannot be read are warned of."""
    from gateval.render.github import Shown

    if check is None:
        return Shown()
    found: tuple[Annotation, ...] = ()
    try:
        found = event.context.forge.annotations(check.number) if check.annotations else ()
    except ForgeError as error:
        warnings.append(f"The check run says the verdict again without its annotations. {error}")
    return Shown(check.evals, found, RunFindings.parse(check.text))


def _restatement(
    record: HistoryRecord, decision: Decision, frame: Frame, shown: Shown
) -> Statement:
    from gateval.render.github import announce_restated

    said = announce_restated(record, decision, frame, shown)
    said = said.replace(record=record_digest(record))
    return Statement(said, decision.exit_code, _outputs(record, decision))


def _stands(event: ActionEvent, decision: Decision, check: CheckRun | None) -> bool:
    """Whether GitHub shows just that already, with nothing to add about a label.

    What came of a label of the gate's is always said anew: the comment may still speak of it, and a
    run that reviewed it before may be about to write.
    """
    told = event.trigger.label
    if decision.labels or check is None or (told and GateLabel.named(told.name)):
        return False
    return check.conclusion == conclude(decision.verdict, unverified=False)


def _outputs(record: HistoryRecord, decision: Decision) -> dict[str, str]:
    return {
        "verdict": decision.verdict.value,
        "score": least_score([one.score for one in record.evals]),
        "regressions": str(record.regressions_total),
        "results": "",
    }
