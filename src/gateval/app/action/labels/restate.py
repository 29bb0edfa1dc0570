"""Says a stored verdict again after a label was put on or taken off: in seconds, without evals."""

from __future__ import annotations

from dataclasses import replace

from gateval.app.action.event import ActionEvent
from gateval.app.action.labels.review import review_of
from gateval.app.action.labels.withdrawn import note_withdrawals
from gateval.app.action.publish import Statement, confirming, frame_of, publish_statement
from gateval.app.action.result import ActionResult
from gateval.domain.decision.decision import Decision, with_labels
from gateval.domain.forge.check_run import CheckRun, conclude
from gateval.domain.history.audited import about_record
from gateval.domain.history.record import HistoryRecord
from gateval.domain.manifests.policy.gate_config import Policy
from gateval.domain.ruling import GateLabel
from gateval.domain.text.figures import least_score
from gateval.domain.verdicts import EXIT_CODES, DecisionReason, GateVerdict
from gateval.render.report.frame import Frame


def restate(
    event: ActionEvent, policy: Policy, record: HistoryRecord, check: CheckRun | None
) -> ActionResult:
    """Decide anew with the labels as they are now; write only what changes by it."""
    from gateval.render.github.restated import restated_text

    review = review_of(event, policy, record.verdict)
    about = about_record(record, event.occurrence(event.context.clock.utc_now()))
    note_withdrawals(review, about)
    if review.on(GateLabel.BYPASS):
        matters = record.verdict is not GateVerdict.PASS
        review.rule(GateLabel.BYPASS, about, matters=matters)
    stored = _decision_of(record)
    decision = with_labels(stored, review.rulings)
    warnings = tuple(review.warnings)
    if _stands(event, decision, check):
        url = check.url if check else ""
        return ActionResult(
            exit_code=decision.exit_code,
            outputs={**_outputs(record, decision), "check-url": url},
            text=restated_text(record, decision, unchanged=True),
            warnings=warnings,
        )
    frame = frame_of(event, policy)
    result, dropped = publish_statement(
        event,
        _statement(record, decision, frame),
        _statement(record, stored, frame) if decision.bypass else None,
        [GateLabel.BYPASS],
        warnings=warnings,
    )
    said = stored if dropped else decision
    return replace(result, text=restated_text(record, said, unchanged=False))


def _statement(record: HistoryRecord, decision: Decision, frame: Frame) -> Statement:
    from gateval.render.github.restated import announce_restated

    announcement = announce_restated(record, decision, frame)
    said = Statement(announcement, decision.exit_code, _outputs(record, decision))
    return confirming(said, record)


def _decision_of(record: HistoryRecord) -> Decision:
    return Decision(
        verdict=record.verdict,
        evals=record.verdict,
        exit_code=EXIT_CODES[record.verdict],
        head=record.head,
        reasons=tuple(
            DecisionReason.model_validate(reason.model_dump()) for reason in record.reasons
        ),
    )


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
