"""Says a stored verdict again after a label was put on or taken off: in seconds, without evals."""

from __future__ import annotations

from gateval.app.action.case import Case
from gateval.app.action.ending import Ending, publication_outputs
from gateval.app.action.keeping import told_label
from gateval.app.action.verdict import frame_of, publish_case
from gateval.domain.decision.decision import Decision, with_labels
from gateval.domain.forge.check_conclusion import conclude
from gateval.domain.forge.check_run import CheckRun
from gateval.domain.history.audited import about_record
from gateval.domain.history.record import HistoryRecord
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.ruling import GateLabel
from gateval.domain.verdicts import EXIT_CODES, DecisionReason, GateVerdict


def restate(case: Case, policy: Policy, record: HistoryRecord, check: CheckRun | None) -> Ending:
    """Decide anew with the labels as they are now; write only what changes by it."""
    from gateval.render.github.restated import announce_restated, restated_text

    hearing = case.hearing(policy, record.verdict)
    if hearing.on(GateLabel.BYPASS):
        about = about_record(record, case.occurrence)
        matters = record.verdict is not GateVerdict.PASS
        hearing.hear(GateLabel.BYPASS, about, matters=matters)
    evals = _decision_of(record)
    decision = with_labels(evals, hearing.rulings)
    frame = frame_of(case, policy)
    outputs = _outputs(record, decision)
    if _stands(case, decision, check):
        return Ending(
            exit_code=decision.exit_code,
            outputs={**outputs, "check-url": check.url if check else ""},
            text=restated_text(record, decision, unchanged=True),
            warnings=tuple(hearing.warnings),
        )
    said = announce_restated(record, decision, frame)
    unbent = announce_restated(record, evals, frame) if decision.bypass else None
    publication = publish_case(case, said, unbent, [GateLabel.BYPASS])
    if publication.unbent and unbent:
        decision, said = evals, unbent
    return Ending(
        exit_code=decision.exit_code,
        outputs={**_outputs(record, decision), **publication_outputs(publication)},
        summary=said.job_summary,
        text=restated_text(record, decision, unchanged=False),
        warnings=(*hearing.warnings, *publication.warnings),
    )


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


def _stands(case: Case, decision: Decision, check: CheckRun | None) -> bool:
    """Whether GitHub shows just that already, with nothing to add about a label.

    What came of a label of the gate's is always said anew: the comment may still speak of it, and a
    run that heard it before may be about to write.
    """
    told = told_label(case.trigger)
    if decision.labels or check is None or (told and told.name in set(GateLabel)):
        return False
    return check.conclusion == conclude(decision.verdict, unverified=False)


def _outputs(record: HistoryRecord, decision: Decision) -> dict[str, str]:
    return {
        "verdict": decision.verdict.value,
        "score": f"{min(one.low for one in record.evals):.4f}" if record.evals else "",
        "regressions": str(record.regressions_total),
        "results": "",
    }
